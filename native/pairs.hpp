// Many pairs, each a query and a target of its own, in any mode: scores alone, or with their paths.
#pragma once

#include <cstdint>
#include <vector>

#include "trace.hpp"

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

struct PairResults {
    std::vector<int64_t> scores;        // of each pair
    std::vector<Alignment> alignments;  // empty if paths were not asked for
};

// Throws std::overflow_error if a score does not fit 31 bits, std::logic_error if a known score is not the
// optimum of its pair, std::bad_alloc. Results are undefined once progress.cancelled is set.
PairResults run_pairs(const PairJob& job, bool wants_paths, Progress& progress);

}  // namespace exaln
