// Several local alignments of a pair that share no aligned pair of letters (Waterman and Eggert 1987).
#pragma once

#include <cstdint>
#include <vector>

#include "pairs/alignment.hpp"
#include "recurrence/costs.hpp"
#include "threads/progress.hpp"

namespace exaln {

struct ScoredAlignment {
    int64_t score;
    Alignment alignment;
};

// How many alignments of a pair are wanted: at most `most`, each with a score of at least `least`, above 0.
struct SeveralLimits {
    int64_t most, least;
};

// The alignments of a pair, in the order found: each follows the path rule in the table in which no pair of
// letters that an earlier one aligned may be aligned. One more than `limits.most` is never computed. Throws
// std::bad_alloc if the tables do not fit `max_bytes`. The result is undefined once progress.cancelled is
// set.
std::vector<ScoredAlignment> align_several(const uint8_t* query, int64_t n_rows, const uint8_t* target,
                                           int64_t n_columns, const Costs& costs, const SeveralLimits& limits,
                                           size_t max_bytes, Progress& progress);

}  // namespace exaln
