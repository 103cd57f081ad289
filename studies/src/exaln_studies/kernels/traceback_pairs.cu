// Taluzzi, a variant: the traceback of all pairs after they are filled, one thread per pair. In the report
// one thread of each block traces back its own pair.
//
//     LENGTH, WHERE (2 or 3), directions, ends, steps, n_steps    as in one_block.cu
//
// Tests: studies/tests/test_kernels.py.

#include "directions.cuh"
#include "steps.cuh"
#include "study_constants.cuh"

static_assert(WHERE == 2 || WHERE == 3);

template <class Directions>
__device__ __forceinline__ int trace_pair(unsigned char* bytes, long long pair, EndKey end,
                                          unsigned char* steps) {
    const Directions stored{bytes + pair * Directions::SIZE};
    return trace_back(end, [stored](int i, int j) { return stored.get(i, j); }, steps);
}

extern "C" __global__ void traceback_pairs(unsigned char* directions, const EndKey* ends,
                                           unsigned char* steps, int* n_steps, int n_pairs) {
    const long long pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= n_pairs) return;
    unsigned char* own = steps + pair * 2 * LENGTH;
    if constexpr (WHERE == 2)
        n_steps[pair] = trace_pair<GlobalRows<LENGTH>>(directions, pair, ends[pair], own);
    if constexpr (WHERE == 3)
        n_steps[pair] = trace_pair<GlobalDiagonals<LENGTH>>(directions, pair, ends[pair], own);
}
