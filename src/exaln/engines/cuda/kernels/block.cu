// Single-pair kernel: exact 32-bit scores, each pair spread over a whole block. It scores targets too long to
// share a group of lanes, and pairs whose packed score may be wrong.
//
// The query rows are divided over all threads, ROWS each. In each step a thread computes a tile of ROWS rows
// x 4 columns, one step behind the thread above. Within a warp, the last row and the letters (read by the
// first warp) move down by shuffles; between warps they move through shared memory, with one barrier per step
// at which warps without rows wait as well.
//
// A query longer than THREADS * ROWS is cut into strips, each computed by a block of its own, one behind the
// other. The boundary row between two strips is in global memory, and the upper strip publishes how many
// tiles of it are written. Blocks claim strips with a ticket, upper strips first, so every strip waits for
// one that is running or done.
//
//   codes, offsets      the targets, as the database stores them
//   fold                from codes of targets to 1 .. LETTERS
//   items               [n_items]: block_item.cuh. A target much longer than an alignment can span is split
//                       into parts that overlap by the longest span
//   queries             codes of all queries; query_offsets: where each begins
//   table               int16[letters of the query][LETTERS]
//   n_strips            of the longest query; shorter queries have empty strips
//   boundary            [n_items][boundary_stride]: H and F of a column, if there are several strips
//   n_written           [n_items][n_strips], zeros at first: tiles of the boundary row that are written
//   scores              the best of an item is max-combined into scores[query * row_stride + row]
//   overflows           counts scores above `limit`
//
// Lengths and positions are 32-bit, with room after the last column (MAX_LENGTH in scan/target_parts.py).
// Scores are exact up to 2^31 - 1 less the highest score of two letters, by the argument of packed.cuh.
// Shared memory: the profile, [letter][rows / 4][thread].
//
// Tests: tests/engines/cuda/scan/test_block_kernel.py, tests/engines/cuda/test_engine.py.

#include "block_item.cuh"
#include "constants.cuh"
#include "progress_flags.cuh"
#include "recurrence.cuh"
#include "wide.cuh"

constexpr int CHUNKS_OF_ROWS = ROWS / 4;
constexpr int WARPS = THREADS / WARP;
constexpr unsigned STRIP_ROWS = THREADS * ROWS;
constexpr unsigned FLAG_TILES = 64;  // tiles of a boundary row between two updates of its progress flag
constexpr unsigned POLL_NANOSECONDS = 100;

// Passed from thread to thread: the last row of a tile, and the letters of its columns, one per byte.
struct Edge {
    int H[COLUMNS], F[COLUMNS];
    unsigned letters;
};
static_assert(PAD == 0, "zeroed edges hold PAD");

// The letters of all columns, for the first thread. Its whole warp reads them, 32 columns at a time, and
// prefetches the next 32.
struct Letters {
    static constexpr unsigned TILES = WARP / COLUMNS;
    const unsigned char *target, *fold;
    unsigned length, lane;
    unsigned four;   // the letters of four columns, in the lanes of these columns
    int prefetched;  // the code of one column, or -1 after the last

    __device__ void prefetch(unsigned step) {
        const unsigned column = step * COLUMNS + lane;
        prefetched = column < length ? target[column] : -1;
    }
    __device__ unsigned of_step(unsigned step) {
        if (step % TILES == 0) {
            four = (prefetched < 0 ? PAD : fold[prefetched]) << lane % COLUMNS * 8;
            four |= __shfl_xor_sync(ALL, four, 1);
            four |= __shfl_xor_sync(ALL, four, 2);
            prefetch(step + TILES);
        }
        return __shfl_sync(ALL, four, step % TILES * COLUMNS);
    }
};
static_assert(COLUMNS == 4, "two exchanges combine the letters of a tile");

__device__ void fill_profile(int* profile, const unsigned char* query, unsigned n_rows, const short* table) {
    for (unsigned i = threadIdx.x; i < (LETTERS + 1) * STRIP_ROWS; i += THREADS) {
        const unsigned thread = i / 4 % THREADS, chunk = i / (4 * THREADS) % CHUNKS_OF_ROWS,
                       letter = i / STRIP_ROWS;
        const unsigned row = thread * ROWS + chunk * 4 + i % 4;
        profile[i] =
            row < n_rows && letter != PAD ? table[query[row] * LETTERS + letter - 1] : Wide::IMPOSSIBLE;
    }
}

// The boundary row between strips: H and F of each column. A strip reads the row above and overwrites it
// with its own last row.
struct BoundaryRow {
    int2* row;
    const unsigned* n_above;  // tiles that the strip above has written; null in the first strip
    unsigned* n_below;        // tiles that this strip has written; null in the last strip
    unsigned length;
    unsigned n_known;  // the last value read from n_above

    __device__ bool has_top() const { return n_above != nullptr; }

    // Loads the row above four columns, after waiting for it; 0 after the last column.
    __device__ __forceinline__ void load(int2 (&four)[COLUMNS], unsigned tile) {
        const unsigned column = tile * COLUMNS;
        for (; column < length && n_known <= tile; n_known = load_acquire(n_above))
            __nanosleep(POLL_NANOSECONDS);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) four[c] = column + c < length ? row[column + c] : make_int2(0, 0);
    }
    __device__ __forceinline__ void store(const Edge& edge, int tile) const {
        const unsigned column = unsigned(tile) * COLUMNS;
        if (tile < 0 || column >= length) return;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            if (column + c < length) row[column + c] = make_int2(edge.H[c], edge.F[c]);
        if (tile % FLAG_TILES == FLAG_TILES - 1 || column + COLUMNS >= length)
            store_release(n_below, unsigned(tile) + 1);
    }
};

// Computes one strip of at most STRIP_ROWS rows over all columns. Returns the best diagonal step of this
// thread's rows.
__device__ int score_strip(const int4* profile, Edge (*edges)[2], const unsigned char* target,
                           unsigned length, const unsigned char* fold, unsigned n_rows,
                           BoundaryRow boundary_row) {
    const unsigned n_threads = (n_rows + ROWS - 1) / ROWS;
    const unsigned thread = threadIdx.x, warp = thread / WARP, lane = thread % WARP;
    const unsigned n_tiles = (length + COLUMNS - 1) / COLUMNS, n_steps = n_tiles + n_threads - 1;
    if (warp * WARP >= n_threads) {
        for (unsigned step = 0; step < n_steps; step++) __syncthreads();
        return 0;
    }
    const bool is_last = boundary_row.n_below != nullptr && thread == n_threads - 1;
    int H[ROWS], E[ROWS];
#pragma unroll
    for (int k = 0; k < ROWS; k++) H[k] = 0, E[k] = 0;
    Edge edge = {};
    int diagonal = 0, best = 0;
    Letters letters{target, fold, length, lane};
    if (warp == 0) letters.prefetch(0);
    int2 above[COLUMNS] = {};  // the row above the next tile of the first thread
    if (warp == 0 && boundary_row.has_top()) boundary_row.load(above, 0);

    for (unsigned step = 0; step < n_steps; step++) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            edge.H[c] = __shfl_up_sync(ALL, edge.H[c], 1);
            edge.F[c] = __shfl_up_sync(ALL, edge.F[c], 1);
        }
        edge.letters = __shfl_up_sync(ALL, edge.letters, 1);
        if (warp == 0) {
            const unsigned first_letters = letters.of_step(step);
            if (lane == 0) {
                edge.letters = first_letters;
#pragma unroll
                for (int c = 0; c < COLUMNS; c++) edge.H[c] = above[c].x, edge.F[c] = above[c].y;
            }
            if (boundary_row.has_top()) boundary_row.load(above, step + 1);
        } else if (lane == 0) {
            edge = edges[warp - 1][(step + 1) % 2];
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const int4* scores =
                profile + (edge.letters >> 8 * c & 0xFFu) * (CHUNKS_OF_ROWS * THREADS) + thread;
            const int H_above = edge.H[c];
            update_column<Wide>(H, E, edge.F[c], diagonal, best,
                                [scores](int chunk) { return scores[chunk * THREADS]; });
            diagonal = H_above;
            edge.H[c] = H[ROWS - 1];
        }
        if (is_last) boundary_row.store(edge, int(step - thread));
        if (lane == WARP - 1) edges[warp][step % 2] = edge;
        __syncthreads();
    }
    return best;
}

__device__ int block_maximum(int value, int* of_warps) {
    for (int distance = 16; distance > 0; distance /= 2)
        value = max(value, __shfl_xor_sync(ALL, value, distance));
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = value;
    __syncthreads();
    for (int warp = 0; warp < WARPS; warp++) value = max(value, of_warps[warp]);
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    block_scores(const unsigned char* __restrict__ codes, const long long* __restrict__ offsets,
                 const unsigned char* __restrict__ fold, const BlockItem* __restrict__ items,
                 unsigned n_items, unsigned* ticket, const unsigned char* __restrict__ queries,
                 const long long* __restrict__ query_offsets, const short* __restrict__ table,
                 unsigned n_strips, int2* boundary, unsigned long long boundary_stride, unsigned* n_written,
                 int* scores, unsigned long long row_stride, int limit, unsigned* overflows) {
    extern __shared__ int4 profile[];
    __shared__ Edge edges[WARPS][2];
    __shared__ int of_warps[WARPS];
    __shared__ unsigned claimed;
    for (;;) {
        if (threadIdx.x == 0) claimed = atomicAdd(ticket, 1u);
        __syncthreads();
        const unsigned item = claimed / n_strips, first = claimed % n_strips * STRIP_ROWS;
        if (item >= n_items) return;
        const auto [query, row, begin, length] = items[item];
        const unsigned n_rows = unsigned(query_offsets[query + 1] - query_offsets[query]);
        if (first < n_rows) {
            const unsigned char* rows = queries + query_offsets[query] + first;
            const unsigned n_own = min(STRIP_ROWS, n_rows - first);
            fill_profile(reinterpret_cast<int*>(profile), rows, n_own, table);
            if (threadIdx.x < WARPS * 2) edges[threadIdx.x / 2][threadIdx.x % 2] = {{}, {}};
            __syncthreads();
            const BoundaryRow boundary_row{boundary + item * boundary_stride,
                                           first > 0 ? n_written + claimed - 1 : nullptr,
                                           first + n_own < n_rows ? n_written + claimed : nullptr, length, 0};
            const unsigned char* target = codes + offsets[row] + begin;
            int best = score_strip(profile, edges, target, length, fold, n_own, boundary_row);
            __syncthreads();
            best = block_maximum(best, of_warps);
            if (threadIdx.x == 0) {
                atomicMax(&scores[query * row_stride + row], best);
                if (best > limit) atomicAdd(overflows, 1u);
            }
        }
        __syncthreads();
    }
}
