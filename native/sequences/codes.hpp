// Encoded sequences, joined in one array, and the check that all their codes are below MAX_CODES.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "recurrence/costs.hpp"

namespace exaln {

// n sequences of codes; sequence i is codes[offsets[i] .. offsets[i + 1]).
struct Sequences {
    const uint8_t* codes;
    const int64_t* offsets;
    int64_t n;

    int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
    const uint8_t* at(int64_t i) const { return codes + offsets[i]; }
};

// Throws std::invalid_argument if a code is 32 or more, given all codes joined by `or`.
inline void require_code_bits(uint8_t joined_codes) {
    static_assert(MAX_CODES == 32);
    if (joined_codes & ~(MAX_CODES - 1)) throw std::invalid_argument("a sequence holds a code of 32 or more");
}

// Throws std::invalid_argument if one of the n codes is 32 or more.
inline void require_codes(const uint8_t* codes, int64_t n) {
    uint8_t joined = 0;
    for (int64_t i = 0; i < n; ++i) joined |= codes[i];
    require_code_bits(joined);
}

}  // namespace exaln
