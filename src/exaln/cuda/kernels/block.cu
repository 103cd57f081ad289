// Scores of single pairs, each spread over a whole block, in 32 bits: for targets too long to share a group
// of lanes, and for pairs whose packed score may be wrong.
//
// The rows of the query are split over all threads, ROWS each; per step a thread computes a tile of ROWS rows
// x 4 columns, one step behind the thread above it. Within a warp the last row goes on by shuffles, from warp
// to warp through shared memory, with one barrier per step, at which warps without rows wait too. A query
// longer than THREADS * ROWS goes in strips, with the row between two strips in global memory. Blocks take
// pairs by a ticket.
//
//   codes, offsets      the targets, as the database has them
//   fold                from their codes to 1 .. LETTERS
//   items               [n_items]: a query, a row of the targets, and which part of it: a target much longer
//                       than what an alignment can span is split into parts that overlap by that much
//   queries             codes of all queries; query_offsets: where each begins
//   table               int16[letters of the query][LETTERS]
//   boundary            [blocks][boundary_stride]: H and F of a column, for queries of several strips
//   scores              the best of an item is max-combined into scores[query * row_stride + row]
//   overflows           counts scores above `limit`
//
// Scores are exact up to 2^31 - 1 less the largest score of two letters, by the argument of packed.cuh.
// Shared memory: the profile, [letter][rows / 4][thread]. Tests: tests/test_cuda_engine.py.

#include "constants.cuh"
#include "item.cuh"
#include "recurrence.cuh"
#include "wide.cuh"

constexpr int CHUNKS_OF_ROWS = ROWS / 4;
constexpr int WARPS = THREADS / 32;
constexpr unsigned STRIP_ROWS = THREADS * ROWS;
constexpr unsigned ALL = 0xFFFFFFFFu;

struct Edge {
    int H[COLUMNS], F[COLUMNS];
};

struct Columns {
    unsigned char letter[COLUMNS];
};

// The folded letters of four columns, PAD before the first and behind the last.
__device__ __forceinline__ Columns load_columns(const unsigned char* target, long long length, long long tile,
                                                const unsigned char* fold) {
    Columns columns;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        const long long column = tile * COLUMNS + c;
        columns.letter[c] = column >= 0 && column < length ? fold[target[column]] : PAD;
    }
    return columns;
}

__device__ void fill_profile(int* profile, const unsigned char* query, unsigned n_rows, const short* table) {
    for (unsigned i = threadIdx.x; i < (LETTERS + 1) * STRIP_ROWS; i += THREADS) {
        const unsigned thread = i / 4 % THREADS, chunk = i / (4 * THREADS) % CHUNKS_OF_ROWS,
                       letter = i / STRIP_ROWS;
        const unsigned row = thread * ROWS + chunk * 4 + i % 4;
        profile[i] =
            row < n_rows && letter != PAD ? table[query[row] * LETTERS + letter - 1] : Wide::IMPOSSIBLE;
    }
}

// One strip of at most STRIP_ROWS rows over all columns; the best diagonal step of this thread's rows.
__device__ int score_strip(const int4* profile, Edge (*edges)[2], const unsigned char* target,
                           long long length, const unsigned char* fold, unsigned n_rows, int2* boundary,
                           bool has_top, bool has_bottom) {
    const unsigned n_threads = (n_rows + ROWS - 1) / ROWS;
    const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const long long n_tiles = (length + COLUMNS - 1) / COLUMNS, n_steps = n_tiles + n_threads - 1;
    if (warp * 32 >= n_threads) {
        for (long long step = 0; step < n_steps; step++) __syncthreads();
        return 0;
    }
    const bool is_last = has_bottom && thread == n_threads - 1;
    int H[ROWS], E[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; k++) H[k] = 0, E[k] = 0;
    Edge edge;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) edge.H[c] = 0, edge.F[c] = 0;
    int diagonal = 0, best = 0;
    Columns next = load_columns(target, length, -(long long)thread, fold);

    for (long long step = 0; step < n_steps; step++) {
        const long long tile = step - thread;
        const Columns columns = next;
        next = load_columns(target, length, tile + 1, fold);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            edge.H[c] = __shfl_up_sync(ALL, edge.H[c], 1);
            edge.F[c] = __shfl_up_sync(ALL, edge.F[c], 1);
        }
        if (lane == 0) {
            if (warp > 0) {
                edge = edges[warp - 1][(step + 1) % 2];
            } else {
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) {
                    const bool is_kept = has_top && tile * COLUMNS + c < length;
                    const int2 above = is_kept ? boundary[tile * COLUMNS + c] : make_int2(0, 0);
                    edge.H[c] = above.x, edge.F[c] = above.y;
                }
            }
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const int4* scores = profile + columns.letter[c] * (CHUNKS_OF_ROWS * THREADS) + thread;
            const int H_above = edge.H[c];
            update_column<Wide>(H, E, edge.F[c], diagonal, best,
                                [scores](int chunk) { return scores[chunk * THREADS]; });
            diagonal = H_above;
            edge.H[c] = H[ROWS - 1];
        }
        if (is_last) {
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                const long long column = tile * COLUMNS + c;
                if (column >= 0 && column < length) boundary[column] = make_int2(edge.H[c], edge.F[c]);
            }
        }
        if (lane == 31) edges[warp][step % 2] = edge;
        __syncthreads();
    }
    return best;
}

__device__ int block_maximum(int value, int* of_warps) {
    for (int distance = 16; distance > 0; distance /= 2)
        value = max(value, __shfl_xor_sync(ALL, value, distance));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    for (int warp = 0; warp < WARPS; warp++) value = max(value, of_warps[warp]);
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    block_scores(const unsigned char* __restrict__ codes, const long long* __restrict__ offsets,
                 const unsigned char* __restrict__ fold, const Item* __restrict__ items, unsigned n_items,
                 unsigned* ticket, const unsigned char* __restrict__ queries,
                 const long long* __restrict__ query_offsets, const short* __restrict__ table, int2* boundary,
                 unsigned long long boundary_stride, int* scores, unsigned long long row_stride, int limit,
                 unsigned* overflows) {
    extern __shared__ int4 profile[];
    __shared__ Edge edges[WARPS][2];
    __shared__ int of_warps[WARPS];
    __shared__ unsigned item;
    boundary += blockIdx.x * boundary_stride;
    for (;;) {
        if (threadIdx.x == 0) item = atomicAdd(ticket, 1u);
        __syncthreads();
        if (item >= n_items) return;
        const auto [query, row, begin, length] = items[item];
        const unsigned char* target = codes + offsets[row] + begin;
        const unsigned char* rows = queries + query_offsets[query];
        const unsigned n_rows = unsigned(query_offsets[query + 1] - query_offsets[query]);
        int best = 0;
        for (unsigned first = 0; first < n_rows; first += STRIP_ROWS) {
            const unsigned n_own = min(STRIP_ROWS, n_rows - first);
            fill_profile(reinterpret_cast<int*>(profile), rows + first, n_own, table);
            if (threadIdx.x < WARPS * 2) edges[threadIdx.x / 2][threadIdx.x % 2] = {{}, {}};
            __syncthreads();
            best = max(best, score_strip(profile, edges, target, length, fold, n_own, boundary, first > 0,
                                         first + STRIP_ROWS < n_rows));
            __syncthreads();
        }
        best = block_maximum(best, of_warps);
        if (threadIdx.x == 0) {
            atomicMax(&scores[query * row_stride + row], best);
            if (best > limit) atomicAdd(overflows, 1u);
        }
        __syncthreads();
    }
}
