// Letters as classes, where the matrix only distinguishes matches from mismatches.
#pragma once

#include <cstdint>

#include "recurrence/costs.hpp"

namespace exaln {

// Letters of the same class score `match`, others `mismatch`. Such classes exist if the matrix has no more
// than two scores for the letters in use and they are consistent with classes.
struct LetterClasses {
    bool exist = false;
    int32_t match = 0, mismatch = 0;
    uint8_t of_query[MAX_CODES], of_target[MAX_CODES];  // of letters and of the padding code
    bool are_codes = true;                              // every letter is its own class
    bool are_few = true;                                // all classes are below MAX_CLASSES

    // The padding classes differ from each other and from all other classes, within the three bits that the
    // kernels have for a class.
    static constexpr uint8_t MAX_CLASSES = 6, QUERY_PAD = 6, TARGET_PAD = 7;

    // letters: bit a for each letter a in use.
    static LetterClasses of(const Costs& costs, uint32_t letters, bool is_local);
};

}  // namespace exaln
