// Traceback of an alignment over the directions of its cells: the path rule, stated once.
//
// Among co-optimal paths: the diagonal before E before F, opening a gap before extending it. A local path
// starts at the first zero, where the remaining score reaches 0. Any other path starts at the first free
// border cell, or in the corner; along a border that is not free it is one gap.
#pragma once

#include <cstdint>

#include "pairs/path.hpp"
#include "recurrence/costs.hpp"
#include "recurrence/modes.hpp"

namespace {

// Bits of a cell's directions; see Directions in recurrence/cell.hpp.
constexpr uint8_t FROM_DIAGONAL = 1, FROM_E = 2, EXTENDS_E = 4, EXTENDS_F = 8;

// Takes one step of a path and writes it. bits(row, column) returns the directions of a cell, to be tested
// with &; score(row, column) returns the score of its letters and is called in local mode only.
template <bool is_local, class Bits, class Score>
void trace_step(const exaln::Costs& costs, const Bits& bits, const Score& score, exaln::PathState& path,
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

// Follows the path until it is complete or leaves the rows from `first_row` on.
template <bool is_local, class Bits, class Score>
void trace_rows(const exaln::Costs& costs, const Bits& bits, const Score& score, int64_t first_row,
                exaln::PathState& path, uint8_t*& steps) {
    while (!path.is_complete(is_local) && path.row >= first_row && path.column >= 0)
        trace_step<is_local>(costs, bits, score, path, steps);
}

}  // namespace

namespace exaln {

// Follows the path from the border to its start: the same cell if the border is free, otherwise the corner.
// Returns the position behind the last step.
inline uint8_t* trace_border(const Mode& mode, PathState& path, uint8_t* steps) {
    if (mode.is_local) return steps;
    for (; path.row < 0 && path.column >= 0 && !mode.target_start; --path.column) *steps++ = STEP_TARGET;
    for (; path.column < 0 && path.row >= 0 && !mode.query_start; --path.row) *steps++ = STEP_QUERY;
    return steps;
}

}  // namespace exaln
