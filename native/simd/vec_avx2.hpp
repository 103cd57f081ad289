// Vector wrapper for AVX2. A lookup in a table of 32 scores takes two byte shuffles and a blend.
#pragma once

#include <immintrin.h>

#include "simd/vec_common.hpp"

namespace {

struct Avx2 {
    using Reg = __m256i;
    static EXALN_INLINE Reg load(const void* p) { return _mm256_loadu_si256(static_cast<const Reg*>(p)); }
    using Mask = uint32_t;
    static constexpr int mask_bytes = 4;  // one bit per byte, for lanes of any width
    static EXALN_INLINE Mask mask_of(Reg lanes) { return Mask(_mm256_movemask_epi8(lanes)); }
    static EXALN_INLINE void store_mask(uint8_t* p, Mask mask) { memcpy(p, &mask, sizeof mask); }
    static EXALN_INLINE bool any(Mask mask) { return mask != 0; }
    static EXALN_INLINE void store(void* p, Reg a) { _mm256_storeu_si256(static_cast<Reg*>(p), a); }
    static EXALN_INLINE Reg select(Reg mask, Reg a, Reg b) { return _mm256_blendv_epi8(b, a, mask); }
    // A register of two 16-byte blocks, each loaded from at(block).
    template <class At>
    static EXALN_INLINE Reg load_blocks(const At& at) {
        const auto block = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at(i))); };
        return _mm256_set_m128i(block(1), block(0));
    }
    static constexpr bool has_byte_tables = false;
    static constexpr bool has_pick_bytes = true;
    // table[a ^ b] for each byte; all a ^ b are below 16, and the table repeats every 16 bytes.
    static EXALN_INLINE Reg pick_bytes(Reg table, Reg a, Reg b) {
        return _mm256_shuffle_epi8(table, _mm256_xor_si256(a, b));
    }
    // The lanes of `a` moved up by a number of bytes; the lowest are the highest of `below`.
    template <int bytes>
    static EXALN_INLINE Reg shift_up(Reg a, Reg below) {
        const Reg halves_below = _mm256_permute2x128_si256(below, a, 0x21);
        if constexpr (bytes == 16) return halves_below;
        return _mm256_alignr_epi8(a, halves_below, 16 - bytes % 16);
    }
    // The 128-bit half below each half of a; zero below the first.
    static EXALN_INLINE Reg lane_below(Reg a) { return _mm256_permute2x128_si256(a, a, 0x08); }
    static EXALN_INLINE __m128i half(const void* p) { return _mm_load_si128(static_cast<const __m128i*>(p)); }
    // bytes[code] of each code, from the tables of codes below 16 and from 16 on.
    static EXALN_INLINE __m128i lookup_bytes(__m128i lower, __m128i upper, __m128i codes) {
        return _mm_blendv_epi8(_mm_shuffle_epi8(lower, codes), _mm_shuffle_epi8(upper, codes),
                               _mm_slli_epi16(codes, 3));
    }
};

struct Avx2I8 : Avx2 {
    using Lane = int8_t;
    using ScoreRow = LaneRow<int8_t>;
    using Letters = Reg;
    struct Table {
        Reg lower, upper;
    };
    static constexpr int columns = 4, lanes = 32;
    static EXALN_INLINE Reg fill(Lane x) { return _mm256_set1_epi8(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return _mm256_add_epi8(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return _mm256_sub_epi8(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return _mm256_max_epi8(a, b); }
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return mask_of(_mm256_cmpeq_epi8(a, b)); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return mask_of(_mm256_cmpgt_epi8(a, b)); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return _mm256_unpacklo_epi8(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return _mm256_unpackhi_epi8(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return select(_mm256_cmpeq_epi8(a, b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) { return load(codes); }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return any(greater(a, b)); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * 1 / 8] >> lane * 1 % 8 & 1;
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        return _mm256_insert_epi8(_mm256_alignr_epi8(a, lane_below(a), 15), first, 0);
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) { return load(letters); }
    static EXALN_INLINE Table load_table(const ScoreRow& row) {
        return {_mm256_broadcastsi128_si256(half(row.scores)),
                _mm256_broadcastsi128_si256(half(row.scores + 16))};
    }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        return _mm256_blendv_epi8(_mm256_shuffle_epi8(table.lower, letters),
                                  _mm256_shuffle_epi8(table.upper, letters), _mm256_slli_epi16(letters, 3));
    }
};

struct Avx2I16 : Avx2 {
    using Lane = int16_t;
    using ScoreRow = PlaneRow;
    using Letters = __m128i;
    struct Table {
        __m128i low[2], high[2];
    };
    static constexpr int columns = 4, lanes = 16;
    static EXALN_INLINE Reg fill(Lane x) { return _mm256_set1_epi16(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return _mm256_add_epi16(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return _mm256_sub_epi16(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return _mm256_max_epi16(a, b); }
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return mask_of(_mm256_cmpeq_epi16(a, b)); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return mask_of(_mm256_cmpgt_epi16(a, b)); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return _mm256_unpacklo_epi16(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return _mm256_unpackhi_epi16(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return select(_mm256_cmpeq_epi16(a, b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) {
        return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
    }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return any(greater(a, b)); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * 2 / 8] >> lane * 2 % 8 & 1;
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        return _mm256_insert_epi16(_mm256_alignr_epi8(a, lane_below(a), 14), first, 0);
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(letters));
    }
    static EXALN_INLINE Table load_table(const ScoreRow& row) {
        return {{half(row.low), half(row.low + 16)}, {half(row.high), half(row.high + 16)}};
    }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        const __m128i low = lookup_bytes(table.low[0], table.low[1], letters);
        const __m128i high = lookup_bytes(table.high[0], table.high[1], letters);
        return _mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high));
    }
};

struct Avx2I32 : Avx2 {
    using Lane = int32_t;
    using ScoreRow = LaneRow<int32_t>;
    using Letters = Reg;
    struct Table {
        const int32_t* scores;
    };
    static constexpr int columns = 4, lanes = 8;
    static EXALN_INLINE Reg fill(Lane x) { return _mm256_set1_epi32(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return _mm256_add_epi32(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return _mm256_sub_epi32(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return _mm256_max_epi32(a, b); }
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return mask_of(_mm256_cmpeq_epi32(a, b)); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return mask_of(_mm256_cmpgt_epi32(a, b)); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return _mm256_unpacklo_epi32(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return _mm256_unpackhi_epi32(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return select(_mm256_cmpeq_epi32(a, b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) {
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
    }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return any(greater(a, b)); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * 4 / 8] >> lane * 4 % 8 & 1;
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        return _mm256_insert_epi32(_mm256_alignr_epi8(a, lane_below(a), 12), first, 0);
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) {
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(letters)));
    }
    static EXALN_INLINE Table load_table(const ScoreRow& row) { return {row.scores}; }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        return _mm256_i32gather_epi32(table.scores, letters, 4);
    }
};

}  // namespace
