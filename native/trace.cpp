#include "trace.hpp"

#include <algorithm>
#include <stdexcept>

namespace exaln {

// What the next column is cannot be foretold, so nothing here branches on it.
Alignment make_alignment(const uint8_t* query, const uint8_t* target, const Costs& costs, int64_t score,
                         int64_t query_end, int64_t target_end, const std::vector<uint8_t>& steps) {
    Alignment alignment;
    alignment.query_end = query_end, alignment.target_end = target_end;
    alignment.columns = int32_t(steps.size());
    const auto n_of = [&](uint8_t step) { return std::count(steps.begin(), steps.end(), step); };
    const int64_t n_query = n_of(STEP_QUERY), n_target = n_of(STEP_TARGET);
    alignment.query_start = query_end - alignment.columns + n_target;
    alignment.target_start = target_end - alignment.columns + n_query;

    // In a gap at the very end there is no letter any more: the one before it, or any, is looked at in vain.
    const uint8_t any_letter = 0;
    const uint8_t *queries = query_end > 0 ? query : &any_letter,
                  *targets = target_end > 0 ? target : &any_letter;
    const int64_t last_row = std::max<int64_t>(query_end - 1, 0),
                  last_column = std::max<int64_t>(target_end - 1, 0);
    int64_t row = alignment.query_start, column = alignment.target_start, rescored = 0;
    int32_t positives = 0;
    static constexpr uint8_t operation_of[3][2] = {// by step, then whether the letters are the same
                                                   {DIFFERENT, EQUAL},
                                                   {INSERTION, INSERTION},
                                                   {DELETION, DELETION}};
    thread_local std::vector<uint64_t> memory;
    memory.resize(steps.size() + 1);
    uint64_t* const runs = memory.data();  // operation, and the column where the run of it ends << 4
    uint64_t* run = runs;
    runs[0] = 0;
    uint64_t end_column = 0;
    uint32_t previous = 0;
    for (const uint8_t *at = steps.data() + steps.size(), *first = steps.data(); at != first;) {
        const uint8_t step = *--at;
        const uint8_t q = queries[std::min(row, last_row)], t = targets[std::min(column, last_column)];
        const int32_t letters = costs.scores[q][t] & -int32_t(step == STEP_BOTH);
        const uint32_t operation = operation_of[step][q == t];
        rescored += letters, positives += letters > 0;
        row += step != STEP_TARGET, column += step != STEP_QUERY;
        run += operation != previous;
        *run = (end_column += 16) | operation;
        previous = operation;
    }
    const size_t n_runs = size_t(run - runs);
    alignment.operations.resize(n_runs);
    for (size_t i = 0; i < n_runs; ++i) {
        const auto operation = uint32_t(runs[i + 1] & 15),
                   length = uint32_t((runs[i + 1] >> 4) - (runs[i] >> 4));
        const bool is_gap = operation < EQUAL;
        alignment.operations[i] = length << 4 | operation;
        alignment.identities += operation == EQUAL ? int32_t(length) : 0;
        alignment.gap_opens += is_gap;
        rescored -= is_gap ? costs.gap_first + int64_t(length - 1) * costs.gap_extend : 0;
    }
    alignment.positives = positives, alignment.gaps = int32_t(n_query + n_target);
    alignment.mismatches = alignment.columns - alignment.gaps - alignment.identities;
    if (rescored != score) throw std::logic_error("a path does not re-score to the score of its pair");
    return alignment;
}

}  // namespace exaln
