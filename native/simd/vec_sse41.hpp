// Vector wrapper for SSE4.1, the oldest instruction set with maxima of signed bytes.
#pragma once

#include <smmintrin.h>

#include "simd/vec_common.hpp"

namespace {

struct Sse41 {
    using Reg = __m128i;
    static EXALN_INLINE Reg load(const void* p) { return _mm_loadu_si128(static_cast<const Reg*>(p)); }
    using Mask = uint16_t;
    static constexpr int mask_bytes = 2;  // one bit per byte, for lanes of any width
    static EXALN_INLINE Mask mask_of(Reg lanes) { return Mask(_mm_movemask_epi8(lanes)); }
    static EXALN_INLINE void store_mask(uint8_t* p, Mask mask) { memcpy(p, &mask, sizeof mask); }
    static EXALN_INLINE bool any(Mask mask) { return mask != 0; }
    static EXALN_INLINE void store(void* p, Reg a) { _mm_storeu_si128(static_cast<Reg*>(p), a); }
    static EXALN_INLINE Reg select(Reg mask, Reg a, Reg b) { return _mm_blendv_epi8(b, a, mask); }
    template <class At>
    static EXALN_INLINE Reg load_blocks(const At& at) {
        return load(at(0));
    }
    static constexpr bool has_byte_tables = false;
    static constexpr bool has_pick_bytes = true;
    // table[a ^ b] for each byte; all a ^ b are below 16.
    static EXALN_INLINE Reg pick_bytes(Reg table, Reg a, Reg b) {
        return _mm_shuffle_epi8(table, _mm_xor_si128(a, b));
    }
    // The lanes of `a` moved up by a number of bytes; the lowest are the highest of `below`.
    template <int bytes>
    static EXALN_INLINE Reg shift_up(Reg a, Reg below) {
        return _mm_alignr_epi8(a, below, 16 - bytes);
    }
    // bytes[code] of each code, from the tables of codes below 16 and from 16 on.
    static EXALN_INLINE Reg lookup_bytes(Reg lower, Reg upper, Reg codes) {
        return _mm_blendv_epi8(_mm_shuffle_epi8(lower, codes), _mm_shuffle_epi8(upper, codes),
                               _mm_slli_epi16(codes, 3));
    }
};

struct Sse41I8 : Sse41 {
    using Lane = int8_t;
    using ScoreRow = LaneRow<int8_t>;
    using Letters = Reg;
    struct Table {
        Reg lower, upper;
    };
    static constexpr int columns = 4, lanes = 16;
    static EXALN_INLINE Reg fill(Lane x) { return _mm_set1_epi8(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return _mm_add_epi8(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return _mm_sub_epi8(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return _mm_max_epi8(a, b); }
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return mask_of(_mm_cmpeq_epi8(a, b)); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return mask_of(_mm_cmpgt_epi8(a, b)); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return _mm_unpacklo_epi8(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return _mm_unpackhi_epi8(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return select(_mm_cmpeq_epi8(a, b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) { return load(codes); }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return any(greater(a, b)); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * 1 / 8] >> lane * 1 % 8 & 1;
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        return _mm_insert_epi8(_mm_slli_si128(a, 1), first, 0);
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) { return load(letters); }
    static EXALN_INLINE Table load_table(const ScoreRow& row) {
        return {load(row.scores), load(row.scores + 16)};
    }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        return lookup_bytes(table.lower, table.upper, letters);
    }
};

struct Sse41I16 : Sse41 {
    using Lane = int16_t;
    using ScoreRow = PlaneRow;
    using Letters = Reg;
    struct Table {
        Reg low[2], high[2];
    };
    static constexpr int columns = 4, lanes = 8;
    static EXALN_INLINE Reg fill(Lane x) { return _mm_set1_epi16(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return _mm_add_epi16(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return _mm_sub_epi16(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return _mm_max_epi16(a, b); }
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return mask_of(_mm_cmpeq_epi16(a, b)); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return mask_of(_mm_cmpgt_epi16(a, b)); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return _mm_unpacklo_epi16(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return _mm_unpackhi_epi16(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return select(_mm_cmpeq_epi16(a, b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) {
        return _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
    }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return any(greater(a, b)); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * 2 / 8] >> lane * 2 % 8 & 1;
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        return _mm_insert_epi16(_mm_slli_si128(a, 2), first, 0);
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) {
        return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(letters));
    }
    static EXALN_INLINE Table load_table(const ScoreRow& row) {
        return {{load(row.low), load(row.low + 16)}, {load(row.high), load(row.high + 16)}};
    }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        return _mm_unpacklo_epi8(lookup_bytes(table.low[0], table.low[1], letters),
                                 lookup_bytes(table.high[0], table.high[1], letters));
    }
};

struct Sse41I32 : Sse41, ScalarLookup<int32_t, 4> {
    using Lane = int32_t;
    using ScoreRow = LaneRow<int32_t>;
    static constexpr int columns = 4, lanes = 4;
    static EXALN_INLINE Reg fill(Lane x) { return _mm_set1_epi32(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return _mm_add_epi32(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return _mm_sub_epi32(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return _mm_max_epi32(a, b); }
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return mask_of(_mm_cmpeq_epi32(a, b)); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return mask_of(_mm_cmpgt_epi32(a, b)); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return _mm_unpacklo_epi32(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return _mm_unpackhi_epi32(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return select(_mm_cmpeq_epi32(a, b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) {
        int32_t four;
        memcpy(&four, codes, sizeof four);
        return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
    }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return any(greater(a, b)); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * 4 / 8] >> lane * 4 % 8 & 1;
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        return _mm_insert_epi32(_mm_slli_si128(a, 4), first, 0);
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        return _mm_set_epi32(table.scores[letters.codes[3]], table.scores[letters.codes[2]],
                             table.scores[letters.codes[1]], table.scores[letters.codes[0]]);
    }
};

}  // namespace
