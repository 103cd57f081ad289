// Xiao, Aji, Feng: the tiled wavefront. One block per tile of 32 x 32 cells, one diagonal of tiles per step.
// Affine gaps.
//
// Shared memory holds H, E and F of the tile and of its boundary. Thread k computes row k, one diagonal of
// the tile after another; then all threads write the tile word by word.
//
// clang-format off
//     . t t t    t: boundary row, H and F
//     l c c c    l: boundary column, H and E
//     l c c c    c: cells of the tile
// clang-format on
//
// Arguments as in diagonals.cu, tables in the layout of tiles; step_tiles computes diagonal `d` of tiles
// only.
//
// Tests: studies/tests/test_kernels.py.

#include "barrier.cuh"
#include "tables.cuh"

struct SharedTile {
    int H[SIDE + 1][SIDE + 1], E[SIDE + 1][SIDE + 1], F[SIDE + 1][SIDE + 1];
    unsigned char query[SIDE], target[SIDE];
};

// Loads the boundary of the tile and its letters: warp 0 the row above, warp 1 the column to the left.
__device__ __forceinline__ void load_borders(SharedTile& tile, const Pair& pair, const Tables& tables,
                                             const Tiles& layout, int tile_row, int tile_column) {
    const int lane = threadIdx.x % SIDE, warp = threadIdx.x / SIDE;
    const int above = tile_row * SIDE, left = tile_column * SIDE;
    if (warp == 0) {
        const int j = left + lane + 1;
        tile.H[0][lane + 1] = above > 0 ? tables.H[layout.at(above, j)] : 0;
        tile.F[0][lane + 1] = above > 0 ? tables.F[layout.at(above, j)] : MINUS_INFINITY;
        tile.target[lane] = j <= pair.n ? pair.target[j - 1] : 0;
    } else if (warp == 1) {
        const int i = above + lane + 1;
        tile.H[lane + 1][0] = left > 0 ? tables.H[layout.at(i, left)] : 0;
        tile.E[lane + 1][0] = left > 0 ? tables.E[layout.at(i, left)] : MINUS_INFINITY;
        tile.query[lane] = i <= pair.m ? pair.query[i - 1] : 0;
    } else if (warp == 2 && lane == 0) {
        tile.H[0][0] = above > 0 && left > 0 ? tables.H[layout.at(above, left)] : 0;
    }
}

__device__ __forceinline__ void fill_tile(SharedTile& tile, const Pair& pair, const Tables& tables,
                                          const Tiles& layout, int tile_row, int tile_column) {
    load_borders(tile, pair, tables, layout, tile_row, tile_column);
    __syncthreads();
    const int r = threadIdx.x + 1;
    for (int step = 2; step <= 2 * SIDE; step++) {
        const int c = step - r;
        if (r <= SIDE && c >= 1 && c <= SIDE) {
            const int score = pair.matrix[tile.query[r - 1] * pair.n_letters + tile.target[c - 1]];
            const Affine cell =
                affine_cell(tile.H[r - 1][c - 1], tile.H[r][c - 1], tile.E[r][c - 1], tile.H[r - 1][c],
                            tile.F[r - 1][c], score, pair.gap_first, pair.gap_extend);
            tile.H[r][c] = cell.H, tile.E[r][c] = cell.E, tile.F[r][c] = cell.F;
        }
        __syncthreads();
    }
    const long long begin = layout.begin(tile_row, tile_column);
    for (int k = threadIdx.x; k < SIDE * SIDE; k += blockDim.x) {
        tables.H[begin + k] = tile.H[k / SIDE + 1][k % SIDE + 1];
        tables.E[begin + k] = tile.E[k / SIDE + 1][k % SIDE + 1];
        tables.F[begin + k] = tile.F[k / SIDE + 1][k % SIDE + 1];
    }
    __syncthreads();
}

// Fills the tiles of diagonal `d`, which the blocks take in turn.
__device__ __forceinline__ void fill_tiles(const Pair& pair, const Tables& tables, const Tiles& layout,
                                           int d) {
    __shared__ SharedTile tile;
    const int first = max(0, d - layout.columns() + 1), last = min(layout.rows() - 1, d);
    for (int row = first + blockIdx.x; row <= last; row += gridDim.x)
        fill_tile(tile, pair, tables, layout, row, d - row);
}

extern "C" __global__ void step_tiles(const unsigned char* query, const unsigned char* target,
                                      const int* matrix, int n_letters, int gap_first, int gap_extend, int m,
                                      int n, int* H, int* E, int* F, const long long*, int d) {
    fill_tiles({query, target, matrix, n_letters, gap_first, gap_extend, m, n}, {H, E, F}, {m, n}, d);
}

extern "C" __global__ void all_tiles(const unsigned char* query, const unsigned char* target,
                                     const int* matrix, int n_letters, int gap_first, int gap_extend, int m,
                                     int n, int* H, int* E, int* F, const long long*, int* state) {
    const Tiles layout{m, n};
    GridBarrier barrier(state);
    for (int d = 0; d < layout.rows() + layout.columns() - 1; d++) {
        fill_tiles({query, target, matrix, n_letters, gap_first, gap_extend, m, n}, {H, E, F}, layout, d);
        barrier.wait();
    }
}
