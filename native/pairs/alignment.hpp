// An alignment from the steps of its path, and pairs too large for the direct method.
#pragma once

#include <cstdint>
#include <vector>

#include "scan/scores.hpp"

namespace exaln {

// Operations of a CIGAR, coded as in SAM: length << 4 | code.
enum Operation : uint32_t { INSERTION = 1, DELETION = 2, EQUAL = 7, DIFFERENT = 8 };

// Positions are 0-based half-open.
struct Alignment {
    int64_t query_start = 0, query_end = 0, target_start = 0, target_end = 0;
    int32_t identities = 0, positives = 0, mismatches = 0, gap_opens = 0, gaps = 0, columns = 0;
    std::vector<uint32_t> operations;
};

// The alignment of a path given as steps from its end to its start. Throws std::logic_error if it does not
// re-score to the pair's score.
Alignment make_alignment(const uint8_t* query, const uint8_t* target, const Costs& costs, int64_t score,
                         int64_t query_end, int64_t target_end, const std::vector<uint8_t>& steps);

// One pair, cell by cell, in memory that does not grow with its cells: see trace_long.cpp. The score, and, if
// `alignment` is not null, the same path as by the direct method.
int64_t trace_long(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
                   const Costs& costs, const Mode& mode, Progress& progress, Alignment* alignment);

}  // namespace exaln
