// Fills score tables by rows, by diagonals and by tiles, and aligns pairs with complete tables.
#include "table_fill.hpp"

#include <algorithm>

#include "lockstep.hpp"

namespace exaln_studies {
namespace {

constexpr int32_t MINUS_INFINITY = -(1 << 29);

// H[i][j] is at i * row + (i + j) * diagonal.
struct Strides {
    int64_t row, diagonal;

    int64_t at(int64_t i, int64_t step) const { return i * row + step * diagonal; }
};

Strides strides_of(TableLayout layout, int64_t m, int64_t n) {
    if (layout == TableLayout::rotated) return {m + n + 1, 1};
    if (layout == TableLayout::by_diagonals) return {1, m + 1};
    return {n, 1};  // i * (n + 1) + j = i * n + (i + j)
}

int32_t linear_cell(int32_t diagonal, int32_t left, int32_t above, int32_t score, int32_t gap) {
    return std::max(std::max(0, diagonal + score), std::max(left, above) - gap);
}

void clear_borders(const Strides& strides, int64_t m, int64_t n, int32_t* table) {
    for (int64_t i = 0; i <= m; ++i) table[strides.at(i, i)] = 0;
    for (int64_t j = 0; j <= n; ++j) table[strides.at(0, j)] = 0;
}

}  // namespace

int64_t table_size(TableLayout layout, int64_t m, int64_t n) {
    return (m + 1) * (layout == TableLayout::by_rows ? n + 1 : m + n + 1);
}

void fill_by_rows(const Pair& pair, int32_t* table) {
    const int64_t m = pair.m, n = pair.n;
    clear_borders(strides_of(TableLayout::by_rows, m, n), m, n, table);
    for (int64_t i = 1; i <= m; ++i) {
        const int32_t* above = table + (i - 1) * (n + 1);
        int32_t* row = table + i * (n + 1);
        for (int64_t j = 1; j <= n; ++j)
            row[j] = linear_cell(above[j - 1], row[j - 1], above[j], pair.score(i, j), pair.gap_extend);
    }
}

void fill_by_diagonals(const Pair& pair, TableLayout layout, int threads, int64_t chunk, int32_t* table) {
    const int64_t m = pair.m, n = pair.n;
    const Strides strides = strides_of(layout, m, n);
    clear_borders(strides, m, n, table);
    run_in_lockstep(threads, std::max<int64_t>(m + n - 1, 0), [&](int thread, int64_t number) {
        const int64_t step = number + 2;  // i + j; the first cell is 1, 1
        const int64_t first = std::max<int64_t>(1, step - n), last = std::min(m, step - 1);
        for (int64_t begin = first + thread * chunk; begin <= last; begin += threads * chunk) {
            const int64_t end = std::min(begin + chunk, last + 1);
            for (int64_t i = begin; i < end; ++i)
                table[strides.at(i, step)] =
                    linear_cell(table[strides.at(i - 1, step - 2)], table[strides.at(i, step - 1)],
                                table[strides.at(i - 1, step - 1)], pair.score(i, step - i), pair.gap_extend);
        }
    });
}

double time_empty_steps(int threads, int64_t n_steps) {
    const double begun = seconds_now();
    run_in_lockstep(threads, n_steps, [](int, int64_t) {});
    return seconds_now() - begun;
}

std::vector<double> fill_by_tiles(const Pair& pair, int threads, int64_t side, int32_t* H, int32_t* E,
                                  int32_t* F) {
    const int64_t m = pair.m, n = pair.n, width = n + 1;
    for (int64_t i = 0; i <= m; ++i) H[i * width] = 0, E[i * width] = F[i * width] = MINUS_INFINITY;
    for (int64_t j = 0; j <= n; ++j) H[j] = 0, E[j] = F[j] = MINUS_INFINITY;
    const int64_t tile_rows = (m + side - 1) / side, tile_columns = (n + side - 1) / side;
    auto fill_tile = [&](int64_t tile_row, int64_t tile_column) {
        const int64_t last_row = std::min(m, (tile_row + 1) * side),
                      last_column = std::min(n, (tile_column + 1) * side);
        for (int64_t i = tile_row * side + 1; i <= last_row; ++i) {
            for (int64_t j = tile_column * side + 1; j <= last_column; ++j) {
                const int64_t at = i * width + j;
                E[at] = std::max(E[at - 1] - pair.gap_extend, H[at - 1] - pair.gap_first);
                F[at] = std::max(F[at - width] - pair.gap_extend, H[at - width] - pair.gap_first);
                H[at] = std::max(std::max(0, H[at - width - 1] + pair.score(i, j)), std::max(E[at], F[at]));
            }
        }
    };
    return run_in_lockstep(threads, std::max<int64_t>(tile_rows + tile_columns - 1, 0),
                           [&](int thread, int64_t step) {
                               const int64_t first = std::max<int64_t>(0, step - tile_columns + 1),
                                             last = std::min(tile_rows - 1, step);
                               for (int64_t row = first + thread; row <= last; row += threads)
                                   fill_tile(row, step - row);
                           });
}

namespace {

enum Direction : uint8_t { STOP, DIAGONAL, TARGET_ONLY, QUERY_ONLY };

// Fills a table and its directions. Returns the end of the best path, chosen by the rule of docs/modes.md.
std::pair<int64_t, int64_t> fill_with_directions(const Pair& pair, int32_t* table, uint8_t* directions) {
    const int64_t m = pair.m, n = pair.n, width = n + 1;
    clear_borders(strides_of(TableLayout::by_rows, m, n), m, n, table);
    int32_t best = 0;
    int64_t end_row = 0, end_column = 0;
    for (int64_t i = 1; i <= m; ++i) {
        for (int64_t j = 1; j <= n; ++j) {
            const int64_t at = i * width + j;
            const int32_t diagonal = table[at - width - 1] + pair.score(i, j);
            const int32_t left = table[at - 1] - pair.gap_extend, above = table[at - width] - pair.gap_extend;
            const int32_t h = std::max(std::max(0, diagonal), std::max(left, above));
            table[at] = h;
            directions[at] = h == 0 ? STOP : h == diagonal ? DIAGONAL : h == left ? TARGET_ONLY : QUERY_ONLY;
            if (h > best || (h == best && j < end_column)) best = h, end_row = i, end_column = j;
        }
    }
    return {end_row, end_column};
}

void trace_back(int64_t i, int64_t j, int64_t width, const uint8_t* directions, std::vector<uint8_t>& steps) {
    while (i > 0 && j > 0 && directions[i * width + j] != STOP) {
        const uint8_t step = directions[i * width + j];
        steps.push_back(step);
        i -= step != TARGET_ONLY, j -= step != QUERY_ONLY;
    }
}

}  // namespace

Alignments align_pairs(const std::vector<Pair>& pairs) {
    Alignments result;
    result.offsets.push_back(0);
    std::vector<int32_t> table;
    std::vector<uint8_t> directions;
    for (const Pair& pair : pairs) {
        const size_t n_cells = size_t(table_size(TableLayout::by_rows, pair.m, pair.n));
        table.resize(std::max(table.size(), n_cells)), directions.resize(table.size());
        const double begun = seconds_now();
        const auto [i, j] = fill_with_directions(pair, table.data(), directions.data());
        const double filled = seconds_now();
        trace_back(i, j, pair.n + 1, directions.data(), result.steps);
        result.fill_seconds += filled - begun, result.traceback_seconds += seconds_now() - filled;
        result.scores.push_back(table[size_t(i * (pair.n + 1) + j)]);
        result.ends.insert(result.ends.end(), {i, j});
        result.offsets.push_back(int64_t(result.steps.size()));
    }
    return result;
}

}  // namespace exaln_studies
