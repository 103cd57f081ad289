// One pair without SIMD, in memory that grows slower than its cells: for pairs that no group can take.
#pragma once

#include <cstdint>

#include "pairs/alignment.hpp"
#include "recurrence/costs.hpp"
#include "recurrence/modes.hpp"
#include "threads/progress.hpp"

namespace exaln {

// The score of a pair; if `alignment` is not null, also its path, which is the same as that of the pair
// kernel. The result is undefined once progress.cancelled is set.
int64_t align_scalar(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
                     const Costs& costs, const Mode& mode, Progress& progress, Alignment* alignment);

}  // namespace exaln
