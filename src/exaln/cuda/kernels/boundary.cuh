// The row between two strips, in global memory: H and F of four columns of each tile.
//
// F for the next row is max(F - GAP_EXTEND, H - GAP_FIRST), and F is never above H, so it lies between H -
// GAP_FIRST and H - GAP_EXTEND. Where that is a range of 16, four bits are kept of it, all eight of a tile in
// one word: the lower half of it has those of the lower halves. Numbers of older cards are kept as they are.

#pragma once

#include "constants.cuh"
#include "packed.cuh"

template <bool narrow>
struct KeptRow;

template <>
struct KeptRow<false> {
    uint4 four;

    static __device__ KeptRow of(const Word (&)[COLUMNS], const Word (&F)[COLUMNS]) {
        return {make_uint4(F[0], F[1], F[2], F[3])};
    }
    __device__ uint4 values(uint4) const { return four; }
};

template <>
struct KeptRow<true> {
    unsigned bits;

    static constexpr int MOST = 15;

    static __device__ KeptRow of(const Word (&H)[COLUMNS], const Word (&F)[COLUMNS]) {
        unsigned bits = 0;
#pragma unroll
        for (int c = COLUMNS - 1; c >= 0; c--) bits = bits * 16 + above_least(H[c], F[c]);
        return {bits};
    }
    __device__ uint4 values(uint4 H) const {
        return make_uint4(value(H.x, 0), value(H.y, 1), value(H.z, 2), value(H.w, 3));
    }

    // F - (H - GAP_EXTEND - MOST) in both halves; -H is the complement of H and 1.
    static __device__ Word above_least(Word H, Word F) {
        return Packed::add(Packed::add(F, Packed::both(GAP_EXTEND + MOST + 1)), ~H);
    }
    __device__ Word value(Word H, int column) const {
        return Packed::add(Packed::add(H, Packed::both(-GAP_EXTEND - MOST)),
                           bits >> 4 * column & 0x000F000Fu);
    }
};

constexpr bool NARROW = DPX && GAP_FIRST - GAP_EXTEND <= KeptRow<true>::MOST;
using KeptF = KeptRow<NARROW>;

struct Boundary {
    uint4* H;
    KeptF* F;

    __device__ Boundary(uint4* row, unsigned n_tiles) : H(row), F(reinterpret_cast<KeptF*>(row + n_tiles)) {}
};
