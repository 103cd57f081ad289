// The cell update of all kernels of the studies: with linear gaps, with affine gaps, and its direction.
//
// clang-format off
//     H(i,j) = max(0, H(i-1,j-1) + s(q_i,t_j), E(i,j), F(i,j))
//     E(i,j) = max(E(i,j-1) - gap_extend, H(i,j-1) - gap_first)      consumes t_j
//     F(i,j) = max(F(i-1,j) - gap_extend, H(i-1,j) - gap_first)      consumes q_i
// clang-format on
//
// With linear gaps, gap_first = gap_extend, E and F are the neighbours minus the cost of a gap. Unlike the
// engine's kernels, these take all costs as arguments and use no instruction that a GPU of 2009 did not have.

#pragma once

constexpr int MINUS_INFINITY =
    -(1 << 29);  // E and F outside the table; costs can be subtracted without overflow

enum Direction : unsigned char { STOP, DIAGONAL, TARGET_ONLY, QUERY_ONLY };

struct Affine {
    int H, E, F;
};

__device__ __forceinline__ int linear_cell(int diagonal, int left, int above, int score, int gap) {
    return max(max(0, diagonal + score), max(left, above) - gap);
}

// The neighbour that a score came from; of several, the diagonal, then the left one, then the one above.
__device__ __forceinline__ Direction direction_of(int H, int diagonal, int left, int score, int gap) {
    if (H == 0) return STOP;
    if (H == diagonal + score) return DIAGONAL;
    return H == left - gap ? TARGET_ONLY : QUERY_ONLY;
}

template <bool IS_LOCAL = true>
__device__ __forceinline__ Affine affine_cell(int diagonal, int left_H, int left_E, int above_H, int above_F,
                                              int score, int gap_first, int gap_extend) {
    Affine cell;
    cell.E = max(left_E - gap_extend, left_H - gap_first);
    cell.F = max(above_F - gap_extend, above_H - gap_first);
    cell.H = max(diagonal + score, max(cell.E, cell.F));
    if (IS_LOCAL) cell.H = max(cell.H, 0);
    return cell;
}

// The affine cell for kernels without tables: takes E and F of this cell, returns its H, and replaces E and F
// by those of the cells to the right and below.
__device__ __forceinline__ void advance_cell(int diagonal, int score, int& H, int& E, int& F, int gap_first,
                                             int gap_extend) {
    H = max(max(0, diagonal + score), max(E, F));
    E = max(E - gap_extend, H - gap_first);
    F = max(F - gap_extend, H - gap_first);
}
