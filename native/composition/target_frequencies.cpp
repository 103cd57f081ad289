// Newton's method for the target frequencies of a pair, on the equations of its Lagrange multipliers.
//
// With the multipliers c of the columns, r of the rows (r[0] = 0: one of the sums follows from the others)
// and e of the entropy, a step (dx, dc, dr, de) solves
//
//   D dx - A' dz = g      D = diag((1 - e) / x),  A: the constraints' gradients,  z = (c, r, e)
//   A dx         = h      g, h: residuals
//
// dx is eliminated, which leaves (A D^-1 A') dz = h - A D^-1 g. The part of the columns of that matrix is
// diagonal and is eliminated, too, so that a system of 20 equations is left: those of rows 1..19 and of the
// entropy. It is positive definite and solved by Cholesky's method.
#include "composition/target_frequencies.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace exaln {
namespace {

constexpr int N = AMINO_ACIDS, PAIRS = AMINO_PAIRS, LEFT = N;  // LEFT: equations that are left
constexpr double TOLERANCE = 1e-8, DAMPING = 0.95;
constexpr int MOST_STEPS = 2000;
constexpr int BLOCK = 4;  // values whose sums are kept in registers

// The sum of N values, in an order that has few dependent additions.
double sum_of(const double* values) {
    double sums[BLOCK] = {};
    for (int i = 0; i < N; i += BLOCK)
        for (int k = 0; k < BLOCK; ++k) sums[k] += values[i + k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Solves a x = b for a symmetric positive definite a, of which the lower triangle is given, and destroys it.
void solve(double (&a)[LEFT][LEFT], double (&b)[LEFT]) {
    // Column by column of the factor, which is kept in the rows of the upper triangle.
    for (int j = 0; j < LEFT; ++j) {
        const double of_root = 1 / std::sqrt(a[j][j]);
        for (int i = j; i < LEFT; ++i) a[j][i] = a[i][j] * of_root;
        for (int i = j + 1; i < LEFT; ++i) {
            const double factor = a[j][i];
            for (int k = j + 1; k <= i; ++k) a[i][k] -= factor * a[j][k];
        }
    }
    for (int i = 0; i < LEFT; ++i) {
        b[i] /= a[i][i];
        for (int k = i + 1; k < LEFT; ++k) b[k] -= a[i][k] * b[i];
    }
    for (int i = LEFT; i-- > 0;) {
        b[i] /= a[i][i];
        for (int k = 0; k < i; ++k) b[k] -= a[k][i] * b[i];
    }
}

class Newton {
  public:
    Newton(const double* q, const double* rows, const double* columns, double entropy, double* x)
        : q_(q), rows_(rows), columns_(columns), entropy_(entropy), x_(x) {
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) old_[i * N + j] = std::log(q[i * N + j] / (rows[i] * columns[j]));
        std::copy(q, q + PAIRS, x);
    }

    // The norm of the residuals, which become the right-hand sides of the next step.
    double residuals() {
        if (is_at_q_) {
            std::fill_n(moved_, PAIRS, 0.0);  // log(1)
            is_at_q_ = false;
        } else {
            double ratios[PAIRS];
            for (int k = 0; k < PAIRS; ++k) ratios[k] = x_[k] / q_[k];
            for (int k = 0; k < PAIRS; ++k) moved_[k] = std::log(ratios[k]);
        }
        // Sums are kept for each column, so that they are independent of one another and become vectors.
        double found[N] = {}, norms[N] = {}, of_columns[N] = {};
        for (int i = 0; i < N; ++i) {
            const double *x = x_ + i * N, *moved = moved_ + i * N, *old = old_ + i * N;
            double *slope = slope_ + i * N, *g = g_ + i * N;
            for (int j = 0; j < N; ++j) {
                const double score = moved[j] + old[j];
                found[j] += x[j] * score;
                slope[j] = score + 1;
                g[j] = -(moved[j] + 1) + e_ * slope[j] + c_[j] + r_[i];
                norms[j] += g[j] * g[j];
                of_columns[j] += x[j];
            }
            h_rows_[i] = i == 0 ? 0 : rows_[i] - sum_of(x);
        }
        for (int j = 0; j < N; ++j) h_columns_[j] = columns_[j] - of_columns[j];
        h_entropy_ = entropy_ - sum_of(found);
        double norm = sum_of(norms);
        for (int i = 0; i < N; ++i) norm += h_columns_[i] * h_columns_[i] + h_rows_[i] * h_rows_[i];
        return std::sqrt(norm + h_entropy_ * h_entropy_);
    }

    void step() {
        double inverse[PAIRS], weighted[PAIRS], weighted_g[PAIRS];  // D^-1, and times two gradients
        double columns[N] = {}, left[N] = {}, of_entropy[N] = {}, squares[N] = {}, products[N] = {};
        double a[LEFT][LEFT] = {}, b[LEFT];
        // Equation i - 1 is that of row i, the last one that of the entropy.
        double* last = a[LEFT - 1];
        const double factor = 1 / (1 - e_);
        for (int j = 0; j < N; ++j) left[j] = h_columns_[j];
        for (int i = 0; i < N; ++i) {
            const double *slope = slope_ + i * N, *g = g_ + i * N, *x = x_ + i * N;
            double *of = inverse + i * N, *of_slope = weighted + i * N, *of_g = weighted_g + i * N;
            for (int j = 0; j < N; ++j) {
                of[j] = x[j] * factor, of_slope[j] = of[j] * slope[j], of_g[j] = of[j] * g[j];
                columns[j] += of[j], of_entropy[j] += of_slope[j], left[j] -= of_g[j];
                squares[j] += of_slope[j] * slope[j], products[j] += of_slope[j] * g[j];
            }
            if (i == 0) continue;
            a[i - 1][i - 1] = sum_of(of), last[i - 1] = sum_of(of_slope);
            b[i - 1] = h_rows_[i] - sum_of(of_g);
        }
        last[LEFT - 1] = sum_of(squares), b[LEFT - 1] = h_entropy_ - sum_of(products);
        eliminate_columns(inverse, columns, of_entropy, left, a, b);
        solve(a, b);
        const double de = b[LEFT - 1];
        double dc[N], dr[N], dx[PAIRS], falls[N] = {};  // the largest falls of each column, in parts of x
        for (int i = 0; i < N; ++i) dr[i] = i == 0 ? 0 : b[i - 1];
        for (int j = 0; j < N; ++j) dc[j] = left[j] - of_entropy[j] * de;
        for (int i = 1; i < N; ++i)
            for (int j = 0; j < N; ++j) dc[j] -= inverse[i * N + j] * dr[i];
        for (int j = 0; j < N; ++j) dc[j] /= columns[j];
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                const int k = i * N + j;
                const double change = g_[k] + slope_[k] * de + dc[j] + dr[i], fall = -(factor * change);
                dx[k] = inverse[k] * change;
                falls[j] = fall > falls[j] ? fall : falls[j];
            }
        const double fall = *std::max_element(falls, falls + N);
        const double length = DAMPING * std::min(1 / DAMPING, 1 / fall);
        for (int k = 0; k < PAIRS; ++k) x_[k] += length * dx[k];
        for (int i = 0; i < N; ++i) c_[i] += length * dc[i], r_[i] += length * dr[i];
        e_ += length * de;
    }

    bool is_minimum() const { return e_ < 1; }

  private:
    static void eliminate_columns(const double* inverse, const double* columns, const double* of_entropy,
                                  const double* left, double (&a)[LEFT][LEFT], double (&b)[LEFT]) {
        // by_column[j]: the coefficients of column j in all equations; divided: by that of its own equation.
        // The inner loops run over equations, whose sums are independent of one another, so that they become
        // vectors. Of a, only the lower triangle is needed, in blocks of BLOCK columns.
        double by_column[N][LEFT], divided[N][LEFT];
        for (int j = 0; j < N; ++j) {
            for (int i = 0; i + 1 < LEFT; ++i) by_column[j][i] = inverse[(i + 1) * N + j];
            by_column[j][LEFT - 1] = of_entropy[j];
            const double factor = 1 / columns[j];
            for (int i = 0; i < LEFT; ++i) divided[j][i] = by_column[j][i] * factor;
            for (int i = 0; i < LEFT; ++i) b[i] -= divided[j][i] * left[j];
        }
        for (int i = 0; i < LEFT; ++i)
            for (int first = 0; first <= i; first += BLOCK) {
                double sums[BLOCK];
                for (int k = 0; k < BLOCK; ++k) sums[k] = a[i][first + k];
                for (int j = 0; j < N; ++j)
                    for (int k = 0; k < BLOCK; ++k) sums[k] -= divided[j][i] * by_column[j][first + k];
                for (int k = 0; k < BLOCK; ++k) a[i][first + k] = sums[k];
            }
    }

    const double *q_, *rows_, *columns_, entropy_;
    double *x_, moved_[PAIRS], old_[PAIRS], slope_[PAIRS], g_[PAIRS];
    double c_[N] = {}, r_[N] = {}, e_ = 0;
    double h_columns_[N], h_rows_[N], h_entropy_ = 0;
    bool is_at_q_ = true;
};

}  // namespace

TargetFrequencies target_frequencies(const double* q, const double* rows, const double* columns,
                                     double entropy) {
    TargetFrequencies found;
    Newton newton(q, rows, columns, entropy, found.joint);
    double norm = newton.residuals();
    for (found.steps = 0; norm > TOLERANCE && found.steps < MOST_STEPS; ++found.steps) {
        newton.step();
        norm = newton.residuals();
    }
    found.converged = norm <= TOLERANCE && newton.is_minimum();
    return found;
}

}  // namespace exaln
