// Substitution scores and gap costs in the form that every kernel takes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exaln {

constexpr int MAX_CODES = 32;  // letters and the padding code: the size of an in-register table

// A gap of length k costs gap_first + (k - 1) * gap_extend. scores[q][t] is the score of query letter q and
// target letter t. Code `pad` fills up sequences; it never raises a score.
struct Costs {
    int32_t scores[MAX_CODES][MAX_CODES];
    int32_t n_codes;  // letters, without the padding code
    int32_t pad;      // == n_codes
    int32_t gap_first;
    int32_t gap_extend;
    int32_t max_score;  // at least 0
    int32_t min_score;  // at most -1
};

// Costs of a matrix scores[n][n] (row: query letter), 0 < n < MAX_CODES. Throws std::invalid_argument for
// other sizes, for negative gap costs, and if gap_first < gap_extend.
Costs make_costs(const int32_t* scores, size_t n, int32_t gap_first, int32_t gap_extend);

// The costs with query and target exchanged.
Costs transposed(const Costs& costs);

}  // namespace exaln
