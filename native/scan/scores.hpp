// Exact scores of every query against every target: plans the work, runs it on threads, and repeats pairs
// that overflowed in wider lanes.
#pragma once

#include <cstdint>

#include "sequences/codes.hpp"
#include "simd/kernels.hpp"
#include "threads/progress.hpp"

namespace exaln {

// Fills scores[query * targets.n + target]. Targets may come in any order. Returns early, with undefined
// scores, once progress.cancelled is set. Throws std::overflow_error if a score does not fit 31 bits,
// std::invalid_argument if a code is 32 or more, std::bad_alloc.
void score_all(const Isa& isa, const Sequences& queries, const Sequences& targets, const Costs& costs,
               int threads, Progress& progress, int32_t* scores);

}  // namespace exaln
