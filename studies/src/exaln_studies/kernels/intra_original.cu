// Hains et al., the original kernel of CUDASW++: one block per target, diagonal by diagonal, no profile.
// Affine gaps.
//
// clang-format off
//     BYPASS        1: wavefronts bypass the L1 cache; the L2 cache cannot be turned off
//     wavefronts    int32[n_blocks x 7 x (rows + 1)] in global memory: H of three diagonals, E and F of two
//     targets       first .. first + gridDim.x - 1;  scores int32, by target
// clang-format on
//
// Tests: studies/tests/test_kernels.py.

#include "study_constants.cuh"
#include "targets.cuh"

__device__ __forceinline__ int load(const int* place) {
    return BYPASS ? __ldcg(place) : *place;
}
__device__ __forceinline__ void store(int* place, int value) {
    if (BYPASS)
        __stcg(place, value);
    else
        *place = value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    intra_original(const unsigned char* letters, const long long* starts, const int* lengths,
                   const unsigned char* query, const int* matrix, const char4*, int n_letters, int rows,
                   int gap_first, int gap_extend, int first, int* wavefronts, int* scores) {
    __shared__ int best;
    const int target = first + blockIdx.x, n = lengths[target], width = rows + 1;
    const unsigned char* columns = letters + starts[target];
    int* own = wavefronts + (long long)blockIdx.x * 7 * width;
    int own_best = 0;
    if (threadIdx.x == 0) best = 0;
    for (int step = 2; step <= rows + n; step++) {
        int *H = own + step % 3 * width, *E = own + (3 + step % 2) * width, *F = own + (5 + step % 2) * width;
        const int *H_1 = own + (step + 2) % 3 * width, *H_2 = own + (step + 1) % 3 * width;
        const int *E_1 = own + (3 + (step + 1) % 2) * width, *F_1 = own + (5 + (step + 1) % 2) * width;
        const int last = min(rows, step - 1);
        for (int i = max(1, step - n) + threadIdx.x; i <= last; i += THREADS) {
            const int j = step - i, score = matrix[query[i - 1] * n_letters + columns[j - 1]];
            const bool has_left = j > 1, has_above = i > 1;
            const Affine cell =
                affine_cell(has_left && has_above ? load(H_2 + i - 1) : 0, has_left ? load(H_1 + i) : 0,
                            has_left ? load(E_1 + i) : MINUS_INFINITY, has_above ? load(H_1 + i - 1) : 0,
                            has_above ? load(F_1 + i - 1) : MINUS_INFINITY, score, gap_first, gap_extend);
            store(H + i, cell.H), store(E + i, cell.E), store(F + i, cell.F);
            own_best = max(own_best, cell.H);
        }
        __syncthreads();
    }
    atomicMax(&best, own_best);
    __syncthreads();
    if (threadIdx.x == 0) scores[target] = best;
}
