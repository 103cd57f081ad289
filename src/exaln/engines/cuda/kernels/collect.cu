// Selects from the scores of a batch what leaves the device: pairs to score again, and candidates.
//
//   scores      int32[n_queries][row_stride], of which n_targets columns are used
//   count       the entries of a list, which has room for `capacity`. It keeps counting when the list is
//               full, so the host sees that entries are missing
//
// Tests: tests/engines/cuda/scan/, tests/engines/cuda/test_engine.py.

#include "block_item.cuh"
#include "constants.cuh"

// The bin of a length, as in statistics/length_bins.py: eight bins per octave.
__device__ unsigned length_bin(long long length) {
    const int octave = max(63 - __clzll(length) - 3, 0);
    return octave * 8 + unsigned(length >> octave);
}

// Lists pairs whose packed score may be wrong as items of block.cu, and sets their score to 0.
extern "C" __global__ void find_overflows(int* __restrict__ scores, unsigned long long row_stride,
                                          unsigned n_queries, unsigned n_targets, int limit,
                                          unsigned capacity, unsigned* count,
                                          const long long* __restrict__ offsets,
                                          BlockItem* __restrict__ items) {
    for (unsigned query = blockIdx.y; query < n_queries; query += gridDim.y) {
        for (unsigned row = blockIdx.x * blockDim.x + threadIdx.x; row < n_targets;
             row += gridDim.x * blockDim.x) {
            int& score = scores[query * row_stride + row];
            if (score <= limit) continue;
            const unsigned place = atomicAdd(count, 1u);
            if (place >= capacity) continue;
            items[place] = {query, row, 0, unsigned(offsets[row + 1] - offsets[row])};
            score = 0;
        }
    }
}

struct Candidate {
    int query, row, score;
};

// Lists candidates: pairs whose score reaches the cutoff of the query and the length bin of the target.
extern "C" __global__ void cut(const int* __restrict__ scores, unsigned long long row_stride,
                               unsigned first_query, unsigned n_queries, unsigned n_targets,
                               const long long* __restrict__ offsets, const int* __restrict__ minimum,
                               unsigned capacity, unsigned* count, Candidate* __restrict__ candidates) {
    for (unsigned row = blockIdx.x * blockDim.x + threadIdx.x; row < n_targets;
         row += gridDim.x * blockDim.x) {
        const unsigned bin = length_bin(offsets[row + 1] - offsets[row]);
        for (unsigned query = blockIdx.y; query < n_queries; query += gridDim.y) {
            const int score = scores[query * row_stride + row];
            if (score < minimum[size_t(query) * BINS + bin]) continue;
            const unsigned place = atomicAdd(count, 1u);
            if (place < capacity) candidates[place] = {int(first_query + query), int(row), score};
        }
    }
}
