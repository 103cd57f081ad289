// Two scores in a 32-bit word, and the range in which they are exact.
//
// Both number types have the same functions, so the recurrence is written once. H is never negative; E, F and
// the score of a diagonal step may be.
//
// When is the best score of a pair exact? Let MAX be the largest number that the type holds exactly, and w
// the highest score of two letters.
//
//   1. A cell can only be wrong if some diagonal step t = d + w(a, b) exceeded MAX at or before it.
//   2. For the first such step, d = t - w(a, b) > MAX - w, and d is the H of a cell that is exact.
//   3. H is 0 or comes from a diagonal step, less the cost of gaps, and every diagonal step goes into `best`.
//      So best >= d > MAX - w.
//
// Hence best <= MAX - w proves that all cells are exact. Pairs above that limit are scored again in 32 bits.
// `best` never decreases, so a wrong number cannot hide.
//
// Lower end: E and F start at -GAP_FIRST or 0 at the least, and GAP_EXTEND is subtracted at most once before
// the next maximum. -32768 or -infinity (IMPOSSIBLE in scan/layout.py) is added only to scores of at least 0.
// With costs up to MAX_COST in scan/variants.py nothing leaves the range. E and F may start at 0 instead of
// less, because they count only where they are above 0.

#pragma once

#include "constants.cuh"

using Word = unsigned;

// Four bytes of two words, selected by the hexadecimal digits of `places`: 0 .. 3 of the first word, 4 .. 7
// of the second. A digit with the highest bit set repeats the sign of its byte.
__device__ __forceinline__ Word chosen_bytes(Word first, Word second, unsigned places) {
    Word chosen;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(chosen) : "r"(first), "r"(second), "r"(places));
    return chosen;
}

template <bool has_dpx>
struct PackedNumber;

// int16, for devices with DPX: additions and maxima run on different pipes.
template <>
struct PackedNumber<true> {
    static constexpr int MAX = 32767;

    static __device__ constexpr Word half_of(int score) { return Word(score) & 0xFFFFu; }
    static __device__ constexpr Word both(int score) { return half_of(score) * 0x10001u; }
    static __device__ int low(Word a) { return short(a & 0xFFFFu); }
    static __device__ int high(Word a) { return int(a) >> 16; }
    static __device__ Word add(Word a, Word b) {
#if __CUDA_ARCH__ >= 900
        Word sum;
        asm("add.s16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
        return sum;
#else
        return __vadd2(a, b);
#endif
    }
    static __device__ Word diagonal(Word d, Word w) { return add(d, w); }
    static __device__ Word cell(Word t, Word E, Word F) { return __vimax3_s16x2_relu(t, E, F); }
    static __device__ Word add_max(Word a, Word b, Word c) { return __viaddmax_s16x2(a, b, c); }
    static __device__ Word max2(Word a, Word b) { return __vmaxs2(a, b); }
    static __device__ Word max3(Word a, Word b, Word c) { return __vimax3_s16x2(a, b, c); }
};

// fp16, the fastest type before compute capability 9.0. Whole numbers are exact up to 2048.
template <>
struct PackedNumber<false> {
    static constexpr int MAX = 2048;

    static __device__ constexpr Word half_of(int score) {  // a whole number up to 2048
        if (score == 0) return 0;
        const Word sign = score < 0 ? 0x8000u : 0u;
        Word magnitude = Word(score < 0 ? -score : score);
        Word exponent = 25;
        while (magnitude < 1024) magnitude <<= 1, --exponent;
        while (magnitude >= 2048) magnitude >>= 1, ++exponent;
        return sign | exponent << 10 | (magnitude & 1023u);
    }
    static __device__ constexpr Word both(int score) { return half_of(score) * 0x10001u; }
    static __device__ int low(Word a) {
        int whole;
        asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.rni.s32.f16 %0, l;}" : "=r"(whole) : "r"(a));
        return whole;
    }
    static __device__ int high(Word a) { return low(a >> 16); }
    static __device__ Word add(Word a, Word b) {
        Word sum;
        asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
        return sum;
    }
    static __device__ Word diagonal(Word d, Word w) {
#if __CUDA_ARCH__ >= 800
        Word sum;
        asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(d), "r"(0x3C003C00u), "r"(w));
        return sum;
#else
        return max2(add(d, w), 0);
#endif
    }
    // t is at least 0. F may be NaN, which must lose: it comes first, as max2 returns the second operand if
    // the comparison is false.
    static __device__ Word cell(Word t, Word E, Word F) { return max3(F, E, t); }
    static __device__ Word add_max(Word a, Word b, Word c) { return max2(add(a, b), c); }
    static __device__ Word max2(Word a, Word b) {
        Word larger;
#if __CUDA_ARCH__ >= 800
        asm("max.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
#else
        asm("{.reg .pred p, q; .reg .b16 a, b, c, d, x, y;\n\t"
            "setp.gt.f16x2 p|q, %1, %2;\n\t"
            "mov.b32 {a, b}, %1; mov.b32 {c, d}, %2;\n\t"
            "selp.b16 x, a, c, p; selp.b16 y, b, d, q; mov.b32 %0, {x, y};}"
            : "=r"(larger)
            : "r"(a), "r"(b));
#endif
        return larger;
    }
    static __device__ Word max3(Word a, Word b, Word c) { return max2(max2(a, b), c); }
};

#ifdef EXALN_GAP_FIRST
struct Packed : PackedNumber<DPX> {
    static __device__ Word minus_first() { return both(-GAP_FIRST); }
    static __device__ Word minus_extend() { return both(-GAP_EXTEND); }
};
#else
using Packed = PackedNumber<DPX>;
#endif
