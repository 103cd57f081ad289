// Local scores and alignments of pairs that have a substitution table each.
//
// Lanes cannot share a table, so that each pair has its registers to itself: the striped kernel for scores,
// tiles for alignments. Threads take pair after pair.
#pragma once

#include <cstdint>
#include <vector>

#include "pairs/several.hpp"

namespace exaln {

// Pairs and their tables, [n_codes][n_codes] one after the other, row: query letter.
struct OwnTablesJob {
    std::vector<const Isa*> isas;  // the fastest first
    Sequences queries, targets;
    std::vector<Pair> pairs;
    const int32_t* tables;
    size_t n_codes;
    int32_t gap_first, gap_extend;
    int threads;

    Costs costs(size_t pair) const {
        return make_costs(tables + pair * n_codes * n_codes, n_codes, gap_first, gap_extend);
    }
};

// The best score of each pair. Undefined once progress.cancelled is set.
std::vector<int64_t> score_with_own_tables(const OwnTablesJob& job, Progress& progress);

// Alignments of each pair as align_several finds them; `known` are null or their best scores.
SeveralFound align_with_own_tables(const OwnTablesJob& job, int64_t most, const int64_t* least,
                                   const int32_t* known, double max_bytes, Progress& progress);

}  // namespace exaln
