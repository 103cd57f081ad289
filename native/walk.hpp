// Walking an alignment back over the directions of its cells: the path rule, stated once.
//
// Among co-optimal paths: the diagonal before E before F, opening a gap before extending it; the path starts
// at the first zero, which is where the score of the part not yet walked reaches 0.
#pragma once

#include "kernels.hpp"

namespace {

// Bits of a cell's directions, see Directions in recurrence.hpp.
constexpr uint8_t FROM_DIAGONAL = 1, FROM_E = 2, EXTENDS_E = 4, EXTENDS_F = 8;

// Takes one step of a path and writes it. bits(row, column) are the directions of a cell, score(row, column)
// what its letters score.
template <class Bits, class Score>
void step_back(const exaln::Costs& costs, const Bits& bits, const Score& score, exaln::PathState& path,
               uint8_t*& steps) {
    using exaln::PathState;
    auto gap = [&](PathState::Gap kind) {
        path.gap = kind;
        *steps++ = kind == PathState::IN_E ? exaln::STEP_TARGET : exaln::STEP_QUERY;
        --(kind == PathState::IN_E ? path.column : path.row);
    };
    const uint8_t directions = bits(path.row, path.column);
    if (path.gap != PathState::NO_GAP) {
        const bool extends = directions & (path.gap == PathState::IN_E ? EXTENDS_E : EXTENDS_F);
        path.left += extends ? costs.gap_extend : costs.gap_first;
        if (extends) {
            gap(path.gap);
        } else {
            path.gap = PathState::NO_GAP;
        }
    } else if (directions & FROM_DIAGONAL) {
        path.left -= score(path.row--, path.column--);
        *steps++ = exaln::STEP_BOTH;
    } else {
        gap(directions & FROM_E ? PathState::IN_E : PathState::IN_F);
    }
}

}  // namespace
