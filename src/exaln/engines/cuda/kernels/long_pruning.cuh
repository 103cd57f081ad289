// Pruning: which pieces of long.cu are skipped because no cell of them can be part of an optimal local
// alignment, and why that changes no result.
//
// clang-format off
//                    |<---- columns left ---->|
//          H <= M    +-------+- - - - - - - - +  ---
//          enters    | piece |                |   ^      max(0, M) at most enters or begins here,
//            --->    |       |                |  rows    and each further diagonal step adds at
//                    +-------+                |  left    most `highest`
//                    |                        |   v
//                    + - - - - - - - - - - - -+  ---
// clang-format on
//
// Let M be the largest H that any cell of the piece can come from, and `highest` the highest score of two
// letters. The piece is skipped if max(0, M) + highest * min(rows left, columns left) < best, where rows and
// columns are counted from the first ones of the piece, and some alignment has the score `best`. A skipped
// piece passes on and stores H = 0 and E = F = -gap_first: an alignment that begins there.
//
// Score, end and path do not change:
//
//   1. No value exceeds the true one: each is the score of some alignment, at least of the empty one.
//   2. Every cell of an optimal alignment has its true H, and its true E or F where the alignment uses it. By
//      induction, the cell before it on that alignment has its true value. So no piece on the way is skipped:
//      M is at least what the alignment has there, and `best` is at most its final score.
//   3. So the best score and all cells that have it are found. In the traceback from one of them, a neighbour
//      that yields the value of the cell lies on an optimal alignment and has its true value; one that does
//      not yield it has at most its true value, and still does not. The path rule decides as before. That
//      holds as well for blocks that are computed again from checkpoints, which may cross skipped pieces.
//
// An older, lower `best` skips less. When a block is computed again for a path that leaves its last cell with
// a known score, that score is `best`, and rows and columns are left only up to that cell.
//
// Tests: tests/engines/cuda/long/test_regions.py, tests/pairwise/long/test_pruning.py.

#pragma once

#include "constants.cuh"
#include "long_warp.cuh"

struct Pruning {
    long long highest;                  // score of two letters; 0: nothing is skipped
    long long rows_left, columns_left;  // in which an alignment can gain, from the first of the region on
};

// The upper bound on what an alignment can gain in a strip; unlimited where nothing is skipped.
struct GainBound {
    static constexpr long long UNLIMITED = 1ll << 60;
    long long highest, row_gain, columns_left;

    __device__ GainBound(const Pruning& pruning, unsigned first_row) {
        const bool is_limited = pruning.highest > 0;
        highest = in_registers(is_limited ? pruning.highest : 1);
        row_gain = in_registers(is_limited ? pruning.highest * (pruning.rows_left - first_row) : UNLIMITED);
        columns_left = in_registers(is_limited ? pruning.columns_left : UNLIMITED);
    }

    // The least M with which a piece must be computed. first_tile may lie before the first column.
    __device__ __forceinline__ Score least_start(int first_tile, Score best) const {
        const long long column_gain = highest * (columns_left - max(first_tile, 0) * (long long)COLUMNS);
        return Score(max(best - min(row_gain, column_gain), 0ll));
    }
};
