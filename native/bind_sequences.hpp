// Costs and sequences from the arrays that Python passes, checked so that no kernel can be led outside them.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "bind.hpp"
#include "scores.hpp"

namespace exaln {

inline Costs make_costs(const In<int32_t, 2>& matrix, int32_t gap_first, int32_t gap_extend) {
    const size_t n = matrix.shape(0);
    if (matrix.shape(1) != n || n == 0 || n >= size_t(MAX_CODES)) throw std::invalid_argument("matrix must be n x n, n < 32");
    if (gap_extend < 0 || gap_first < gap_extend) throw std::invalid_argument("gap costs must not be negative");
    Costs costs{};
    costs.n_codes = costs.pad = int32_t(n), costs.gap_first = gap_first, costs.gap_extend = gap_extend;
    const int32_t* scores = matrix.data();
    costs.max_score = *std::max_element(scores, scores + n * n);
    costs.min_score = std::min(-1, *std::min_element(scores, scores + n * n));
    for (size_t q = 0; q < size_t(MAX_CODES); ++q)
        for (size_t t = 0; t < size_t(MAX_CODES); ++t)
            costs.scores[q][t] = q < n && t < n ? scores[q * n + t] : costs.min_score;
    return costs;
}

inline Sequences make_sequences(const In<uint8_t>& codes, const In<int64_t>& offsets) {
    if (offsets.shape(0) == 0) throw std::invalid_argument("offsets must not be empty");
    const Sequences sequences{codes.data(), offsets.data(), int64_t(offsets.shape(0)) - 1};
    for (int64_t i = 0; i < sequences.n; ++i)
        if (sequences.length(i) < 0) throw std::invalid_argument("offsets must not decrease");
    if (offsets.data()[0] < 0 || offsets.data()[sequences.n] > int64_t(codes.shape(0)))
        throw std::invalid_argument("offsets reach beyond the codes");
    return sequences;
}

inline void require_codes(const Sequences& sequences) {
    const uint8_t *begin = sequences.at(0), *end = sequences.at(sequences.n);
    if (std::any_of(begin, end, [](uint8_t code) { return code >= MAX_CODES; }))
        throw std::invalid_argument("a sequence holds a code of 32 or more");
}

// Residues of all queries times residues of all targets.
inline double n_cells(const Sequences& queries, const Sequences& targets) {
    return double(queries.offsets[queries.n] - queries.offsets[0]) * double(targets.offsets[targets.n] - targets.offsets[0]);
}

}  // namespace exaln
