// Alignment modes: which ends are free, what H is along the borders of the table, and in which cell an
// alignment ends. This is the only place where a mode becomes numbers.
#pragma once

#include <cstdint>

namespace exaln {

// Letters beyond the alignment cost nothing at a free end. In local mode all ends are free.
struct Mode {
    bool is_local, query_start, query_end, target_start, target_end;
};

constexpr Mode LOCAL{true, true, true, true, true};

// The mode with query and target exchanged.
inline Mode transposed(const Mode& mode) {
    return {mode.is_local, mode.target_start, mode.target_end, mode.query_start, mode.query_end};
}

// H of the border cell after k letters of one sequence and none of the other: 0 at a free end, else one gap.
inline int64_t border_score(int64_t k, bool is_free, int64_t gap_first, int64_t gap_extend) {
    return k == 0 || is_free ? 0 : -(gap_first + (k - 1) * gap_extend);
}

// The cell in which an alignment ends: the best of those considered; among equals the one with the smallest
// column, then with the smallest row. Rows and columns count letters, so 0 is the border.
struct EndCell {
    int64_t score = INT64_MIN, row = 0, column = 0;

    void consider(int64_t new_score, int64_t new_row, int64_t new_column) {
        const bool is_earlier = new_column < column || (new_column == column && new_row < row);
        if (new_score > score || (new_score == score && is_earlier))
            score = new_score, row = new_row, column = new_column;
    }
};

struct BestPosition {
    int64_t score, position;
};

// The first position in [first, last] with the best score. score_at is called in ascending order.
template <class ScoreAt>
BestPosition best_position(int64_t first, int64_t last, ScoreAt score_at) {
    BestPosition best{score_at(first), first};
    for (int64_t position = first + 1; position <= last; ++position)
        if (const int64_t score = score_at(position); score > best.score) best = {score, position};
    return best;
}

// The end of an alignment, from the best positions of the last row and, if the query's end is free, column.
inline EndCell end_of(const Mode& mode, int64_t m, int64_t n, BestPosition in_row, BestPosition in_column) {
    EndCell end;
    end.consider(in_row.score, m, in_row.position);
    if (mode.query_end) end.consider(in_column.score, in_column.position, n);
    return end;
}

// The end of an alignment, where last_row(j) is H(m, j) for 1 <= j <= n and last_column(i) is H(i, n) for 1
// <= i <= m. Both are called in ascending order. Not for local alignments, which may end anywhere.
template <class LastRow, class LastColumn>
EndCell choose_end(const Mode& mode, int64_t m, int64_t n, int64_t gap_first, int64_t gap_extend,
                   LastRow last_row, LastColumn last_column) {
    const int64_t left = border_score(m, mode.query_start, gap_first, gap_extend);
    const int64_t top = border_score(n, mode.target_start, gap_first, gap_extend);
    const BestPosition in_row = best_position(mode.target_end ? 0 : n, n, [&](int64_t j) {
        return j == 0   ? left
               : m == 0 ? border_score(j, mode.target_start, gap_first, gap_extend)
                        : last_row(j);
    });
    if (!mode.query_end) return end_of(mode, m, n, in_row, {});
    return end_of(mode, m, n, in_row, best_position(0, m, [&](int64_t i) {
                      return i == 0   ? top
                             : n == 0 ? border_score(i, mode.query_start, gap_first, gap_extend)
                                      : last_column(i);
                  }));
}

}  // namespace exaln
