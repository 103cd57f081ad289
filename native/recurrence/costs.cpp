// Builds Costs from a matrix and gap costs.
#include "recurrence/costs.hpp"

#include <algorithm>
#include <stdexcept>

namespace exaln {

Costs make_costs(const int32_t* scores, size_t n, int32_t gap_first, int32_t gap_extend) {
    if (n == 0 || n >= size_t(MAX_CODES)) throw std::invalid_argument("matrix must be n x n, 0 < n < 32");
    if (gap_extend < 0 || gap_first < gap_extend)
        throw std::invalid_argument(
            "gap costs must not be negative, nor the first residue cheaper than the next");
    Costs costs{};
    costs.n_codes = costs.pad = int32_t(n), costs.gap_first = gap_first, costs.gap_extend = gap_extend;
    costs.max_score = std::max(0, *std::max_element(scores, scores + n * n));
    costs.min_score = std::min(-1, *std::min_element(scores, scores + n * n));
    for (size_t q = 0; q < size_t(MAX_CODES); ++q)
        for (size_t t = 0; t < size_t(MAX_CODES); ++t)
            costs.scores[q][t] = q < n && t < n ? scores[q * n + t] : costs.min_score;
    return costs;
}

Costs transposed(const Costs& costs) {
    Costs result = costs;
    for (int q = 0; q < MAX_CODES; ++q)
        for (int t = 0; t < MAX_CODES; ++t) result.scores[q][t] = costs.scores[t][q];
    return result;
}

}  // namespace exaln
