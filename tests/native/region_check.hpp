// Compares regions of one pair's table, and tracebacks through them, with a table computed cell by cell.
#pragma once

#include <algorithm>
#include <vector>

#include "long/block_traceback.hpp"
#include "pairs/alignment.hpp"

namespace exaln {

// A whole table. Rows and columns count from 0, the border. E and F of a cell are those that the next cell
// takes.
class PlainTable {
  public:
    int64_t n_rows, n_columns;
    std::vector<int32_t> H, E, F;
    EndCell end{0, 0, 0};

    PlainTable(const uint8_t* query, int64_t rows, const uint8_t* target, int64_t columns, const Costs& costs,
               const Mode& mode)
        : n_rows(rows), n_columns(columns), H(size_t((rows + 1) * (columns + 1))), E(H.size()), F(H.size()) {
        for (int64_t i = 0; i <= rows; ++i)
            for (int64_t j = 0; j <= columns; ++j) {
                const int64_t border = border_score(i + j, i == 0 ? mode.target_start : mode.query_start,
                                                    costs.gap_first, costs.gap_extend);
                int64_t h = border, e = border - costs.gap_first, f = e;
                if (i > 0 && j > 0) {
                    const int64_t matched = H[at(i - 1, j - 1)] + costs.scores[query[i - 1]][target[j - 1]];
                    const int64_t left = E[at(i, j - 1)], above = F[at(i - 1, j)];
                    h = std::max({matched, left, above, mode.is_local ? 0 : INT64_MIN});
                    e = std::max(left - costs.gap_extend, h - costs.gap_first);
                    f = std::max(above - costs.gap_extend, h - costs.gap_first);
                    if (mode.is_local && h > 0) end.consider(h, i, j);
                }
                H[at(i, j)] = int32_t(h), E[at(i, j)] = int32_t(e), F[at(i, j)] = int32_t(f);
            }
    }

    size_t at(int64_t i, int64_t j) const { return size_t(i * (n_columns + 1) + j); }

    // A row or a column without its border cell.
    std::vector<int32_t> row(const std::vector<int32_t>& from, int64_t i) const {
        return {from.begin() + std::ptrdiff_t(at(i, 1)), from.begin() + std::ptrdiff_t(at(i, n_columns) + 1)};
    }
    std::vector<int32_t> column(const std::vector<int32_t>& from, int64_t j) const {
        std::vector<int32_t> found;
        for (int64_t i = 1; i <= n_rows; ++i) found.push_back(from[at(i, j)]);
        return found;
    }
};

// True if fill_region gives the same end and the same rows and columns (each `every`-th one), and the same
// end with pruning.
inline bool fills_as(const PlainTable& table, const Isa& isa, const uint8_t* query, const uint8_t* target,
                     const Costs& costs, bool is_local, int64_t every, int threads) {
    std::vector<int32_t> border[] = {table.row(table.H, 0), table.row(table.F, 0), table.column(table.H, 0),
                                     table.column(table.E, 0)};
    const auto scores = [](std::vector<int32_t>& line) { return ScoreArray{line.data(), false}; };
    RegionJob job{isa,
                  {query, target, table.n_rows, table.n_columns, scores(border[0]), scores(border[1]),
                   scores(border[2]), scores(border[3]), table.H[0]},
                  costs,
                  is_local,
                  {},
                  {},
                  is_local,
                  {},
                  threads};
    std::vector<std::vector<int32_t>> found;
    std::vector<std::vector<int32_t>> expected;
    found.reserve(size_t(2 * (table.n_rows + table.n_columns)));  // lines must not be reallocated
    const auto add = [&](std::vector<CheckpointLine>& lines, int64_t position, const std::vector<int32_t>& H,
                         const std::vector<int32_t>& gap) {
        const auto space = [&](const std::vector<int32_t>& like) {
            expected.push_back(like), found.emplace_back(like.size(), -12345);
            return scores(found.back());
        };
        const ScoreArray H_space = space(H), gap_space = space(gap);
        lines.push_back({position, H_space, gap_space});
    };
    for (int64_t i = every; i <= table.n_rows; i += every)
        add(job.rows, i, table.row(table.H, i), table.row(table.F, i));
    for (int64_t j = every; j <= table.n_columns; j += every)
        add(job.columns, j, table.column(table.H, j), table.column(table.E, j));
    Progress progress;
    const auto is_end = [&](const EndCell& end) {
        return end.score == table.end.score && end.row == table.end.row && end.column == table.end.column;
    };
    const bool is_right = is_end(fill_region(job, progress).end) && found == expected;
    if (!is_local) return is_right;
    job.pruning = {true, 0, table.n_rows, table.n_columns};
    return is_right && is_end(fill_region(job, progress).end);
}

// The local path of a pair by BlockTracer, with checkpoints every `spacing` rows and columns.
inline Alignment traced(const PlainTable& table, const Isa& isa, const uint8_t* query, const uint8_t* target,
                        const Costs& costs, int64_t spacing, int threads) {
    std::vector<int32_t> H(size_t(std::max(table.n_rows, table.n_columns))), gap(H.size(), -costs.gap_first);
    const ScoreArray no_H{H.data(), false}, no_gap{gap.data(), false};
    std::vector<std::vector<int32_t>> lines;
    lines.reserve(size_t(2 * (table.n_rows + table.n_columns)));  // lines must not be reallocated
    const auto stored = [&](std::vector<int32_t> line) {
        lines.push_back(std::move(line));
        return ScoreArray{lines.back().data(), false};
    };
    TracebackJob job{{query, target, table.n_rows, table.n_columns, no_H, no_gap, no_H, no_gap, 0},
                     costs,
                     true,
                     spacing,
                     {},
                     {}};
    for (int64_t i = spacing; i < table.n_rows; i += spacing)
        job.rows.push_back(
            {0, table.n_columns, stored(table.row(table.H, i)), stored(table.row(table.F, i))});
    for (int64_t j = spacing; j < table.n_columns; j += spacing)
        job.columns.push_back(
            {0, table.n_rows, stored(table.column(table.H, j)), stored(table.column(table.E, j))});
    PathState path{table.end.row - 1, table.end.column - 1, table.end.score};
    std::vector<uint8_t> steps;
    BlockTracer tracer(isa, threads);
    while (!path.is_complete(true)) {
        const std::vector<uint8_t> more = tracer.trace(job, path);
        steps.insert(steps.end(), more.begin(), more.end());
    }
    return make_alignment(query, target, costs, table.end.score, table.end.row, table.end.column, steps);
}

}  // namespace exaln
