// Munekawa, Ino, Hagihara: one block per target, one thread per query row (or four rows). Affine gaps, on
// chip.
//
// A thread computes ROWS_EACH x COLUMNS_EACH cells per step. At step k thread t is at column
// (k - t) * COLUMNS_EACH; H and E to the left are in registers, H and F of the row above come from thread t -
// 1 through shared memory.
//
// clang-format off
//     1 x 1   the kernel of Fig. 5, corrected: rows end at the target's length, the row above the first is
//             initialized, the values for the row below have two buffers, a gap's cost is subtracted once
//     4 x 1   letters packed in words, one word for four columns
//     4 x 4   with lookahead: one word per step, a quarter of the steps
//
//     letters, starts, lengths    targets.cuh;  query uint8[blockDim.x x ROWS_EACH], padded with 255
//     row_scores                  int32[gridDim.x x size]: the best score of each thread's rows; the host
//                                 takes their maximum
// clang-format on
//
// Tests: studies/tests/test_kernels.py.

#include "study_constants.cuh"
#include "targets.cuh"

constexpr int MAX_THREADS = 512;

extern "C" __global__ void __launch_bounds__(MAX_THREADS)
    query_rows(const unsigned char* letters, const long long* starts, const int* lengths,
               const unsigned char* query, int match, int mismatch, int gap_first, int gap_extend, int first,
               int* row_scores, int size) {
    __shared__ Below passed[2][MAX_THREADS][COLUMNS_EACH];
    const int thread = threadIdx.x, target = first + blockIdx.x;
    const unsigned char* columns = letters + starts[target];
    const unsigned* words = reinterpret_cast<const unsigned*>(columns);
    const int n_groups = (lengths[target] + COLUMNS_EACH - 1) / COLUMNS_EACH;
    int H[ROWS_EACH], E[ROWS_EACH], above = 0, best = 0;
    unsigned own[ROWS_EACH], word = 0;
#pragma unroll
    for (int r = 0; r < ROWS_EACH; r++)
        H[r] = 0, E[r] = MINUS_INFINITY, own[r] = query[thread * ROWS_EACH + r];
    for (int step = 0; step < n_groups + int(blockDim.x) - 1; step++) {
        const int group = step - thread;
        if (group >= 0 && group < n_groups) {
            if (ROWS_EACH == 1)
                word = columns[group];
            else if (COLUMNS_EACH == 4)
                word = words[group];
            else
                word = group % 4 == 0 ? words[group / 4] : word >> 8;
#pragma unroll
            for (int c = 0; c < COLUMNS_EACH; c++) {
                const unsigned letter = word >> 8 * c & 255;
                const Below top = thread > 0 ? passed[(step + 1) % 2][thread - 1][c] : top_border();
                int diagonal = above, F = top.y;
                above = top.x;
#pragma unroll
                for (int r = 0; r < ROWS_EACH; r++) {
                    const int left = H[r];
                    advance_cell(diagonal, own[r] == letter ? match : mismatch, H[r], E[r], F, gap_first,
                                 gap_extend);
                    diagonal = left;
                    best = max(best, H[r]);
                }
                passed[step % 2][thread][c] = make_int2(H[ROWS_EACH - 1], F);
            }
        }
        __syncthreads();
    }
    row_scores[(long long)blockIdx.x * size + thread] = best;
}
