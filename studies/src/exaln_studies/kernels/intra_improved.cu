// Hains et al.: one block per target, strips of THREADS x HEIGHT query rows, HEIGHT rows per thread. Affine
// gaps.
//
// Thread t is WIDTH columns behind thread t - 1, whose bottom row it reads from shared memory; H and E to the
// left are in registers. The bottom row of a strip is the boundary row of the next one.
//
// clang-format off
//     strip   thread 0   . . . 3 .      the numbers are steps
//             thread 1   . . 2 . .
//             thread 2   . 1 . . .
//
//     VERSION     the steps of the paper: 0 two arrays of H, swapped by pointer; 1 values are copied;
//                 2 loops are unrolled, so that arrays are in registers; 3 scores of four rows from a profile
//     BOUNDARY    0 global memory, written by the last thread and read by the first; 1 global memory, by all
//                 threads in pieces (WIDTH 1); 2 shared memory
//     ONE_FILL    1: threads continue with the next strip at once; the pipeline is filled once per target
//     BYPASS      1: the boundary row bypasses the L1 cache
//
//     boundary    int2[n_blocks x stride];  targets and scores as in intra_original.cu
// clang-format on
//
// Tests: studies/tests/test_kernels.py.

#include "study_constants.cuh"
#include "targets.cuh"

constexpr int PIECE = 32;  // columns of the boundary row that are read and written at a time
static_assert(BOUNDARY != 1 || (WIDTH == 1 && THREADS >= PIECE));

extern __shared__ int2 arena[];

// The tile of a thread: H and E of its rows in its current column.
struct Rows {
    int H[2][HEIGHT], E[HEIGHT], above;
    int *here = H[0], *left = H[1];  // VERSION 0
    unsigned char letters[HEIGHT];

    __device__ void begin(const Query& query, int first_row) {
        above = 0;
#pragma unroll
        for (int r = 0; r < HEIGHT; r++) {
            H[0][r] = H[1][r] = 0, E[r] = MINUS_INFINITY;
            letters[r] = query.letters[first_row + r];
        }
    }

    __device__ int score(const Query& query, int r, unsigned letter) const {
        return query.matrix[letters[r] * query.n_letters + letter];
    }

    // Computes one column from the cell above; returns the bottom row. Versions 0 and 1, not unrolled.
    __device__ Below column_in_arrays(const Query& query, unsigned letter, Below top, int& best) {
        int diagonal = above, F = top.y;
        above = top.x;
#pragma unroll 1
        for (int r = 0; r < HEIGHT; r++) {
            const int* old = VERSION == 0 ? left : H[1];
            int* now = VERSION == 0 ? here : H[0];
            int value = old[r];
            advance_cell(diagonal, score(query, r, letter), value, E[r], F, query.gap_first,
                         query.gap_extend);
            diagonal = old[r];
            now[r] = value;
            best = max(best, value);
        }
        const int bottom = VERSION == 0 ? here[HEIGHT - 1] : H[0][HEIGHT - 1];
        if (VERSION == 0) {
            int* swapped = here;
            here = left, left = swapped;
        } else {
#pragma unroll 1
            for (int r = 0; r < HEIGHT; r++) H[1][r] = H[0][r];
        }
        return make_int2(bottom, F);
    }

    // Computes one column in registers; with a profile, one word holds the scores of four rows.
    __device__ Below column_in_registers(const Query& query, const char4* profile, unsigned letter, Below top,
                                         int& best) {
        int diagonal = above, F = top.y;
        above = top.x;
#pragma unroll
        for (int four = 0; four < HEIGHT; four += 4) {
            const char4 word =
                VERSION == 3 ? profile[letter * (query.rows / 4) + four / 4] : make_char4(0, 0, 0, 0);
            const int scores[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
            for (int r = four; r < four + 4; r++) {
                const int old = H[0][r], value = VERSION == 3 ? scores[r - four] : score(query, r, letter);
                advance_cell(diagonal, value, H[0][r], E[r], F, query.gap_first, query.gap_extend);
                diagonal = old;
                best = max(best, H[0][r]);
            }
        }
        return make_int2(H[0][HEIGHT - 1], F);
    }
};

// The boundary row between two strips, in any of its versions; columns count from 0.
struct Boundary {
    Below* row;             // all columns
    Below *read, *written;  // pieces in shared memory, BOUNDARY 1

    __device__ Below get(int column) const {
        if (BOUNDARY == 1) return read[column % PIECE];
        return BOUNDARY == 0 && BYPASS ? __ldcg(row + column) : row[column];
    }
    __device__ void put(int column, Below value) {
        if (BOUNDARY == 1)
            written[column % PIECE] = value;
        else if (BOUNDARY == 0 && BYPASS)
            __stcg(row + column, value);
        else
            row[column] = value;
    }
    // Called by all threads before a step: loads the piece that the first thread reads next, and stores the
    // piece that the last thread has written.
    __device__ void move_pieces(int first_column, int last_column, int n_columns) {
        if (BOUNDARY != 1) return;
        const int k = threadIdx.x;
        const bool reads = first_column >= 0 && first_column % PIECE == 0;
        const bool writes = last_column > 0 && (last_column % PIECE == 0 || last_column == n_columns);
        if (!reads && !writes) return;
        const int begin = (last_column - 1) / PIECE * PIECE;
        if (writes && begin + k < last_column && k < PIECE) row[begin + k] = written[k];
        if (reads && first_column + k < n_columns && k < PIECE) read[k] = row[first_column + k];
        __syncthreads();
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    intra_improved(const unsigned char* letters, const long long* starts, const int* lengths,
                   const unsigned char* query_letters, const int* matrix, const char4* profile, int n_letters,
                   int rows, int gap_first, int gap_extend, int first, Below* boundaries, int stride,
                   int* scores) {
    __shared__ int best;
    __shared__ Below passed[2][THREADS][WIDTH];
    __shared__ Below pieces[2][PIECE];
    const Query query{query_letters, matrix, profile, n_letters, rows, gap_first, gap_extend};
    const int target = first + blockIdx.x, thread = threadIdx.x;
    const unsigned char* columns = letters + starts[target];
    const int n_columns = (lengths[target] + WIDTH - 1) / WIDTH, n_strips = rows / (THREADS * HEIGHT);
    // Steps between the starts of two strips. A boundary row is read only after it has been written, PIECE
    // columns later.
    const int period =
        ONE_FILL ? max(n_columns + (BOUNDARY == 1), THREADS + 2 * PIECE) : n_columns + THREADS + 2 * PIECE;
    Boundary boundary{BOUNDARY == 2 ? arena : boundaries + (long long)blockIdx.x * stride, pieces[0],
                      pieces[1]};
    Rows tile;
    int own_best = 0, strip = 0, column = -thread;  // in units of WIDTH
    if (thread == 0) best = 0;
    const int n_steps = (n_strips - 1) * period + n_columns + THREADS;
    for (int step = 0; step < n_steps; step++) {
        const int first_strip = step / period, first_column = step % period;
        const int behind = step - (THREADS - 1), last_strip = behind < 0 ? 0 : behind / period;
        const int last_column = behind < 0 ? -1 : behind % period;
        if (BOUNDARY == 1)
            boundary.move_pieces(first_strip > 0 && first_column < n_columns ? first_column : -1,
                                 last_strip + 1 < n_strips && last_column <= n_columns ? last_column : -1,
                                 n_columns);
        if (column >= 0 && column < n_columns && strip < n_strips) {
            const int row = (strip * THREADS + thread) * HEIGHT;
            if (column == 0) tile.begin(query, row);
#pragma unroll
            for (int c = 0; c < WIDTH; c++) {
                const int place = column * WIDTH + c;
                Below top = thread > 0 ? passed[(step + 1) % 2][thread - 1][c] : top_border();
                if (thread == 0 && strip > 0) top = boundary.get(place);
                const unsigned letter = columns[place];
                const Below bottom =
                    VERSION < 2 ? tile.column_in_arrays(query, letter, top, own_best)
                                : tile.column_in_registers(query, profile + row / 4, letter, top, own_best);
                passed[step % 2][thread][c] = bottom;
                if (thread == THREADS - 1 && strip + 1 < n_strips) boundary.put(place, bottom);
            }
        }
        if (++column == period) column = 0, strip++;
        __syncthreads();
    }
    atomicMax(&best, own_best);
    __syncthreads();
    if (thread == 0) scores[target] = best;
}
