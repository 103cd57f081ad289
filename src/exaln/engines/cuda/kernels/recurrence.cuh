// The cell update, once for all kernels and number types.
//
//     H(i,j) = max(0, H(i-1,j-1) + s(q_i,t_j), E(i,j), F(i,j))
//     E(i,j) = max(E(i,j-1) - gap_extend, H(i,j-1) - gap_first)      consumes t_j
//     F(i,j) = max(F(i-1,j) - gap_extend, H(i-1,j) - gap_first)      consumes q_i
//
// A lane owns ROWS query rows and computes a column from the top down, in registers. H and E hold the values
// of the column to the left for each row and are overwritten; F and the diagonal come from the row above.
//
// Gap costs are compile-time constants, so they are immediate operands. As register operands they would make
// the three-way maxima wait for the register file.

#pragma once

// One cell. t: the score of the diagonal step. H is written; E and F enter as this cell needs them and leave
// as the next column and the next row need them.
template <class Number, class Value>
__device__ __forceinline__ void update_cell(Value t, Value& H, Value& E, Value& F) {
    H = Number::cell(t, E, F);
    const Value opened = Number::add(H, Number::minus_first());
    E = Number::add_max(E, Number::minus_extend(), opened);
    F = Number::add_max(F, Number::minus_extend(), opened);
}

// One column of a lane. scores(chunk): the scores of four rows. diagonal: H above the first row, one column
// to the left. F enters at the top and leaves at the bottom. An optimal local alignment ends with a diagonal
// step, so `best` is the maximum over these alone, two rows at a time.
template <class Number, bool WITH_BEST = true, int N_ROWS, class Value, class Scores>
__device__ __forceinline__ void update_column(Value (&H)[N_ROWS], Value (&E)[N_ROWS], Value& F,
                                              Value diagonal, Value& best, Scores scores) {
    auto four = scores(0);
    Value t = Number::diagonal(diagonal, four.x);
    Value even = t;
#pragma unroll
    for (int k = 0; k < N_ROWS; k++) {
        Value next = t;
        if (k + 1 < N_ROWS) {
            if ((k + 1) % 4 == 0) four = scores((k + 1) / 4);
            const int r = (k + 1) % 4;
            next = Number::diagonal(H[k], r == 0 ? four.x : r == 1 ? four.y : r == 2 ? four.z : four.w);
        }
        update_cell<Number, Value>(t, H[k], E[k], F);
        if (WITH_BEST) {
            if (k % 2) {
                best = Number::max3(best, even, t);
            } else if (k + 1 == N_ROWS) {
                best = Number::max2(best, t);
            } else {
                even = t;
            }
        }
        t = next;
    }
}
