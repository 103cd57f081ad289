// exaln._core: scores and alignments of pairs.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <tuple>

#include "bindings/arguments.hpp"
#include "bindings/interruptible.hpp"
#include "bindings/module.hpp"
#include "pairs/run.hpp"
#include "simd/dispatch.hpp"

namespace exaln {
namespace {

constexpr size_t MAX_BYTES = size_t(64) << 20;  // of directions per thread
constexpr size_t N_POSITIONS = 4, N_COUNTS = 6;

using AlignmentColumns =
    std::tuple<NumpyArray<int64_t>, NumpyArray<int32_t>, NumpyArray<uint32_t>, NumpyArray<int64_t>>;

AlignmentColumns to_columns(const std::vector<Alignment>& alignments) {
    std::vector<int64_t> positions, offsets = {0};
    std::vector<int32_t> counts;
    std::vector<uint32_t> operations;
    positions.reserve(N_POSITIONS * alignments.size()), counts.reserve(N_COUNTS * alignments.size());
    for (const Alignment& a : alignments) {
        positions.insert(positions.end(), {a.query_start, a.query_end, a.target_start, a.target_end});
        counts.insert(counts.end(),
                      {a.identities, a.positives, a.mismatches, a.gap_opens, a.gaps, a.columns});
        operations.insert(operations.end(), a.operations.begin(), a.operations.end());
        offsets.push_back(int64_t(operations.size()));
    }
    return {to_numpy(std::move(positions)), to_numpy(std::move(counts)), to_numpy(std::move(operations)),
            to_numpy(std::move(offsets))};
}

using BoundSequences = std::pair<InputArray<uint8_t>, InputArray<int64_t>>;  // codes, offsets
using BoundPairs = std::pair<InputArray<int64_t>, InputArray<int64_t>>;      // queries, targets
using BoundCosts = std::tuple<InputArray<int32_t, 2>, int32_t, int32_t>;     // matrix, gap_first, gap_extend

std::vector<Pair> make_pairs(const Sequences& queries, const Sequences& targets, const BoundPairs& bound) {
    const auto& [pair_queries, pair_targets] = bound;
    std::vector<Pair> pairs(pair_queries.shape(0));
    if (pair_targets.shape(0) != pairs.size())
        throw std::invalid_argument("queries and targets of pairs differ in number");
    for (size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] = {pair_queries.data()[i], pair_targets.data()[i]};
        if (pairs[i].query < 0 || pairs[i].query >= queries.n || pairs[i].target < 0 ||
            pairs[i].target >= targets.n)
            throw std::invalid_argument("a pair names a sequence that is not there");
    }
    return pairs;
}

// The instruction sets to use: the chosen one and, unless it was requested, the supported ones below it.
std::vector<const Isa*> isas_from(const std::string& name, bool only_this) {
    const Isa& chosen = choose_isa(name);
    std::vector<const Isa*> found;
    for (const Isa* isa : built_isas())
        if (isa == &chosen || (!only_this && !found.empty() && isa->supported())) found.push_back(isa);
    return found;
}

constexpr double QUICK_CELLS = 1 << 28;  // a fraction of a second

// is_local; then whether query start, query end, target start and target end are free.
using ModeFlags = std::tuple<bool, bool, bool, bool, bool>;

Mode make_mode(const ModeFlags& flags) {
    const auto [is_local, query_start, query_end, target_start, target_end] = flags;
    return is_local ? LOCAL : Mode{false, query_start, query_end, target_start, target_end};
}

// What the functions below have in common: a job made from checked arguments, and its run.
struct BoundJob {
    Costs costs;
    PairJob job;

    BoundJob(const BoundSequences& queries, const BoundSequences& targets, const BoundPairs& pairs,
             const BoundCosts& bound_costs, const Mode& mode, int threads, const std::string& isa,
             bool only_this_isa, size_t max_bytes)
        : costs(std::apply([](auto&... parts) { return make_costs(parts...); }, bound_costs)),
          job{isas_from(isa, only_this_isa),
              make_sequences(queries.first, queries.second),
              make_sequences(targets.first, targets.second),
              {},
              costs,
              mode,
              threads,
              max_bytes,
              {}} {
        require_letters(costs, job.queries), require_letters(costs, job.targets);
        require_threads(threads);
        job.pairs = make_pairs(job.queries, job.targets, pairs);
    }

    PairResults run(Output output) {
        PairResults results(0, output);
        Progress progress;
        run_released(
            n_cells() < QUICK_CELLS, progress, [&] { results = run_pairs(job, output, progress); }, [] {});
        return results;
    }

    double n_cells() const {
        double sum = 0;
        for (const Pair& pair : job.pairs)
            sum += double(job.queries.length(pair.query)) * double(job.targets.length(pair.target));
        return sum;
    }
};

AlignmentColumns bound_trace_all(const BoundSequences& queries, const BoundSequences& targets,
                                 const BoundPairs& pairs, const BoundCosts& costs, InputArray<int32_t> scores,
                                 int threads, const std::string& isa, bool only_this_isa, size_t max_bytes) {
    BoundJob bound(queries, targets, pairs, costs, LOCAL, threads, isa, only_this_isa, max_bytes);
    if (scores.shape(0) != bound.job.pairs.size())
        throw std::invalid_argument("pairs and scores differ in number");
    bound.job.known_scores.assign(scores.data(), scores.data() + scores.shape(0));
    for (const int32_t score : bound.job.known_scores)
        if (score <= 0) throw std::invalid_argument("a pair with a score of 0 or less has no alignment");
    return to_columns(bound.run(Output::PATHS).alignments);
}

NumpyArray<int64_t> bound_score_pairs(const BoundSequences& queries, const BoundSequences& targets,
                                      const BoundPairs& pairs, const BoundCosts& costs, const ModeFlags& mode,
                                      int threads, const std::string& isa, bool only_this_isa) {
    BoundJob bound(queries, targets, pairs, costs, make_mode(mode), threads, isa, only_this_isa, 0);
    return to_numpy(bound.run(Output::SCORES).scores);
}

using ScoredColumns = std::tuple<NumpyArray<int64_t>, NumpyArray<int64_t>, NumpyArray<int32_t>,
                                 NumpyArray<uint32_t>, NumpyArray<int64_t>>;

ScoredColumns bound_align_pairs(const BoundSequences& queries, const BoundSequences& targets,
                                const BoundPairs& pairs, const BoundCosts& costs, const ModeFlags& mode,
                                int threads, const std::string& isa, bool only_this_isa, size_t max_bytes) {
    BoundJob bound(queries, targets, pairs, costs, make_mode(mode), threads, isa, only_this_isa, max_bytes);
    PairResults results = bound.run(Output::PATHS);
    return std::tuple_cat(std::make_tuple(to_numpy(std::move(results.scores))),
                          to_columns(results.alignments));
}

}  // namespace

void bind_pairs(nb::module_& m) {
    using nb::arg;
    m.def(
        "trace_all", bound_trace_all, arg("queries"), arg("targets"), arg("pairs"), arg("costs"),
        arg("scores"), arg("threads") = 1, arg("isa") = "", arg("only_this_isa") = false,
        arg("max_bytes") = MAX_BYTES,
        "Positions int64[4 n], counts int32[6 n], operations uint32[...], offsets int64[n + 1] of the local "
        "alignments of pairs whose scores are known.");
    m.def("score_pairs", bound_score_pairs, arg("queries"), arg("targets"), arg("pairs"), arg("costs"),
          arg("mode"), arg("threads") = 1, arg("isa") = "", arg("only_this_isa") = false,
          "int64[n]: exact scores of pairs. mode: is local; free query start and end, target start and end.");
    m.def("align_pairs", bound_align_pairs, arg("queries"), arg("targets"), arg("pairs"), arg("costs"),
          arg("mode"), arg("threads") = 1, arg("isa") = "", arg("only_this_isa") = false,
          arg("max_bytes") = MAX_BYTES, "Scores int64[n], then the columns of trace_all.");
}

}  // namespace exaln
