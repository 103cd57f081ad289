// Target frequencies of two sequences with compositions of their own (Yu, Wootton and Altschul 2003).
//
// Of all joint frequencies x[i][j] of aligned amino acids with the given row and column sums, and with a
// given relative entropy, those are wanted which are closest to the frequencies q behind a standard matrix:
//
//   minimize     sum x log(x / q)
//   subject to   sum_j x[i][j] = rows[i],   sum_i x[i][j] = columns[j]
//                sum x log(x / (rows[i] columns[j])) = entropy
#pragma once

namespace exaln {

constexpr int AMINO_ACIDS = 20, AMINO_PAIRS = AMINO_ACIDS * AMINO_ACIDS;

struct TargetFrequencies {
    double joint[AMINO_PAIRS];  // row by row
    int steps;                  // of Newton's method
    bool converged;             // to a minimum
};

// All arguments and their sums are positive; rows and columns sum up to 1. Newton's method from q, damped so
// that frequencies stay positive, until the norm of the residuals is at most 1e-8: BLAST's rule, so that
// the scores are BLAST's.
TargetFrequencies target_frequencies(const double* q, const double* rows, const double* columns,
                                     double entropy);

}  // namespace exaln
