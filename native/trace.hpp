// Alignments of pairs whose exact scores are known: plans groups, runs them on threads, turns steps into
// CIGAR operations.
#pragma once

#include <cstdint>
#include <vector>

#include "scores.hpp"

namespace exaln {

struct Pair {
    int64_t query, target;  // into the sequences
    int32_t score;          // exact and above 0
};

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
Alignment make_alignment(const uint8_t* query, const uint8_t* target, const Costs& costs, int32_t score,
                         int64_t end_row, int64_t end_column, const std::vector<uint8_t>& steps);

// A pair too large for keeping the directions of all its cells: see trace_long.cpp. The path is the same.
Alignment trace_long(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
                     const Costs& costs, int32_t score, Progress& progress);

// alignments[i] is that of pairs[i]. `isas` are those that may be used, the fastest first: narrower ones
// serve small groups and large pairs. max_bytes bounds the directions that a thread keeps; larger pairs go to
// trace_long, with the same path. Throws as score_all does, and std::logic_error if a score is not the
// optimum of its pair.
void trace_all(const std::vector<const Isa*>& isas, const Sequences& queries, const Sequences& targets,
               const std::vector<Pair>& pairs, const Costs& costs, int threads, size_t max_bytes,
               Progress& progress, std::vector<Alignment>& alignments);

}  // namespace exaln
