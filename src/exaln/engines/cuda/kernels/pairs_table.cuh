// The table of a couple of pairs in pairs.cu: what the host sends for each pair, where the parts of the table
// are in the arena, and what is returned. native/pairs/device_plan.hpp has the same structs.

#pragma once

#include "constants.cuh"
#include "packed.cuh"

using Number = PackedNumber<true>;  // int16 on every device, as scores may be far below 0

constexpr int GROUPS = WARP / LANES;
constexpr int STRIP_ROWS = LANES * ROWS;
constexpr int ROW_EIGHTS = ROWS / 8;
constexpr int TABLE_SIZE = (LETTERS + 1) * (LETTERS + 1);
constexpr int GAP_OPEN = GAP_FIRST - GAP_EXTEND;
static_assert(ROWS % 8 == 0);

struct Pair {
    unsigned long long query, target;
    unsigned m, n;
};

// Offsets of the parts of a couple in the arena, in bytes.
struct Layout {
    unsigned long long rows;        // [n_strips][LANES][ROWS] words: letters of both queries, as offsets
    unsigned long long tiles;       // [n_tiles] of four words: letters of both targets, as offsets
    unsigned long long directions;  // [n_strips][n_tiles + LANES - 1][4][ROW_EIGHTS][LANES] of two words
    unsigned long long columns;     // [2][n_strips][LANES][ROWS] words: H of the last column of each half
    unsigned long long last_row;    // [2][n_tiles][4] words: H of the last row of each half, for TARGET_END
    unsigned long long bests;       // [n_strips][LANES]: best score, its position in each half, for LOCAL
    unsigned long long boundary;    // [n_tiles][2] of four words: H and F between strips
    unsigned n_tiles, n_strips;
};

struct Result {
    int score, query_start, query_end, target_start, target_end;
    int identities, positives, mismatches, gap_opens, gap_columns, columns;
    unsigned n_runs, first_run;  // the path is operations[first_run .. first_run + n_runs)
};

// Of a batch; the host sends zeros.
struct Counters {
    unsigned ticket;   // couples taken by warps, in groups
    unsigned n_wrong;  // paths that do not have the score of their pair
    unsigned n_runs;   // runs of all paths so far
    unsigned unused;
};

__device__ int border(int letters, bool is_free) {
    return LOCAL || is_free || letters == 0 ? 0 : -(GAP_OPEN + letters * GAP_EXTEND);
}
