// Stores the last row and the last column of each lane's pair, and finds the best cell in them: the ends of
// alignments in modes without a floor.
#pragma once

#include <type_traits>

#include "pairs/cell_scores.hpp"

namespace {

// Masks say which lanes have their last row, or column, here. ends_here[row] is the number of the row's mask,
// from 1 on, or 0 if no pair ends in that row.
template <class V>
struct LastCells {
    using Lane = typename V::Lane;
    const exaln::PairArgs& args;
    uint8_t* ends_here;
    Lane* row_masks;
    int64_t next_end = 0;      // the first column, behind the tiles so far, in which a pair ends
    int n_columns_ending = 0;  // columns of the tile that are the last column of a pair
    int columns_ending[V::columns];
    alignas(64) Lane masks[V::columns][V::lanes];

    LastCells(const exaln::PairArgs& pair_args, const PairWorkspace<V>& work)
        : args(pair_args), ends_here(work.ends_here), row_masks(work.row_masks) {
        memset(ends_here, 0, size_t(args.n_rows));
        int n_masks = 0;
        for (int lane = 0; lane < V::lanes && args.last_row; ++lane) {
            const int64_t row = args.query_lengths[lane] - 1 - args.first_row;
            if (row < 0 || row >= args.n_rows) continue;
            if (ends_here[row] == 0) {
                memset(row_masks + n_masks * V::lanes, 0, V::lanes * sizeof(Lane));
                ends_here[row] = uint8_t(++n_masks);
            }
            row_masks[(ends_here[row] - 1) * V::lanes + lane] = Lane(-1);
        }
    }

    int64_t last_column(int lane) const { return args.target_lengths[lane] - args.columns_before[lane]; }

    // Writes all ones to lanes whose pair ends in this column; false if there is none.
    bool make_mask(int64_t column, Lane* mask) const {
        bool any = false;
        for (int lane = 0; lane < V::lanes; ++lane) {
            mask[lane] = last_column(lane) == column ? Lane(-1) : Lane(0);
            any |= mask[lane] != 0;
        }
        return any;
    }

    void enter(int64_t column) {
        n_columns_ending = 0;
        const int64_t end = column + V::columns;
        if (!args.last_column || end < next_end) return;
        for (int c = 0; c < V::columns; ++c)
            if (make_mask(column + c + 1, masks[c])) columns_ending[n_columns_ending++] = c;
        next_end = INT64_MAX;
        for (int lane = 0; lane < V::lanes; ++lane)
            if (last_column(lane) > end && last_column(lane) < next_end) next_end = last_column(lane);
    }

    static EXALN_INLINE void store(Lane* stored, const Lane* mask, typename V::Reg cells) {
        V::store(stored, V::select(V::load(mask), cells, V::load(stored)));
    }

    EXALN_INLINE void store_row(const Tile<V>& tile, int64_t row, int64_t column) const {
        const Lane* mask = row_masks + (ends_here[row] - 1) * V::lanes;
        Lane* stored = static_cast<Lane*>(args.last_row) + column * V::lanes;
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) store(stored + c * V::lanes, mask, tile.H[c]);
    }

    EXALN_INLINE void store_columns(const Lane* cells, int64_t row) const {
        Lane* stored = static_cast<Lane*>(args.last_column) + (args.first_row + row) * V::lanes;
        for (int i = 0; i < n_columns_ending; ++i)
            store(stored, masks[columns_ending[i]], V::load(cells + columns_ending[i] * V::lanes));
    }
};

// Continues the search for the best cell of some lanes through `n` stored cells. before: position of the
// first of them; ends: that of the last cell of the lane's pair. Candidates are all cells up to the end if it
// is free, otherwise only the last one.
template <class V, int width>
struct LastCellFold {
    using Lane = typename V::Lane;
    using Sum = typename std::conditional<sizeof(Lane) <= 2, int32_t, int64_t>::type;
    // Vectors of the compiler: loops over so few lanes are unrolled before they become vectors.
    typedef Sum Sums __attribute__((vector_size(width * sizeof(Sum))));
    typedef Lane Cells __attribute__((vector_size(width * sizeof(Lane))));

    const exaln::PairArgs& args;
    bool is_free;

    EXALN_INLINE void run(const Lane* stored, int64_t n, const int64_t* before, const int64_t* ends,
                          exaln::LastCell* best) const {
        Sums sums, scores, positions, lasts, at;
        for (int i = 0; i < width; ++i) {
            sums[i] = Sum(best[i].sum), scores[i] = Sum(best[i].score), positions[i] = Sum(best[i].position);
            lasts[i] = Sum(ends[i]), at[i] = before ? Sum(before[i]) : 0;
        }
        const auto extend = Sum(args.costs->gap_extend), floor = Sum(args.range.floor);
        for (int64_t k = 0; k < n; ++k, stored += V::lanes) {
            Cells cells;
            memcpy(&cells, stored, sizeof cells);
            const Sums values = __builtin_convertvector(cells, Sums);
            at += 1;
            sums = args.are_differences ? sums + values - extend : values - floor;
            const Sums is_better = is_free ? (at <= lasts) & (sums > scores) : at == lasts;
            scores = (sums & is_better) | (scores & ~is_better);
            positions = (at & is_better) | (positions & ~is_better);
        }
        for (int i = 0; i < width; ++i) best[i] = {sums[i], scores[i], positions[i]};
    }
};

// Continues args.in_row through the last rows of this call, after its last strip.
template <class V>
void search_last_row(const exaln::PairArgs& args) {
    constexpr int width = V::lanes < 16 ? V::lanes : 16;
    const LastCellFold<V, width> fold{args, args.mode.target_end};
    const auto* cells = static_cast<const typename V::Lane*>(args.last_row);
    for (int lane = 0; lane < V::lanes; lane += width)
        fold.run(cells + lane, args.n_columns, args.columns_before + lane, args.target_lengths + lane,
                 args.in_row + lane);
}

// Searches the last columns of the pairs that are marked in `ending`, [lanes]; best: the border, in, and the
// best cell, out, of those and maybe of other lanes.
template <class V>
void search_last_column(const exaln::PairArgs& args, const bool* ending, exaln::LastCell* best) {
    constexpr int width = V::lanes < 8 ? V::lanes : 8;
    const LastCellFold<V, width> fold{args, args.mode.query_end};
    const auto* cells = static_cast<const typename V::Lane*>(args.last_column);
    for (int lane = 0; lane < V::lanes; lane += width) {
        int64_t rows = 0;
        for (int i = lane; i < lane + width; ++i)
            if (ending[i] && args.query_lengths[i] > rows) rows = args.query_lengths[i];
        fold.run(cells + lane, rows, nullptr, args.query_lengths + lane, best + lane);
    }
}

}  // namespace
