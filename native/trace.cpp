#include "trace.hpp"

#include <algorithm>
#include <stdexcept>

namespace exaln {

Alignment make_alignment(const uint8_t* query, const uint8_t* target, const Costs& costs, int64_t score,
                         int64_t query_end, int64_t target_end, const std::vector<uint8_t>& steps) {
    Alignment alignment;
    alignment.query_end = query_end, alignment.target_end = target_end;
    alignment.columns = int32_t(steps.size());
    const auto n_of = [&](uint8_t step) { return std::count(steps.begin(), steps.end(), step); };
    int64_t row = alignment.query_end - alignment.columns + n_of(STEP_TARGET);
    int64_t column = alignment.target_end - alignment.columns + n_of(STEP_QUERY);
    alignment.query_start = row, alignment.target_start = column;
    int64_t rescored = 0;
    uint8_t previous = STEP_BOTH;
    auto push = [&](uint32_t operation) {
        auto& operations = alignment.operations;
        if (!operations.empty() && (operations.back() & 15) == operation) {
            operations.back() += 16;
        } else {
            operations.push_back(16 | operation);
        }
    };
    for (auto step = steps.rbegin(); step != steps.rend(); previous = *step++) {
        if (*step == STEP_BOTH) {
            const uint8_t q = query[row++], t = target[column++];
            rescored += costs.scores[q][t];
            alignment.identities += q == t, alignment.mismatches += q != t,
                alignment.positives += costs.scores[q][t] > 0;
            push(q == t ? EQUAL : DIFFERENT);
        } else {
            rescored -= *step == previous ? costs.gap_extend : costs.gap_first;
            alignment.gaps += 1, alignment.gap_opens += *step != previous;
            push(*step == STEP_QUERY ? INSERTION : DELETION);
            ++(*step == STEP_QUERY ? row : column);
        }
    }
    if (rescored != score) throw std::logic_error("a path does not re-score to the score of its pair");
    return alignment;
}

}  // namespace exaln
