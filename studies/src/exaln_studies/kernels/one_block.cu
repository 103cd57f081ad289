// Taluzzi, sections 2.2 and 2.3: one block per pair, one thread per row, the last diagonals in shared memory.
// Linear gaps.
//
// Thread k computes row i = k + 1, at step s column j = s - i. It needs H of the two previous steps, of its
// own row and of the row above:
//
// clang-format off
//     row i - 1   s-2  s-1
//     row i       s-1   s        the cells with the step that computes them
//
//     LENGTH        of all sequences;  grid: one block of LENGTH threads per pair
//     WHERE         directions: 0 bytes in shared memory, 1 two bits in shared memory,
//                   2 bytes in global memory by rows, 3 by diagonals
//     queries, targets, ends, steps, n_steps, traces      as in one_thread.cu
//     directions    uint8: those in global memory, SIZE per pair (directions.cuh)
// clang-format on
//
// Three diagonals of H are used in turn, so one barrier per step suffices: the diagonal that is overwritten
// was last read in the previous step. Shared memory: 3 (LENGTH + 1) ints, then the directions.
//
// Tests: studies/tests/test_kernels.py.

#include "directions.cuh"
#include "steps.cuh"
#include "study_constants.cuh"

extern __shared__ unsigned arena[];

template <class Directions>
__device__ __forceinline__ void align_pair(Directions directions, const unsigned char* query,
                                           const unsigned char* target, int match, int mismatch, int gap,
                                           EndKey* end, unsigned char* steps, int* n_steps, bool traces) {
    __shared__ EndKey best_end;
    int* rows = reinterpret_cast<int*>(arena);
    for (int k = threadIdx.x; k < 3 * (LENGTH + 1); k += LENGTH) rows[k] = 0;
    if (threadIdx.x == 0) best_end = 0;
    const int i = threadIdx.x + 1;
    const unsigned char letter = query[i - 1];
    int *before = rows, *previous = rows + LENGTH + 1, *current = rows + 2 * (LENGTH + 1);
    EndKey best = 0;
    __syncthreads();
    for (int step = 2; step <= 2 * LENGTH; step++) {
        const int j = step - i;
        if (j >= 1 && j <= LENGTH) {
            const int score = letter == target[j - 1] ? match : mismatch;
            const int diagonal = before[i - 1], left = previous[i];
            const int H = linear_cell(diagonal, left, previous[i - 1], score, gap);
            current[i] = H;
            directions.set(i, j, direction_of(H, diagonal, left, score, gap));
            best = max(best, end_key(H, i, j));
        }
        __syncthreads();
        int* oldest = before;
        before = previous, previous = current, current = oldest;
    }
    atomicMax(&best_end, best);
    __syncthreads();
    if (threadIdx.x != 0) return;
    *end = best_end;
    if (traces)
        *n_steps = trace_back(
            best_end, [&directions](int row, int column) { return directions.get(row, column); }, steps);
}

// The directions of a block's pair, stored as WHERE says.
__device__ __forceinline__ auto directions_of(unsigned* in_shared, unsigned char* in_global, long long pair) {
    if constexpr (WHERE == 0)
        return GlobalRows<LENGTH>{reinterpret_cast<unsigned char*>(in_shared)};
    else if constexpr (WHERE == 1)
        return SharedBits<LENGTH>{in_shared};
    else if constexpr (WHERE == 2)
        return GlobalRows<LENGTH>{in_global + pair * GlobalRows<LENGTH>::SIZE};
    else
        return GlobalDiagonals<LENGTH>{in_global + pair * GlobalDiagonals<LENGTH>::SIZE};
}

extern "C" __global__ void __launch_bounds__(LENGTH)
    one_block(const unsigned char* queries, const unsigned char* targets, int match, int mismatch, int gap,
              unsigned char* directions, EndKey* ends, unsigned char* steps, int* n_steps, int traces) {
    const long long pair = blockIdx.x;
    align_pair(directions_of(arena + 3 * (LENGTH + 1), directions, pair), queries + pair * LENGTH,
               targets + pair * LENGTH, match, mismatch, gap, ends + pair, steps + pair * 2 * LENGTH,
               n_steps + pair, traces != 0);
}
