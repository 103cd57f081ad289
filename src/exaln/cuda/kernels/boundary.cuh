// The row between two strips, in global memory: H and F of four columns of each tile.
//
// How it is kept (KEEPS):
//
//   NOTHING   no query goes on in another strip
//   WORDS     as they are, 32 bytes of a tile: H, F
//   BITS      20 bytes: H of all tiles, then F of all, in four bits each. F for the next row is max(F -
//             GAP_EXTEND, H - GAP_FIRST), and F is never above H, so H - F lies between GAP_EXTEND and
//             GAP_FIRST, which must be below 16. All eight of a tile are in one word: the lower half of it
//             has those of the lower halves. int16 alone

#pragma once

#include "constants.cuh"
#include "packed.cuh"

// H and F of a tile as they were loaded.
template <int keeps>
struct RowOf;

template <>
struct RowOf<NOTHING> {
    static __device__ RowOf load(const uint4*, unsigned, unsigned) { return {}; }
    __device__ void store(uint4*, unsigned, unsigned) const {}
    static __device__ RowOf of(const Word (&)[COLUMNS], const Word (&)[COLUMNS]) { return {}; }
    __device__ RowOf times(unsigned) const { return {}; }
    __device__ uint4 H() const { return make_uint4(0, 0, 0, 0); }
    __device__ uint4 F() const { return make_uint4(0, 0, 0, 0); }
};

__device__ __forceinline__ uint4 four_of(const Word (&row)[COLUMNS]) {
    return make_uint4(row[0], row[1], row[2], row[3]);
}

__device__ __forceinline__ uint4 product(uint4 four, unsigned factor) {
    return make_uint4(four.x * factor, four.y * factor, four.z * factor, four.w * factor);
}

template <>
struct RowOf<WORDS> {
    uint4 own_H, own_F;

    static __device__ RowOf load(const uint4* kept, unsigned, unsigned tile) {
        return {kept[2 * size_t(tile)], kept[2 * size_t(tile) + 1]};
    }
    __device__ void store(uint4* kept, unsigned, unsigned tile) const {
        kept[2 * size_t(tile)] = own_H;
        kept[2 * size_t(tile) + 1] = own_F;
    }
    static __device__ RowOf of(const Word (&H)[COLUMNS], const Word (&F)[COLUMNS]) {
        return {four_of(H), four_of(F)};
    }
    __device__ RowOf times(unsigned factor) const { return {product(own_H, factor), product(own_F, factor)}; }
    __device__ uint4 H() const { return own_H; }
    __device__ uint4 F() const { return own_F; }
};

template <>
struct RowOf<BITS> {
    uint4 own_H;
    unsigned bits;

    static __device__ RowOf load(const uint4* kept, unsigned n_tiles, unsigned tile) {
        return {kept[tile], reinterpret_cast<const unsigned*>(kept + n_tiles)[tile]};
    }
    __device__ void store(uint4* kept, unsigned n_tiles, unsigned tile) const {
        kept[tile] = own_H;
        reinterpret_cast<unsigned*>(kept + n_tiles)[tile] = bits;
    }
    static __device__ RowOf of(const Word (&H)[COLUMNS], const Word (&F)[COLUMNS]) {
        unsigned bits = 0;
#pragma unroll
        for (int c = COLUMNS - 1; c >= 0; c--) bits = bits * 16 + difference(H[c], F[c]);
        return {four_of(H), bits};
    }
    __device__ RowOf times(unsigned factor) const { return {product(own_H, factor), bits * factor}; }
    __device__ uint4 H() const { return own_H; }
    __device__ uint4 F() const {
        return make_uint4(difference(own_H.x, part(0)), difference(own_H.y, part(1)),
                          difference(own_H.z, part(2)), difference(own_H.w, part(3)));
    }
    __device__ Word part(int column) const { return bits >> 4 * column & 0x000F000Fu; }

    // Of both halves; -b is the complement of b and 1.
    static __device__ Word difference(Word a, Word b) {
        return Packed::add(Packed::add(a, Packed::ONES), ~b);
    }
};

static_assert(KEEPS != BITS || (DPX && GAP_FIRST < 16), "H - F must fit four bits");
using KeptRow = RowOf<KEEPS>;
