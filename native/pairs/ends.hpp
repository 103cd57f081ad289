// Finds where the alignments of a group of pairs end, while the rows are computed: in local mode any cell, in
// other modes the last row and the last column of each pair.
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
            const int64_t known =
                is_of_tile ? column + column_with(cells[0] + lane, bests[lane]) : args.end_columns[lane] - 1;
            const int64_t found = column + column_with(row_cells + lane, bests[lane]);
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
            args.end_columns[lane] = column + column_with(cells[0] + lane, bests[lane]) + 1;
        }
        enter_tile();
    }
};

// Other modes: stores H of the last row and of the last column of each lane's pair.
template <class V>
struct LastCells {
    using Lane = typename V::Lane;
    const exaln::PairArgs& args;
    uint8_t* ends_here;
    bool stores_row, stores_column;
    int64_t next_end = 0;      // the first column, behind the tiles so far, in which a pair ends
    int n_columns_ending = 0;  // columns of the tile that are the last column of a pair
    int columns_ending[V::columns];
    alignas(64) Lane masks[V::columns][V::lanes];

    LastCells(const exaln::PairArgs& pair_args, const PairWorkspace<V>& work)
        : args(pair_args),
          ends_here(work.ends_here),
          stores_row(args.last_row != nullptr),
          stores_column(args.last_column != nullptr) {
        memset(ends_here, 0, size_t(args.n_rows));
        for (int lane = 0; lane < V::lanes && stores_row; ++lane) {
            const int64_t row = args.query_lengths[lane] - 1 - args.first_row;
            if (row >= 0 && row < args.n_rows) ends_here[row] = 1;
        }
    }

    // Writes all ones to lanes whose sequence has this length; false if there is none.
    static bool make_mask(const int64_t* lengths, int64_t length, Lane* mask) {
        bool any = false;
        for (int lane = 0; lane < V::lanes; ++lane) {
            mask[lane] = lengths[lane] == length ? Lane(-1) : Lane(0);
            any |= mask[lane] != 0;
        }
        return any;
    }

    void enter(int64_t column) {
        n_columns_ending = 0;
        const int64_t end = column + V::columns;
        if (!stores_column || end < next_end) return;
        for (int c = 0; c < V::columns; ++c)
            if (make_mask(args.target_lengths, column + c + 1, masks[c]))
                columns_ending[n_columns_ending++] = c;
        next_end = INT64_MAX;
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t length = args.target_lengths[lane];
            if (length > end && length < next_end) next_end = length;
        }
    }

    static void store(Lane* stored, const Lane* mask, const Lane* cells) {
        V::store(stored, V::select(V::load(mask), V::load(cells), V::load(stored)));
    }

    __attribute__((noinline)) void store_row(const Lane* cells, int64_t row, int64_t column) const {
        alignas(64) Lane mask[V::lanes];
        make_mask(args.query_lengths, args.first_row + row + 1, mask);
        Lane* stored = static_cast<Lane*>(args.last_row) + column * V::lanes;
        for (int c = 0; c < V::columns; ++c) store(stored + c * V::lanes, mask, cells + c * V::lanes);
    }

    __attribute__((noinline)) void store_columns(const Lane* cells, int64_t row) const {
        Lane* stored = static_cast<Lane*>(args.last_column) + (args.first_row + row) * V::lanes;
        for (int i = 0; i < n_columns_ending; ++i)
            store(stored, masks[columns_ending[i]], cells + columns_ending[i] * V::lanes);
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
        if (args.query_lengths[lane] > 0 && (args.end_columns[lane] == 0 || args.end_columns[lane] > column))
            return false;
    return true;
}

// The best position in the last row, or column, of each lane's pair, the first among equals. Candidates are
// the border cell and the stored cells up to the pair's length; only the last one if the end is not free.
template <class V>
void best_cells(const exaln::PairArgs& args, const void* stored, const int64_t* lengths, bool is_free,
                const int64_t* borders, exaln::BestPosition* best) {
    using Lane = typename V::Lane;
    using Sum = typename std::conditional<sizeof(Lane) <= 2, int32_t, int64_t>::type;
    Sum sums[V::lanes], scores[V::lanes], positions[V::lanes], ends[V::lanes], longest = 0;
    for (int lane = 0; lane < V::lanes; ++lane) {
        sums[lane] = scores[lane] = Sum(borders[lane]), positions[lane] = 0, ends[lane] = Sum(lengths[lane]);
        longest = ends[lane] > longest ? ends[lane] : longest;
    }
    const auto extend = Sum(args.costs->gap_extend), floor = Sum(args.range.floor);
    const auto* cells = static_cast<const Lane*>(stored);
    for (Sum position = 1; position <= longest; ++position, cells += V::lanes)
        for (int lane = 0; lane < V::lanes; ++lane) {
            sums[lane] = args.are_differences ? sums[lane] + cells[lane] - extend : cells[lane] - floor;
            const bool is_better =
                is_free ? (position <= ends[lane]) & (sums[lane] > scores[lane]) : position == ends[lane];
            scores[lane] = is_better ? sums[lane] : scores[lane];
            positions[lane] = is_better ? position : positions[lane];
        }
    for (int lane = 0; lane < V::lanes; ++lane) best[lane] = {scores[lane], positions[lane]};
}

}  // namespace
