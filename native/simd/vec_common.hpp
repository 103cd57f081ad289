// Shared by all vector wrappers: macros for inlining and unrolling, and the layouts of score rows.
//
// A wrapper is a struct for one instruction set and lane width, with the operations of vec_portable.hpp as
// static functions. Kernels take it as template parameter V.
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

// Scores of one query letter against the 32 codes, one lane each.
template <class Lane>
struct LaneRow {
    alignas(64) Lane scores[64 / sizeof(Lane) < 32 ? 32 : 64 / sizeof(Lane)];

    void set(const int32_t* row) {
        memset(scores, 0, sizeof scores);
        for (int code = 0; code < 32; ++code) scores[code] = Lane(row[code]);
    }
};

// The same for 16-bit scores that are looked up bytewise: low and high bytes separately.
struct PlaneRow {
    alignas(64) uint8_t low[32], high[32];

    void set(const int32_t* row) {
        for (int code = 0; code < 32; ++code) {
            low[code] = uint8_t(row[code] & 255);
            high[code] = uint8_t(row[code] >> 8 & 255);
        }
    }
};

// Lookups one lane at a time, for wrappers without a vector lookup of this width.
template <class Lane, int lanes>
struct ScalarLookup {
    struct Letters {
        uint8_t codes[lanes];
    };
    struct Table {
        const Lane* scores;
    };
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) {
        Letters loaded;
        memcpy(loaded.codes, letters, sizeof loaded.codes);
        return loaded;
    }
    static EXALN_INLINE Table load_table(const LaneRow<Lane>& row) { return {row.scores}; }
};

}  // namespace
