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
    const int64_t n_query = n_of(STEP_QUERY), n_target = n_of(STEP_TARGET);
    alignment.query_start = query_end - alignment.columns + n_target;
    alignment.target_start = target_end - alignment.columns + n_query;
    thread_local std::vector<uint32_t> operations;
    operations.clear();
    uint32_t run = 0;  // the operation at hand and how often it came
    const auto push = [&](uint32_t operation) {
        if ((run & 15) == operation) {
            run += 16;
        } else {
            operations.push_back(run);
            run = 16 | operation;
        }
    };
    const uint8_t *q = query + alignment.query_start, *t = target + alignment.target_start;
    int64_t rescored = 0;
    uint8_t previous = STEP_BOTH;
    for (size_t i = steps.size(); i-- > 0; previous = steps[i]) {
        if (steps[i] == STEP_BOTH) {
            const int32_t letters = costs.scores[*q][*t];
            const bool is_same = *q++ == *t++;
            rescored += letters;
            alignment.identities += is_same, alignment.positives += letters > 0;
            push(is_same ? EQUAL : DIFFERENT);
        } else {
            rescored -= steps[i] == previous ? costs.gap_extend : costs.gap_first;
            alignment.gap_opens += steps[i] != previous;
            push(steps[i] == STEP_QUERY ? INSERTION : DELETION);
            ++(steps[i] == STEP_QUERY ? q : t);
        }
    }
    if (run != 0) operations.push_back(run);
    if (!operations.empty()) alignment.operations.assign(operations.begin() + 1, operations.end());
    alignment.gaps = int32_t(n_query + n_target);
    alignment.mismatches = alignment.columns - alignment.gaps - alignment.identities;
    if (rescored != score) throw std::logic_error("a path does not re-score to the score of its pair");
    return alignment;
}

}  // namespace exaln
