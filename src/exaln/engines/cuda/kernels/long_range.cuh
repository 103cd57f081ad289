// Scores of a strip in halves of words: one base for all of them, and why 16 bits are enough.
//
// A number v of the table is stored as v - base, and the base moves with the strip, piece by piece. Let
// gap(n) be what a gap of n letters costs, and `highest` the highest score of two letters, or 0. For cells of
// a table
//
//   H(i, j + n) >= H(i, j) - gap(n)  and  H(i + n, j) >= H(i, j) - gap(n):   a gap leads there.
//   H(i - n, j) >= H(i, j) - gap(n) - n * highest:   the alignment of (i, j) comes through row i - n, at some
//     column j - d, or begins below it. In the n rows it gains at most min(n, d) * highest, and if d > n, it
//     has a gap of d - n columns in them. From (i - n, j - d) a gap of d leads to (i - n, j). So the
//     difference is at most min(n, d) * highest + gap(d), less gap(d - n) if d > n; and that is largest with
//     d = n. Where it begins below row i - n, at a border or, if local, anywhere, d is the columns up to
//     there, and the same is true: further up a border is not lower.
//   H(i, j - n) >= H(i, j) - gap(n) - n * highest:   likewise.
//
// So within r rows and c columns no two H differ by more than SPREAD = gap(r) + gap(c) + (r + c) * highest.
// What a strip touches in a piece lies within all its rows and the one above, and within the columns by which
// its lanes are apart, the piece, and one more piece behind the last column, where the row above goes on as
// it ends and nothing is read. Let M be the highest H that anything of the piece can come from.
//
//   Below: every H of the piece is at least M - SPREAD, and in local tables at least 0. The base is not above
//   that:
//     stored H are not below 0. So the floor of local tables is max(0, ..) of what is stored, whatever the
//     base is, and in other tables it changes nothing. E and F, as the next cell takes them, lie between H -
//     gap_first and H.
//   Above: no H of the piece is above M + PIECE_COLUMNS * highest (long.cu). M - base is at most TOP.
//
// Where pieces are skipped (long_pruning.cuh), numbers are those of the table or less, and may fall by more
// than SPREAD from a cell to the next. They are raised to the base, which M, being not above the number that
// the table has there, keeps at or below the table's: so it stays true that no number is above that of the
// table, and that is all that the proof there asks for.
//
// Rows and columns that only fill up may overflow, and nothing reads them; rows are left out of M.

#pragma once

#include "constants.cuh"
#include "packed.cuh"

constexpr int VIRTUAL_LANES = 64;  // two for each lane of a warp
constexpr int MAX_HALF = PackedNumber<true>::MAX;

__device__ constexpr int most_apart(int n) {
    return GAP_FIRST + (n - 1) * GAP_EXTEND + n * HIGHEST;
}
constexpr int SPREAD =
    most_apart(VIRTUAL_LANES * ROWS + 1) + most_apart(COLUMNS * (VIRTUAL_LANES + 2 * PIECE));
constexpr int TOP = MAX_HALF - COLUMNS * PIECE * HIGHEST;
constexpr int MIDDLE = SPREAD + (TOP - SPREAD) / 2;  // M - base where the base has moved
constexpr int MOST_AT_ONCE = MAX_HALF - GAP_FIRST;   // that a base moves up
static_assert(TOP - SPREAD >= 4 * COLUMNS * PIECE * (HIGHEST + GAP_EXTEND) + GAP_FIRST);

struct Base {
    int value = 0;

    // Whether a piece whose M is given can be computed with this base.
    __device__ __forceinline__ bool suits(int highest) const {
        const int stored = highest - value;
        return stored <= TOP && (stored >= SPREAD || (LOCAL && value == 0));
    }
    static __device__ __forceinline__ Base near(int highest) {
        return Base{LOCAL ? max(highest - MIDDLE, 0) : highest - MIDDLE};
    }
    __device__ __forceinline__ int stored_H(int H) const { return max(H - value, 0); }
    __device__ __forceinline__ int stored_gap(int E) const { return max(E - value, -GAP_FIRST); }
};
