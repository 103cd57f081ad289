// Tile kernel: a tile of one pair's table in local mode, its rows spread over the lanes as in
// scan/striped_kernel.hpp, from the values on its top and left to those on its bottom and right.
//
// clang-format off
//              top_H, top_F              The table of a pair is a grid of tiles (pairs/grid.hpp). Within a tile
//            +---------------+           the state is overwritten column by column, or all columns are kept
//   H, E     |  column by    |  H, E     for a traceback.
//   before   |  column       |  after
//            +---------------+           A pair of letters that must not be aligned has the lowest value of
//           bottom_H, bottom_F           the lane as its score: H without it is not above 0.
// clang-format on
//
// Gaps that cross lanes: F leaves the last segment of each lane and enters the next lane in a second pass
// over the column, which ends where F no longer matters in any lane: where it is not above 0, and not above
// what a gap that opens here gives. Few columns get beyond its first segment. If it goes through all
// segments, F may cross several lanes: a scan over the lanes, each n_segments * gap_extend from the next,
// has what enters each, and one more pass is complete.
//
// Rows beyond the last score the lowest value too. What they hold came through gaps, so it is not above the
// last row in the same column, or above rows to its left less the same gap, and never the tile's maximum.
// Range of values and overflow: TileRange in recurrence/ranges.hpp. Tests: tests/engines/test_several.py.
#pragma once

#include "pairs/tile_args.hpp"
#include "recurrence/cell.hpp"

namespace {

template <class V>
constexpr typename V::Lane highest_lane() {
    return typename V::Lane((uint64_t(1) << (8 * sizeof(typename V::Lane) - 1)) - 1);
}

// The striped scores of every letter, [n_codes][n_segments][lanes], for rows with these striped letters.
template <class V>
void make_tile_scores(const exaln::Costs& costs, const uint8_t* letters, int64_t n_segments, void* scores) {
    using Lane = typename V::Lane;
    Lane* out = static_cast<Lane*>(scores);
    for (int code = 0; code < costs.n_codes; ++code) {
        int32_t row[exaln::MAX_CODES];
        for (int query = 0; query < exaln::MAX_CODES; ++query) row[query] = costs.scores[query][code];
        row[costs.pad] = -int32_t(highest_lane<V>()) - 1;
        typename V::ScoreRow made;
        V::make_score_row(row, made);
        const typename V::Table table = V::load_table(made);
        for (int64_t segment = 0; segment < n_segments; ++segment, out += V::lanes)
            V::store(out, V::lookup(table, V::load_letters(letters + segment * V::lanes)));
    }
}

// For each lane the greatest F that leaves it or a lane above it, less what the way costs. F is at least 0.
template <class V, int bytes = sizeof(typename V::Lane)>
EXALN_INLINE typename V::Reg scan_lanes(typename V::Reg F, int64_t cost, typename V::Reg floor) {
    if constexpr (bytes < int(sizeof(typename V::Reg))) {
        constexpr int64_t most = highest_lane<V>();
        const auto way = V::fill(typename V::Lane(cost < most ? cost : most));
        F = V::max(F, V::sub(V::template shift_up<bytes>(F, floor), way));
        return scan_lanes<V, 2 * bytes>(F, 2 * cost, floor);
    } else {
        return F;
    }
}

// Carries F through the segments of a column. False once it matters in no lane.
template <class V>
EXALN_INLINE bool carry_through(const exaln::TileArgs& args, typename V::Lane* H, typename V::Lane* E,
                                typename V::Reg F, const CellCosts<V>& costs) {
    for (int64_t at = 0; at < args.n_segments * V::lanes; at += V::lanes) {
        const typename V::Reg known = V::load(H + at);
        if (!V::any_greater(F, V::max(V::sub(known, costs.gap_first), costs.floor))) return false;
        const typename V::Reg raised = V::max(known, F);
        V::store(H + at, raised);
        V::store(E + at, V::max(V::load(E + at), V::sub(raised, costs.gap_first)));
        F = V::max(V::sub(F, costs.gap_extend), costs.no_gap);
    }
    return true;
}

// Carries F, which leaves each lane, into the lanes below. Returns F that leaves them, right in the last lane
// where it is above 0.
template <class V>
EXALN_INLINE typename V::Reg carry_all(const exaln::TileArgs& args, typename V::Lane* H, typename V::Lane* E,
                                       typename V::Reg F, const CellCosts<V>& costs) {
    if (!carry_through<V>(args, H, E, V::shift_in(F, 0), costs)) return F;
    F = scan_lanes<V>(V::max(F, costs.floor), args.n_segments * args.costs->gap_extend, costs.floor);
    carry_through<V>(args, H, E, V::shift_in(F, 0), costs);
    return F;
}

template <class V>
EXALN_INLINE typename V::Lane last_lane(typename V::Reg values) {
    alignas(64) typename V::Lane stored[V::lanes];
    V::store(stored, values);
    return stored[V::lanes - 1];
}

// Returns the maximum of H, above TileRange::limit if values may have overflowed.
template <class V>
int64_t fill_tile(const exaln::TileArgs& args) {
    using Reg = typename V::Reg;
    using Lane = typename V::Lane;
    const CellCosts<V> costs(*args.costs, exaln::Range{0, 0, true});
    Lane *H = static_cast<Lane*>(args.H), *E = static_cast<Lane*>(args.E);
    const Lane *top_H = static_cast<const Lane*>(args.top_H), *top_F = static_cast<const Lane*>(args.top_F);
    const int64_t last = (args.n_segments - 1) * V::lanes;
    Reg best = costs.floor;
    for (int64_t column = 0; column < args.n_columns; ++column) {
        const Lane* const scores = static_cast<const Lane*>(args.scores[column]);
        Lane *const next_H = H + args.stride, *const next_E = E + args.stride;
        Reg diagonal = V::shift_in(V::load(H + last), top_H ? top_H[column] : Lane(0));
        Reg F = top_F ? V::shift_in(costs.no_gap, top_F[column]) : costs.no_gap;
        for (int64_t at = 0; at <= last; at += V::lanes) {
            Reg cell = V::add(diagonal, V::load(scores + at)), gap = V::load(E + at);
            diagonal = V::load(H + at);
            update_cell_in_column<V>(cell, gap, F, best, costs);
            V::store(next_H + at, cell);
            V::store(next_E + at, gap);
        }
        F = carry_all<V>(args, next_H, next_E, F, costs);
        if (args.bottom_H) {
            static_cast<Lane*>(args.bottom_H)[column] = next_H[last + V::lanes - 1];
            static_cast<Lane*>(args.bottom_F)[column] = last_lane<V>(V::max(F, costs.floor));
        }
        H = next_H, E = next_E;
    }
    alignas(64) Lane lanes[V::lanes];
    V::store(lanes, best);
    Lane greatest = 0;
    for (const Lane lane : lanes) greatest = lane > greatest ? lane : greatest;
    return greatest;
}

}  // namespace
