// The row between two strips, in global memory: H and F of four columns of each tile, where KEEPS_ROWS.

#pragma once

#include "constants.cuh"
#include "fetched.cuh"
#include "packed.cuh"

struct KeptRow {
    uint4 H, F;
};

// The row above the next tile of a group; without rows, zeros.
template <bool keeps>
struct RowAbove {
    __device__ RowAbove(KeptRow*, bool, bool) {}
    __device__ void start(const KeptRow*) {}
    __device__ KeptRow get() const { return {}; }
};

template <>
struct RowAbove<true> : Fetched<KeptRow> {
    using Fetched<KeptRow>::Fetched;
};

__device__ __forceinline__ void keep_row(KeptRow& kept, const Word (&H)[COLUMNS], const Word (&F)[COLUMNS]) {
    kept = {make_uint4(H[0], H[1], H[2], H[3]), make_uint4(F[0], F[1], F[2], F[3])};
}
