// The traceback of pairs.cu: finds the end of the best alignment in a filled table, reads direction bits, and
// writes the operations of a path as runs.

#pragma once

#include "pairs_table.cuh"

constexpr unsigned INSERTION = 1, DELETION = 2, EQUAL = 7, DIFFERENT = 8;  // as in BAM
constexpr int PREFETCHED_CELLS = 8;  // cells of a diagonal that are read at a time

// Writes the operations of a path as runs.
struct RunWriter {
    unsigned* runs;
    unsigned n, operation, length;

    __device__ void add(unsigned next, unsigned times = 1) {
        if (next != operation) {
            flush();
            operation = next;
            length = 0;
        }
        length += times;
    }
    __device__ void flush() {
        if (length) runs[n++] = length << 4 | operation;
    }
};

// The stored table of one pair.
struct FilledTable {
    const char* arena;
    Layout layout;
    unsigned half;
    int m, n;

    __device__ int of_half(Word word) const { return half ? Number::high(word) : Number::low(word); }
    // The direction bits of cell (i, j), both counted from 1.
    __device__ unsigned directions(int i, int j) const {
        const unsigned row = i - 1, column = j - 1, strip = row / STRIP_ROWS, lane = row % STRIP_ROWS / ROWS;
        const unsigned k = row % ROWS, step = column / COLUMNS + lane;
        const size_t tile = size_t(strip) * (layout.n_tiles + LANES - 1) + step;
        const size_t two = ((tile * COLUMNS + column % COLUMNS) * ROW_EIGHTS + k / 8) * LANES + lane;
        const Word word = reinterpret_cast<const Word*>(arena + layout.directions)[2 * two + k % 8 / 4];
        return word >> (half * 16 + (3 - k % 4) * 4) & 15u;
    }
    __device__ int in_column(int i) const {
        const Word* columns = reinterpret_cast<const Word*>(arena + layout.columns);
        return of_half(columns[half * layout.n_strips * STRIP_ROWS + i - 1]);
    }
    __device__ int in_last_row(int j) const {
        const Word* row = reinterpret_cast<const Word*>(arena + layout.last_row);
        return of_half(row[half * layout.n_tiles * COLUMNS + j - 1]);
    }
    // The best score and its end (i, j): of equal scores the smallest j, then the smallest i.
    __device__ int find_end(int& i, int& j) const { return LOCAL ? find_local(i, j) : find_at_ends(i, j); }

    __device__ int find_local(int& i, int& j) const {
        const uint4* bests = reinterpret_cast<const uint4*>(arena + layout.bests);
        int best = 0;
        i = j = 0;
        for (unsigned lane = 0; lane < layout.n_strips * LANES; lane++) {
            const uint4 own = bests[lane];
            const int score = of_half(own.x);
            const unsigned place = half ? own.z : own.y;
            const int column = place / ROWS + 1;
            if (score > best || (score == best && score > 0 && column < j)) {
                best = score, i = lane * ROWS + place % ROWS + 1, j = column;
            }
        }
        return best;
    }
    __device__ int find_at_ends(int& i, int& j) const {
        int best = in_column(m);
        i = m, j = n;
        if (QUERY_END) {
            for (int row = m - 1; row >= 0; row--) {
                const int score = row ? in_column(row) : border(n, TARGET_START);
                if (score >= best) best = score, i = row;
            }
        }
        if (TARGET_END) {
            for (int column = n - 1; column >= 0; column--) {
                const int score = column ? in_last_row(column) : border(m, QUERY_START);
                if (score >= best) best = score, i = m, j = column;
            }
        }
        return best;
    }
};

// Directions and letters of n cells from (i, j) on back along the diagonal, where most paths continue. They
// are loaded together, so a traceback waits once for all. Elements from n on repeat the last.
struct Diagonal {
    int n;
    unsigned bits[PREFETCHED_CELLS], a[PREFETCHED_CELLS], b[PREFETCHED_CELLS];

    __device__ Diagonal(const FilledTable& filled, const unsigned char* query, const unsigned char* target,
                        int i, int j)
        : n(min(PREFETCHED_CELLS, min(i, j))) {
#pragma unroll
        for (int k = 0; k < PREFETCHED_CELLS; k++) {
            const int inside = min(k, n - 1);
            bits[k] = filled.directions(i - inside, j - inside);
            a[k] = query[i - 1 - inside], b[k] = target[j - 1 - inside];
        }
    }
};
