// The 16-bit range of long_packed.cu: scores of a strip are stored relative to one base, and why 16 bits
// suffice for any table.
//
// A value v of the table is stored as v - base, and the base moves with the strip, piece by piece. Let gap(n)
// be the cost of a gap of n letters, and `highest` the highest score of two letters, or 0. For cells of a
// table:
//
//   H(i, j + n) >= H(i, j) - gap(n)  and  H(i + n, j) >= H(i, j) - gap(n):   a gap leads there.
//   H(i - n, j) >= H(i, j) - gap(n) - n * highest:   the alignment that ends in (i, j) crosses row i - n at
//     some column j - d, or begins below it. In the n rows it gains at most min(n, d) * highest, and if d >
//     n, it has a gap of d - n columns in them. From (i - n, j - d) a gap of d leads to (i - n, j). So the
//     difference is at most min(n, d) * highest + gap(d), less gap(d - n) if d > n, which is largest for
//     d = n. If the alignment begins below row i - n, at a border or, in local mode, anywhere, let d be the
//     number of columns back to there. The same bound holds, as a border is not lower further up.
//   H(i, j - n) >= H(i, j) - gap(n) - n * highest:   by symmetry.
//
// So within r rows and c columns no two H differ by more than SPREAD = gap(r) + gap(c) + (r + c) * highest.
// In a piece, a strip touches all its rows and the one above; and the columns by which its lanes are apart,
// the piece, and one more piece after the last column, where the row above repeats its last value and nothing
// is read. Let M be the highest H that any cell of the piece can come from.
//
//   Lower end: every H of the piece is at least M - SPREAD, and in local tables at least 0. The base is not
//     above that, so stored H are not negative. Hence the floor of local tables is max(0, ..) of the stored
//     values for any base, and in other tables it has no effect. E and F, as the next cell needs them, lie
//     between H - gap_first and H.
//   Upper end: no H of the piece is above M + PIECE_COLUMNS * highest (long.cu), and M - base is at most TOP.
//
// Where pieces are skipped (long_pruning.cuh), values are those of the table or less, and may drop by more
// than SPREAD between neighbours. They are raised to the base. M is not above the table's value, so the base
// is at or below the table's values, and no value exceeds the table's: that is all the proof there needs.
//
// Padding rows and columns may overflow. Nothing reads them, and padding rows are left out of M.

#pragma once

#include "constants.cuh"
#include "packed.cuh"

constexpr int VIRTUAL_LANES = 64;  // two for each lane of a warp
constexpr int MAX_HALF = PackedNumber<true>::MAX;

__device__ constexpr int max_difference(int n) {
    return GAP_FIRST + (n - 1) * GAP_EXTEND + n * HIGHEST;
}
constexpr int SPREAD =
    max_difference(VIRTUAL_LANES * ROWS + 1) + max_difference(COLUMNS * (VIRTUAL_LANES + 2 * PIECE));
constexpr int TOP = MAX_HALF - COLUMNS * PIECE * HIGHEST;
constexpr int MIDDLE = SPREAD + (TOP - SPREAD) / 2;  // M - base after a move
constexpr int MAX_STEP = MAX_HALF - GAP_FIRST;       // the largest single step of a base upwards
static_assert(TOP - SPREAD >= 4 * COLUMNS * PIECE * (HIGHEST + GAP_EXTEND) + GAP_FIRST);

struct Base {
    int value = 0;

    // Whether a piece with M = highest can be computed with this base.
    __device__ __forceinline__ bool fits(int highest) const {
        const int stored = highest - value;
        return stored <= TOP && (stored >= SPREAD || (LOCAL && value == 0));
    }
    static __device__ __forceinline__ Base near(int highest) {
        return Base{LOCAL ? max(highest - MIDDLE, 0) : highest - MIDDLE};
    }
    __device__ __forceinline__ int stored_H(int H) const { return max(H - value, 0); }
    __device__ __forceinline__ int stored_gap(int E) const { return max(E - value, -GAP_FIRST); }
};
