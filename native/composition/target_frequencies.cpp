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

// Solves a x = b for a symmetric positive definite a, of which the lower triangle is given, and destroys it.
void solve(double (&a)[LEFT][LEFT], double (&b)[LEFT]) {
    // Column by column of the factor, which is kept in the rows of the upper triangle.
    for (int j = 0; j < LEFT; ++j) {
        const double root = std::sqrt(a[j][j]);
        for (int i = j; i < LEFT; ++i) a[j][i] = a[i][j] / root;
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
        for (int k = i + 1; k < LEFT; ++k) b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
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
        double found = 0, norm = 0;
        double of_rows[N] = {}, of_columns[N] = {};
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                const int k = i * N + j;
                const double moved = std::log(x_[k] / q_[k]), score = moved + old_[k];
                found += x_[k] * score;
                slope_[k] = score + 1;
                g_[k] = -(moved + 1) + e_ * slope_[k] + c_[j] + r_[i];
                norm += g_[k] * g_[k];
                of_rows[i] += x_[k], of_columns[j] += x_[k];
            }
        for (int j = 0; j < N; ++j) h_columns_[j] = columns_[j] - of_columns[j];
        for (int i = 0; i < N; ++i) h_rows_[i] = i == 0 ? 0 : rows_[i] - of_rows[i];
        h_entropy_ = entropy_ - found;
        for (int i = 0; i < N; ++i) norm += h_columns_[i] * h_columns_[i] + h_rows_[i] * h_rows_[i];
        return std::sqrt(norm + h_entropy_ * h_entropy_);
    }

    void step() {
        double inverse[PAIRS], weighted[PAIRS];  // D^-1, and times the gradient of the entropy
        double columns[N] = {}, left[N] = {}, of_entropy[N] = {};
        double a[LEFT][LEFT] = {}, b[LEFT];
        // Equation i - 1 is that of row i, the last one that of the entropy.
        double* last = a[LEFT - 1];
        for (int j = 0; j < N; ++j) left[j] = h_columns_[j];
        b[LEFT - 1] = h_entropy_;
        for (int i = 0; i < N; ++i) {
            double sum = 0, sum_weighted = 0, sum_g = 0;
            for (int j = 0; j < N; ++j) {
                const int k = i * N + j;
                inverse[k] = x_[k] / (1 - e_), weighted[k] = inverse[k] * slope_[k];
                const double g = inverse[k] * g_[k];
                sum += inverse[k], sum_weighted += weighted[k], sum_g += g;
                columns[j] += inverse[k], of_entropy[j] += weighted[k], left[j] -= g;
                last[LEFT - 1] += weighted[k] * slope_[k];
                b[LEFT - 1] -= weighted[k] * g_[k];
            }
            if (i == 0) continue;
            a[i - 1][i - 1] = sum, last[i - 1] = sum_weighted, b[i - 1] = h_rows_[i] - sum_g;
        }
        eliminate_columns(inverse, columns, of_entropy, left, a, b);
        solve(a, b);
        const double de = b[LEFT - 1];
        double dc[N], dr[N], dx[PAIRS];
        for (int i = 0; i < N; ++i) dr[i] = i == 0 ? 0 : b[i - 1];
        for (int j = 0; j < N; ++j) {
            double sum = left[j] - of_entropy[j] * de;
            for (int i = 1; i < N; ++i) sum -= inverse[i * N + j] * dr[i];
            dc[j] = sum / columns[j];
        }
        double length = 1 / DAMPING;
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                const int k = i * N + j;
                dx[k] = inverse[k] * (g_[k] + slope_[k] * de + dc[j] + dr[i]);
                if (dx[k] < 0) length = std::min(length, -x_[k] / dx[k]);
            }
        length *= DAMPING;
        for (int k = 0; k < PAIRS; ++k) x_[k] += length * dx[k];
        for (int i = 0; i < N; ++i) c_[i] += length * dc[i], r_[i] += length * dr[i];
        e_ += length * de;
    }

    bool is_minimum() const { return e_ < 1; }

  private:
    static void eliminate_columns(const double* inverse, const double* columns, const double* of_entropy,
                                  const double* left, double (&a)[LEFT][LEFT], double (&b)[LEFT]) {
        // by_column[j]: the coefficients of column j in all equations. The inner loops run over equations,
        // whose sums are independent of one another, so that they become vectors.
        double by_column[N][LEFT];
        for (int j = 0; j < N; ++j) {
            for (int i = 0; i + 1 < LEFT; ++i) by_column[j][i] = inverse[(i + 1) * N + j];
            by_column[j][LEFT - 1] = of_entropy[j];
        }
        for (int j = 0; j < N; ++j) {
            const double* of = by_column[j];
            const double divided_left = left[j] / columns[j];
            for (int i = 0; i < LEFT; ++i) b[i] -= of[i] * divided_left;
            for (int i = 0; i < LEFT; ++i) {
                const double scaled = of[i] / columns[j];
                for (int k = 0; k < LEFT; ++k) a[i][k] -= scaled * of[k];
            }
        }
    }

    const double *q_, *rows_, *columns_, entropy_;
    double *x_, old_[PAIRS], slope_[PAIRS], g_[PAIRS];
    double c_[N] = {}, r_[N] = {}, e_ = 0;
    double h_columns_[N], h_rows_[N], h_entropy_ = 0;
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
