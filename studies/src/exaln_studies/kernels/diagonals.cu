// Xiao, Aji, Feng: one pair over the whole GPU, diagonal by diagonal, with complete tables. Affine gaps.
//
// Thread k of the grid computes cells k, k + number of threads, ... of a diagonal, so that neighbouring
// threads access neighbouring words.
//
// clang-format off
//     query uint8[m], target uint8[n];  matrix int32[n_letters x n_letters]
//     H, E, F, starts     tables.cuh, by diagonals
//     step_diagonals      diagonal `d` only: one launch per diagonal ("CPU synchronisation")
//     all_diagonals       all diagonals, with a barrier after each (barrier.cuh; "GPU synchronisation")
//
//     LOADS     0 plain; 1 scores from constant memory; 2 sequences and scores through the read-only cache
//     LOCAL     0: global instead of local alignment, to show the barrier in another dynamic program
// clang-format on
//
// Tests: studies/tests/test_kernels.py.

#include "barrier.cuh"
#include "tables.cuh"

extern "C" {
__constant__ int constant_matrix[32 * 32];
}

__device__ __forceinline__ int score_of(const Pair& pair, int i, int j) {
    if (LOADS == 1) return constant_matrix[pair.query[i - 1] * pair.n_letters + pair.target[j - 1]];
    if (LOADS == 2)
        return __ldg(pair.matrix + __ldg(pair.query + i - 1) * pair.n_letters + __ldg(pair.target + j - 1));
    return pair.matrix[pair.query[i - 1] * pair.n_letters + pair.target[j - 1]];
}

// H on the border of the table, k letters from the corner.
__device__ __forceinline__ int border(const Pair& pair, int k) {
    return IS_LOCAL || k == 0 ? 0 : -(pair.gap_first + (k - 1) * pair.gap_extend);
}

__device__ __forceinline__ void fill_diagonal(const Pair& pair, const Tables& tables, const Diagonals& layout,
                                              int d) {
    const int n_cells = layout.n_cells(d);
    const long long here = layout.starts[d];
    const long long left =
        d > 0 ? layout.starts[d - 1] - layout.first_row(d - 1) : 0;  // where row 0 would be
    const long long diagonal = d > 1 ? layout.starts[d - 2] - layout.first_row(d - 2) : 0;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n_cells; k += gridDim.x * blockDim.x) {
        const int i = layout.row(d, k), j = d - i;
        Affine cell{border(pair, i + j), MINUS_INFINITY, MINUS_INFINITY};
        if (i > 0 && j > 0)
            cell = affine_cell<IS_LOCAL>(tables.H[diagonal + i - 1], tables.H[left + i], tables.E[left + i],
                                         tables.H[left + i - 1], tables.F[left + i - 1], score_of(pair, i, j),
                                         pair.gap_first, pair.gap_extend);
        tables.H[here + k] = cell.H, tables.E[here + k] = cell.E, tables.F[here + k] = cell.F;
    }
}

extern "C" __global__ void step_diagonals(const unsigned char* query, const unsigned char* target,
                                          const int* matrix, int n_letters, int gap_first, int gap_extend,
                                          int m, int n, int* H, int* E, int* F, const long long* starts,
                                          int d) {
    const Pair pair{query, target, matrix, n_letters, gap_first, gap_extend, m, n};
    fill_diagonal(pair, {H, E, F}, {starts, m, n}, d);
}

extern "C" __global__ void all_diagonals(const unsigned char* query, const unsigned char* target,
                                         const int* matrix, int n_letters, int gap_first, int gap_extend,
                                         int m, int n, int* H, int* E, int* F, const long long* starts,
                                         int* state) {
    const Pair pair{query, target, matrix, n_letters, gap_first, gap_extend, m, n};
    GridBarrier barrier(state);
    for (int d = 0; d <= m + n; d++) {
        fill_diagonal(pair, {H, E, F}, {starts, m, n}, d);
        barrier.wait();
    }
}
