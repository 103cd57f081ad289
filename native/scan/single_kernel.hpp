// One kernel alone, without planning, threads and repetition in wider lanes: what the tests compare with the
// oracle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scan/scores.hpp"

namespace exaln {

enum class Family { group, striped };

// Throws std::invalid_argument if `name` is neither "group" nor "striped".
Family family_of(const std::string& name);

// The kernels of an instruction set at 8, 16 or 32 bits. Throws std::invalid_argument for other widths.
const WidthKernels& kernels_of(const Isa& isa, int bits);

// Scores of one query against every target, OVERFLOWED where the width is too narrow; the group family takes
// the targets in their order, as many at once as there are lanes. Throws std::invalid_argument if these costs
// cannot be used at this width.
std::vector<int32_t> score_with(const WidthKernels& kernels, Family family, const uint8_t* query,
                                int64_t n_rows, const Sequences& targets, const Costs& costs);

}  // namespace exaln
