// Which letters the sequences of pairs consist of.
#pragma once

#include <cstdint>
#include <vector>

#include "recurrence/costs.hpp"
#include "sequences/codes.hpp"

namespace exaln {

// For each sequence that is used, a mask with bit a for each of its letters a; a sequence of the first four
// codes (DNA) counts as having all four, one of the first twenty (protein) as having all twenty. 0 for the
// others. Throws std::invalid_argument if a letter has no row in the matrix.
std::vector<uint32_t> letters_of_each(const Sequences& sequences, const std::vector<bool>& are_used,
                                      const Costs& costs, int threads);

}  // namespace exaln
