// Vector wrapper for any CPU: 16-byte vector types of GCC and Clang, which map them to what the CPU has.
#pragma once

#include "simd/vec_common.hpp"

namespace {

template <class LaneType, class Unsigned>
struct Portable : ScalarLookup<LaneType, 16 / int(sizeof(LaneType))> {
    using Lane = LaneType;
    using ScoreRow = LaneRow<Lane>;
    static constexpr int columns = 4, lanes = 16 / int(sizeof(Lane));
    static constexpr bool has_pick_bytes = false, has_byte_tables = false;
    typedef Lane Reg __attribute__((vector_size(16)));
    typedef Unsigned UnsignedReg __attribute__((vector_size(16)));
    using typename ScalarLookup<Lane, lanes>::Letters;
    using typename ScalarLookup<Lane, lanes>::Table;
    static EXALN_INLINE Reg load(const Lane* p) {
        Reg a;
        memcpy(&a, p, sizeof a);
        return a;
    }
    static EXALN_INLINE void store(Lane* p, Reg a) { memcpy(p, &a, sizeof a); }
    template <class At>
    static EXALN_INLINE Reg load_blocks(const At& at) {
        return load(reinterpret_cast<const Lane*>(at(0)));
    }
    static EXALN_INLINE Reg fill(Lane x) { return Reg{} + x; }
    static EXALN_INLINE Reg add(Reg a, Reg b) { return Reg(UnsignedReg(a) + UnsignedReg(b)); }
    static EXALN_INLINE Reg sub(Reg a, Reg b) { return Reg(UnsignedReg(a) - UnsignedReg(b)); }
    static EXALN_INLINE Reg max(Reg a, Reg b) {
        const Reg greater = a > b;
        return (a & greater) | (b & ~greater);
    }
    using Mask = Reg;
    static constexpr int mask_bytes = 16;
    static EXALN_INLINE Mask equal(Reg a, Reg b) { return a == b; }
    static EXALN_INLINE Mask greater(Reg a, Reg b) { return a > b; }
    static EXALN_INLINE Reg select(Reg mask, Reg a, Reg b) { return (a & mask) | (b & ~mask); }
    static EXALN_INLINE Reg zip_low(Reg a, Reg b) { return zip(a, b, 0); }
    static EXALN_INLINE Reg zip_high(Reg a, Reg b) { return zip(a, b, lanes / 2); }
    static EXALN_INLINE Reg zip(Reg a, Reg b, int first) {
        Lane zipped[lanes];
        for (int i = 0; i < lanes; ++i) zipped[i] = (i % 2 == 0 ? a : b)[first + i / 2];
        return load(zipped);
    }
    static EXALN_INLINE Reg choose_equal(Reg a, Reg b, Reg same, Reg other) {
        return select(Reg(a == b), same, other);
    }
    static EXALN_INLINE Reg widen(const uint8_t* codes) {
        Lane wide[lanes];
        for (int i = 0; i < lanes; ++i) wide[i] = Lane(codes[i]);
        return load(wide);
    }
    static EXALN_INLINE void store_mask(uint8_t* p, Mask mask) { memcpy(p, &mask, sizeof mask); }
    static EXALN_INLINE bool any(Mask mask) {
        uint64_t halves[2];
        memcpy(halves, &mask, sizeof halves);
        return (halves[0] | halves[1]) != 0;
    }
    static EXALN_INLINE bool any_greater(Reg a, Reg b) { return any(greater(a, b)); }
    static EXALN_INLINE bool test(const uint8_t* mask, int lane) {
        return mask[lane * int(sizeof(Lane))] != 0;
    }
    static EXALN_INLINE Reg shift_in(Reg a, Lane first) {
        Lane shifted[lanes];
        shifted[0] = first;
        memcpy(shifted + 1, &a, sizeof a - sizeof first);
        return load(shifted);
    }
    template <int bytes>  // see vec_avx2.hpp
    static EXALN_INLINE Reg shift_up(Reg a, Reg below) {
        Lane both[2 * lanes];
        memcpy(both, &below, sizeof below);
        memcpy(both + lanes, &a, sizeof a);
        return load(both + lanes - bytes / int(sizeof(Lane)));
    }
    static void make_score_row(const int32_t* row, ScoreRow& out) { out.set(row); }
    static EXALN_INLINE Reg lookup(Table table, Letters letters) {
        Lane scores[lanes];
        for (int i = 0; i < lanes; ++i) scores[i] = table.scores[letters.codes[i]];
        return load(scores);
    }
};

using PortableI8 = Portable<int8_t, uint8_t>;
using PortableI16 = Portable<int16_t, uint16_t>;
using PortableI32 = Portable<int32_t, uint32_t>;

}  // namespace
