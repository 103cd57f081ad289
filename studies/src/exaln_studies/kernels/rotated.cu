// Chaibou and Sie: one launch per diagonal of the table, one thread per cell. Linear gaps.
//
// Step s = i + j runs from 2 to m + n. Thread k computes row max(1, s - n) + k.
//
// clang-format off
//     query     uint8[m], target uint8[n]: codes below n_letters;  matrix int32[n_letters x n_letters]
//     table     int32, H(i, j) at i * row_stride + s * step_stride (studies/native/table_fill.hpp), border 0
// clang-format on
//
// In the layout "by diagonals" neighbouring threads write neighbouring words; in "rotated", the paper's
// layout, they write words one row apart. Everything is in global memory.
//
// Tests: studies/tests/test_kernels.py.

#include "cells.cuh"

extern "C" __global__ void rotated_step(const unsigned char* query, const unsigned char* target,
                                        const int* matrix, int n_letters, int gap, int m, int n, int step,
                                        long long row_stride, long long step_stride, int* table) {
    const int first = max(1, step - n), last = min(m, step - 1);
    const int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i > last) return;
    const int score = matrix[query[i - 1] * n_letters + target[step - i - 1]];
    int* cell = table + i * row_stride + step * step_stride;
    cell[0] = linear_cell(cell[-row_stride - 2 * step_stride], cell[-step_stride],
                          cell[-row_stride - step_stride], score, gap);
}

// An empty launch, to measure the paper's alpha.
extern "C" __global__ void empty_step() {}

// Maximum of n non-negative numbers; `best` must be 0 before.
extern "C" __global__ void largest(const int* numbers, long long n, int* best) {
    int own = 0;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        own = max(own, numbers[i]);
    if (own > 0) atomicMax(best, own);
}
