// Costs, modes, sequences and thread counts from Python, checked so that no kernel reads outside an array.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "bindings/arrays.hpp"
#include "recurrence/costs.hpp"
#include "recurrence/modes.hpp"
#include "sequences/codes.hpp"

namespace exaln {

constexpr int MAX_THREADS = 1 << 14;  // more are a mistake, and would take minutes to start

// is_local; then whether query start, query end, target start and target end are free.
using ModeFlags = std::tuple<bool, bool, bool, bool, bool>;

inline Mode make_mode(const ModeFlags& flags) {
    const auto [is_local, query_start, query_end, target_start, target_end] = flags;
    return is_local ? LOCAL : Mode{false, query_start, query_end, target_start, target_end};
}

inline void require_threads(int threads) {
    if (threads < 1) throw std::invalid_argument("threads must be at least 1");
    if (threads > MAX_THREADS) throw std::invalid_argument("threads must be at most 16384");
}

inline Costs make_costs(const InputArray<int32_t, 2>& matrix, int32_t gap_first, int32_t gap_extend) {
    if (matrix.shape(0) != matrix.shape(1)) throw std::invalid_argument("matrix must be n x n, 0 < n < 32");
    return make_costs(matrix.data(), matrix.shape(0), gap_first, gap_extend);
}

inline Sequences make_sequences(const InputArray<uint8_t>& codes, const InputArray<int64_t>& offsets) {
    if (offsets.shape(0) == 0) throw std::invalid_argument("offsets must not be empty");
    const Sequences sequences{codes.data(), offsets.data(), int64_t(offsets.shape(0)) - 1};
    if (offsets.data()[0] < 0) throw std::invalid_argument("offsets must not be negative");
    for (int64_t i = 0; i < sequences.n; ++i)
        if (offsets.data()[i] > offsets.data()[i + 1])
            throw std::invalid_argument("offsets must not decrease");
    if (offsets.data()[sequences.n] > int64_t(codes.shape(0)))
        throw std::invalid_argument("offsets reach beyond the codes");
    return sequences;
}

inline void require_codes(const Sequences& sequences) {
    require_codes(sequences.at(0), sequences.offsets[sequences.n] - sequences.offsets[0]);
}

// Throws unless all codes are letters of the matrix. Scores alone need only require_codes; a traceback would
// go astray at a letter without a row in the matrix.
inline void require_letters(const Costs& costs, const uint8_t* codes, int64_t n) {
    require_codes(codes, n);
    uint8_t highest = 0;
    for (int64_t i = 0; i < n; ++i) highest = std::max(highest, codes[i]);
    if (n > 0 && highest >= costs.n_codes)
        throw std::invalid_argument("a sequence holds a code that the matrix does not have");
}

inline void require_letters(const Costs& costs, const Sequences& sequences) {
    require_letters(costs, sequences.at(0), sequences.offsets[sequences.n] - sequences.offsets[0]);
}

}  // namespace exaln
