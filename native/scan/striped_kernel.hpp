// Striped kernel: scores one query against one target, the rows of the query spread over the lanes.
//
// Lane l holds rows l * n_segments to (l + 1) * n_segments - 1. So a register holds rows that are n_segments
// apart, and vertical gaps cross lanes only at the end of a column.
//
// clang-format off
//   lane        0         1             2
//   segment 0   row 0     row n         row 2n          n = n_segments
//   segment 1   row 1     row n + 1     row 2n + 1
//   ...
//
//   profile[letter][segment][lane] = s(q_row, letter), row = lane * n_segments + segment
//   H (two columns), E and the query's letters are [segment][lane].
// clang-format on
//
// Rows beyond the query score -max_drop, and a gap of one letter costs less. So their H is never above that
// of the last real row in the same column, and raises no maximum, not even that of a block of columns.
//
// F is first computed within each lane, then carried into the next lane while it is above the floor and above
// what a gap that opens there gives ("lazy F"): any other F raises no H, here or below. If it goes through
// all segments, F may cross several lanes: a scan over the lanes has what enters each, and one more pass is
// complete. F is kept at no_gap or above, so it cannot wrap. An H raised by a carried F is smaller than the H
// the gap came from, so the maximum is unchanged.
//
// Range of values and overflow: Range in recurrence/ranges.hpp. After Farrar, "Striped Smith-Waterman speeds
// database searches six times over other SIMD implementations", Bioinformatics 23:156 (2007). Tests:
// tests/engines/cpu/test_kernels.py.
#pragma once

#include "recurrence/cell.hpp"
#include "scan/kernel_args.hpp"

namespace {

template <class V>
struct StripedWorkspace {
    int64_t n_segments;
    typename V::Lane *H, *H_left, *E, *profile;
    uint8_t* letters;

    StripedWorkspace(void* memory, int64_t n_rows) : n_segments((n_rows + V::lanes - 1) / V::lanes) {
        const int64_t column = n_segments * V::lanes;
        H = static_cast<typename V::Lane*>(memory);
        H_left = H + column, E = H_left + column, profile = E + column;
        letters = reinterpret_cast<uint8_t*>(profile + exaln::MAX_CODES * column);
    }

    static size_t bytes(int64_t n_rows) {
        const int64_t column = (n_rows + V::lanes - 1) / V::lanes * V::lanes;
        return size_t(column) * ((3 + exaln::MAX_CODES) * sizeof(typename V::Lane) + 1);
    }

    typename V::Lane* scores(int letter) const { return profile + int64_t(letter) * n_segments * V::lanes; }
};

template <class V>
void stripe_letters(const exaln::StripedArgs& args, const StripedWorkspace<V>& work) {
    uint8_t* out = work.letters;
    for (int64_t segment = 0; segment < work.n_segments; ++segment)
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t row = lane * work.n_segments + segment;
            *out++ = row < args.n_rows ? args.query[row] : uint8_t(args.costs->pad);
        }
}

template <class V>
void build_profile(const exaln::StripedArgs& args, const StripedWorkspace<V>& work, int letter) {
    int32_t of_rows[exaln::MAX_CODES];
    for (int row = 0; row < exaln::MAX_CODES; ++row) of_rows[row] = args.costs->scores[row][letter];
    of_rows[args.costs->pad] = int32_t(-exaln::max_drop(*args.costs));
    typename V::ScoreRow made;
    V::make_score_row(of_rows, made);
    const typename V::Table table = V::load_table(made);
    typename V::Lane* const out = work.scores(letter);
    for (int64_t at = 0; at < work.n_segments * V::lanes; at += V::lanes)
        V::store(out + at, V::lookup(table, V::load_letters(work.letters + at)));
}

// For each lane the greatest F that leaves it or a lane above it, less `cost` for each lane in between. F is
// at least the floor. The scan ends where the cost takes every F there.
template <class V, int bytes = sizeof(typename V::Lane)>
EXALN_INLINE typename V::Reg greatest_gaps(typename V::Reg F, int64_t cost, int64_t floor) {
    using Lane = typename V::Lane;
    if constexpr (bytes < int(sizeof(typename V::Reg))) {
        constexpr int64_t highest = int64_t((uint64_t(1) << (8 * sizeof(Lane) - 1)) - 1);
        if (cost > highest - floor) return F;
        const auto above = V::template shift_up<bytes>(F, V::fill(Lane(floor)));
        F = V::max(F, V::sub(V::max(above, V::fill(Lane(floor + cost))), V::fill(Lane(cost))));
        return greatest_gaps<V, 2 * bytes>(F, 2 * cost, floor);
    } else {
        return F;
    }
}

// Carries F, which enters each lane, through its segments. False once it matters in no lane.
template <class V>
EXALN_INLINE bool carry_once(const StripedWorkspace<V>& work, typename V::Reg F, const CellCosts<V>& costs) {
    using Reg = typename V::Reg;
    for (int64_t at = 0; at < work.n_segments * V::lanes; at += V::lanes) {
        const Reg H = V::load(work.H + at);
        if (!V::any_greater(F, V::max(V::sub(H, costs.gap_first), costs.floor))) return false;
        const Reg raised = V::max(H, F);
        V::store(work.H + at, raised);
        V::store(work.E + at, V::max(V::load(work.E + at), V::sub(raised, costs.gap_first)));
        F = V::max(V::sub(F, costs.gap_extend), costs.no_gap);
    }
    return true;
}

// Carries F, which leaves each lane after its last segment, into the lanes below: into the next one, and if
// it leaves that again, from all lanes above at once.
template <class V>
EXALN_INLINE void carry_gaps(const StripedWorkspace<V>& work, typename V::Reg F, const CellCosts<V>& costs,
                             const exaln::Range& range, int64_t gap_extend) {
    const auto floor = typename V::Lane(range.floor);
    if (!carry_once<V>(work, V::shift_in(F, floor), costs)) return;
    F = greatest_gaps<V>(V::max(F, costs.floor), work.n_segments * gap_extend, range.floor);
    carry_once<V>(work, V::shift_in(F, floor), costs);
}

// The best score of all lanes; OVERFLOWED if one of them may not be exact.
template <class V>
int32_t best_of_lanes(typename V::Reg best, const exaln::Range& range) {
    alignas(64) int32_t lanes[V::lanes];
    store_scores<V>(best, range, lanes);
    int32_t score = 0;
    for (int lane = 0; lane < V::lanes; ++lane) {
        if (lanes[lane] == exaln::OVERFLOWED) return exaln::OVERFLOWED;
        score = lanes[lane] > score ? lanes[lane] : score;
    }
    return score;
}

// Adds the cells of the columns from `counted` to `done` to those done.
inline void count_columns(const exaln::StripedArgs& args, int64_t& counted, int64_t done) {
    if (args.cells) args.cells->fetch_add((done - counted) * args.n_rows, std::memory_order_relaxed);
    counted = done;
}

template <class V>
int64_t score_striped(const exaln::StripedArgs& args) {
    using Reg = typename V::Reg;
    const exaln::Range range = exaln::Range::of(*args.costs, 8 * int(sizeof(typename V::Lane)));
    const CellCosts<V> costs(*args.costs, range);
    const auto floor = typename V::Lane(range.floor);
    const Reg limit = V::fill(typename V::Lane(range.limit));
    StripedWorkspace<V> work(args.workspace, args.n_rows);
    for (int64_t segment = 0; segment < work.n_segments; ++segment) {
        V::store(work.H + segment * V::lanes, costs.floor);
        V::store(work.E + segment * V::lanes, costs.no_gap);
    }
    if (*args.built == 0) stripe_letters<V>(args, work);
    Reg best = costs.floor, block_best = costs.floor;
    int64_t counted = 0;
    const int64_t block_columns = args.block_columns ? args.block_columns : args.n_columns;
    for (int64_t column = 0, block_end = block_columns; column < args.n_columns; ++column) {
        const int letter = args.target[column];
        if ((*args.built >> letter & 1) == 0) {
            build_profile<V>(args, work, letter);
            *args.built |= uint32_t(1) << letter;
        }
        typename V::Lane* const swapped = work.H;
        work.H = work.H_left, work.H_left = swapped;
        const typename V::Lane* scores = work.scores(letter);
        Reg diagonal = V::shift_in(V::load(work.H_left + (work.n_segments - 1) * V::lanes), floor);
        Reg F = costs.no_gap;
        for (int64_t segment = 0; segment < work.n_segments; ++segment) {
            const int64_t at = segment * V::lanes;
            Reg H = V::add(diagonal, V::load(scores + at)), E = V::load(work.E + at);
            diagonal = V::load(work.H_left + at);
            update_cell_in_column<V>(H, E, F, block_best, costs);
            V::store(work.H + at, H);
            V::store(work.E + at, E);
        }
        carry_gaps<V>(work, F, costs, range, args.costs->gap_extend);
        if (column % 256 == 255) {
            const bool has_overflowed = V::any_greater(block_best, limit);
            count_columns(args, counted, has_overflowed ? args.n_columns : column + 1);
            if (has_overflowed) return exaln::OVERFLOWED;
            if (args.cancelled->load(std::memory_order_relaxed)) return exaln::CANCELLED;
        }
        if (column + 1 == block_end || column + 1 == args.n_columns) {
            if (args.block_columns)
                args.block_scores[column / block_columns] = best_of_lanes<V>(block_best, range);
            best = V::max(best, block_best), block_best = costs.floor, block_end += block_columns;
        }
    }
    count_columns(args, counted, args.n_columns);
    return best_of_lanes<V>(best, range);
}

}  // namespace
