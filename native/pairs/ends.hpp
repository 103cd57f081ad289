// Where the alignments of a group of pairs end: noted while the rows go by, in local mode for any cell, in
// others for the last row and the last column of each pair.
#pragma once

#include <type_traits>

#include "pairs/cell_scores.hpp"

namespace {

// Local: the best cell of each lane so far.
//
// Along a good alignment almost every row has a new best cell, so what is done for one must be cheap: its row
// is kept, all columns of it; in which of them it was is found out when the tile is left. Only if a cell is
// as good as the best, and may stand in a smaller column, lanes are looked at one by one.
//
// With a gate a row is not looked at cell by cell if the gap that leaves it on the right is no better than
// `gate`: a cell above `seen` would have opened a better one. Narrow lanes without a base have no scores to
// tell rows apart by.
template <class V, bool has_gate>
struct LocalEnds {
    using Lane = typename V::Lane;
    using Reg = typename V::Reg;
    static constexpr int row_digits = 4;  // rows as numbers of 7 bits each, which every lane can hold

    typename V::Reg best, seen;  // cells above `seen` are looked at
    Reg gate, reach, lowest;     // reach: what a gap from the first to behind the last column of a tile costs
    Reg above_floor, best_before;  // best_before: when the tile was entered
    bool has_strips_above;
    bool is_new = false;  // there is a new end in this tile
    alignas(64) Lane cells[V::columns][V::lanes];
    alignas(64) Lane rows[row_digits][V::lanes];

    // Without `best` nothing is above it, whatever lanes hold that have overflowed.
    explicit LocalEnds(const exaln::PairArgs& args) : has_strips_above(args.best && args.first_row > 0) {
        constexpr auto largest = Lane((uint64_t(1) << (8 * sizeof(Lane) - 1)) - 1);
        // Where `seen` less the reach is no number of the lane, the gate is the least one: all gaps are
        // better.
        constexpr int64_t least = -int64_t(largest) - 1;
        const int64_t cost = args.costs->gap_first + int64_t(V::columns - 1) * args.costs->gap_extend;
        reach = V::fill(cost < largest ? Lane(cost) : Lane(-1));
        lowest = V::fill(cost < largest ? Lane(least + cost) : largest);
        above_floor = V::fill(Lane(args.range.floor + 1));
        best = args.best ? V::load(static_cast<const Lane*>(args.best)) : V::fill(largest);
        enter_tile();
    }

    EXALN_INLINE void enter(Reg best_so_far, Reg seen_so_far) {
        best = best_before = best_so_far, seen = seen_so_far;
        set_gate();
        is_new = false;
    }

    // A cell as good as the best comes first if its column is smaller: in the tile where the best was found,
    // and below the strip where it was found.
    void enter_tile() {
        enter(best, has_strips_above ? V::sub(V::max(best, above_floor), V::fill(1)) : best);
    }

    EXALN_INLINE void set_gate() {
        if (has_gate) gate = V::sub(V::max(seen, lowest), reach);
    }

    // A row of a tile where `row_best`, the best cell of each lane, is above `seen` in some.
    EXALN_INLINE void note(const exaln::PairArgs& args, const PairWorkspace<V>& work, const Tile<V>& tile,
                           Reg row_best, int64_t row, int64_t column) {
        if (V::any(V::equal(row_best, best) & V::greater(row_best, seen))) {
            V::store(work.row_best, row_best);
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) V::store(work.cells + c * V::lanes, tile.H[c]);
            note_ties(args, work.cells, work.row_best, row, column);
        }
        const Reg better = V::max(best, row_best);
        const auto keep = [&](Lane* kept, Reg value) {
            V::store(kept, V::choose_equal(better, best, V::load(kept), value));
        };
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) keep(cells[c], tile.H[c]);
        EXALN_UNROLL
        for (int digit = 0; digit < row_digits; ++digit)
            keep(rows[digit], V::fill(Lane(row >> (7 * digit) & 127)));
        seen = V::choose_equal(better, best_before, seen, V::sub(better, V::fill(1)));
        best = better;
        set_gate();
        is_new = true;
    }

    // Lanes that have a cell as good as the best one in this row: it is the end if its column is smaller.
    __attribute__((noinline)) void note_ties(const exaln::PairArgs& args, const Lane* row_cells,
                                             const Lane* row_best, int64_t row, int64_t column) {
        alignas(64) Lane bests[V::lanes], before[V::lanes], looked_at[V::lanes];
        V::store(bests, best), V::store(before, best_before), V::store(looked_at, seen);
        for (int lane = 0; lane < V::lanes; ++lane) {
            if (row_best[lane] != bests[lane] || row_best[lane] <= looked_at[lane]) continue;
            const bool is_of_tile = bests[lane] != before[lane];
            const int64_t known =
                is_of_tile ? column + place(cells[0] + lane, bests[lane]) : args.end_columns[lane] - 1;
            const int64_t found = column + place(row_cells + lane, bests[lane]);
            if (found >= known) continue;
            if (!is_of_tile)
                args.end_rows[lane] = args.first_row + row + 1, args.end_columns[lane] = found + 1;
            for (int c = 0; c < V::columns; ++c) cells[c][lane] = row_cells[c * V::lanes + lane];
            for (int digit = 0; digit < row_digits; ++digit)
                rows[digit][lane] = Lane(row >> (7 * digit) & 127);
        }
    }

    // The first of a lane's columns that has this value.
    static int place(const Lane* lane_cells, Lane value) {
        int c = 0;
        while (c < V::columns - 1 && lane_cells[c * V::lanes] != value) ++c;
        return c;
    }

    // Rows and columns of the ends that lie in this tile.
    __attribute__((noinline)) void leave_tile(const exaln::PairArgs& args, int64_t column) {
        alignas(64) Lane bests[V::lanes], before[V::lanes];
        V::store(bests, best), V::store(before, best_before);
        for (int lane = 0; lane < V::lanes; ++lane) {
            if (bests[lane] == before[lane]) continue;
            int64_t row = 0;
            for (int digit = 0; digit < row_digits; ++digit) row |= int64_t(rows[digit][lane]) << (7 * digit);
            args.end_rows[lane] = args.first_row + row + 1;
            args.end_columns[lane] = column + place(cells[0] + lane, bests[lane]) + 1;
        }
        enter_tile();
    }
};

// Other modes: H of the last row and of the last column of each lane's pair.
template <class V>
struct LastCells {
    using Lane = typename V::Lane;
    const exaln::PairArgs& args;
    uint8_t* ends_here;
    bool wants_row, wants_column;
    int64_t next_end = 0;      // no pair ends in a column before this one, behind the tiles so far
    int n_columns_ending = 0;  // columns of the tile that are the last ones of a pair
    int columns_ending[V::columns];
    alignas(64) Lane masks[V::columns][V::lanes];

    LastCells(const exaln::PairArgs& pair_args, const PairWorkspace<V>& work)
        : args(pair_args),
          ends_here(work.ends_here),
          wants_row(args.last_row != nullptr),
          wants_column(args.last_column != nullptr) {
        memset(ends_here, 0, size_t(args.n_rows));
        for (int lane = 0; lane < V::lanes && wants_row; ++lane) {
            const int64_t row = args.query_lengths[lane] - 1 - args.first_row;
            if (row >= 0 && row < args.n_rows) ends_here[row] = 1;
        }
    }

    // All ones for lanes of that length.
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
        if (!wants_column || end < next_end) return;
        for (int c = 0; c < V::columns; ++c)
            if (make_mask(args.target_lengths, column + c + 1, masks[c]))
                columns_ending[n_columns_ending++] = c;
        next_end = INT64_MAX;
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t length = args.target_lengths[lane];
            if (length > end && length < next_end) next_end = length;
        }
    }

    static void keep(Lane* kept, const Lane* mask, const Lane* cells) {
        V::store(kept, V::select(V::load(mask), V::load(cells), V::load(kept)));
    }

    __attribute__((noinline)) void note_row(const Lane* cells, int64_t row, int64_t column) const {
        alignas(64) Lane mask[V::lanes];
        make_mask(args.query_lengths, args.first_row + row + 1, mask);
        Lane* kept = static_cast<Lane*>(args.last_row) + column * V::lanes;
        for (int c = 0; c < V::columns; ++c) keep(kept + c * V::lanes, mask, cells + c * V::lanes);
    }

    __attribute__((noinline)) void note_columns(const Lane* cells, int64_t row) const {
        Lane* kept = static_cast<Lane*>(args.last_column) + (args.first_row + row) * V::lanes;
        for (int i = 0; i < n_columns_ending; ++i)
            keep(kept, masks[columns_ending[i]], cells + columns_ending[i] * V::lanes);
    }
};

// Whether all lanes have a local score that is too high for them: nothing more can be learnt here.
template <class V>
EXALN_INLINE bool all_overflowed(typename V::Reg best, const exaln::Range& range) {
    constexpr auto largest = int64_t((uint64_t(1) << (8 * sizeof(typename V::Lane) - 1)) - 1);
    return range.limit < largest && !V::any_greater(V::fill(typename V::Lane(range.limit + 1)), best);
}

// Whether the ends of all paths lie in columns up to this one: what is right of them is not needed.
template <class V>
bool all_ends_before(const exaln::PairArgs& args, int64_t column) {
    for (int lane = 0; lane < V::lanes; ++lane)
        if (args.query_lengths[lane] > 0 && (args.end_columns[lane] == 0 || args.end_columns[lane] > column))
            return false;
    return true;
}

// The first of the best cells of each lane's last row, or column, up to its length: the border cell and those
// that were kept, or only the last one if the end is not free.
template <class V>
void best_cells(const exaln::PairArgs& args, const void* kept, const int64_t* lengths, bool is_free,
                const int64_t* borders, exaln::BestPlace* best) {
    using Lane = typename V::Lane;
    using Sum = typename std::conditional<sizeof(Lane) <= 2, int32_t, int64_t>::type;
    Sum sums[V::lanes], scores[V::lanes], places[V::lanes], ends[V::lanes], longest = 0;
    for (int lane = 0; lane < V::lanes; ++lane) {
        sums[lane] = scores[lane] = Sum(borders[lane]), places[lane] = 0, ends[lane] = Sum(lengths[lane]);
        longest = ends[lane] > longest ? ends[lane] : longest;
    }
    const auto extend = Sum(args.costs->gap_extend), floor = Sum(args.range.floor);
    const auto* cells = static_cast<const Lane*>(kept);
    for (Sum place = 1; place <= longest; ++place, cells += V::lanes)
        for (int lane = 0; lane < V::lanes; ++lane) {
            sums[lane] = args.are_differences ? sums[lane] + cells[lane] - extend : cells[lane] - floor;
            const bool is_better =
                is_free ? (place <= ends[lane]) & (sums[lane] > scores[lane]) : place == ends[lane];
            scores[lane] = is_better ? sums[lane] : scores[lane];
            places[lane] = is_better ? place : places[lane];
        }
    for (int lane = 0; lane < V::lanes; ++lane) best[lane] = {scores[lane], places[lane]};
}

}  // namespace
