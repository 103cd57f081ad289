// Scores and alignments of many pairs, each a query and a target, in any mode.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "pairs/alignment.hpp"
#include "recurrence/modes.hpp"
#include "sequences/codes.hpp"
#include "simd/kernels.hpp"
#include "threads/progress.hpp"

namespace exaln {

struct Pair {
    int64_t query, target;  // indices into the sequences
};

struct PairJob {
    // Instruction sets, the fastest first. Those with narrower registers serve small groups and large pairs.
    std::vector<const Isa*> isas;
    Sequences queries, targets;
    std::vector<Pair> pairs;
    const Costs& costs;
    Mode mode;
    int threads;
    size_t max_bytes;  // of directions per thread; larger pairs use align_scalar, with the same path
    std::vector<int32_t> known_scores;  // empty, or the score of each pair, above 0; local mode only
};

// What is computed beside the scores.
enum class Output { SCORES, ENDS, PATHS };

struct PairResults {
    std::vector<int64_t> scores;        // one per pair
    std::vector<EndCell> ends;          // empty with Output::SCORES
    std::vector<Alignment> alignments;  // empty without Output::PATHS

    PairResults(size_t n, Output output)
        : scores(n), ends(output == Output::SCORES ? 0 : n), alignments(output == Output::PATHS ? n : 0) {}
};

// Time that threads have spent on tasks of pairs, and on the kernels alone (without putting letters side by
// side, and tracebacks), in nanoseconds, for benchmarks.
struct PairTimes {
    std::atomic<int64_t> tasks{0}, kernels{0};

    // Adds the time that `work` takes.
    template <class Work>
    static void add(std::atomic<int64_t>& to, const Work& work) {
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - start;
        to.fetch_add(passed.count(), std::memory_order_relaxed);
    }
};
extern PairTimes pair_times;

// Runs all pairs. Scores have 64 bits; pairs whose tables do not fit 32-bit lanes use align_scalar. Throws
// std::logic_error if a known score is not the optimum of its pair, std::bad_alloc. Results are undefined
// once progress.cancelled is set.
PairResults run_pairs(const PairJob& job, Output output, Progress& progress);

// run_pairs without dividing long targets into windows (windows.cpp).
PairResults run_whole_pairs(const PairJob& job, Output output, Progress& progress);

// run_whole_pairs without swapping queries and targets (swaps.cpp).
PairResults run_pairs_as_given(const PairJob& job, Output output, Progress& progress);

}  // namespace exaln
