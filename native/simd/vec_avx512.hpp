// Vector wrapper for AVX-512BW, with or without VBMI, which adds lookups of bytes across the register.
#pragma once

#include <immintrin.h>

#include "simd/vec_common.hpp"

namespace {

struct Avx512 {
    using Reg = __m512i;
    static EXALN_INLINE Reg load(const void* p) { return _mm512_loadu_si512(p); }
    static EXALN_INLINE void store(void* p, Reg a) { _mm512_storeu_si512(p, a); }
    static EXALN_INLINE Reg select(Reg mask, Reg a, Reg b) {
        return _mm512_ternarylogic_epi32(mask, a, b, 0xca);
    }
    // A register of four 16-byte blocks, each loaded from at(block).
    template <class At>
    static EXALN_INLINE Reg load_blocks(const At& at) {
        const auto block = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at(i))); };
        return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set_m128i(block(1), block(0))),
                                  _mm256_set_m128i(block(3), block(2)), 1);
    }
    static constexpr bool has_byte_tables = false;  // true for bytes with VBMI
    static constexpr bool has_pick_bytes = true;
    // table[a ^ b] for each byte; all a ^ b are below 16, and the table repeats every 16 bytes.
    static EXALN_INLINE Reg pick_bytes(Reg table, Reg a, Reg b) {
        return _mm512_shuffle_epi8(table, _mm512_xor_si512(a, b));
    }
    // The lanes of `a` moved up by a number of bytes; the lowest are the highest of `below`.
    template <int bytes>
    static EXALN_INLINE Reg shift_up(Reg a, Reg below) {
        if constexpr (bytes % 16 == 0) return _mm512_alignr_epi64(a, below, 8 - bytes / 8);
        return _mm512_alignr_epi8(a, _mm512_alignr_epi64(a, below, 6), 16 - bytes % 16);
    }
};

struct Avx512Bytes : Avx512 {
    using Lane = int8_t;
    using ScoreRow = LaneRow<int8_t>;
    static constexpr int columns = 8, lanes = 64;
    static EXALN_INLINE Reg fill(Lane x) { return _mm512_set1_epi8(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return _mm512_add_epi8(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return _mm512_sub_epi8(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return _mm512_max_epi8(a, b); }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return _mm512_cmpgt_epi8_mask(a, b) != 0; }
    using Mask = __mmask64;
    static constexpr int mask_bytes = 8;
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return _mm512_cmpeq_epi8_mask(a, b); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return _mm512_cmpgt_epi8_mask(a, b); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return _mm512_unpacklo_epi8(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return _mm512_unpackhi_epi8(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return _mm512_mask_blend_epi8(equal(a, b), other, same);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) { return load(codes); }
    static EXALN_INLINE void store_mask(uint8_t* p, Mask mask) { memcpy(p, &mask, sizeof mask); }
    static EXALN_INLINE bool any(Mask mask) { return mask != 0; }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) { return mask[lane / 8] >> lane % 8 & 1; }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        const Reg below = _mm512_alignr_epi64(a, _mm512_setzero_si512(), 6);
        return _mm512_mask_set1_epi8(_mm512_alignr_epi8(a, below, 15), 1, first);
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
};

#ifdef __AVX512VBMI__
struct Avx512I8 : Avx512Bytes {
    using Letters = Reg;
    using Table = Reg;
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) { return load(letters); }
    static EXALN_INLINE Table load_table(const ScoreRow& row) { return load(row.scores); }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        return _mm512_permutexvar_epi8(letters, table);
    }
    static constexpr bool has_byte_tables = true;
    static EXALN_INLINE Reg exclusive_or(Reg a, Reg b) { return _mm512_xor_si512(a, b); }
    // table[place] for each byte with its mask bit set, places below 128; other bytes keep their place.
    static EXALN_INLINE Reg lookup_bytes(Reg lower, Reg upper, Reg places, Mask mask) {
        return _mm512_mask2_permutex2var_epi8(lower, places, mask, upper);
    }
};
#else
struct Avx512I8 : Avx512Bytes {
    struct Letters {
        Reg codes;
        __mmask64 upper_half;
    };
    struct Table {
        Reg lower, upper;
    };
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) {
        const Reg codes = load(letters);
        return {codes, _mm512_test_epi8_mask(codes, _mm512_set1_epi8(16))};
    }
    static EXALN_INLINE Table load_table(const ScoreRow& row) {
        return {_mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(row.scores))),
                _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(row.scores + 16)))};
    }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        const Reg lower = _mm512_shuffle_epi8(table.lower, letters.codes);
        return _mm512_mask_shuffle_epi8(lower, letters.upper_half, table.upper, letters.codes);
    }
};
#endif

struct Avx512I16 : Avx512 {
    using Lane = int16_t;
    using ScoreRow = LaneRow<int16_t>;
    using Letters = Reg;
    using Table = Reg;
    static constexpr int columns = 8, lanes = 32;
    static EXALN_INLINE Reg fill(Lane x) { return _mm512_set1_epi16(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return _mm512_add_epi16(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return _mm512_sub_epi16(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return _mm512_max_epi16(a, b); }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return _mm512_cmpgt_epi16_mask(a, b) != 0; }
    using Mask = __mmask32;
    static constexpr int mask_bytes = 4;
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return _mm512_cmpeq_epi16_mask(a, b); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return _mm512_cmpgt_epi16_mask(a, b); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return _mm512_unpacklo_epi16(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return _mm512_unpackhi_epi16(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return _mm512_mask_blend_epi16(equal(a, b), other, same);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) {
        return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)));
    }
    static EXALN_INLINE void store_mask(uint8_t* p, Mask mask) { memcpy(p, &mask, sizeof mask); }
    static EXALN_INLINE bool any(Mask mask) { return mask != 0; }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) { return mask[lane / 8] >> lane % 8 & 1; }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        const Reg below = _mm512_alignr_epi64(a, _mm512_setzero_si512(), 6);
        return _mm512_mask_set1_epi16(_mm512_alignr_epi8(a, below, 14), 1, first);
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) {
        return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(letters)));
    }
    static EXALN_INLINE Table load_table(const ScoreRow& row) { return load(row.scores); }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        return _mm512_permutexvar_epi16(letters, table);
    }
};

struct Avx512I32 : Avx512 {
    using Lane = int32_t;
    using ScoreRow = LaneRow<int32_t>;
    using Letters = Reg;
    struct Table {
        Reg lower, upper;
    };
    static constexpr int columns = 8, lanes = 16;
    static EXALN_INLINE Reg fill(Lane x) { return _mm512_set1_epi32(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return _mm512_add_epi32(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return _mm512_sub_epi32(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return _mm512_max_epi32(a, b); }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return _mm512_cmpgt_epi32_mask(a, b) != 0; }
    using Mask = __mmask16;
    static constexpr int mask_bytes = 2;
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return _mm512_cmpeq_epi32_mask(a, b); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return _mm512_cmpgt_epi32_mask(a, b); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return _mm512_unpacklo_epi32(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return _mm512_unpackhi_epi32(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return _mm512_mask_blend_epi32(equal(a, b), other, same);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) {
        return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
    }
    static EXALN_INLINE void store_mask(uint8_t* p, Mask mask) { memcpy(p, &mask, sizeof mask); }
    static EXALN_INLINE bool any(Mask mask) { return mask != 0; }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) { return mask[lane / 8] >> lane % 8 & 1; }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        return _mm512_mask_set1_epi32(_mm512_alignr_epi32(a, _mm512_setzero_si512(), 15), 1, first);
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) {
        return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(letters)));
    }
    static EXALN_INLINE Table load_table(const ScoreRow& row) {
        return {load(row.scores), load(row.scores + 16)};
    }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        return _mm512_permutex2var_epi32(table.lower, letters, table.upper);
    }
};

}  // namespace
