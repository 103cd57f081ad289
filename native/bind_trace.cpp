// exaln._core: alignments of pairs whose scores are known.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <tuple>

#include "arrays.hpp"
#include "bind_sequences.hpp"
#include "dispatch.hpp"
#include "trace.hpp"

namespace exaln {
namespace {

constexpr size_t MAX_BYTES = size_t(64) << 20;  // of directions, per thread
constexpr size_t N_POSITIONS = 4, N_COUNTS = 6;

using Numbers =
    std::tuple<NumpyArray<int64_t>, NumpyArray<int32_t>, NumpyArray<uint32_t>, NumpyArray<int64_t>>;

Numbers to_columns(const std::vector<Alignment>& alignments) {
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

std::vector<Pair> make_pairs(const Sequences& queries, const Sequences& targets,
                             const InputArray<int64_t>& pair_queries, const InputArray<int64_t>& pair_targets,
                             const InputArray<int32_t>& scores) {
    std::vector<Pair> pairs(scores.shape(0));
    if (pair_queries.shape(0) != pairs.size() || pair_targets.shape(0) != pairs.size())
        throw std::invalid_argument("pairs and scores differ in number");
    for (size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] = {pair_queries.data()[i], pair_targets.data()[i], scores.data()[i]};
        if (pairs[i].query < 0 || pairs[i].query >= queries.n || pairs[i].target < 0 ||
            pairs[i].target >= targets.n)
            throw std::invalid_argument("a pair names a sequence that is not there");
        if (pairs[i].score <= 0)
            throw std::invalid_argument("a pair with a score of 0 or less has no alignment");
    }
    return pairs;
}

// The instruction sets a trace may use: the chosen one, and when it was chosen freely those below it too.
std::vector<const Isa*> isas_from(const std::string& name, bool only_this) {
    const Isa& chosen = choose_isa(name);
    std::vector<const Isa*> found;
    for (const Isa* isa : built_isas())
        if (isa == &chosen || (!only_this && !found.empty() && isa->supported())) found.push_back(isa);
    return found;
}

Numbers bound_trace_all(InputArray<uint8_t> query_codes, InputArray<int64_t> query_offsets,
                        InputArray<uint8_t> target_codes, InputArray<int64_t> target_offsets,
                        InputArray<int64_t> pair_queries, InputArray<int64_t> pair_targets,
                        InputArray<int32_t> scores, InputArray<int32_t, 2> matrix, int32_t gap_first,
                        int32_t gap_extend, int threads, const std::string& isa, bool only_this_isa,
                        size_t max_bytes) {
    const std::vector<const Isa*> isas = isas_from(isa, only_this_isa);
    const Costs costs = make_costs(matrix, gap_first, gap_extend);
    const Sequences queries = make_sequences(query_codes, query_offsets);
    const Sequences targets = make_sequences(target_codes, target_offsets);
    require_codes(queries), require_codes(targets);
    if (threads < 1) throw std::invalid_argument("threads must be at least 1");
    const std::vector<Pair> pairs = make_pairs(queries, targets, pair_queries, pair_targets, scores);
    std::vector<Alignment> alignments;
    Progress progress;
    auto work = [&] {
        trace_all(isas, queries, targets, pairs, costs, threads, max_bytes, progress, alignments);
    };
    run_interruptibly(work, [] {}, [&] { progress.cancelled = true; });
    return to_columns(alignments);
}

}  // namespace

void bind_trace(nb::module_& m) {
    m.def("trace_all", bound_trace_all, nb::arg("query_codes"), nb::arg("query_offsets"),
          nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("pair_queries"),
          nb::arg("pair_targets"), nb::arg("scores"), nb::arg("matrix"), nb::arg("gap_first"),
          nb::arg("gap_extend"), nb::arg("threads") = 1, nb::arg("isa") = "",
          nb::arg("only_this_isa") = false, nb::arg("max_bytes") = MAX_BYTES,
          "Positions int64[4 n], counts int32[6 n], operations uint32[...], offsets int64[n + 1] of the "
          "alignments.");
}

}  // namespace exaln
