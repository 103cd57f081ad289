// The cell update of Smith-Waterman with affine gaps, stated once for every kernel, width and instruction set.
//
//   H(i,j) = max(0, H(i-1,j-1) + s(q_i,t_j), E(i,j), F(i,j))
//   E(i,j) = max(E(i,j-1) - gap_extend, H(i,j-1) - gap_first)      consumes t_j
//   F(i,j) = max(F(i-1,j) - gap_extend, H(i-1,j) - gap_first)      consumes q_i
//
// On entry H is H(i-1,j-1) + s(q_i,t_j), and E and F belong to this cell; on exit they belong to the next one in their direction. Values are stored as score + floor (see Range in
// kernels.hpp), additions wrap. Ten operations, six of them maxima; E comes last because it is known last.
#pragma once

#include "kernels.hpp"

namespace {

template <class V>
struct CellCosts {
    typename V::Reg gap_first, gap_extend, floor, no_gap;

    CellCosts(const exaln::Costs& costs, const exaln::Range& range)
        : gap_first(V::fill(typename V::Lane(costs.gap_first))),
          gap_extend(V::fill(typename V::Lane(costs.gap_extend))),
          floor(V::fill(typename V::Lane(range.floor))),
          no_gap(V::fill(typename V::Lane(range.floor - costs.gap_first))) {}
};

template <class V>
EXALN_INLINE void update_cell(typename V::Reg& H, typename V::Reg& E, typename V::Reg& F, typename V::Reg& best,
                              const CellCosts<V>& costs) {
    H = V::max(V::max(H, V::max(F, costs.floor)), E);
    best = V::max(best, H);
    const typename V::Reg opened = V::sub(H, costs.gap_first);
    E = V::max(V::sub(E, costs.gap_extend), opened);
    F = V::max(V::sub(F, costs.gap_extend), opened);
}

// Scores of the lanes of `best`, OVERFLOWED where they may not be exact.
template <class V>
void store_scores(typename V::Reg best, const exaln::Range& range, int32_t* scores) {
    alignas(64) typename V::Lane stored[V::lanes];
    V::store(stored, best);
    for (int lane = 0; lane < V::lanes; ++lane) {
        const int64_t value = stored[lane];
        scores[lane] = value > range.limit ? exaln::OVERFLOWED : int32_t(value - range.floor);
    }
}

}  // namespace
