// Runs a single kernel without planning, threads or repetition in wider lanes. For tests, which compare every
// kernel with the oracle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recurrence/costs.hpp"
#include "sequences/codes.hpp"
#include "simd/kernels.hpp"

namespace exaln {

enum class Family { group, striped };

// Throws std::invalid_argument if `name` is neither "group" nor "striped".
Family family_of(const std::string& name);

// The kernels of an instruction set at 8, 16 or 32 bits. Throws std::invalid_argument for other widths.
const WidthKernels& kernels_of(const Isa& isa, int bits);

// Scores of one query against every target, OVERFLOWED where the width is too narrow. The group family takes
// targets in order, `lanes` at a time. Throws std::invalid_argument if the width cannot hold these costs.
std::vector<int32_t> score_with_kernel(const WidthKernels& kernels, Family family, const uint8_t* query,
                                       int64_t n_rows, const Sequences& targets, const Costs& costs);

}  // namespace exaln
