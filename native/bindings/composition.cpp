// exaln._core: substitution scores of pairs of proteins, from their compositions.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bindings/arguments.hpp"
#include "bindings/interruptible.hpp"
#include "bindings/module.hpp"
#include "composition/adjusted_scores.hpp"
#include "threads/tasks.hpp"

namespace exaln {
namespace {

using BoundSequences = std::pair<InputArray<uint8_t>, InputArray<int64_t>>;  // codes, offsets
using BoundPairs = std::pair<InputArray<int64_t>, InputArray<int64_t>>;      // queries, targets
using BoundCounts = std::pair<InputArray<int64_t, 2>, InputArray<int64_t>>;  // of amino acids; lengths
// joint, background, ratios, lambda
using BoundMatrix = std::tuple<InputArray<double, 2>, InputArray<double>, InputArray<double, 2>, double>;

constexpr size_t PAIRS_AT_ONCE = 64;
constexpr size_t QUICK_PAIRS = 1024;

void copy_square(const InputArray<double, 2>& from, size_t n, double* to) {
    if (from.shape(0) != n || from.shape(1) != n) throw std::invalid_argument("a table has another size");
    std::copy(from.data(), from.data() + n * n, to);
}

MatrixFrequencies make_matrix(const BoundMatrix& bound) {
    const auto& [joint, background, ratios, lambda] = bound;
    MatrixFrequencies matrix{};
    copy_square(joint, AMINO_ACIDS, matrix.joint);
    copy_square(ratios, protein::LETTERS, &matrix.ratios[0][0]);
    if (background.shape(0) != AMINO_ACIDS) throw std::invalid_argument("a background has another size");
    std::copy(background.data(), background.data() + AMINO_ACIDS, matrix.background);
    if (!(lambda > 0)) throw std::invalid_argument("lambda must be above 0");
    matrix.lambda = lambda;
    matrix.set_scaled();
    return matrix;
}

std::vector<Composition> compositions(const BoundCounts& bound) {
    const auto& [counts, lengths] = bound;
    if (counts.shape(1) != AMINO_ACIDS || counts.shape(0) != lengths.shape(0))
        throw std::invalid_argument("a composition has 20 counts");
    constexpr int64_t MOST = int64_t(1) << 40;  // letters of a sequence
    const auto is_number = [](int64_t count) { return count >= 0 && count <= MOST; };
    if (!std::all_of(counts.data(), counts.data() + counts.size(), is_number) ||
        !std::all_of(lengths.data(), lengths.data() + lengths.size(), is_number))
        throw std::invalid_argument("a count is negative or too large");
    std::vector<Composition> found;
    for (size_t i = 0; i < counts.shape(0); ++i)
        found.push_back(Composition::of(counts.data() + i * AMINO_ACIDS, lengths.data()[i]));
    return found;
}

NumpyArray<int64_t> bound_count_amino_acids(const BoundSequences& bound) {
    const Sequences sequences = make_sequences(bound.first, bound.second);
    std::vector<int64_t> counts(size_t(sequences.n) * AMINO_ACIDS);
    for (int64_t i = 0; i < sequences.n; ++i)
        count_amino_acids(sequences.at(i), sequences.length(i), counts.data() + i * AMINO_ACIDS);
    return to_numpy(std::move(counts));
}

std::tuple<NumpyArray<int32_t>, NumpyArray<uint8_t>> bound_adjusted_scores(const BoundMatrix& bound_matrix,
                                                                           const BoundCounts& queries,
                                                                           const BoundCounts& targets,
                                                                           const BoundPairs& pairs, int mode,
                                                                           int threads) {
    require_threads(threads);
    if (mode < 1 || mode > 3) throw std::invalid_argument("the mode is 1, 2 or 3");
    const MatrixFrequencies matrix = make_matrix(bound_matrix);
    const std::vector<Composition> of_queries = compositions(queries), of_targets = compositions(targets);
    const size_t n = pairs.first.shape(0);
    if (pairs.second.shape(0) != n)
        throw std::invalid_argument("queries and targets of pairs differ in number");
    for (size_t i = 0; i < n; ++i) {
        const int64_t query = pairs.first.data()[i], target = pairs.second.data()[i];
        if (query < 0 || query >= int64_t(of_queries.size()) || target < 0 ||
            target >= int64_t(of_targets.size()))
            throw std::invalid_argument("a pair names a sequence that is not there");
    }
    constexpr size_t size = size_t(protein::LETTERS) * protein::LETTERS;
    std::vector<int32_t> scores(n * size);
    std::vector<uint8_t> rules(n);
    Progress progress;
    const auto work = [&] {
        run_tasks((n + PAIRS_AT_ONCE - 1) / PAIRS_AT_ONCE, threads, [] { return std::make_unique<int>(0); },
                  [&](int&, size_t task) {
                      if (progress.cancelled) return;
                      for (size_t i = task * PAIRS_AT_ONCE; i < std::min(n, (task + 1) * PAIRS_AT_ONCE); ++i)
                          rules[i] =
                              uint8_t(adjusted_scores(matrix, of_queries[size_t(pairs.first.data()[i])],
                                                      of_targets[size_t(pairs.second.data()[i])],
                                                      CompositionMode(mode), scores.data() + i * size));
                  },
                  [](int&) {});
    };
    run_released(n < QUICK_PAIRS, progress, work, [] {});
    return {to_numpy(std::move(scores)), to_numpy(std::move(rules))};
}

std::tuple<NumpyArray<double>, int, bool> bound_target_frequencies(const InputArray<double, 2>& joint,
                                                                   const InputArray<double>& rows,
                                                                   const InputArray<double>& columns,
                                                                   double entropy) {
    double q[AMINO_PAIRS];
    copy_square(joint, AMINO_ACIDS, q);
    if (rows.shape(0) != AMINO_ACIDS || columns.shape(0) != AMINO_ACIDS)
        throw std::invalid_argument("a composition has 20 shares");
    const TargetFrequencies found = target_frequencies(q, rows.data(), columns.data(), entropy);
    return {to_numpy(std::vector<double>(found.joint, found.joint + AMINO_PAIRS)), found.steps,
            found.converged};
}

}  // namespace

void bind_composition(nb::module_& m) {
    using nb::arg;
    m.def("count_amino_acids", bound_count_amino_acids, arg("sequences"),
          "int64[n * 20]: how often each amino acid occurs in each sequence; U counts as C.");
    m.def("adjusted_scores", bound_adjusted_scores, arg("matrix"), arg("queries"), arg("targets"),
          arg("pairs"), arg("mode"), arg("threads") = 1,
          "int32[n * 27 * 27]: the substitution scores of each pair; uint8[n]: 0 where they are scaled, 1 "
          "where they are optimized. matrix: joint float64[20, 20], background float64[20], ratios "
          "float64[27, 27], lambda. queries, targets: counts of amino acids int64[n, 20], lengths int64[n].");
    m.def("target_frequencies", bound_target_frequencies, arg("joint"), arg("rows"), arg("columns"),
          arg("entropy"),
          "Target frequencies float64[400], steps of Newton's method, and whether it converged.");
}

}  // namespace exaln
