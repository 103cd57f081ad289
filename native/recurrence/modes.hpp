// What an alignment has to cover, and what H is along the borders of the table: the only place where a mode
// becomes numbers.
#pragma once

#include <cstdint>

namespace exaln {

// Local, or which ends are free: letters left over at a free end cost nothing. In local mode all of them are.
struct Mode {
    bool is_local, query_start, query_end, target_start, target_end;
};

constexpr Mode LOCAL{true, true, true, true, true};

// H of the border cell after k letters of one sequence and none of the other: one gap, or nothing.
inline int64_t border_score(int64_t k, bool is_free, int64_t gap_first, int64_t gap_extend) {
    return k == 0 || is_free ? 0 : -(gap_first + (k - 1) * gap_extend);
}

// The cell in which an alignment ends: the best of those seen, of equal ones the one with the smallest
// column, then with the smallest row. Rows and columns count letters: 0 is the border.
struct EndCell {
    int64_t score = INT64_MIN, row = 0, column = 0;

    void see(int64_t new_score, int64_t new_row, int64_t new_column) {
        const bool is_earlier = new_column < column || (new_column == column && new_row < row);
        if (new_score > score || (new_score == score && is_earlier))
            score = new_score, row = new_row, column = new_column;
    }
};

struct BestPlace {
    int64_t score, place;
};

// The first of the best places from `first` to `last`; score_at is asked in order.
template <class ScoreAt>
BestPlace best_place(int64_t first, int64_t last, ScoreAt score_at) {
    BestPlace best{score_at(first), first};
    for (int64_t place = first + 1; place <= last; ++place)
        if (const int64_t score = score_at(place); score > best.score) best = {score, place};
    return best;
}

// The end of a pair, from the best places of its last row and, if the query's end is free, of its last
// column.
inline EndCell end_of(const Mode& mode, int64_t m, int64_t n, BestPlace in_row, BestPlace in_column) {
    EndCell end;
    end.see(in_row.score, m, in_row.place);
    if (mode.query_end) end.see(in_column.score, in_column.place, n);
    return end;
}

// The end of a pair whose last row and column are known, H(m, 1..n) and H(1..m, n); a function of the letters
// gives each, asked in order. Not for local alignments, which may end anywhere.
template <class LastRow, class LastColumn>
EndCell choose_end(const Mode& mode, int64_t m, int64_t n, int64_t gap_first, int64_t gap_extend,
                   LastRow last_row, LastColumn last_column) {
    const int64_t left = border_score(m, mode.query_start, gap_first, gap_extend);
    const int64_t top = border_score(n, mode.target_start, gap_first, gap_extend);
    const BestPlace in_row = best_place(mode.target_end ? 0 : n, n, [&](int64_t j) {
        return j == 0   ? left
               : m == 0 ? border_score(j, mode.target_start, gap_first, gap_extend)
                        : last_row(j);
    });
    if (!mode.query_end) return end_of(mode, m, n, in_row, {});
    return end_of(mode, m, n, in_row, best_place(0, m, [&](int64_t i) {
                      return i == 0   ? top
                             : n == 0 ? border_score(i, mode.query_start, gap_first, gap_extend)
                                      : last_column(i);
                  }));
}

}  // namespace exaln
