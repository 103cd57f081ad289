// Hains et al., after CUDASW++: one thread per target, in tiles of 8 x 4 cells in registers. Affine gaps.
//
// A thread computes strips of 8 rows, one after another, 4 columns (one word of letters) at a time:
//
// clang-format off
//     . t t t t     t: H and F of the row above, read from global memory
//     l 1 . . .     l: H and E to the left, in registers
//     l 2 . . .     the bottom row of the tile is written to global memory
//
//     targets     first .. first + n - 1, sorted by length; the longest determines the time of a launch
//     boundary    int2[longest x stride]: column by column, thread by thread
//     scores      int32, by target
// clang-format on
//
// Tests: studies/tests/test_kernels.py.

#include "targets.cuh"

constexpr int TILE_ROWS = 8, TILE_COLUMNS = 4, GROUP_THREADS = 256;

__device__ __forceinline__ void four_rows(char4 scores, int& diagonal, int (&H)[TILE_ROWS],
                                          int (&E)[TILE_ROWS], int& F, int first, const Query& query,
                                          int& best) {
    const int four[4] = {scores.x, scores.y, scores.z, scores.w};
#pragma unroll
    for (int r = 0; r < 4; r++) {
        const int left = H[first + r];
        advance_cell(diagonal, four[r], H[first + r], E[first + r], F, query.gap_first, query.gap_extend);
        diagonal = left;
        best = max(best, H[first + r]);
    }
}

__device__ __forceinline__ int align_target(const Query& query, const unsigned* words, int n_columns,
                                            Below* boundary, long long stride) {
    const int fours = query.rows / 4;
    int best = 0;
    for (int row = 0; row < fours; row += TILE_ROWS / 4) {
        int H[TILE_ROWS], E[TILE_ROWS], above = 0;
#pragma unroll
        for (int r = 0; r < TILE_ROWS; r++) H[r] = 0, E[r] = MINUS_INFINITY;
        for (int column = 0; column < n_columns; column += TILE_COLUMNS) {
            const unsigned word = words[column / 4];
#pragma unroll
            for (int c = 0; c < TILE_COLUMNS; c++) {
                const char4* scores = query.profile + (word >> 8 * c & 255) * fours + row;
                Below* place = boundary + (column + c) * stride;
                const Below top = row > 0 ? *place : top_border();
                int diagonal = above, F = top.y;
                above = top.x;
                four_rows(scores[0], diagonal, H, E, F, 0, query, best);
                four_rows(scores[1], diagonal, H, E, F, 4, query, best);
                *place = make_int2(H[TILE_ROWS - 1], F);
            }
        }
    }
    return best;
}

extern "C" __global__ void __launch_bounds__(GROUP_THREADS)
    inter_task(const unsigned char* letters, const long long* starts, const int* lengths,
               const unsigned char* query_letters, const int* matrix, const char4* profile, int n_letters,
               int rows, int gap_first, int gap_extend, int first, int n, Below* boundary, int stride,
               int* scores) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, target = first + thread;
    if (thread >= n) return;
    const Query query{query_letters, matrix, profile, n_letters, rows, gap_first, gap_extend};
    const unsigned* words = reinterpret_cast<const unsigned*>(letters + starts[target]);
    const int n_columns = (lengths[target] + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    scores[target] = align_target(query, words, n_columns, boundary + thread, stride);
}
