// The boundary row between two strips of stream.cu, in global memory: H and F of the four columns of each
// tile.
//
// Without KEEPS_ROWS no query continues in another strip, the row is 0 and takes no memory.

#pragma once

#include "constants.cuh"
#include "packed.cuh"

template <bool is_stored>
struct BoundaryRowOf;

template <>
struct BoundaryRowOf<false> {
    static __device__ BoundaryRowOf load(const uint4*, unsigned) { return {}; }
    __device__ uint4 H() const { return make_uint4(0, 0, 0, 0); }
    __device__ uint4 F() const { return make_uint4(0, 0, 0, 0); }
};

template <>
struct BoundaryRowOf<true> {
    uint4 own_H, own_F;

    static __device__ BoundaryRowOf load(const uint4* boundary, unsigned tile) {
        return {boundary[2 * size_t(tile)], boundary[2 * size_t(tile) + 1]};
    }
    __device__ uint4 H() const { return own_H; }
    __device__ uint4 F() const { return own_F; }
};

using BoundaryRow = BoundaryRowOf<KEEPS_ROWS>;

__device__ __forceinline__ void store_boundary(uint4* boundary, unsigned tile, const Word (&H)[COLUMNS],
                                               const Word (&F)[COLUMNS]) {
    boundary[2 * size_t(tile)] = make_uint4(H[0], H[1], H[2], H[3]);
    boundary[2 * size_t(tile) + 1] = make_uint4(F[0], F[1], F[2], F[3]);
}
