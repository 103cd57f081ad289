// Finds where local alignments of a group of pairs end, while the rows are computed. last_cells.hpp has the
// other modes.
#pragma once

#include <type_traits>

#include "pairs/cell_scores.hpp"

namespace {

// Local mode: the best cell of each lane so far.
//
// Along a good alignment almost every row has a new best cell, so recording one must be cheap: all columns of
// its row are stored, and its own column is determined when the tile is left. Lanes are examined one by one
// only if a cell equals the best and may stand in a smaller column.
//
// With a gate, a row is not examined cell by cell if E behind its last column is not above `gate`: a cell
// above `threshold` would have opened a better gap. 8-bit lanes without a base have too few values for the
// gate to tell rows apart.
template <class V, bool has_gate>
struct LocalEnds {
    using Lane = typename V::Lane;
    using Reg = typename V::Reg;
    static constexpr int row_digits = 4;  // a row number is stored as digits of 7 bits, which fit every lane

    typename V::Reg best, threshold;  // cells above `threshold` are examined
    Reg gate, reach, lowest;  // reach: the cost of a gap from the first column of a tile to behind the last
    Reg above_floor, best_before;  // best_before: the best on entry to the tile
    bool has_strips_above;
    bool is_new = false;  // this tile has a new end
    alignas(64) Lane cells[V::columns][V::lanes];
    alignas(64) Lane rows[row_digits][V::lanes];

    // Without args.best nothing counts as better, whatever overflowed lanes hold.
    explicit LocalEnds(const exaln::PairArgs& args) : has_strips_above(args.best && args.first_row > 0) {
        constexpr auto largest = Lane((uint64_t(1) << (8 * sizeof(Lane) - 1)) - 1);
        // Where threshold - reach does not fit the lane, the gate is its lowest value: every gap passes.
        constexpr int64_t least = -int64_t(largest) - 1;
        const int64_t cost = args.costs->gap_first + int64_t(V::columns - 1) * args.costs->gap_extend;
        reach = V::fill(cost < largest ? Lane(cost) : Lane(-1));
        lowest = V::fill(cost < largest ? Lane(least + cost) : largest);
        above_floor = V::fill(Lane(args.range.floor + 1));
        best = args.best ? V::load(static_cast<const Lane*>(args.best)) : V::fill(largest);
        enter_tile();
    }

    EXALN_INLINE void enter(Reg best_so_far, Reg threshold_so_far) {
        best = best_before = best_so_far, threshold = threshold_so_far;
        set_gate();
        is_new = false;
    }

    // A cell equal to the best precedes it if its column is smaller. That is possible in the tile where the
    // best was found, and in strips below the one where it was found.
    void enter_tile() {
        enter(best, has_strips_above ? V::sub(V::max(best, above_floor), V::fill(1)) : best);
    }

    EXALN_INLINE void set_gate() {
        if (has_gate) gate = V::sub(V::max(threshold, lowest), reach);
    }

    // Records a row of a tile. row_best, the best cell of each lane, is above `threshold` in some lane.
    EXALN_INLINE void record(const exaln::PairArgs& args, const PairWorkspace<V>& work, const Tile<V>& tile,
                             Reg row_best, int64_t row, int64_t column) {
        if (V::any(V::equal(row_best, best) & V::greater(row_best, threshold))) {
            V::store(work.row_best, row_best);
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) V::store(work.cells + c * V::lanes, tile.H[c]);
            record_ties(args, work.cells, work.row_best, row, column);
        }
        const Reg better = V::max(best, row_best);
        const auto update = [&](Lane* stored, Reg value) {
            V::store(stored, V::choose_equal(better, best, V::load(stored), value));
        };
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) update(cells[c], tile.H[c]);
        EXALN_UNROLL
        for (int digit = 0; digit < row_digits; ++digit)
            update(rows[digit], V::fill(Lane(row >> (7 * digit) & 127)));
        threshold = V::choose_equal(better, best_before, threshold, V::sub(better, V::fill(1)));
        best = better;
        set_gate();
        is_new = true;
    }

    // Examines lanes in which a cell of this row equals the best: it is the end if its column is smaller.
    __attribute__((noinline)) void record_ties(const exaln::PairArgs& args, const Lane* row_cells,
                                               const Lane* row_best, int64_t row, int64_t column) {
        alignas(64) Lane bests[V::lanes], before[V::lanes], thresholds[V::lanes];
        V::store(bests, best), V::store(before, best_before), V::store(thresholds, threshold);
        for (int lane = 0; lane < V::lanes; ++lane) {
            if (row_best[lane] != bests[lane] || row_best[lane] <= thresholds[lane]) continue;
            const bool is_of_tile = bests[lane] != before[lane];
            const int64_t first = args.columns_before[lane] + column;
            const int64_t known =
                is_of_tile ? first + column_with(cells[0] + lane, bests[lane]) : args.end_columns[lane] - 1;
            const int64_t found = first + column_with(row_cells + lane, bests[lane]);
            if (found >= known) continue;
            if (!is_of_tile)
                args.end_rows[lane] = args.first_row + row + 1, args.end_columns[lane] = found + 1;
            for (int c = 0; c < V::columns; ++c) cells[c][lane] = row_cells[c * V::lanes + lane];
            for (int digit = 0; digit < row_digits; ++digit)
                rows[digit][lane] = Lane(row >> (7 * digit) & 127);
        }
    }

    // The first column of a lane with this value.
    static int column_with(const Lane* lane_cells, Lane value) {
        int c = 0;
        while (c < V::columns - 1 && lane_cells[c * V::lanes] != value) ++c;
        return c;
    }

    // Writes rows and columns of the ends that lie in this tile.
    __attribute__((noinline)) void leave_tile(const exaln::PairArgs& args, int64_t column) {
        alignas(64) Lane bests[V::lanes], before[V::lanes];
        V::store(bests, best), V::store(before, best_before);
        for (int lane = 0; lane < V::lanes; ++lane) {
            if (bests[lane] == before[lane]) continue;
            int64_t row = 0;
            for (int digit = 0; digit < row_digits; ++digit) row |= int64_t(rows[digit][lane]) << (7 * digit);
            args.end_rows[lane] = args.first_row + row + 1;
            args.end_columns[lane] =
                args.columns_before[lane] + column + column_with(cells[0] + lane, bests[lane]) + 1;
        }
        enter_tile();
    }
};

// True if the local scores of all lanes have overflowed: the rest of the table adds nothing.
template <class V>
EXALN_INLINE bool all_overflowed(typename V::Reg best, const exaln::Range& range) {
    constexpr auto largest = int64_t((uint64_t(1) << (8 * sizeof(typename V::Lane) - 1)) - 1);
    return range.limit < largest && !V::any_greater(V::fill(typename V::Lane(range.limit + 1)), best);
}

// True if the ends of all paths lie in columns up to this one: columns to the right are not needed.
template <class V>
bool all_ends_before(const exaln::PairArgs& args, int64_t column) {
    for (int lane = 0; lane < V::lanes; ++lane)
        if (args.query_lengths[lane] > 0 &&
            (args.end_columns[lane] == 0 || args.end_columns[lane] > args.columns_before[lane] + column))
            return false;
    return true;
}

}  // namespace
