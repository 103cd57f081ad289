// The best cell of complete tables, and the traceback from it, after diagonals.cu or tiles.cu.
//
// clang-format off
//     TILED               the layout of the tables: 1 tiles, 0 by diagonals
//     best_cell           best: one EndKey, 0 before: score, then the smaller column, then the smaller row
//     traceback_tables    one thread; steps uint8[m + n], from the end; n_steps int32[1]. The rule of
//                         docs/modes.md: the diagonal before E before F, opening before extending, to a zero
// clang-format on
//
// Tests: studies/tests/test_kernels.py.

#include "study_constants.cuh"
#include "tables.cuh"

constexpr int PLACE_BITS = 21, MAX_PLACE = (1 << PLACE_BITS) - 1;
using EndKey = unsigned long long;

template <class Layout>
__device__ __forceinline__ EndKey best_of(const Layout& layout, const int* H, int m, int n,
                                          const long long* starts) {
    EndKey best = 0;
    for (int line = blockIdx.x; line < layout.n_lines(); line += gridDim.x) {
        for (int k = threadIdx.x; k < layout.n_cells(line); k += blockDim.x) {
            const int i = layout.row(line, k), j = layout.column(line, k);
            if (i < 1 || j < 1 || i > m || j > n) continue;
            const EndKey score = H[TILED ? (long long)line * SIDE * SIDE + k : starts[line] + k];
            best = max(best,
                       score << 2 * PLACE_BITS | EndKey(MAX_PLACE - j) << PLACE_BITS | EndKey(MAX_PLACE - i));
        }
    }
    return best;
}

extern "C" __global__ void best_cell(int m, int n, const int* H, const long long* starts, EndKey* best) {
    EndKey own;
    if constexpr (TILED)
        own = best_of(Tiles{m, n}, H, m, n, starts);
    else
        own = best_of(Diagonals{starts, m, n}, H, m, n, starts);
    if (own > 0) atomicMax(best, own);
}

template <class Layout>
__device__ __forceinline__ int trace(const Layout& layout, const Pair& pair, const Tables& tables, EndKey end,
                                     unsigned char* steps) {
    int i = MAX_PLACE - int(end & MAX_PLACE), j = MAX_PLACE - int(end >> PLACE_BITS & MAX_PLACE);
    int n = 0;
    Direction state = DIAGONAL;  // DIAGONAL: in H; TARGET_ONLY: in E; QUERY_ONLY: in F
    auto H = [&](int row, int column) {
        return row < 1 || column < 1 ? 0 : tables.H[layout.at(row, column)];
    };
    if (end >> 2 * PLACE_BITS == 0) return 0;
    while (i > 0 && j > 0) {
        const long long at = layout.at(i, j);
        if (state == DIAGONAL) {
            const int h = tables.H[at];
            if (h == 0) break;
            if (h == H(i - 1, j - 1) + pair.matrix[pair.query[i - 1] * pair.n_letters + pair.target[j - 1]]) {
                steps[n++] = DIAGONAL;
                i--, j--;
            } else {
                state = h == tables.E[at] ? TARGET_ONLY : QUERY_ONLY;
            }
        } else if (state == TARGET_ONLY) {
            steps[n++] = TARGET_ONLY;
            if (tables.E[at] == H(i, j - 1) - pair.gap_first) state = DIAGONAL;
            j--;
        } else {
            steps[n++] = QUERY_ONLY;
            if (tables.F[at] == H(i - 1, j) - pair.gap_first) state = DIAGONAL;
            i--;
        }
    }
    return n;
}

extern "C" __global__ void traceback_tables(const unsigned char* query, const unsigned char* target,
                                            const int* matrix, int n_letters, int gap_first, int gap_extend,
                                            int m, int n, int* H, int* E, int* F, const long long* starts,
                                            const EndKey* best, unsigned char* steps, int* n_steps) {
    const Pair pair{query, target, matrix, n_letters, gap_first, gap_extend, m, n};
    if constexpr (TILED)
        *n_steps = trace(Tiles{m, n}, pair, {H, E, F}, *best, steps);
    else
        *n_steps = trace(Diagonals{starts, m, n}, pair, {H, E, F}, *best, steps);
}
