// Vector wrapper for NEON (AArch64). A lookup in a table of 32 bytes is one instruction.
#pragma once

#include <arm_neon.h>

#include "simd/vec_common.hpp"

namespace {

// Comparisons as 64-bit masks with four bits per byte, made by a narrowing shift.
struct NeonMasks {
    using Mask = uint64_t;
    static constexpr int mask_bytes = 8;
    static constexpr bool has_byte_tables = false;
    static constexpr bool has_pick_bytes = true;  // pick_bytes: see vec_avx2.hpp
    static EXALN_INLINE Mask mask_of(uint8x16_t bytes) {
        return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4)), 0);
    }
    static EXALN_INLINE void store_mask(uint8_t* p, Mask mask) { memcpy(p, &mask, sizeof mask); }
    static EXALN_INLINE bool any(Mask mask) { return mask != 0; }
};

struct NeonI8 : NeonMasks {
    using Reg = int8x16_t;
    using Lane = int8_t;
    using ScoreRow = LaneRow<int8_t>;
    using Letters = uint8x16_t;
    using Table = int8x16x2_t;
    static constexpr int columns = 8, lanes = 16;
    static EXALN_INLINE Reg load(const Lane* p) { return vld1q_s8(p); }
    static EXALN_INLINE void store(Lane* p, Reg a) { vst1q_s8(p, a); }
    template <class At>
    static EXALN_INLINE Reg load_blocks(const At& at) {
        return load(reinterpret_cast<const Lane*>(at(0)));
    }
    static EXALN_INLINE Reg fill(Lane x) { return vdupq_n_s8(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return vaddq_s8(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return vsubq_s8(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return vmaxq_s8(a, b); }
    static EXALN_INLINE Reg pick_bytes(Reg table, Reg a, Reg b) {
        return vqtbl1q_s8(table, vreinterpretq_u8_s8(veorq_s8(a, b)));
    }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return vmaxvq_u8(vcgtq_s8(a, b)) != 0; }
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return mask_of(vceqq_s8(a, b)); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return mask_of(vcgtq_s8(a, b)); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * 4 / 8] >> lane * 4 % 8 & 1;
    }
    static EXALN_INLINE Reg select(Reg mask, Reg a, Reg b) {
        return vbslq_s8(vreinterpretq_u8_s8(mask), a, b);
    }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return vzip1q_s8(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return vzip2q_s8(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return vbslq_s8(vceqq_s8(a, b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) { return vreinterpretq_s8_u8(vld1q_u8(codes)); }
    template <int bytes>  // see vec_avx2.hpp
    static EXALN_INLINE Reg shift_up(Reg a, Reg below) {
        return vextq_s8(below, a, 16 - bytes);
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) { return vextq_s8(vdupq_n_s8(first), a, 15); }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) { return vld1q_u8(letters); }
    static EXALN_INLINE Table load_table(const ScoreRow& row) {
        return {{vld1q_s8(row.scores), vld1q_s8(row.scores + 16)}};
    }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) { return vqtbl2q_s8(table, letters); }
};

struct NeonI16 : NeonMasks {
    using Reg = int16x8_t;
    using Lane = int16_t;
    using ScoreRow = PlaneRow;
    using Letters = uint8x8_t;
    struct Table {
        uint8x16x2_t low, high;
    };
    static constexpr int columns = 8, lanes = 8;
    static EXALN_INLINE Reg load(const Lane* p) { return vld1q_s16(p); }
    static EXALN_INLINE void store(Lane* p, Reg a) { vst1q_s16(p, a); }
    template <class At>
    static EXALN_INLINE Reg load_blocks(const At& at) {
        return load(reinterpret_cast<const Lane*>(at(0)));
    }
    static EXALN_INLINE Reg fill(Lane x) { return vdupq_n_s16(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return vaddq_s16(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return vsubq_s16(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return vmaxq_s16(a, b); }
    static EXALN_INLINE Reg pick_bytes(Reg table, Reg a, Reg b) {
        return vreinterpretq_s16_u8(
            vqtbl1q_u8(vreinterpretq_u8_s16(table), vreinterpretq_u8_s16(veorq_s16(a, b))));
    }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return vmaxvq_u16(vcgtq_s16(a, b)) != 0; }
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return mask_of(vreinterpretq_u8_u16(vceqq_s16(a, b))); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return mask_of(vreinterpretq_u8_u16(vcgtq_s16(a, b))); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * 8 / 8] >> lane * 8 % 8 & 1;
    }
    static EXALN_INLINE Reg select(Reg mask, Reg a, Reg b) {
        return vbslq_s16(vreinterpretq_u16_s16(mask), a, b);
    }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return vzip1q_s16(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return vzip2q_s16(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return vbslq_s16(vceqq_s16(a, b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) {
        return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(codes)));
    }
    template <int bytes>  // see vec_avx2.hpp
    static EXALN_INLINE Reg shift_up(Reg a, Reg below) {
        return vextq_s16(below, a, 8 - bytes / 2);
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) { return vextq_s16(vdupq_n_s16(first), a, 7); }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Letters load_letters(const uint8_t* letters) { return vld1_u8(letters); }
    static EXALN_INLINE Table load_table(const ScoreRow& row) {
        return {{{vld1q_u8(row.low), vld1q_u8(row.low + 16)}},
                {{vld1q_u8(row.high), vld1q_u8(row.high + 16)}}};
    }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        const uint8x8x2_t words = vzip_u8(vqtbl2_u8(table.low, letters), vqtbl2_u8(table.high, letters));
        return vreinterpretq_s16_u8(vcombine_u8(words.val[0], words.val[1]));
    }
};

struct NeonI32 : NeonMasks, ScalarLookup<int32_t, 4> {
    using Reg = int32x4_t;
    using Lane = int32_t;
    using ScoreRow = LaneRow<int32_t>;
    static constexpr int columns = 8, lanes = 4;
    static EXALN_INLINE Reg load(const Lane* p) { return vld1q_s32(p); }
    static EXALN_INLINE void store(Lane* p, Reg a) { vst1q_s32(p, a); }
    template <class At>
    static EXALN_INLINE Reg load_blocks(const At& at) {
        return load(reinterpret_cast<const Lane*>(at(0)));
    }
    static EXALN_INLINE Reg fill(Lane x) { return vdupq_n_s32(x); }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return vaddq_s32(a, b); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return vsubq_s32(a, b); }
    static EXALN_INLINE Reg max(Reg a, Reg b) { return vmaxq_s32(a, b); }
    static EXALN_INLINE Reg pick_bytes(Reg table, Reg a, Reg b) {
        return vreinterpretq_s32_u8(
            vqtbl1q_u8(vreinterpretq_u8_s32(table), vreinterpretq_u8_s32(veorq_s32(a, b))));
    }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return vmaxvq_u32(vcgtq_s32(a, b)) != 0; }
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return mask_of(vreinterpretq_u8_u32(vceqq_s32(a, b))); }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return mask_of(vreinterpretq_u8_u32(vcgtq_s32(a, b))); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * 16 / 8] >> lane * 16 % 8 & 1;
    }
    static EXALN_INLINE Reg select(Reg mask, Reg a, Reg b) {
        return vbslq_s32(vreinterpretq_u32_s32(mask), a, b);
    }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return vzip1q_s32(a, b); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return vzip2q_s32(a, b); }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return vbslq_s32(vceqq_s32(a, b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) {
        const Lane four[4] = {codes[0], codes[1], codes[2], codes[3]};
        return vld1q_s32(four);
    }
    template <int bytes>  // see vec_avx2.hpp
    static EXALN_INLINE Reg shift_up(Reg a, Reg below) {
        return vextq_s32(below, a, 4 - bytes / 4);
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) { return vextq_s32(vdupq_n_s32(first), a, 3); }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        const Lane scores[4] = {table.scores[letters.codes[0]], table.scores[letters.codes[1]],
                                table.scores[letters.codes[2]], table.scores[letters.codes[3]]};
        return vld1q_s32(scores);
    }
};

}  // namespace
