// Column kernel: one pair in any mode, with or without directions, the rows of the query spread over the
// lanes.
//
// Rows are striped as in scan/striped_kernel.hpp: lane l holds rows l * n_segments to (l + 1) * n_segments -
// 1, and the last lanes are padded with rows of Costs::pad, which lie below all rows of the query and change
// none.
//
// clang-format off
//   lane        0         1             2
//   segment 0   row 0     row n         row 2n          n = n_segments
//   segment 1   row 1     row n + 1     row 2n + 1      down a lane F goes from register to register,
//   ...                                                 from lane to lane it must be carried
// clang-format on
//
// Each column is computed twice, with the same update. The first pass leaves out the gaps that enter a lane
// from above and gives F behind the last row of each lane, as far as it opens in that lane. F in front of
// lane l is then the best of what the lanes k < l open, each lowered by (l - k - 1) * n_segments extensions:
// a running maximum over the lanes, in log2(lanes) steps. A gap that enters a lane and one that opens in it
// do not influence each other before they are compared, because opening a gap after another never pays
// (gap_first >= gap_extend). The second pass starts with this F and is exact in every cell. The striped
// kernel repeats its second pass instead, as often as F may still raise a score; with directions every F
// counts, also one that raises none.
//
// directions[column][segment] is four masks of one bit (or a few) per lane, as in the pair kernel.
//
// Ends: the columns are visited from left to right, so the first column with a higher score than all before
// has the end of a local path; it is kept, and its first row with that score is found at the end.
//
// Range of values: Range::of_columns in recurrence/ranges.hpp. The latency of a column is about 90 cycles;
// the work of 100 rows fits into it. Tests: tests/pairwise/test_short_pair.py.
#pragma once

#include "pairs/column_args.hpp"
#include "pairs/kernel.hpp"

namespace {

template <class V>
struct ColumnWorkspace {
    using Lane = typename V::Lane;
    int64_t n_segments;
    Lane *H, *E;       // [n_segments][lanes], of one column
    Lane* best_H;      // the same, of the column with the best score
    Lane* last_row;    // [n_columns]
    Lane* profile;     // [MAX_CODES][n_segments][lanes]
    uint8_t* letters;  // [n_segments][lanes], of the query

    ColumnWorkspace(void* memory, int64_t n_rows, int64_t n_columns) : n_segments(padded(n_rows) / V::lanes) {
        const int64_t column = padded(n_rows);
        H = static_cast<Lane*>(memory);
        E = H + column, best_H = E + column, profile = best_H + column;
        last_row = profile + exaln::MAX_CODES * column;
        letters = reinterpret_cast<uint8_t*>(last_row + n_columns);
    }

    static int64_t padded(int64_t n_rows) { return (n_rows + V::lanes - 1) / V::lanes * V::lanes; }
    static size_t bytes(int64_t n_rows, int64_t n_columns) {
        const size_t column = size_t(padded(n_rows));
        return (column * (3 + exaln::MAX_CODES) + size_t(n_columns)) * sizeof(Lane) + column;
    }

    Lane* scores(int letter) const { return profile + letter * n_segments * V::lanes; }
    // The index of a row in a column.
    int64_t place(int64_t row) const { return row % n_segments * V::lanes + row / n_segments; }
};

template <class V>
size_t column_directions(int64_t n_rows, int64_t n_columns) {
    return size_t(ColumnWorkspace<V>::padded(n_rows) / V::lanes) * size_t(n_columns) * Directions<V>::bytes;
}

// Writes the letters of the query in the order of the lanes, and its profile for the letters of the target.
template <class V>
void build_column_profile(const exaln::ColumnArgs& args, const ColumnWorkspace<V>& work) {
    for (int64_t lane = 0, row = 0; lane < V::lanes; ++lane)
        for (int64_t segment = 0; segment < work.n_segments; ++segment, ++row)
            work.letters[segment * V::lanes + lane] =
                row < args.n_rows ? args.query[row] : uint8_t(args.costs->pad);
    uint32_t present = 0;
    for (int64_t column = 0; column < args.n_columns; ++column) present |= uint32_t(1) << args.target[column];
    const auto* rows = static_cast<const typename V::ScoreRow*>(args.score_rows);
    for (; present != 0; present &= present - 1) {
        const int letter = __builtin_ctz(present);
        const auto table = V::load_table(rows[letter]);
        for (int64_t at = 0; at < work.n_segments * V::lanes; at += V::lanes)
            V::store(work.scores(letter) + at, V::lookup(table, V::load_letters(work.letters + at)));
    }
}

// H and E of the first column's left neighbours.
template <class V>
void enter_left_border(const exaln::ColumnArgs& args, const ColumnWorkspace<V>& work) {
    using Lane = typename V::Lane;
    for (int64_t lane = 0, row = 0; lane < V::lanes; ++lane)
        for (int64_t segment = 0; segment < work.n_segments; ++segment, ++row) {
            const int64_t H =
                args.range.floor + exaln::border_score(row + 1, args.mode.query_start, args.costs->gap_first,
                                                       args.costs->gap_extend);
            work.H[segment * V::lanes + lane] = Lane(H);
            work.E[segment * V::lanes + lane] = Lane(H - args.costs->gap_first);
        }
}

// The running maximum of F over the lanes, where a step by `distance` lanes costs costs[log2(distance)].
template <class V, int distance = 1>
EXALN_INLINE typename V::Reg carry_over_lanes(typename V::Reg F, typename V::Reg no_gap,
                                              const typename V::Reg* costs) {
    if constexpr (distance < V::lanes) {
        constexpr int bytes = distance * int(sizeof(typename V::Lane));
        F = V::max(F, V::sub(V::template shift_up<bytes>(F, no_gap), *costs));
        return carry_over_lanes<V, 2 * distance>(F, no_gap, costs + 1);
    } else {
        return F;
    }
}

// The highest lane.
template <class V, int distance = V::lanes / 2>
EXALN_INLINE typename V::Lane highest_lane(typename V::Reg a) {
    if constexpr (distance > 0) {
        constexpr int bytes = distance * int(sizeof(typename V::Lane));
        return highest_lane<V, distance / 2>(V::max(a, V::template shift_up<bytes>(a, a)));
    } else {
        alignas(64) typename V::Lane lanes[V::lanes];
        V::store(lanes, a);
        return lanes[V::lanes - 1];
    }
}

// The costs of carrying F over 1, 2, 4, ... lanes.
template <class V>
struct CarryCosts {
    typename V::Reg steps[8];
    typename V::Reg no_gap;

    CarryCosts(const exaln::ColumnArgs& args, int64_t n_segments) {
        constexpr int bits = 8 * int(sizeof(typename V::Lane));
        int64_t cost = n_segments * args.costs->gap_extend;
        for (int step = 0; 1 << step < V::lanes; ++step, cost *= 2)
            steps[step] = V::fill(typename V::Lane(cost));
        const int64_t rows = n_segments * V::lanes;
        no_gap = V::fill(typename V::Lane(exaln::Range::no_gap(*args.costs, bits, rows)));
    }
};

// The first pass over a column: H becomes the diagonal with its score. Returns F behind the last row of each
// lane.
template <class V, bool is_local>
EXALN_INLINE typename V::Reg open_gaps(const ColumnWorkspace<V>& work, const typename V::Lane* scores,
                                       typename V::Reg diagonal, typename V::Reg no_gap,
                                       const CellCosts<V>& costs) {
    typename V::Reg F = no_gap, best = no_gap;
    for (int64_t at = 0; at < work.n_segments * V::lanes; at += V::lanes) {
        typename V::Reg H = V::add(diagonal, V::load(scores + at)), E = V::load(work.E + at);
        diagonal = V::load(work.H + at);
        V::store(work.H + at, H);
        update_cell<V, is_local, false>(H, E, F, best, costs);
    }
    return F;
}

// The second pass, with F as it enters each lane. Returns the best H of each lane and of `best`.
template <class V, bool is_local, bool has_directions>
EXALN_INLINE typename V::Reg finish_column(const ColumnWorkspace<V>& work, typename V::Reg F,
                                           typename V::Reg best, const CellCosts<V>& costs,
                                           uint8_t*& directions) {
    for (int64_t at = 0; at < work.n_segments * V::lanes; at += V::lanes) {
        typename V::Reg H = V::load(work.H + at), E = V::load(work.E + at);
        if constexpr (has_directions) {
            update_cell_traced<V, is_local>(H, E, F, costs).store(directions);
            directions += Directions<V>::bytes;
            if (is_local) best = V::max(best, H);
        } else {
            update_cell<V, is_local>(H, E, F, best, costs);
        }
        V::store(work.H + at, H);
        V::store(work.E + at, E);
    }
    return best;
}

// The best cell of a local table so far; with the column that it is in, if paths are needed.
template <class V>
struct BestColumn {
    typename V::Reg best;
    int64_t column = 0;

    EXALN_INLINE void consider(typename V::Reg with_this_column, const ColumnWorkspace<V>& work,
                               int64_t new_column) {
        if (!V::any_greater(with_this_column, best)) return;
        best = V::fill(highest_lane<V>(with_this_column)), column = new_column;
        memcpy(work.best_H, work.H, size_t(work.n_segments) * V::lanes * sizeof(typename V::Lane));
    }

    // The number of letters up to the first row with the best score.
    int64_t row(const ColumnWorkspace<V>& work) const {
        const typename V::Lane score = highest_lane<V>(best);
        int64_t row = 0;
        while (work.best_H[work.place(row)] != score) ++row;
        return row + 1;
    }
};

template <class V, bool has_directions>
exaln::EndCell local_end(const exaln::ColumnArgs& args, const ColumnWorkspace<V>& work,
                         const BestColumn<V>& found) {
    const int64_t best = highest_lane<V>(found.best);
    if (best > args.range.limit) return {exaln::OVERFLOWED, 0, 0};
    if (best == args.range.floor || !has_directions) return {best - args.range.floor, 0, 0};
    return {best - args.range.floor, found.row(work), found.column};
}

template <class V>
exaln::EndCell border_end(const exaln::ColumnArgs& args, const ColumnWorkspace<V>& work) {
    return exaln::choose_end(
        args.mode, args.n_rows, args.n_columns, args.costs->gap_first, args.costs->gap_extend,
        [&](int64_t column) { return work.last_row[column - 1] - args.range.floor; },
        [&](int64_t row) { return work.H[work.place(row - 1)] - args.range.floor; });
}

template <class V, bool is_local, bool has_directions>
exaln::EndCell run_columns_of(const exaln::ColumnArgs& args) {
    using Lane = typename V::Lane;
    const CellCosts<V> costs(*args.costs, args.range);
    const ColumnWorkspace<V> work(args.workspace, args.n_rows, args.n_columns);
    const CarryCosts<V> carry(args, work.n_segments);
    build_column_profile<V>(args, work);
    enter_left_border<V>(args, work);
    const int64_t last_row = work.place(args.n_rows - 1), last_segment = (work.n_segments - 1) * V::lanes;
    const auto top = [&](int64_t column) {
        return args.range.floor + exaln::border_score(column, args.mode.target_start, args.costs->gap_first,
                                                      args.costs->gap_extend);
    };
    uint8_t* directions = args.directions;
    BestColumn<V> found{costs.floor};
    for (int64_t column = 0; column < args.n_columns; ++column) {
        const typename V::Reg diagonal = V::shift_in(V::load(work.H + last_segment), Lane(top(column)));
        typename V::Reg F =
            open_gaps<V, is_local>(work, work.scores(args.target[column]), diagonal, carry.no_gap, costs);
        F = V::shift_in(F, Lane(top(column + 1) - args.costs->gap_first));
        F = carry_over_lanes<V>(F, carry.no_gap, carry.steps);
        const typename V::Reg best =
            finish_column<V, is_local, has_directions>(work, F, found.best, costs, directions);
        if constexpr (!is_local) {
            work.last_row[column] = work.H[last_row];
        } else if constexpr (has_directions) {
            found.consider(best, work, column + 1);
        } else {
            found.best = best;
        }
    }
    if constexpr (is_local) return local_end<V, has_directions>(args, work, found);
    return border_end<V>(args, work);
}

// Computes all cells. end: the score and, in other modes than local or with directions, where the path ends;
// OVERFLOWED if a local score may not be exact.
template <class V>
void run_columns(const exaln::ColumnArgs& args, exaln::EndCell& end) {
    if (args.mode.is_local) {
        end = args.directions ? run_columns_of<V, true, true>(args) : run_columns_of<V, true, false>(args);
    } else {
        end = args.directions ? run_columns_of<V, false, true>(args) : run_columns_of<V, false, false>(args);
    }
}

// Follows a path until it is complete or reaches a border. Returns the position behind the last step.
template <class V>
uint8_t* trace_columns(const exaln::ColumnArgs& args, exaln::PathState& path, uint8_t* steps) {
    const auto n_segments = uint32_t(ColumnWorkspace<V>::padded(args.n_rows) / V::lanes);
    const auto bits = [&](int64_t row, int64_t column) {
        const uint32_t lane = uint32_t(row) / n_segments, segment = uint32_t(row) % n_segments;
        const uint8_t* masks = args.directions + (column * n_segments + segment) * Directions<V>::bytes;
        return LaneDirections<V>{masks, int(lane)};
    };
    const auto score = [&](int64_t row, int64_t column) {
        return args.costs->scores[args.query[row]][args.target[column]];
    };
    if (args.mode.is_local) {
        trace_rows<true>(*args.costs, bits, score, 0, path, steps);
    } else {
        trace_rows<false>(*args.costs, bits, score, 0, path, steps);
    }
    return steps;
}

}  // namespace
