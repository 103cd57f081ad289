// Turns the steps of a path into CIGAR operations, counts and a score.
#include "pairs/alignment.hpp"

#include <algorithm>
#include <stdexcept>

#include "pairs/path.hpp"

namespace exaln {

namespace {

// The number of gaps in query and target. The sums are bytes, of which the compiler adds many at a time.
struct Gaps {
    int64_t in_target = 0, in_query = 0;

    explicit Gaps(const std::vector<uint8_t>& steps) {
        static_assert(STEP_BOTH == 0 && STEP_QUERY == 1 && STEP_TARGET == 2);
        constexpr size_t piece = 128;  // the sums of a piece fit a byte
        for (size_t first = 0; first < steps.size(); first += piece) {
            const size_t end = std::min(steps.size(), first + piece);
            uint8_t ones = 0, twos = 0;
            for (size_t i = first; i < end; ++i)
                ones = uint8_t(ones + (steps[i] & 1)), twos = uint8_t(twos + (steps[i] >> 1));
            in_target += ones, in_query += twos;
        }
    }
};

}  // namespace

// The kind of the next column is unpredictable, so the loop over columns does not branch on it, and its
// variables are few enough to stay in registers.
Alignment make_alignment(const uint8_t* query, const uint8_t* target, const Costs& costs, int64_t score,
                         int64_t query_end, int64_t target_end, const std::vector<uint8_t>& steps) {
    Alignment alignment;
    alignment.query_end = query_end, alignment.target_end = target_end;
    alignment.columns = int32_t(steps.size());
    const Gaps gaps(steps);
    alignment.query_start = query_end - alignment.columns + gaps.in_query;
    alignment.target_start = target_end - alignment.columns + gaps.in_target;

    // Where a column lacks a letter of a sequence, its first letter, or any byte, is read and ignored.
    const uint8_t any_letter = 0;
    const uint8_t *queries = query_end > 0 ? query : &any_letter,
                  *targets = target_end > 0 ? target : &any_letter;
    int64_t row = alignment.query_start, column = alignment.target_start;
    // The sum of letter scores; in the bits above it, the number of positives (equal, or scoring above 0).
    int64_t tally = 0;
    constexpr int tally_bits = 40;
    static_assert(INSERTION == uint32_t(STEP_QUERY) && DELETION == uint32_t(STEP_TARGET) &&
                  DIFFERENT == EQUAL + 1);
    thread_local std::vector<uint64_t> memory;
    memory.resize(steps.size() + 1);
    uint64_t* const runs = memory.data();  // end column of the run << 4 | operation
    uint64_t* run = runs;
    runs[0] = 0;
    uint64_t end_column = 0;
    uint32_t previous = 0;
    for (const uint8_t *at = steps.data() + steps.size(), *first = steps.data(); at != first;) {
        const uint8_t step = *--at;
        const int64_t has_query = step != STEP_TARGET, has_target = step != STEP_QUERY;
        const uint8_t q = queries[row & -has_query], t = targets[column & -has_target];
        const int64_t letters = step == STEP_BOTH ? costs.scores[q][t] : 0;
        const uint32_t operation = step == STEP_BOTH ? DIFFERENT - uint32_t(q == t) : step;
        tally += letters + (int64_t((letters > 0) | (operation == EQUAL)) << tally_bits);
        row += has_query, column += has_target;
        run += operation != previous;
        *run = (end_column += 16) | operation;
        previous = operation;
    }
    const int64_t half = int64_t(1) << (tally_bits - 1), low = (int64_t(1) << tally_bits) - 1;
    int64_t rescored = ((tally + half) & low) - half;
    const auto positives = int32_t((tally - rescored) >> tally_bits);
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
    alignment.positives = positives, alignment.gaps = int32_t(gaps.in_query + gaps.in_target);
    alignment.mismatches = alignment.columns - alignment.gaps - alignment.identities;
    if (rescored != score) throw std::logic_error("a path does not re-score to the score of its pair");
    return alignment;
}

}  // namespace exaln
