// Many pairs, each a query and a target of its own, in any mode: scores alone, or with their paths.
#pragma once

#include <cstdint>
#include <vector>

#include "pairs/alignment.hpp"

namespace exaln {

struct Pair {
    int64_t query, target;  // into the sequences
};

struct PairJob {
    std::vector<const Isa*>
        isas;  // that may be used, the fastest first: narrower ones serve small groups and large pairs
    Sequences queries, targets;
    std::vector<Pair> pairs;
    const Costs& costs;
    Mode mode;
    int threads;
    size_t max_bytes;  // of directions that a thread keeps; larger pairs go to trace_long, with the same path
    std::vector<int32_t> known_scores;  // empty, or the exact score of each pair, above 0: local mode only
};

enum class Wants { SCORES, ENDS, PATHS };

struct PairResults {
    std::vector<int64_t> scores;        // of each pair
    std::vector<EndCell> ends;          // empty if only scores were asked for
    std::vector<Alignment> alignments;  // empty if paths were not asked for

    PairResults(size_t n, Wants wants)
        : scores(n), ends(wants == Wants::SCORES ? 0 : n), alignments(wants == Wants::PATHS ? n : 0) {}
};

// Scores have 64 bits: pairs whose tables do not fit lanes of 32 bits are computed one by one. Throws
// std::logic_error if a known score is not the optimum of its pair, std::bad_alloc. Results are undefined
// once progress.cancelled is set.
PairResults run_pairs(const PairJob& job, Wants wants, Progress& progress);

// The same without looking for short queries in long targets: every table as a whole.
PairResults run_whole_pairs(const PairJob& job, Wants wants, Progress& progress);

// The same with queries as queries and targets as targets, whichever of them pairs have in common.
PairResults run_pairs_as_given(const PairJob& job, Wants wants, Progress& progress);

}  // namespace exaln
