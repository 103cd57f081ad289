// Paths: one target per lane as in the group kernel, all against the same query, and the directions of every
// cell are kept.
//
//   directions[tile][row][column of the tile] is four masks, one bit (or, without mask registers, a few) per
//   lane: see Directions in recurrence.hpp. About four bits per cell, written in order; a path is walked back
//   over them, lane by lane.
//
// The scores are known, so the end of the path is the first cell that has the score: smallest column, then
// smallest row. Tiles go by column and all rows of a tile go by before the next, so a later tile never has a
// smaller column.
//
// There are no strips: H and E of all rows are kept, 2 registers each. Range of values: Range in kernels.hpp;
// the caller only asks for scores within it. Tests: tests/test_trace.py.
#pragma once

#include "group_kernel.hpp"
#include "walk.hpp"

namespace {

template <class V>
struct TraceWorkspace {
    GroupWorkspace<V> group;  // state of n_rows instead of STRIP_ROWS, and the profile

    TraceWorkspace(void* memory, int64_t n_rows) : group(memory) {
        group.profile = group.state + n_rows * 2 * V::lanes;
        group.border = nullptr;
    }

    static size_t bytes(int64_t n_rows) {
        return (size_t(n_rows) * 2 * V::lanes + GroupWorkspace<V>::profile_lanes) * sizeof(typename V::Lane);
    }
};

template <class V>
size_t trace_directions(int64_t n_rows, int64_t n_columns) {
    return size_t(n_rows) * size_t(n_columns) * Directions<V>::bytes;
}

template <class V>
EXALN_INLINE const uint8_t* directions_at(const exaln::TraceArgs& args, int64_t row, int64_t column) {
    const int64_t tile = column / V::columns, in_tile = column % V::columns;
    return args.directions + ((tile * args.n_rows + row) * V::columns + in_tile) * Directions<V>::bytes;
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

// The lanes' scores as stored; those without a path get a value that H never has.
template <class V>
typename V::Reg wanted_scores(const exaln::TraceArgs& args, const exaln::Range& range) {
    alignas(64) typename V::Lane wanted[V::lanes];
    for (int lane = 0; lane < V::lanes; ++lane) {
        args.end_rows[lane] = args.end_columns[lane] = -1;
        wanted[lane] =
            typename V::Lane(args.scores[lane] > 0 ? args.scores[lane] + range.floor : range.floor - 1);
    }
    return V::load(wanted);
}

template <class V>
void trace_group(const exaln::TraceArgs& args) {
    using Reg = typename V::Reg;
    const exaln::Range range = exaln::Range::of(*args.costs, 8 * int(sizeof(typename V::Lane)));
    const CellCosts<V> costs(*args.costs, range);
    const Reg wanted = wanted_scores<V>(args, range);
    const GroupWorkspace<V> work = TraceWorkspace<V>(args.workspace, args.n_rows).group;
    const auto* rows = static_cast<const typename V::ScoreRow*>(args.score_rows);
    const uint32_t letters_present = reset_rows<V>(work, args.query, args.n_rows, costs);
    uint8_t* directions = args.directions;
    for (int64_t column = 0; column < args.n_columns; column += V::columns) {
        Tile<V> tile;
        tile.enter(work, column, true, costs);
        fill_profile<V>(work, rows, args.letters + column * V::lanes, letters_present);
        typename V::Lane* state = work.state;
        Reg corner = costs.floor;
        for (int64_t row = 0; row < args.n_rows; ++row, state += 2 * V::lanes) {
            add_scores<V>(tile, work, args.query[row], corner);
            corner = V::load(state);
            Reg E = V::load(state + V::lanes), best = costs.floor;
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c, directions += Directions<V>::bytes) {
                update_cell_traced<V>(tile.H[c], E, tile.F[c], costs).store(directions);
                best = V::max(best, tile.H[c]);
            }
            V::store(state, tile.H[V::columns - 1]);
            V::store(state + V::lanes, E);
            if (V::any(V::equal(best, wanted))) note_ends<V>(args, tile, wanted, row, column);
        }
    }
}

// Writes the steps of a lane's path from its end to its start, and returns how many there are (at most n_rows
// + n_columns), or -1 if the directions do not lead to the score.
template <class V>
int64_t walk_back(const exaln::TraceArgs& args, int lane, uint8_t* steps) {
    PathWalker walker{*args.costs, args.end_rows[lane], args.end_columns[lane], args.scores[lane]};
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
    uint8_t* next = steps;
    while (walker.step(bits, score, next)) {
    }
    return walker.is_complete() ? next - steps : -1;
}

}  // namespace
