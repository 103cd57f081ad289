// Exact scores of every query against every target: plans the work, runs it on threads, repeats in wider
// lanes what did not fit.
#pragma once

#include <atomic>
#include <cstdint>

#include "simd/kernels.hpp"

namespace exaln {

// n sequences of codes, joined: sequence i is codes[offsets[i] .. offsets[i + 1]).
struct Sequences {
    const uint8_t* codes;
    const int64_t* offsets;
    int64_t n;

    int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
    const uint8_t* at(int64_t i) const { return codes + offsets[i]; }
};

// Watched and steered from another thread while score_all runs.
struct Progress {
    std::atomic<int64_t> cells{0};
    std::atomic<bool> cancelled{false};
};

// Fills scores[query * targets.n + target]. Targets sorted by length are scored without padding to speak of;
// any order is correct. Returns early, with scores undefined, once progress.cancelled is set. Throws
// std::overflow_error if a score does not fit 31 bits, std::invalid_argument if a code is 32 or more,
// std::bad_alloc.
void score_all(const Isa& isa, const Sequences& queries, const Sequences& targets, const Costs& costs,
               int threads, Progress& progress, int32_t* scores);

}  // namespace exaln
