// Walking an alignment back over the directions of its cells: the path rule, stated once.
//
// Among co-optimal paths: the diagonal before E before F, opening a gap before extending it. A local path
// starts at the first zero, which is where the score of the part not yet walked reaches 0; any other at the
// first border cell that is free, or in the corner: along a border that is not free it is one gap.
#pragma once

#include "simd/kernels.hpp"

namespace {

// Bits of a cell's directions, see Directions in recurrence.hpp.
constexpr uint8_t FROM_DIAGONAL = 1, FROM_E = 2, EXTENDS_E = 4, EXTENDS_F = 8;

// Takes one step of a path and writes it. bits(row, column) are the directions of a cell, to be tested with
// &, score(row, column) what its letters score: asked for in local mode only.
template <bool is_local, class Bits, class Score>
void step_back(const exaln::Costs& costs, const Bits& bits, const Score& score, exaln::PathState& path,
               uint8_t*& steps) {
    using exaln::PathState;
    auto gap = [&](PathState::Gap kind) {
        path.gap = kind;
        *steps++ = kind == PathState::IN_E ? exaln::STEP_TARGET : exaln::STEP_QUERY;
        --(kind == PathState::IN_E ? path.column : path.row);
    };
    const auto directions = bits(path.row, path.column);
    if (path.gap != PathState::NO_GAP) {
        const bool extends = path.gap == PathState::IN_E ? directions & EXTENDS_E : directions & EXTENDS_F;
        if (is_local) path.left += extends ? costs.gap_extend : costs.gap_first;
        if (extends) {
            gap(path.gap);
        } else {
            path.gap = PathState::NO_GAP;
        }
    } else if (directions & FROM_DIAGONAL) {
        if (is_local) path.left -= score(path.row, path.column);
        --path.row, --path.column;
        *steps++ = exaln::STEP_BOTH;
    } else {
        gap(directions & FROM_E ? PathState::IN_E : PathState::IN_F);
    }
}

// Steps until the path leaves the rows from `first_row` on, or is complete.
template <bool is_local, class Bits, class Score>
void walk_rows(const exaln::Costs& costs, const Bits& bits, const Score& score, int64_t first_row,
               exaln::PathState& path, uint8_t*& steps) {
    while (!path.is_complete(is_local) && path.row >= first_row && path.column >= 0)
        step_back<is_local>(costs, bits, score, path, steps);
}

}  // namespace

namespace exaln {

// From where a path met a border on to its start: at once if that border is free, else in the corner.
inline uint8_t* walk_border(const Mode& mode, PathState& path, uint8_t* steps) {
    if (mode.is_local) return steps;
    for (; path.row < 0 && path.column >= 0 && !mode.target_start; --path.column) *steps++ = STEP_TARGET;
    for (; path.column < 0 && path.row >= 0 && !mode.query_start; --path.row) *steps++ = STEP_QUERY;
    return steps;
}

}  // namespace exaln
