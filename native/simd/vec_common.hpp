// What every vector wrapper shares: forced inlining and unrolling, and the score rows that are laid out as
// bytes.
#pragma once

#include <cstdint>
#include <cstring>

#define EXALN_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define EXALN_UNROLL _Pragma("unroll")
#define EXALN_UNROLL_LANES _Pragma("unroll")
#else
#define EXALN_UNROLL _Pragma("GCC unroll 8")
#define EXALN_UNROLL_LANES _Pragma("GCC unroll 64")
#endif

namespace {

// Scores of one query letter against the 32 codes, as lanes of one type.
template <class Lane>
struct LaneRow {
    alignas(64) Lane scores[64 / sizeof(Lane) < 32 ? 32 : 64 / sizeof(Lane)];

    void set(const int32_t* row) {
        memset(scores, 0, sizeof scores);
        for (int code = 0; code < 32; ++code) scores[code] = Lane(row[code]);
    }
};

// The same for 16-bit scores looked up a byte at a time: low and high bytes apart.
struct PlaneRow {
    alignas(64) uint8_t low[32], high[32];

    void set(const int32_t* row) {
        for (int code = 0; code < 32; ++code) {
            low[code] = uint8_t(row[code] & 255);
            high[code] = uint8_t(row[code] >> 8 & 255);
        }
    }
};

}  // namespace
