// Paths: one target per lane as in the group kernel, all against the same query, and the directions of the
// cells are kept.
//
//   directions[tile][row of the strip][column of the tile] is four masks, one bit (or, without mask
//   registers, a few) per lane: see Directions in recurrence.hpp. About four bits per cell, written in order;
//   a path is walked back over them, lane by lane.
//
// The scores are known, so the end of the path is the first cell that has the score: smallest column, then
// smallest row. Strips go from top to bottom, tiles of a strip by column, and all rows of a tile go by before
// the next.
//
// Pairs whose directions would take too much memory are cut into strips of rows: a first pass over all strips
// keeps no directions but the border between strips (2 registers a column) and finds the ends; then the
// strips that paths run through are computed again from the bottom up, with directions. The cells are the
// same, and so is the path.
//
// Range of values: Range in kernels.hpp; the caller only asks for scores within it. Tests:
// tests/test_trace.py.
#pragma once

#include "group_kernel.hpp"
#include "walk.hpp"

namespace {

template <class V>
struct TraceWorkspace {
    // The state of n_rows instead of STRIP_ROWS, and the profile; borders are the caller's.
    static GroupWorkspace<V> at(void* memory, int64_t n_rows) {
        GroupWorkspace<V> work(memory);
        work.profile = work.state + n_rows * 2 * V::lanes;
        work.border = nullptr;
        return work;
    }

    static size_t bytes(int64_t n_rows) {
        return (size_t(n_rows) * 2 * V::lanes + GroupWorkspace<V>::profile_lanes) * sizeof(typename V::Lane);
    }
};

template <class V>
size_t trace_border(int64_t n_columns) {
    return size_t(n_columns) * 2 * V::lanes * sizeof(typename V::Lane);
}

template <class V>
size_t trace_directions(int64_t n_rows, int64_t n_columns) {
    return size_t(n_rows) * size_t(n_columns) * Directions<V>::bytes;
}

template <class V>
EXALN_INLINE const uint8_t* directions_at(const exaln::TraceArgs& args, int64_t row, int64_t column) {
    const int64_t tile = column / V::columns, in_tile = column % V::columns;
    const int64_t cell = (tile * args.n_rows + row - args.first_row) * V::columns + in_tile;
    return args.directions + cell * Directions<V>::bytes;
}

// Notes, for each lane that has its score in this row of the tile, where: unless it was seen in a smaller
// column before.
template <class V>
void note_ends(const exaln::TraceArgs& args, const Tile<V>& tile, typename V::Reg wanted, int64_t row,
               int64_t column) {
    uint8_t mask[V::mask_bytes];
    for (int c = V::columns - 1; c >= 0; --c) {
        V::store_mask(mask, V::equal(tile.H[c], wanted));
        for (int lane = 0; lane < V::lanes; ++lane) {
            const bool is_first = args.end_columns[lane] < 0 || column + c < args.end_columns[lane];
            if (V::test(mask, lane) && is_first)
                args.end_rows[lane] = row, args.end_columns[lane] = column + c;
        }
    }
}

// Whether the ends of all paths lie in columns up to this one: what is right of them is not needed.
template <class V>
bool all_ends_before(const exaln::TraceArgs& args, int64_t column) {
    if (!args.end_rows) return false;
    for (int lane = 0; lane < V::lanes; ++lane) {
        const bool is_known = args.end_columns[lane] >= 0 && args.end_columns[lane] < column;
        if (args.scores[lane] > 0 && !is_known) return false;
    }
    return true;
}

// The lanes' scores as stored; those without a path get a value that H never has.
template <class V>
typename V::Reg wanted_scores(const exaln::TraceArgs& args, const exaln::Range& range) {
    alignas(64) typename V::Lane wanted[V::lanes];
    for (int lane = 0; lane < V::lanes; ++lane) {
        const bool is_wanted = args.end_rows && args.scores[lane] > 0;
        wanted[lane] = typename V::Lane(is_wanted ? args.scores[lane] + range.floor : range.floor - 1);
    }
    return V::load(wanted);
}

template <class V, bool keeps_directions>
void trace_rows(const exaln::TraceArgs& args) {
    using Reg = typename V::Reg;
    using Lane = typename V::Lane;
    const exaln::Range range = exaln::Range::of(*args.costs, 8 * int(sizeof(Lane)));
    const CellCosts<V> costs(*args.costs, range);
    const Reg wanted = wanted_scores<V>(args, range);
    GroupWorkspace<V> above = TraceWorkspace<V>::at(args.workspace, args.n_rows), below = above;
    above.border = static_cast<Lane*>(const_cast<void*>(args.border_above));
    below.border = static_cast<Lane*>(args.border_below);
    const auto* rows = static_cast<const typename V::ScoreRow*>(args.score_rows);
    const uint8_t* query = args.query + args.first_row;
    const uint32_t letters_present = reset_rows<V>(above, query, args.n_rows, costs);
    uint8_t* directions = args.directions;
    Reg left_corner = costs.floor;
    bool is_done = false;
    for (int64_t column = 0; column < args.n_columns && !is_done; column += V::columns) {
        Tile<V> tile;
        bool has_ends = false;
        tile.enter(above, column, args.border_above == nullptr, costs);
        fill_profile<V>(above, rows, args.letters + column * V::lanes, letters_present);
        Lane* state = above.state;
        Reg corner = left_corner;
        left_corner = tile.H[V::columns - 1];
        for (int64_t row = 0; row < args.n_rows; ++row, state += 2 * V::lanes) {
            add_scores<V>(tile, above, query[row], corner);
            corner = V::load(state);
            Reg E = V::load(state + V::lanes), best = costs.floor;
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) {
                if (keeps_directions) {
                    update_cell_traced<V>(tile.H[c], E, tile.F[c], costs).store(directions);
                    directions += Directions<V>::bytes;
                    best = V::max(best, tile.H[c]);
                } else {
                    update_cell<V>(tile.H[c], E, tile.F[c], best, costs);
                }
            }
            V::store(state, tile.H[V::columns - 1]);
            V::store(state + V::lanes, E);
            if (V::any(V::equal(best, wanted))) {
                note_ends<V>(args, tile, wanted, args.first_row + row, column);
                has_ends = true;
            }
        }
        if (has_ends && !args.border_below) is_done = all_ends_before<V>(args, column + V::columns);
        if (args.border_below) tile.leave(below, column);
    }
}

template <class V>
void trace_strip(const exaln::TraceArgs& args) {
    if (args.directions) {
        trace_rows<V, true>(args);
    } else {
        trace_rows<V, false>(args);
    }
}

// Walks a lane's path back until it leaves the strip or is complete, and returns where the next step is to be
// written.
template <class V>
uint8_t* walk_back(const exaln::TraceArgs& args, int lane, exaln::PathState& path, uint8_t* steps) {
    auto bits = [&](int64_t row, int64_t column) {
        const uint8_t* masks = directions_at<V>(args, row, column);
        uint8_t found = 0;
        for (int which = 0; which < 4; ++which)
            found |= uint8_t(V::test(masks + which * V::mask_bytes, lane) << which);
        return found;
    };
    auto score = [&](int64_t row, int64_t column) {
        return args.costs->scores[args.query[row]][args.letters[column * V::lanes + lane]];
    };
    while (!path.is_complete() && path.row >= args.first_row && path.column >= 0)
        step_back(*args.costs, bits, score, path, steps);
    return steps;
}

}  // namespace
