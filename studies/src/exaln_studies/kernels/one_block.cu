// Taluzzi, sections 2.2 and 2.3: a pair per block, a thread per row, the last diagonals in shared memory.
// Linear gaps.
//
//     LENGTH        of all sequences;  grid: a block of LENGTH threads per pair
//     WHERE         directions: 0 bytes in shared memory, 1 two bits in shared memory,
//                   2 bytes in global memory by rows, 3 by diagonals
//     queries, targets, ends, steps, n_steps, walks      as in one_thread.cu
//     directions    uint8: those in global memory, SIZE per pair (directions.cuh)
//
//     thread k at step s computes row k + 1, column s - k - 1:       row
//                                                                     1   s-1 .
//     it needs H of the two steps before, of its own row and          2   .  s-1  <- left
//     the row above. Three rows of H in turn, one barrier a           3   .   .   s
//     step: what is overwritten was last read two steps ago.
//
// Shared memory: 3 (LENGTH + 1) ints, then the directions. tests/test_study_kernels.py.

#include "directions.cuh"
#include "steps.cuh"
#include "study_constants.cuh"

extern __shared__ unsigned arena[];

template <class Directions>
__device__ __forceinline__ void align_pair(Directions directions, const unsigned char* query,
                                           const unsigned char* target, int match, int mismatch, int gap,
                                           EndKey* end, unsigned char* steps, int* n_steps, bool walks) {
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
    if (walks)
        *n_steps = walk_back(
            best_end, [&directions](int row, int column) { return directions.get(row, column); }, steps);
}

// Directions of a block's pair, where WHERE says.
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
              unsigned char* directions, EndKey* ends, unsigned char* steps, int* n_steps, int walks) {
    const long long pair = blockIdx.x;
    align_pair(directions_of(arena + 3 * (LENGTH + 1), directions, pair), queries + pair * LENGTH,
               targets + pair * LENGTH, match, mismatch, gap, ends + pair, steps + pair * 2 * LENGTH,
               n_steps + pair, walks != 0);
}
