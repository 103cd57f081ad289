// An alignment with its positions, counts and CIGAR operations, made from the steps of its path.
#pragma once

#include <cstdint>
#include <vector>

#include "recurrence/costs.hpp"

namespace exaln {

// CIGAR operations, encoded as in BAM: length << 4 | operation.
enum Operation : uint32_t { INSERTION = 1, DELETION = 2, EQUAL = 7, DIFFERENT = 8 };

// Positions are 0-based, ends exclusive.
struct Alignment {
    int64_t query_start = 0, query_end = 0, target_start = 0, target_end = 0;
    int32_t identities = 0, positives = 0, mismatches = 0, gap_opens = 0, gaps = 0, columns = 0;
    std::vector<uint32_t> operations;
};

// The alignment of a path that is given as steps from its end to its start. Throws std::logic_error unless
// the path re-scores to `score`.
Alignment make_alignment(const uint8_t* query, const uint8_t* target, const Costs& costs, int64_t score,
                         int64_t query_end, int64_t target_end, const std::vector<uint8_t>& steps);

}  // namespace exaln
