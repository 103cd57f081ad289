// The cell update with affine gaps, stated once for every mode, kernel, width and instruction set.
//
// clang-format off
//   H(i,j) = max(0, H(i-1,j-1) + s(q_i,t_j), E(i,j), F(i,j))       the 0 in local mode only
//   E(i,j) = max(E(i,j-1) - gap_extend, H(i,j-1) - gap_first)      consumes t_j
//   F(i,j) = max(F(i-1,j) - gap_extend, H(i-1,j) - gap_first)      consumes q_i
// clang-format on
//
// On entry H is H(i-1,j-1) + s(q_i,t_j), and E and F belong to this cell; on exit E and F belong to the next
// cell in their direction. Values are stored as score + floor, and additions wrap (recurrence/ranges.hpp). A
// cell takes ten operations, six of them maxima. E enters the last maximum because it is known last.
#pragma once

#include <cstdint>

#include "recurrence/ranges.hpp"

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

// H, from the diagonal with its score, E and F.
template <class V, bool is_local>
EXALN_INLINE typename V::Reg best_of(typename V::Reg diagonal, typename V::Reg E, typename V::Reg F,
                                     const CellCosts<V>& costs) {
    return V::max(V::max(diagonal, is_local ? V::max(F, costs.floor) : F), E);
}

template <class V, bool is_local = true, bool keeps_best = is_local>
EXALN_INLINE void update_cell(typename V::Reg& H, typename V::Reg& E, typename V::Reg& F,
                              typename V::Reg& best, const CellCosts<V>& costs) {
    H = best_of<V, is_local>(H, E, F, costs);
    if (keeps_best) best = V::max(best, H);
    const typename V::Reg opened = V::sub(H, costs.gap_first);
    E = V::max(V::sub(E, costs.gap_extend), opened);
    F = V::max(V::sub(F, costs.gap_extend), opened);
}

// The same, local, for cells that follow one another down a column: F passes through two operations. A gap in
// F that opens at an H that is F itself is never better than one that goes on.
template <class V>
EXALN_INLINE void update_cell_in_column(typename V::Reg& H, typename V::Reg& E, typename V::Reg& F,
                                        typename V::Reg& best, const CellCosts<V>& costs) {
    const typename V::Reg rest = V::max(V::max(H, E), costs.floor);
    H = V::max(rest, F);
    best = V::max(best, H);
    E = V::max(V::sub(E, costs.gap_extend), V::sub(H, costs.gap_first));
    F = V::max(V::sub(F, costs.gap_extend), V::sub(rest, costs.gap_first));
}

// Where the values of a cell came from, one mask each: H is the diagonal; H is E; E of the next cell extends
// the gap of this cell's E rather than opening one here; the same for F.
template <class V>
struct Directions {
    typename V::Mask from_diagonal, from_E, extends_E, extends_F;

    static constexpr int bytes = 4 * V::mask_bytes;

    EXALN_INLINE void store(uint8_t* p) const {
        V::store_mask(p, from_diagonal);
        V::store_mask(p + V::mask_bytes, from_E);
        V::store_mask(p + 2 * V::mask_bytes, extends_E);
        V::store_mask(p + 3 * V::mask_bytes, extends_F);
    }
};

// The same update with its directions. Ties: the diagonal before E before F, opening before extending.
template <class V, bool is_local>
EXALN_INLINE Directions<V> update_cell_traced(typename V::Reg& H, typename V::Reg& E, typename V::Reg& F,
                                              const CellCosts<V>& costs) {
    Directions<V> directions;
    const typename V::Reg diagonal = H, extended_E = V::sub(E, costs.gap_extend),
                          extended_F = V::sub(F, costs.gap_extend);
    H = best_of<V, is_local>(H, E, F, costs);
    const typename V::Reg opened = V::sub(H, costs.gap_first);
    directions.from_diagonal = V::equal(H, diagonal);
    directions.from_E = V::equal(H, E);
    directions.extends_E = V::greater(extended_E, opened);
    directions.extends_F = V::greater(extended_F, opened);
    E = V::max(extended_E, opened);
    F = V::max(extended_F, opened);
    return directions;
}

// The same cell as differences of neighbouring cells, for modes without a floor. Differences stay small
// whatever the lengths, so they fit 8-bit lanes where H itself needs 16 bits or more.
//
// clang-format off
//   u(i,j) = H(i,j) - H(i-1,j) + gap_extend        a(i,j) = E(i,j) - H(i-1,j-1) + 2 gap_extend
//   v(i,j) = H(i,j) - H(i,j-1) + gap_extend        b(i,j) = F(i,j) - H(i-1,j-1) + 2 gap_extend
//   z(i,j) = H(i,j) - H(i-1,j-1) + 2 gap_extend = max(s(q_i,t_j) + 2 gap_extend, a(i,j), b(i,j))
//   w(i,j) = z(i,j) + gap_extend - gap_first                     a gap that opens here
//   u(i,j) = z - v(i-1,j)      a(i,j+1) = max(a, w) - v(i-1,j)
//   v(i,j) = z - u(i,j-1)      b(i+1,j) = max(b, w) - u(i,j-1)
// clang-format on
//
// Substituting the definitions gives the recurrence above. On entry `score` is s + 2 gap_extend, U belongs to
// the cell on the left, V to the cell above, A and B to this cell. On exit U and V belong to this cell, A to
// the next one on the right, B to the one below. Range of values: Range::of_differences. After Suzuki and
// Kasahara, "Introducing difference recurrence relations for faster semi-global alignment of long sequences",
// BMC Bioinformatics 19(S1):45 (2018); a, b and the offsets are ours.
template <class Vec>
EXALN_INLINE Directions<Vec> update_differences(typename Vec::Reg score, typename Vec::Reg& U,
                                                typename Vec::Reg& A, typename Vec::Reg& V,
                                                typename Vec::Reg& B, typename Vec::Reg no_gap) {
    const typename Vec::Reg a = A, b = B, left = U, above = V;
    const typename Vec::Reg z = Vec::max(Vec::max(score, b), a), w = Vec::add(z, no_gap);
    A = Vec::sub(Vec::max(a, w), above);
    B = Vec::sub(Vec::max(b, w), left);
    U = Vec::sub(z, above);
    V = Vec::sub(z, left);
    return {Vec::equal(z, score), Vec::equal(z, a), Vec::greater(a, w), Vec::greater(b, w)};
}

// Writes the score of each lane of `best`, OVERFLOWED where it may not be exact.
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
