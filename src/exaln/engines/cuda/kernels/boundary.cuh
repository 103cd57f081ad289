// The row between two strips, in global memory: H and F of four columns of each tile, where KEEPS_ROWS.

#pragma once

#include "constants.cuh"
#include "packed.cuh"

template <bool keeps>
struct RowOf;

template <>
struct RowOf<false> {
    static __device__ RowOf load(const uint4*, unsigned) { return {}; }
    __device__ uint4 H() const { return make_uint4(0, 0, 0, 0); }
    __device__ uint4 F() const { return make_uint4(0, 0, 0, 0); }
};

template <>
struct RowOf<true> {
    uint4 own_H, own_F;

    static __device__ RowOf load(const uint4* kept, unsigned tile) {
        return {kept[2 * size_t(tile)], kept[2 * size_t(tile) + 1]};
    }
    __device__ uint4 H() const { return own_H; }
    __device__ uint4 F() const { return own_F; }
};

using KeptRow = RowOf<KEEPS_ROWS>;

__device__ __forceinline__ void keep_row(uint4* kept, unsigned tile, const Word (&H)[COLUMNS],
                                         const Word (&F)[COLUMNS]) {
    kept[2 * size_t(tile)] = make_uint4(H[0], H[1], H[2], H[3]);
    kept[2 * size_t(tile) + 1] = make_uint4(F[0], F[1], F[2], F[3]);
}
