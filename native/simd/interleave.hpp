// Targets side by side: [column][lane] from rows of codes, eight lanes and sixteen columns at a time.
#pragma once

#include <cstdint>

namespace exaln {

// Writes n_columns x lanes codes to `out`; beyond a row's end, and for lanes without a row, `pad`. lanes must
// be a multiple of 4. Never reads past a row's end. Throws std::invalid_argument if a code is 32 or more.
void interleave(const uint8_t* const* rows, const int64_t* lengths, int n_rows, int lanes, int64_t n_columns,
                uint8_t pad, uint8_t* out);

// Throws std::invalid_argument if a code is 32 or more.
void require_codes(const uint8_t* codes, int64_t n);

}  // namespace exaln
