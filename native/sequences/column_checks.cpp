// Passes over whole columns of a segment, which compilers turn into vector instructions.
#include "sequences/column_checks.hpp"

#include <algorithm>
#include <stdexcept>

namespace exaln {
namespace {

// Codes that are compared together, and read again one by one if one of them is rare.
constexpr int64_t CHUNK = 1 << 8;

uint8_t largest(const uint8_t* codes, int64_t n) {
    uint8_t highest = 0;
    for (int64_t i = 0; i < n; ++i) highest = std::max(highest, codes[i]);
    return highest;
}

}  // namespace

void mark_codes(const uint8_t* codes, int64_t n, std::array<bool, 256>& is_used) {
    int known = 0;  // all codes below occur, so a chunk of smaller codes has nothing new
    for (int64_t begin = 0; begin < n; begin += CHUNK) {
        const int64_t size = std::min(CHUNK, n - begin);
        while (known < 256 && is_used[size_t(known)]) ++known;
        if (known == 256) return;
        if (largest(codes + begin, size) < known) continue;
        for (int64_t i = begin; i < begin + size; ++i) is_used[codes[i]] = true;
    }
}

OffsetProblem problem_of(const Column<int64_t>& offsets, int64_t n_values, bool is_sorted) {
    const int64_t n = offsets.size() - 1;
    if (n < 0 || offsets[0] != 0 || offsets[n] > n_values) return OffsetProblem::outside;
    int64_t last = 0, longest = 0;
    bool falls = false, shrinks = false;
    for (int64_t row = 1; row <= n; ++row) {
        const int64_t end = offsets[row];
        falls |= end < last;
        // An offset between 0 and n_values cannot overflow the difference; others are reported first.
        const int64_t length = int64_t(uint64_t(end) - uint64_t(last));
        shrinks |= length < longest;
        longest = length, last = end;
    }
    if (falls) return OffsetProblem::outside;
    return is_sorted && shrinks ? OffsetProblem::unsorted : OffsetProblem::none;
}

LengthRuns length_runs(const Column<int64_t>& offsets) {
    LengthRuns runs;
    int64_t value = -1;
    for (int64_t row = 0; row + 1 < offsets.size(); ++row) {
        const int64_t length = offsets[row + 1] - offsets[row];
        if (length == value) continue;
        if (length < value) throw std::invalid_argument("rows are not sorted by length");
        value = length;
        runs.values.push_back(length);
        runs.firsts.push_back(row);
    }
    return runs;
}

}  // namespace exaln
