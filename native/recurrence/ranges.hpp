// Which values a lane must hold: how scores are stored in signed lanes, and the proofs that an overflow is
// either impossible or detected. One struct per way of storing them.
#pragma once

#include <cstdint>

#include "recurrence/costs.hpp"

namespace exaln {

constexpr int32_t OVERFLOWED = -1;  // returned instead of a score that may not be exact

// The most that a value formed from H can lie below it: E or F opened and then extended, or a mismatch.
inline int64_t max_drop(const Costs& costs) {
    const int64_t gap = int64_t(costs.gap_first) + costs.gap_extend;
    return gap > -int64_t(costs.min_score) ? gap : -int64_t(costs.min_score);
}

// Scores stored as stored = score + floor; a lane is exact while stored <= limit.
//
// Additions wrap, so no intermediate value may leave the lane. Let lo and hi be the ends of the lane.
//   Lower end: no value is below floor - max_drop, so floor = lo + max_drop keeps all of them >= lo.
//   Upper end: no value is above H + max_score. While every H is <= limit = hi - max_score, all are <= hi and
//   exact. The first H above the limit is still exact, and it lifts the running maximum above the limit,
//   where it stays whatever wraps afterwards.
// So "maximum <= limit" proves every value, and "maximum > limit" is never missed. At 32 bits the floor is 0,
// so that every exact score is an int32.
struct Range {
    int64_t floor;
    int64_t limit;
    bool usable;  // the width leaves room for at least two matches

    // Local mode.
    static Range of(const Costs& costs, int bits) {
        const int64_t lo = -(int64_t(1) << (bits - 1)), hi = -lo - 1;
        const int64_t drop = max_drop(costs);
        const int64_t floor = bits == 32 ? 0 : lo + drop;
        const int64_t limit = hi - costs.max_score;
        return {floor, limit, floor + 2 * int64_t(costs.max_score) <= limit && lo + drop <= 0};
    }

    // Modes without a floor, for a table of rows x columns cells. Two gaps reach every cell, so no H is below
    // -(2 * gap_first + (rows + columns) * gap_extend), and no H is above min(rows, columns) * max_score. If
    // both ends fit the lane, nothing overflows and the limit is never passed.
    static Range of(const Costs& costs, int bits, int64_t rows, int64_t columns) {
        const int64_t lo = -(int64_t(1) << (bits - 1)), hi = -lo - 1;
        const int64_t lowest =
            2 * int64_t(costs.gap_first) + (rows + columns) * costs.gap_extend + max_drop(costs);
        const int64_t highest = (rows < columns ? rows : columns) * costs.max_score;
        return {lo + lowest, hi, lowest + highest <= hi - lo && lowest <= hi};
    }

    // The column kernel, in any mode: E and F may be carried on through `rows` rows without being raised by
    // H, which takes rows * gap_extend more at the lower end. `no_gap` returns a value that is below every E
    // and F and may be carried on as far.
    static Range of_columns(const Costs& costs, int bits, int64_t rows, int64_t columns, bool is_local) {
        const int64_t carried = rows * costs.gap_extend;
        Range range = is_local ? of(costs, bits) : of(costs, bits, rows + rows, columns);
        if (!is_local) return range;
        range.floor = -(int64_t(1) << (bits - 1)) + max_drop(costs) + carried;
        range.usable = range.floor + 2 * int64_t(costs.max_score) <= range.limit;
        return range;
    }
    static int64_t no_gap(const Costs& costs, int bits, int64_t rows) {
        return -(int64_t(1) << (bits - 1)) + (rows + 1) * costs.gap_extend;
    }

    // The differences of recurrence/cell.hpp, for tables of any size. Adding a letter to one sequence changes
    // a score by at least -gap_first and at most max_score + gap_first, so
    //   u, v  lie in [gap_extend - gap_first, max_score + gap_first + gap_extend]
    //   z     lies in [2 (gap_extend - gap_first), max_score + gap_first + 2 gap_extend]
    //   w     is z - (gap_first - gap_extend);  a, b, max(a, w) and max(b, w) lie between w and z.
    // This holds for any letters, and so for the cells that a lane computes beyond the end of its pair.
    static Range of_differences(const Costs& costs, int bits) {
        const int64_t lo = -(int64_t(1) << (bits - 1)), hi = -lo - 1;
        const int64_t twice = 2 * (int64_t(costs.gap_first) + costs.gap_extend);
        const int64_t lowest = 3 * (int64_t(costs.gap_extend) - costs.gap_first);
        return {0, hi, costs.max_score + twice <= hi && costs.min_score >= lo && lowest >= lo};
    }
};

// Local scores relative to a base per lane, for blocks of a few rows and columns (pairs/bases.hpp): the
// number of rows in a block, and the value that stands for H of its corner, above and to the left of the
// block.
//
// Going k letters further in one sequence lowers H by at most fall(k) = gap_first + (k - 1) gap_extend, since
// a gap of length k is one way to go. It raises H by at most rise(k) = k max_score + fall(k): take the
// alignment that ends there, cut off its part beyond the k letters (at most k pairs), and put a gap where the
// other sequence had letters in that part. An alignment that ends inside the block enters it from the row
// above or the column to the left, k letters from the corner, with at most rise(k) more than the corner has,
// and gains at most max_score per remaining letter on that side. So no H exceeds the corner by more than
// max(rise(rows), rise(columns)), and none is below it by more than fall(rows) + fall(columns). A value
// formed from H is higher by at most max_score and lower by at most max_drop. If both ends fit the lane,
// nothing overflows.
struct BlockRange {
    int64_t rows, corner;
    bool usable;

    static constexpr int64_t MAX_ROWS = 32, MIN_ROWS = 4;

    static BlockRange of(const Costs& costs, int bits, int64_t columns) {
        const int64_t lo = -(int64_t(1) << (bits - 1)), hi = -lo - 1;
        const auto fall = [&](int64_t k) { return costs.gap_first + (k - 1) * int64_t(costs.gap_extend); };
        const auto rise = [&](int64_t k) { return k * costs.max_score + fall(k); };
        const int64_t drop = max_drop(costs);
        for (int64_t rows = MAX_ROWS; rows >= MIN_ROWS; --rows) {
            const int64_t above = rise(rows > columns ? rows : columns) + costs.max_score;
            const int64_t below =
                fall(rows) + fall(columns) + drop + 1;  // the lane's lowest value stays unused
            if (above + below <= hi - lo) return {rows, lo + below, true};
        }
        return {0, 0, false};
    }
};

// Local scores without a bias, for the tile kernel (pairs/tile_kernel.hpp): a lane is exact while it is at
// most `limit`.
//
// H is at least 0, so that adding the lowest value of the lane to it does not wrap and is below 0: the score
// of a pair that must not be aligned. E and F are at least -gap_first where they enter a cell, and one more
// gap_extend is taken from them; the upper end is that of Range. Values that come from other tiles are those
// of exact cells. So "maximum <= limit" in all tiles proves every value. Forbidding pairs only lowers values,
// so that a table that has fitted a width once always fits it.
struct TileRange {
    int64_t limit;
    bool usable;

    static TileRange of(const Costs& costs, int bits) {
        const int64_t highest = (int64_t(1) << (bits - 1)) - 1;
        return {highest - costs.max_score,
                max_drop(costs) <= highest && 2 * int64_t(costs.max_score) <= highest};
    }
};

// Scores of a strip whose lanes have bases of their own: stored = score - base (long/strip_kernel.hpp).
//
// Neighbouring H differ by at most D = max_score + gap_first, because adding or removing one letter changes a
// score by no more (see Range::of_differences). E and F lie between H - gap_first and H of the cell they come
// from. The anchor of a lane is the H above the last column of its tile. All H of one step, lane_rows x
// columns cells with the row above and the column to the left, lie within (lane_rows + columns) D of the
// anchor. `reach` adds to that the change of one update, columns * max_score for the bound on a step's
// scores, and 2 D beside boundaries that were raised (long/boundary.hpp). While every anchor is within
// anchor_limit of 0, no value leaves its lane.
struct StripRange {
    int64_t anchor_limit;
    bool usable;

    static StripRange of(const Costs& costs, int bits, int64_t lane_rows, int64_t columns) {
        const int64_t highest = (int64_t(1) << (bits - 1)) - 1;
        const int64_t step = int64_t(costs.max_score) + costs.gap_first;
        const int64_t update = step + costs.gap_extend - int64_t(costs.min_score);
        const int64_t reach = (lane_rows + 2 * columns + 2) * step + update;
        return {highest - reach, reach <= highest / 2};
    }
};

}  // namespace exaln
