// Walking an alignment back over the directions of its cells: the path rule, stated once.
//
// Among co-optimal paths: the diagonal before E before F, opening a gap before extending it; the path starts
// at the first zero, which is where the score of the part not yet walked reaches 0.
#pragma once

#include "kernels.hpp"

namespace {

// Bits of a cell's directions, see Directions in recurrence.hpp.
constexpr uint8_t FROM_DIAGONAL = 1, FROM_E = 2, EXTENDS_E = 4, EXTENDS_F = 8;

struct PathWalker {
    enum State { IN_H, IN_E, IN_F };

    const exaln::Costs& costs;
    int64_t row,
        column;    // of the cell to be looked at; after the last step, one before the first cell of the path
    int64_t left;  // score of the path up to here
    State state = IN_H;

    bool is_complete() const { return state == IN_H && left == 0; }

    // Takes one step and writes it; false if there is none to take. bits(row, column) are the directions of a
    // cell, score(row, column) what its letters score.
    template <class Bits, class Score>
    bool step(const Bits& bits, const Score& score, uint8_t*& steps) {
        if (is_complete() || row < 0 || column < 0) return false;
        const uint8_t directions = bits(row, column);
        if (state == IN_E || state == IN_F) {
            const bool extends = directions & (state == IN_E ? EXTENDS_E : EXTENDS_F);
            left += extends ? costs.gap_extend : costs.gap_first;
            if (extends) {
                gap(state, steps);
            } else {
                state = IN_H;
            }
        } else if (directions & FROM_DIAGONAL) {
            left -= score(row--, column--);
            *steps++ = exaln::STEP_BOTH;
        } else {
            gap(directions & FROM_E ? IN_E : IN_F, steps);
        }
        return true;
    }

  private:
    void gap(State kind, uint8_t*& steps) {
        state = kind;
        *steps++ = kind == IN_E ? exaln::STEP_TARGET : exaln::STEP_QUERY;
        --(kind == IN_E ? column : row);
    }
};

}  // namespace
