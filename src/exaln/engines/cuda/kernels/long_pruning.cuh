// Which pieces of long.cu are skipped, as no cell of them can be part of an optimal local alignment.
//
// Let M be the largest H that anything of a piece can come from. An alignment that runs through the piece has
// at most max(0, M) when it comes in or begins there, and gains at most `highest`, the highest score of two
// letters, for each row and for each column that is left from the first ones of the piece on. If that is
// below `best`, which some alignment has, none that is optimal, or equals it, has a cell in the piece, and it
// is skipped: what it hands on and what is kept of it is H = 0 and E = F = -gap_first, an alignment that
// begins there. Nothing that is asked for changes:
//
//   - No number is above the true one: each is what some alignment has, at the least the empty one.
//   - Every cell of an optimal alignment has its true H, and E or F if it is used. For the cell before it
//     on that alignment has its true number, by induction, and so no piece on the way passed the test above:
//     M was at least what the alignment had, and `best` is not above what it ends with.
//   - So the best score, and all cells that have it, are found. In the traceback from one of them, a
//     neighbour that gives the number of the cell lies on an optimal alignment and has its true number; one
//     that does not give it has no more than its true number, and still does not. The path rule decides the
//     same. Blocks that are computed again from kept lines, which may run through skipped pieces, are no
//     different.
//
// An older, lower `best` skips less. When a block is computed again for a path that comes from its last cell
// with a known score, that is `best`, and rows and columns are left only up to that cell.

#pragma once

#include "constants.cuh"
#include "long_warp.cuh"

struct Pruning {
    long long highest;  // score of two letters; 0: nothing is skipped
    long long rows_left,
        columns_left;  // in which an alignment can gain, from the first ones of the region on
};

// What an alignment can gain in a strip; where nothing is skipped, without end.
struct Hope {
    static constexpr long long ENDLESS = 1ll << 60;
    long long highest, in_rows, columns_left;

    __device__ Hope(const Pruning& pruning, unsigned first_row) {
        const bool has_end = pruning.highest > 0;
        highest = in_registers(has_end ? pruning.highest : 1);
        in_rows = in_registers(has_end ? pruning.highest * (pruning.rows_left - first_row) : ENDLESS);
        columns_left = in_registers(has_end ? pruning.columns_left : ENDLESS);
    }

    // The least M with which a piece is not hopeless; its first tile may be before the first column.
    __device__ __forceinline__ Score least(int first_tile, Score best) const {
        const long long in_columns = highest * (columns_left - max(first_tile, 0) * (long long)COLUMNS);
        return Score(max(best - min(in_rows, in_columns), 0ll));
    }
};
