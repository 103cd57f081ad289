// Walking back after all pairs are filled, a thread per pair; in the paper one thread of each block walks.
//
//     LENGTH, WHERE (2 or 3), directions, ends, steps, n_steps    as in one_block.cu
//
// tests/test_study_kernels.py.

#include "directions.cuh"
#include "steps.cuh"
#include "study_constants.cuh"

static_assert(WHERE == 2 || WHERE == 3);

template <class Directions>
__device__ __forceinline__ int walk_kept(unsigned char* bytes, long long pair, EndKey end,
                                         unsigned char* steps) {
    const Directions kept{bytes + pair * Directions::SIZE};
    return walk_back(end, [kept](int i, int j) { return kept.get(i, j); }, steps);
}

extern "C" __global__ void walk_pairs(unsigned char* directions, const EndKey* ends, unsigned char* steps,
                                      int* n_steps, int n_pairs) {
    const long long pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= n_pairs) return;
    unsigned char* own = steps + pair * 2 * LENGTH;
    if constexpr (WHERE == 2)
        n_steps[pair] = walk_kept<GlobalRows<LENGTH>>(directions, pair, ends[pair], own);
    if constexpr (WHERE == 3)
        n_steps[pair] = walk_kept<GlobalDiagonals<LENGTH>>(directions, pair, ends[pair], own);
}
