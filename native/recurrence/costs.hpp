// Costs from a matrix: the letter for padding, the extremes, the checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/kernels.hpp"

namespace exaln {

// scores is [n][n], row = query letter, 0 < n < MAX_CODES. Throws std::invalid_argument for other sizes,
// negative gap costs, and a first residue of a gap that is cheaper than the next.
Costs make_costs(const int32_t* scores, size_t n, int32_t gap_first, int32_t gap_extend);

}  // namespace exaln
