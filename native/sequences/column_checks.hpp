// Passes over whole columns of a segment, at the speed of memory: which codes occur, whether offsets keep
// their rules, which lengths there are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sequences/column.hpp"

namespace exaln {

// Sets is_used[code] for every code that occurs.
void mark_codes(const uint8_t* codes, int64_t n, std::array<bool, 256>& is_used);

enum class OffsetProblem { none, outside, unsorted };

// outside: offsets do not begin at 0, decrease, or lead beyond n_values. unsorted: lengths decrease, if they
// must not.
OffsetProblem problem_of(const Column<int64_t>& offsets, int64_t n_values, bool is_sorted);

// The distinct lengths of rows that are sorted by length, and the first row of each.
struct LengthRuns {
    std::vector<int64_t> values, firsts;
};

// Throws std::invalid_argument if lengths decrease or are negative.
LengthRuns length_runs(const Column<int64_t>& offsets);

}  // namespace exaln
