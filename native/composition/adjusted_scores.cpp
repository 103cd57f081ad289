// The rule that chooses between scaling and optimizing, and the integers of either.
#include "composition/adjusted_scores.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace exaln {
namespace {

using namespace protein;

constexpr double ENTROPY = 0.44;  // of the optimized frequencies: that of BLOSUM62
constexpr double PSEUDOCOUNTS = 20;
constexpr double LEAST_RATIO = 0.5;  // of lambda in the pair's composition and the standard lambda
constexpr double MOST_X_SCORE = -1;

// Beyond all three a pair is scaled, unless two amino acids dominate one of the sequences.
constexpr double MOST_DISTANCE = 0.16, MOST_LENGTH_RATIO = 3, MOST_DEGREES = 70;
constexpr double DOMINANT_SHARE = 0.4;
constexpr int64_t LEAST_DOMINATED_LENGTH = 51;
constexpr double DEGREES_PER_RADIAN = 180 / 3.1415926543;  // BLAST's digits of pi

using Scores = double[LETTERS][LETTERS];

// The root of the Jensen-Shannon divergence.
double distance(const double* a, const double* b) {
    double sum = 0;
    for (int i = 0; i < AMINO_ACIDS; ++i) {
        const double mean = (a[i] + b[i]) / 2;
        if (a[i] > 0) sum += a[i] * std::log(a[i] / mean) / 2;
        if (b[i] > 0) sum += b[i] * std::log(b[i] / mean) / 2;
    }
    return std::sqrt(std::max(sum, 0.0));
}

bool is_dominated(const Composition& of) {
    if (of.length < LEAST_DOMINATED_LENGTH) return false;
    double two[2];
    std::partial_sort_copy(of.share, of.share + AMINO_ACIDS, two, two + 2, std::greater<double>());
    return two[0] + two[1] > DOMINANT_SHARE;
}

bool is_optimized(const MatrixFrequencies& matrix, const Composition& query, const Composition& target) {
    if (is_dominated(query) || is_dominated(target)) return true;
    const double between = distance(target.share, query.share);
    const auto shorter = double(std::min(query.length, target.length)),
               longer = double(std::max(query.length, target.length));
    if (!(between > MOST_DISTANCE && longer / shorter > MOST_LENGTH_RATIO)) return true;
    const double of_target = distance(target.share, matrix.background),
                 of_query = distance(query.share, matrix.background);
    const double angle = std::acos((of_target * of_target + of_query * of_query - between * between) / 2.0 /
                                   of_target / of_query);
    return !(angle * DEGREES_PER_RADIAN > MOST_DEGREES);
}

// The positive root of sum p exp(lambda s) = 1 for the standard scores in the composition of a pair, or -1
// if the mean score is not negative. The sum is convex, so Newton's method converges from the right.
double lambda_of(const MatrixFrequencies& matrix, const double* query, const double* target) {
    double mean = 0, chances[AMINO_PAIRS];
    int32_t most = 0, scores[AMINO_PAIRS];
    int n = 0;
    for (int i = 0; i < AMINO_ACIDS; ++i)
        for (int j = 0; j < AMINO_ACIDS; ++j) {
            const double chance = query[i] * target[j];
            if (chance == 0) continue;
            chances[n] = chance, scores[n] = matrix.scaled[i][j];
            mean += chance * scores[n], most = std::max(most, scores[n]), ++n;
        }
    if (mean >= 0 || most <= 0) return -1;
    const auto excess = [&](double lambda, double& slope) {
        double sum = -1;
        slope = 0;
        for (int k = 0; k < n; ++k) {
            const double term = chances[k] * std::exp(lambda * scores[k]);
            sum += term, slope += term * scores[k];
        }
        return sum;
    };
    double lambda = matrix.lambda, slope = 0, value = excess(lambda, slope);
    while (value < 0) lambda *= 1.25, value = excess(lambda, slope);
    for (int step = 0; step < 100; ++step) {
        const double change = value / slope;
        lambda -= change;
        if (!(std::fabs(change) > 1e-14 * lambda)) break;
        value = excess(lambda, slope);
    }
    return lambda;
}

int32_t rounded(double score) {
    return int32_t(score + (score >= 0 ? 0.5 : -0.5));
}

double score_of_ratio(double ratio, double lambda) {
    return ratio > 0 ? std::log(ratio) / lambda : double(INT16_MIN);
}

// Sets the scores of X, U and O, whose expected values follow from the composition.
void set_unknown(Scores& scores, const double* query, const double* target) {
    const auto in_row = [&](int i) {
        double sum = 0;
        for (int j = 0; j < AMINO_ACIDS; ++j) sum += scores[i][j] * target[j];
        return sum;
    };
    const auto in_column = [&](int j) {
        double sum = 0;
        for (int i = 0; i < AMINO_ACIDS; ++i) sum += scores[i][j] * query[i];
        return sum;
    };
    double both = 0;
    for (int i = 0; i < AMINO_ACIDS; ++i) both += in_row(i) * query[i];
    for (int i = 0; i < J + 1; ++i) {
        if (i == X) continue;
        scores[i][X] = std::min(in_row(i), MOST_X_SCORE);
        scores[X][i] = std::min(in_column(i), MOST_X_SCORE);
    }
    scores[X][X] = std::min(both, MOST_X_SCORE);
    const auto copy = [&](int to, int from) {
        for (int i = 0; i < LETTERS; ++i) scores[to][i] = scores[from][i];
        for (int i = 0; i < LETTERS; ++i) scores[i][to] = scores[i][from];
    };
    copy(U, C), copy(O, X);
}

// Writes rounded scores, and for stops those of the standard matrix.
void write(const MatrixFrequencies& matrix, const Scores& scores, int32_t* out) {
    for (int i = 0; i < LETTERS; ++i)
        for (int j = 0; j < LETTERS; ++j)
            out[i * LETTERS + j] = i == STOP || j == STOP ? matrix.scaled[i][j] : rounded(scores[i][j]);
}

void scale(const MatrixFrequencies& matrix, const Composition& query, const Composition& target,
           int32_t* out) {
    const double ratio = lambda_of(matrix, query.share, target.share) / matrix.lambda;
    const double lambda = matrix.lambda / std::clamp(ratio, LEAST_RATIO, 1.0);
    Scores scores = {};
    for (int i = 0; i < LETTERS; ++i)
        for (int j = 0; j < LETTERS; ++j) scores[i][j] = score_of_ratio(matrix.ratios[i][j], lambda);
    set_unknown(scores, query.share, target.share);
    write(matrix, scores, out);
}

void with_pseudocounts(const Composition& of, const double* background, double* out) {
    double sum = 0;
    for (int i = 0; i < AMINO_ACIDS; ++i) sum += of.share[i];
    if (sum == 0) sum = 1;
    const double weight = PSEUDOCOUNTS / (double(of.n_amino_acids) + PSEUDOCOUNTS);
    for (int i = 0; i < AMINO_ACIDS; ++i) out[i] = (1 - weight) * of.share[i] / sum + weight * background[i];
}

// The frequencies of letters that stand for two amino acids are the sums of those.
void add_ambiguous(double* values, int stride) {
    values[B * stride] = values[D * stride] + values[N * stride];
    values[Z * stride] = values[E * stride] + values[Q * stride];
    values[J * stride] = values[I * stride] + values[L * stride];
}

bool optimize(const MatrixFrequencies& matrix, const Composition& query, const Composition& target,
              int32_t* out) {
    double rows[LETTERS] = {}, columns[LETTERS] = {};
    with_pseudocounts(query, matrix.sums[0], rows), with_pseudocounts(target, matrix.sums[1], columns);
    const TargetFrequencies found = target_frequencies(matrix.joint, rows, columns, ENTROPY);
    if (!found.converged) return false;
    add_ambiguous(rows, 1), add_ambiguous(columns, 1);
    double sum = 0;
    for (const double frequency : found.joint) sum += frequency;
    Scores scores = {};
    for (int i = 0; i < AMINO_ACIDS; ++i) {
        for (int j = 0; j < AMINO_ACIDS; ++j) scores[i][j] = found.joint[i * AMINO_ACIDS + j] / sum;
        add_ambiguous(scores[i], 1);
    }
    for (int j = 0; j < LETTERS; ++j) add_ambiguous(&scores[0][j], LETTERS);
    for (int i = 0; i < LETTERS; ++i)
        for (int j = 0; j < LETTERS; ++j) {
            const double expected = rows[i] * columns[j];
            scores[i][j] = score_of_ratio(expected > 0 ? scores[i][j] / expected : 0, matrix.lambda);
        }
    set_unknown(scores, rows, columns);
    write(matrix, scores, out);
    return true;
}

}  // namespace

void MatrixFrequencies::set_scaled() {
    for (int i = 0; i < LETTERS; ++i)
        for (int j = 0; j < LETTERS; ++j) scaled[i][j] = rounded(score_of_ratio(ratios[i][j], lambda));
    for (int i = 0; i < AMINO_ACIDS; ++i) {
        sums[0][i] = sums[1][i] = 0;
        for (int j = 0; j < AMINO_ACIDS; ++j)
            sums[0][i] += joint[i * AMINO_ACIDS + j], sums[1][i] += joint[j * AMINO_ACIDS + i];
    }
}

Composition Composition::of(const int64_t* counts, int64_t length) {
    Composition found{{}, 0, length};
    for (int i = 0; i < AMINO_ACIDS; ++i) found.n_amino_acids += counts[i];
    for (int i = 0; i < AMINO_ACIDS; ++i)
        found.share[i] = found.n_amino_acids == 0 ? 0 : double(counts[i]) / double(found.n_amino_acids);
    return found;
}

void count_amino_acids(const uint8_t* codes, int64_t length, int64_t* counts) {
    int64_t of_codes[256] = {};
    for (int64_t i = 0; i < length; ++i) ++of_codes[codes[i]];
    of_codes[C] += of_codes[U];
    std::copy(of_codes, of_codes + AMINO_ACIDS, counts);
}

CompositionRule adjusted_scores(const MatrixFrequencies& matrix, const Composition& query,
                                const Composition& target, CompositionMode mode, int32_t* scores) {
    const bool is_scaled = mode == CompositionMode::SCALE || query.n_amino_acids == 0 ||
                           target.n_amino_acids == 0 ||
                           (mode == CompositionMode::CHOOSE && !is_optimized(matrix, query, target));
    if (!is_scaled && optimize(matrix, query, target, scores)) return CompositionRule::OPTIMIZED;
    scale(matrix, query, target, scores);
    return CompositionRule::SCALED;
}

}  // namespace exaln
