// The steps of an alignment path, and the state of a traceback that is under way.
#pragma once

#include <cstdint>

namespace exaln {

// One column of an alignment: a letter of both sequences, of the query alone (F, CIGAR I), or of the target
// alone (E, CIGAR D).
enum Step : uint8_t { STEP_BOTH = 0, STEP_QUERY = 1, STEP_TARGET = 2 };

// The next cell of a traceback, the score of the path up to and including it, and the gap it is in.
struct PathState {
    enum Gap { NO_GAP, IN_E, IN_F };

    int64_t row, column;  // 0-based; -1 is the border
    int64_t left;         // local mode only: the score that the rest of the path must add up to
    Gap gap = NO_GAP;

    // A local path starts at the first zero, any other path once it has reached a border.
    bool is_complete(bool is_local) const {
        return is_local ? gap == NO_GAP && left == 0 : row < 0 || column < 0;
    }
};

}  // namespace exaln
