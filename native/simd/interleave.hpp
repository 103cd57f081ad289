// Puts sequences side by side, one per lane: rows of codes become [column][lane].
#pragma once

#include <cstdint>

namespace exaln {

// Writes n_columns x lanes codes to `out`, with `pad` beyond the end of a row and in lanes without a row;
// columns are `stride` codes apart. lanes must be a multiple of 4, at most 64. Never reads past the end of a
// row. Throws std::invalid_argument if a code is 32 or more.
void interleave(const uint8_t* const* rows, const int64_t* lengths, int n_rows, int lanes, int stride,
                int64_t n_columns, uint8_t pad, uint8_t* out);

}  // namespace exaln
