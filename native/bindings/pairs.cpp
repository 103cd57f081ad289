// exaln._core: scores and alignments of pairs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <stdexcept>
#include <tuple>

#include "bindings/arguments.hpp"
#include "bindings/interruptible.hpp"
#include "bindings/module.hpp"
#include "pairs/columns.hpp"
#include "pairs/own_tables.hpp"
#include "pairs/run.hpp"
#include "pairs/several.hpp"
#include "simd/dispatch.hpp"

namespace exaln {
namespace {

constexpr size_t MAX_BYTES = size_t(64) << 20;  // of directions per thread

using BoundColumns =
    std::tuple<NumpyArray<int64_t>, NumpyArray<int32_t>, NumpyArray<uint32_t>, NumpyArray<int64_t>>;

BoundColumns columns_to_numpy(AlignmentColumns&& columns) {
    return {to_numpy(std::move(columns.positions)), to_numpy(std::move(columns.counts)),
            to_numpy(std::move(columns.operations)), to_numpy(std::move(columns.offsets))};
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

// What the functions below have in common: a job made from checked arguments, and its run, which checks the
// letters.
struct BoundJob {
    Costs costs;
    PairJob job;
    std::vector<int64_t> scores;
    AlignmentColumns alignments;

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
        require_threads(threads);
        job.pairs = make_pairs(job.queries, job.targets, pairs);
    }

    // Scores alone, or with paths also the columns of the alignments.
    void run(Output output) {
        Progress progress;
        const auto work = [&] {
            PairResults results = run_pairs(job, output, progress);
            scores = std::move(results.scores);
            if (output == Output::PATHS && !progress.cancelled)
                alignments = to_columns(std::move(results.alignments), job.threads);
        };
        run_released(n_cells() < QUICK_CELLS, progress, work, [] {});
    }

    double n_cells() const {
        double sum = 0;
        for (const Pair& pair : job.pairs)
            sum += double(job.queries.length(pair.query)) * double(job.targets.length(pair.target));
        return sum;
    }
};

BoundColumns bound_trace_all(const BoundSequences& queries, const BoundSequences& targets,
                             const BoundPairs& pairs, const BoundCosts& costs, InputArray<int32_t> scores,
                             int threads, const std::string& isa, bool only_this_isa, size_t max_bytes) {
    BoundJob bound(queries, targets, pairs, costs, LOCAL, threads, isa, only_this_isa, max_bytes);
    if (scores.shape(0) != bound.job.pairs.size())
        throw std::invalid_argument("pairs and scores differ in number");
    bound.job.known_scores.assign(scores.data(), scores.data() + scores.shape(0));
    for (const int32_t score : bound.job.known_scores)
        if (score <= 0) throw std::invalid_argument("a pair with a score of 0 or less has no alignment");
    bound.run(Output::PATHS);
    return columns_to_numpy(std::move(bound.alignments));
}

NumpyArray<int64_t> bound_score_pairs(const BoundSequences& queries, const BoundSequences& targets,
                                      const BoundPairs& pairs, const BoundCosts& costs, const ModeFlags& mode,
                                      int threads, const std::string& isa, bool only_this_isa) {
    BoundJob bound(queries, targets, pairs, costs, make_mode(mode), threads, isa, only_this_isa, 0);
    bound.run(Output::SCORES);
    return to_numpy(std::move(bound.scores));
}

using ScoredColumns = std::tuple<NumpyArray<int64_t>, NumpyArray<int64_t>, NumpyArray<int32_t>,
                                 NumpyArray<uint32_t>, NumpyArray<int64_t>>;

ScoredColumns bound_align_pairs(const BoundSequences& queries, const BoundSequences& targets,
                                const BoundPairs& pairs, const BoundCosts& costs, const ModeFlags& mode,
                                int threads, const std::string& isa, bool only_this_isa, size_t max_bytes) {
    BoundJob bound(queries, targets, pairs, costs, make_mode(mode), threads, isa, only_this_isa, max_bytes);
    bound.run(Output::PATHS);
    return std::tuple_cat(std::make_tuple(to_numpy(std::move(bound.scores))),
                          columns_to_numpy(std::move(bound.alignments)));
}

using SeveralColumns = decltype(std::tuple_cat(
    std::declval<std::tuple<NumpyArray<uint8_t>, NumpyArray<int64_t>>>(), std::declval<ScoredColumns>()));

SeveralColumns several_to_numpy(SeveralFound&& found, int threads) {
    std::vector<int64_t> owners, scores;
    std::vector<Alignment> alignments;
    for (size_t i = 0; i < found.alignments.size(); ++i)
        for (FoundAlignment& one : found.alignments[i])
            owners.push_back(int64_t(i)), scores.push_back(one.score),
                alignments.push_back(std::move(one.alignment));
    return std::tuple_cat(std::make_tuple(to_numpy(std::move(found.is_certain)), to_numpy(std::move(owners)),
                                          to_numpy(std::move(scores))),
                          columns_to_numpy(to_columns(std::move(alignments), threads)));
}

// Alignments of all pairs, pair by pair. A pair has one more than `most` if that many reach its least score.
SeveralColumns bound_align_several(const BoundSequences& queries, const BoundSequences& targets,
                                   const BoundPairs& pairs, const BoundCosts& costs, int64_t most,
                                   InputArray<int64_t> least, std::optional<InputArray<int32_t>> known_scores,
                                   std::optional<InputArray<int64_t>> upper,
                                   std::optional<InputArray<int64_t>> margin, int threads,
                                   const std::string& isa, bool only_this_isa, size_t max_bytes,
                                   const std::pair<int64_t, int64_t>& tile, int least_bits) {
    BoundJob bound(queries, targets, pairs, costs, LOCAL, threads, isa, only_this_isa, MAX_BYTES);
    PairJob& job = bound.job;
    require_letters(job.costs, job.queries), require_letters(job.costs, job.targets);
    const size_t n = job.pairs.size();
    if (most < 1 || least.shape(0) != n || (known_scores && known_scores->shape(0) != n) ||
        upper.has_value() != margin.has_value() || (upper && upper->shape(0) != n) ||
        (margin && margin->shape(0) != n))
        throw std::invalid_argument("limits do not fit the pairs");
    if (tile.first < 0 || tile.first % TileShape::ROW_UNIT != 0 || (tile.first > 0) != (tile.second > 0))
        throw std::invalid_argument("a tile has a multiple of 64 rows");
    for (size_t i = 0; i < n; ++i)
        if (least.data()[i] < 1 || (upper && upper->data()[i] < 0))
            throw std::invalid_argument("an alignment scores at least 1");
    if (known_scores) job.known_scores.assign(known_scores->data(), known_scores->data() + n);
    SeveralFound found;
    Progress progress;
    const SeveralJob several{job,
                             most,
                             least.data(),
                             double(max_bytes),
                             upper ? upper->data() : nullptr,
                             margin ? margin->data() : nullptr,
                             {tile.first, tile.second},
                             least_bits};
    run_released(
        bound.n_cells() < QUICK_CELLS, progress, [&] { found = align_several(several, progress); }, [] {});
    return several_to_numpy(std::move(found), threads);
}

using BoundTables = std::tuple<InputArray<int32_t, 3>, int32_t, int32_t>;  // tables, gap_first, gap_extend

// Pairs with a table each, from checked arguments.
OwnTablesJob make_own_tables(const BoundSequences& queries, const BoundSequences& targets,
                             const BoundPairs& pairs, const BoundTables& bound, int threads,
                             const std::string& isa, bool only_this_isa) {
    require_threads(threads);
    const auto& [tables, gap_first, gap_extend] = bound;
    OwnTablesJob job{isas_from(isa, only_this_isa),
                     make_sequences(queries.first, queries.second),
                     make_sequences(targets.first, targets.second),
                     {},
                     tables.data(),
                     tables.shape(1),
                     gap_first,
                     gap_extend,
                     threads};
    job.pairs = make_pairs(job.queries, job.targets, pairs);
    if (tables.shape(0) != job.pairs.size() || tables.shape(1) != tables.shape(2))
        throw std::invalid_argument("tables do not fit the pairs");
    if (!job.pairs.empty()) {
        const Costs costs = job.costs(0);
        require_letters(costs, job.queries), require_letters(costs, job.targets);
    }
    return job;
}

double n_cells(const OwnTablesJob& job) {
    double sum = 0;
    for (const Pair& pair : job.pairs)
        sum += double(job.queries.length(pair.query)) * double(job.targets.length(pair.target));
    return sum;
}

NumpyArray<int64_t> bound_score_own_tables(const BoundSequences& queries, const BoundSequences& targets,
                                           const BoundPairs& pairs, const BoundTables& tables, int threads,
                                           const std::string& isa, bool only_this_isa) {
    const OwnTablesJob job = make_own_tables(queries, targets, pairs, tables, threads, isa, only_this_isa);
    std::vector<int64_t> scores;
    Progress progress;
    run_released(
        n_cells(job) < QUICK_CELLS, progress, [&] { scores = score_with_own_tables(job, progress); }, [] {});
    return to_numpy(std::move(scores));
}

SeveralColumns bound_align_own_tables(const BoundSequences& queries, const BoundSequences& targets,
                                      const BoundPairs& pairs, const BoundTables& tables, int64_t most,
                                      InputArray<int64_t> least,
                                      std::optional<InputArray<int32_t>> known_scores, int threads,
                                      const std::string& isa, bool only_this_isa, size_t max_bytes) {
    const OwnTablesJob job = make_own_tables(queries, targets, pairs, tables, threads, isa, only_this_isa);
    const size_t n = job.pairs.size();
    if (most < 1 || least.shape(0) != n || (known_scores && known_scores->shape(0) != n))
        throw std::invalid_argument("limits do not fit the pairs");
    for (size_t i = 0; i < n; ++i)
        if (least.data()[i] < 1) throw std::invalid_argument("an alignment scores at least 1");
    SeveralFound found;
    Progress progress;
    const auto work = [&] {
        found = align_with_own_tables(job, most, least.data(), known_scores ? known_scores->data() : nullptr,
                                      double(max_bytes), progress);
    };
    run_released(n_cells(job) < QUICK_CELLS, progress, work, [] {});
    return several_to_numpy(std::move(found), threads);
}

double bound_several_bytes(int64_t n_rows, int64_t n_columns, const BoundCosts& costs) {
    return several_bytes(n_rows, n_columns,
                         std::apply([](auto&... parts) { return make_costs(parts...); }, costs));
}

}  // namespace

void bind_pairs(nb::module_& m) {
    using nb::arg;
    m.def(
        "pair_times",
        [] { return std::make_tuple(1e-9 * double(pair_times.tasks), 1e-9 * double(pair_times.kernels)); },
        "Seconds that all threads have spent on pairs so far, and on their kernels alone; for benchmarks.");
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
    m.def(
        "align_several", bound_align_several, arg("queries"), arg("targets"), arg("pairs"), arg("costs"),
        arg("most"), arg("least"), arg("known_scores").none(), arg("upper").none(), arg("margin").none(),
        arg("threads") = 1, arg("isa") = "", arg("only_this_isa") = false, arg("max_bytes") = MAX_BYTES,
        arg("tile") = std::make_pair(int64_t(0), int64_t(0)), arg("least_bits") = 8,
        "Whether the result is certain uint8[n], the pair int64[k] and the score int64[k] of each alignment, "
        "then the columns of trace_all. least: int64[n], the least score in each pair. upper, margin: "
        "int64[n], for ends of longer targets. max_bytes: of the tables of all threads. For tests: tile, "
        "its rows and columns, with which all alignments are found in tables of tiles; least_bits, the "
        "narrowest values.");
    m.def("score_own_tables", bound_score_own_tables, arg("queries"), arg("targets"), arg("pairs"),
          arg("tables"), arg("threads") = 1, arg("isa") = "", arg("only_this_isa") = false,
          "int64[n]: exact local scores of pairs with a table each. tables: int32[n, n_letters, n_letters], "
          "gap_first, gap_extend.");
    m.def("align_own_tables", bound_align_own_tables, arg("queries"), arg("targets"), arg("pairs"),
          arg("tables"), arg("most"), arg("least"), arg("known_scores").none(), arg("threads") = 1,
          arg("isa") = "", arg("only_this_isa") = false, arg("max_bytes") = MAX_BYTES,
          "As align_several, of pairs with a table each.");
    m.def("several_bytes", bound_several_bytes, arg("n_rows"), arg("n_columns"), arg("costs"),
          "The least memory in which align_several can compute a pair of this size.");
}

}  // namespace exaln
