// Taluzzi, section 2.1: one block of one thread per pair, as on a CPU. Linear gaps.
//
// clang-format off
//     LENGTH        of all sequences;  grid: one block of one thread per pair
//     queries       uint8[n_pairs x LENGTH], letters;  targets: the same shape
//     tables        int32[n_pairs x (LENGTH + 1)^2], borders set to 0;  directions: uint8, the same shape
//     ends          EndKey[n_pairs], the best cell of each pair
//     steps         uint8[n_pairs x 2 LENGTH], each path from its end;  n_steps int32[n_pairs]
//     traces        whether to run the traceback
// clang-format on
//
// Scores and directions are in global memory, row by row. Tests: studies/tests/test_kernels.py.

#include "steps.cuh"
#include "study_constants.cuh"

extern "C" __global__ void one_thread(const unsigned char* queries, const unsigned char* targets, int match,
                                      int mismatch, int gap, int* tables, unsigned char* directions,
                                      EndKey* ends, unsigned char* steps, int* n_steps, int traces) {
    constexpr int WIDTH = LENGTH + 1;
    const long long pair = blockIdx.x;
    const unsigned char *query = queries + pair * LENGTH, *target = targets + pair * LENGTH;
    int* table = tables + pair * WIDTH * WIDTH;
    unsigned char* ways = directions + pair * WIDTH * WIDTH;
    EndKey best = 0;
    for (int i = 1; i <= LENGTH; i++) {
        for (int j = 1; j <= LENGTH; j++) {
            const int at = i * WIDTH + j, score = query[i - 1] == target[j - 1] ? match : mismatch;
            const int diagonal = table[at - WIDTH - 1], left = table[at - 1];
            const int H = linear_cell(diagonal, left, table[at - WIDTH], score, gap);
            table[at] = H;
            ways[at] = direction_of(H, diagonal, left, score, gap);
            best = max(best, end_key(H, i, j));
        }
    }
    ends[pair] = best;
    if (!traces) return;
    n_steps[pair] =
        trace_back(best, [ways](int i, int j) { return ways[i * WIDTH + j]; }, steps + pair * 2 * LENGTH);
}
