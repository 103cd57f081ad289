// clang-format off
// One pair: a strip of the rows of its table, spread over the lanes, in any mode, with or without directions.
//
//                 tiles of V::columns columns
//             +-----+-----+-----+-----+-- ...   Each lane owns lane_rows rows, one below the other. In step s lane l
//   lane 0    |  0  |  1  |  2  |  3  |         does tile s - l, so that the tile above was done in the step before,
//             +-----+-----+-----+-----+-- ...   by the lane before: H and F of its last row come by a shift of one
//   lane 1    |  1  |  2  |  3  |  4  |         lane, for each column, once per step. Within a tile H and F of the
//             +-----+-----+-----+-----+-- ...   columns are in registers, H and E of the rows in the strip's state,
//   lane 2    |  2  |  3  |  4  |  5  |         as in the other kernels.
//             +-----+-----+-----+-----+-- ...
//
// The first lane takes the row above the strip from the border, the last one writes the row below it to the same
// place, lanes - 1 steps later. Strips of other threads follow one another: each waits for what is above it.
//
// Numbers: lanes of 16 bits hold scores of any size because each has a base of its own, as int64, and its values are
// relative to that. StripRange in kernels.hpp has the proof that they stay in range while the lane's anchor, H above
// the last column of its tile, is near 0; before a step in which it is not, the base is moved to it. Between two lanes
// the difference of their bases is added, which may wrap as long as the sum is in range. The floor of local
// alignments is 0 less the base, or, where that is too low to be stored, the lowest number: no value is below either.
//
// Kept rows: the rows of a lane come in runs; at the end of some, a stop, H and F of the columns are stored for all
// lanes. Kept columns: where one ends a tile, the state has it; where not, all cells of the step are stored.
//
// Ends: no cell of a step is above the best H beside or above it by more than columns * max_score. Only if that
// reaches the best score so far, which with long sequences is rare, the step is careful and looks at each row.
//
// Scores: plain letters, those of DNA, match or do not (FewClassScores). A run of rows, or a step, that has others,
// such as N, takes its scores from a profile of any matrix (pair_scores.hpp), which is slower.
//
//   directions[step][row of a lane][column of a tile]: as in pair_kernel.hpp, walked back by walk_strip
//
// What is computed before a lane's first tile, after its last, and for rows and columns that only fill up is never
// looked at, whatever it is. Tests: tests/test_region.py.
// clang-format on
#pragma once

#include <type_traits>

#include "pairs/kernel.hpp"

namespace {

template <class V>
struct StripWorkspace {
    using Lane = typename V::Lane;
    static constexpr size_t tile_lanes = size_t(V::columns) * V::lanes;

    Lane* stops;               // [n_stops][2][columns][lanes]: H and F of the columns
    Lane* cells;               // [lane_rows][columns][2][lanes]: H and E of the cells of a step
    uint8_t *codes, *classes;  // [columns][lanes] of the target
    PairWorkspace<V> pairs;

    StripWorkspace(void* memory, int64_t lane_rows, int64_t n_stops)
        : stops(static_cast<Lane*>(memory)),
          cells(stops + size_t(n_stops) * 2 * tile_lanes),
          codes(reinterpret_cast<uint8_t*>(cells + size_t(lane_rows) * 2 * tile_lanes)),
          classes(codes + tile_lanes),
          pairs(classes + tile_lanes, lane_rows) {}

    static size_t bytes(int64_t lane_rows, int64_t n_stops) {
        const size_t n_cells = size_t(n_stops + lane_rows) * 2 * tile_lanes;
        return n_cells * sizeof(Lane) + 2 * tile_lanes + PairWorkspace<V>::bytes(lane_rows);
    }
};

template <class V>
size_t strip_workspace(int64_t lane_rows, int64_t n_stops) {
    return StripWorkspace<V>::bytes(lane_rows, n_stops);
}

template <class V>
size_t strip_directions(int64_t lane_rows, int64_t n_columns) {
    const int64_t n_steps = (n_columns + V::columns - 1) / V::columns + V::lanes - 1;
    return size_t(n_steps) * size_t(lane_rows) * V::columns * Directions<V>::bytes;
}

enum class StepKind { PLAIN, CAREFUL, TRACED };

template <class V, bool is_local>
class Strip {
    using Lane = typename V::Lane;
    using Reg = typename V::Reg;
    static constexpr int last = V::columns - 1;
    static constexpr int64_t lowest = -(int64_t(1) << (8 * sizeof(Lane) - 1)), highest = -lowest - 1;
    static constexpr int64_t never_seen = INT64_MIN / 2;

  public:
    explicit Strip(const exaln::StripArgs& args)
        : args_(args),
          work_(args.workspace, args.lane_rows, args.n_stops),
          n_tiles_((args.n_columns + V::columns - 1) / V::columns),
          anchor_limit_(exaln::StripRange::of(*args.costs, 8 * int(sizeof(Lane)), args.lane_rows, V::columns)
                            .anchor_limit),
          costs_(*args.costs, exaln::Range{0, 0, true}),
          plain_scores_(pair_args(args, args.query_classes, work_.classes), work_.pairs),
          odd_scores_(pair_args(args, args.query_codes, work_.codes), work_.pairs),
          directions_(args.directions) {
        for (int64_t i = 0; i < args.n_runs; ++i) has_odd_rows_ |= !args.runs[i].are_plain;
        memset(work_.stops, 0, size_t(args.n_stops) * 2 * work_.tile_lanes * sizeof(Lane));
        memset(work_.pairs.tiles.state, 0, size_t(args.lane_rows) * 2 * V::lanes * sizeof(Lane));
        for (int lane = 0; lane < V::lanes; ++lane)
            bases_[lane] = 0, corners_[lane] = 0, high_[lane] = 0, seen_[lane] = Lane(highest);
    }

    void run() {
        const int64_t n_steps = n_tiles_ + V::lanes - 1;
        for (int64_t step = 0; step < n_steps; ++step) {
            if (args_.cancelled->load(std::memory_order_relaxed) || !wait_for_tile(step)) return;
            if (args_.above_last && step == n_tiles_ - 1)
                *args_.above_last = score_at(args_.border_H, args_.n_columns - 1);
            Tile<V> tile;
            enter(tile, step);
            const Reg corner = V::load(corners_);
            V::store(corners_, tile.H[last]);
            if (args_.directions) {
                run_rows<StepKind::TRACED>(tile, corner, step);
            } else if (must_be_careful(tile, corner, step)) {
                run_rows<StepKind::CAREFUL>(tile, corner, step);
            } else {
                run_rows<StepKind::PLAIN>(tile, corner, step);
            }
            leave(step);
        }
    }

  private:
    using PlainScores = typename std::conditional<V::has_pick_bytes, FewClassScores<V>, EqualScores<V>>::type;

    static exaln::PairArgs pair_args(const exaln::StripArgs& args, const uint8_t* query,
                                     const uint8_t* letters) {
        exaln::PairArgs pairs{};
        pairs.query = query, pairs.n_rows = args.lane_rows;
        pairs.letters = letters, pairs.n_columns = V::columns;
        for (int64_t i = 0; i < args.lane_rows * V::lanes; ++i)
            pairs.query_letters |= uint32_t(1) << query[i];
        pairs.score_rows = args.score_rows, pairs.match = args.match, pairs.mismatch = args.mismatch;
        return pairs;
    }

    bool is_active(int64_t step, int lane) const { return step >= lane && step - lane < n_tiles_; }

    bool wait_for_tile(int64_t tile) {
        const int64_t end = (tile + 1) * V::columns, needed = end < args_.n_columns ? end : args_.n_columns;
        return !args_.above || tile >= n_tiles_ || columns_above_ >= needed || wait_for_columns(needed);
    }

    bool wait_for_columns(int64_t needed) {
        if (!args_.wait(args_, needed)) return false;
        columns_above_ = args_.above->columns.load(std::memory_order_acquire);
        return true;
    }

    // Everything that a step begins with.
    EXALN_INLINE void enter(Tile<V>& tile, int64_t step) {
        if (step < V::lanes) start_lane(int(step));
        if (step < V::lanes || step >= n_tiles_ || step % 64 == 0) refresh(step);
        const Lane* bottom_H = work_.stops + size_t(args_.n_stops - 1) * 2 * work_.tile_lanes;
        const Lane* bottom_F = bottom_H + work_.tile_lanes;
        const Reg deltas = V::load(deltas_);
        const int64_t column = (step < n_tiles_ ? step : n_tiles_ - 1) * V::columns;
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) {
            const auto H = Lane(score_at(args_.border_H, column + c) - bases_[0]),
                       F = Lane(score_at(args_.border_F, column + c) - bases_[0]);
            tile.H[c] = V::add(V::shift_in(V::load(bottom_H + c * V::lanes), H), deltas);
            tile.F[c] = V::add(V::shift_in(V::load(bottom_F + c * V::lanes), F), deltas);
        }
        const Reg limit = V::fill(Lane(anchor_limit_)), lower = V::fill(Lane(-anchor_limit_));
        if (V::any_greater(tile.H[last], limit) || V::any_greater(lower, tile.H[last])) rebase(tile, step);
        enter_letters(step);
    }

    // The letters of a step's tiles: those of neighbouring lanes lie side by side in the planes.
    EXALN_INLINE void enter_letters(int64_t step) {
        const int64_t first = n_tiles_ - 1 - step + V::lanes - 1;
        const uint8_t* odd_tiles = args_.odd_tiles + first;
        uint32_t odd = 0;
        for (int lane = 0; lane < V::lanes; lane += 4) {
            uint32_t four;
            memcpy(&four, odd_tiles + lane, sizeof four);
            odd |= four;
        }
        is_odd_ = odd != 0;
        const bool has_odd_cells = is_odd_ || has_odd_rows_;
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) {
            const int64_t place = c * args_.plane_bytes + first;
            memcpy(work_.classes + c * V::lanes, args_.target_classes + place, V::lanes);
            if (has_odd_cells) memcpy(work_.codes + c * V::lanes, args_.target_codes + place, V::lanes);
        }
        plain_scores_.enter(0);
        if (has_odd_cells) odd_scores_.enter(0);
    }

    // The column left of a lane's rows, relative to a base near it.
    void start_lane(int lane) {
        const int64_t first_row = lane * args_.lane_rows, last_row = args_.n_rows - 1;
        const auto row_at = [&](int64_t row) { return row < last_row ? row : last_row; };
        bases_[lane] = base_near(score_at(args_.left_H, row_at(first_row)));
        const int64_t corner = lane == 0 ? args_.corner : score_at(args_.left_H, row_at(first_row - 1));
        corners_[lane] = Lane(corner - bases_[lane]);
        Lane* state = work_.pairs.tiles.state + lane;
        Lane high = corners_[lane];
        for (int64_t row = 0; row < args_.lane_rows; ++row, state += 2 * V::lanes) {
            state[0] = Lane(score_at(args_.left_H, row_at(first_row + row)) - bases_[lane]);
            state[V::lanes] = Lane(score_at(args_.left_E, row_at(first_row + row)) - bases_[lane]);
            high = state[0] > high ? state[0] : high;
        }
        high_[lane] = high;
    }

    int64_t base_near(int64_t score) const { return is_local && score <= anchor_limit_ ? 0 : score; }

    // Moves the bases of lanes whose anchor is too far from 0.
    void rebase(Tile<V>& tile, int64_t step) {
        alignas(64) Lane shifts[V::lanes];
        V::store(shifts, tile.H[last]);
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t anchor = shifts[lane];
            const bool is_far = is_active(step, lane) && (anchor > anchor_limit_ || anchor < -anchor_limit_);
            const int64_t base = is_far ? base_near(bases_[lane] + anchor) : bases_[lane];
            shifts[lane] = Lane(base - bases_[lane]);
            bases_[lane] = base;
        }
        const Reg shift = V::load(shifts);
        Lane* state = work_.pairs.tiles.state;
        for (int64_t i = 0; i < 2 * args_.lane_rows; ++i, state += V::lanes)
            V::store(state, V::sub(V::load(state), shift));
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c)
            tile.H[c] = V::sub(tile.H[c], shift), tile.F[c] = V::sub(tile.F[c], shift);
        V::store(corners_, V::sub(V::load(corners_), shift));
        V::store(high_, V::sub(V::load(high_), shift));
        refresh(step);
    }

    // What follows from the bases and from the best score so far.
    void refresh(int64_t step) {
        alignas(64) Lane floors[V::lanes];
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t floor = -bases_[lane];
            floors[lane] = Lane(floor > lowest ? floor : lowest);
            deltas_[lane] = lane == 0 ? Lane(0) : Lane(bases_[lane - 1] - bases_[lane]);
            end_bases_[lane] = is_active(step, lane) ? bases_[lane] : never_seen;
        }
        costs_.floor = V::load(floors);
        if (is_local && args_.end) set_seen(args_.best_score->load(std::memory_order_relaxed));
    }

    void set_seen(int64_t best) {
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t seen = (best > 1 ? best : 1) - 1 - end_bases_[lane];
            seen_[lane] = Lane(seen > highest ? highest : seen < lowest ? lowest : seen);
        }
    }

    // Whether a column is kept that does not end a tile; whether a cell may be the best.
    EXALN_INLINE bool must_be_careful(const Tile<V>& tile, Reg corner, int64_t step) {
        while (next_column_ < args_.n_kept_columns && tile_of(next_column_) <= step - V::lanes)
            ++next_column_;
        keeps_cells_ = false;
        for (int64_t i = next_column_; i < args_.n_kept_columns && tile_of(i) <= step; ++i)
            keeps_cells_ |= args_.kept_columns[i].column % V::columns != 0;
        if (is_local && args_.end) {
            Reg bound = V::max(V::load(high_), corner);
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) bound = V::max(bound, tile.H[c]);
            bound = V::add(bound, V::fill(Lane(V::columns * args_.costs->max_score)));
            if (V::any_greater(bound, V::load(seen_))) return true;
        }
        return keeps_cells_;
    }

    int64_t tile_of(int64_t kept) const { return (args_.kept_columns[kept].column - 1) / V::columns; }

    template <StepKind kind>
    EXALN_INLINE void run_rows(Tile<V>& tile, Reg corner, int64_t step) {
        Reg high = costs_.floor;
        int64_t row = 0;
        for (int64_t i = 0; i < args_.n_runs; ++i) {
            const exaln::RowRun& run = args_.runs[i];
            if (run.are_plain && !is_odd_) {
                run_some_rows<kind>(plain_scores_, tile, corner, high, row, run.end, step);
            } else {
                run_some_rows<kind>(odd_scores_, tile, corner, high, row, run.end, step);
            }
            row = run.end;
            if (run.stop < 0) continue;
            Lane* stored = work_.stops + size_t(run.stop) * 2 * work_.tile_lanes;
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) {
                V::store(stored + c * V::lanes, tile.H[c]);
                V::store(stored + work_.tile_lanes + c * V::lanes, tile.F[c]);
            }
        }
        V::store(high_, high);
    }

    template <StepKind kind, class Scores>
    EXALN_INLINE void run_some_rows(const Scores& source, Tile<V>& tile, Reg& corner, Reg& high, int64_t row,
                                    int64_t end, int64_t step) {
        Scores scores = source;
        const CellCosts<V> costs = costs_;
        Lane* state = work_.pairs.tiles.state + row * 2 * V::lanes;
        Lane* cells = work_.cells + row * 2 * int64_t(work_.tile_lanes);
        for (; row < end; ++row, state += 2 * V::lanes) {
            scores.enter_row(row);
            Reg E = V::load(state + V::lanes);
            EXALN_UNROLL
            for (int c = last; c > 0; --c) tile.H[c] = V::add(tile.H[c - 1], scores.at(c));
            tile.H[0] = V::add(corner, scores.at(0));
            corner = V::load(state);
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) {
                if (kind == StepKind::TRACED) {
                    update_cell_traced<V, is_local>(tile.H[c], E, tile.F[c], costs).store(directions_);
                    directions_ += Directions<V>::bytes;
                } else {
                    update_cell<V, is_local, false>(tile.H[c], E, tile.F[c], high, costs);
                }
                if (kind == StepKind::CAREFUL && keeps_cells_)
                    V::store(cells + c * 2 * V::lanes, tile.H[c]),
                        V::store(cells + (c * 2 + 1) * V::lanes, E);
            }
            cells += 2 * work_.tile_lanes;
            if (kind == StepKind::CAREFUL && is_local) {
                const Reg row_best = best_of_row(tile);
                if (V::any_greater(row_best, V::load(seen_))) note_row(tile, row_best, row, step);
            }
            if (is_local) high = V::max(high, tile.H[last]);
            V::store(state, tile.H[last]);
            V::store(state + V::lanes, E);
        }
    }

    static EXALN_INLINE Reg best_of_row(const Tile<V>& tile) {
        Reg best = tile.H[0];
        EXALN_UNROLL
        for (int c = 1; c < V::columns; ++c) best = V::max(best, tile.H[c]);
        return best;
    }

    // A row of a tile has cells that are as good as the best so far, or better.
    void note_row(const Tile<V>& tile, Reg row_best, int64_t row, int64_t step) {
        alignas(64) Lane bests[V::lanes];
        V::store(bests, row_best);
        Lane* cells = work_.pairs.cells;
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) V::store(cells + c * V::lanes, tile.H[c]);
        exaln::EndCell& end = *args_.end;
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t table_row = lane * args_.lane_rows + row, column = (step - lane) * V::columns;
            if (bests[lane] <= seen_[lane] || table_row >= args_.n_rows) continue;
            for (int c = 0; c < V::columns && column + c < args_.n_columns; ++c) {
                const Lane stored = cells[c * V::lanes + lane];
                if (stored > seen_[lane]) end.see(stored + bases_[lane], table_row + 1, column + c + 1);
            }
        }
        int64_t shared = args_.best_score->load(std::memory_order_relaxed);
        while (shared < end.score &&
               !args_.best_score->compare_exchange_weak(shared, end.score, std::memory_order_relaxed)) {
        }
        set_seen(end.score > shared ? end.score : shared);
    }

    // Kept columns of the tiles of this step.
    void leave_columns(int64_t step) {
        const Lane* rows = keeps_cells_ ? work_.cells : work_.pairs.tiles.state;
        const int64_t column_lanes = keeps_cells_ ? 2 * V::lanes : 0;
        const int64_t row_lanes = keeps_cells_ ? 2 * V::columns * V::lanes : 2 * V::lanes;
        for (int64_t i = next_column_; i < args_.n_kept_columns && tile_of(i) <= step; ++i) {
            const int64_t lane = step - tile_of(i), first_row = lane * args_.lane_rows;
            if (lane >= V::lanes) continue;
            const exaln::KeptColumn& kept = args_.kept_columns[i];
            const Lane* from = rows + (kept.column - 1) % V::columns * column_lanes + lane;
            const int64_t rest = args_.n_rows - first_row;
            const int64_t n_rows = rest < args_.lane_rows ? rest : args_.lane_rows;
            for (int64_t row = 0; row < n_rows; ++row, from += row_lanes) {
                set_score(kept.H, first_row + row, from[0] + bases_[lane]);
                set_score(kept.E, first_row + row, from[V::lanes] + bases_[lane]);
            }
        }
    }

    void leave(int64_t step) {
        leave_columns(step);
        for (int64_t i = 0; i < args_.n_kept_rows; ++i) {
            const exaln::KeptRow& kept = args_.kept_rows[i];
            if (is_active(step, kept.lane))
                copy_row(kept.stop, kept.lane, step - kept.lane, args_.n_columns, kept.H, kept.F);
        }
        const int64_t done = step - (V::lanes - 1);
        if (done >= 0) {
            copy_row(args_.n_stops - 1, V::lanes - 1, done, n_tiles_ * V::columns, args_.border_H,
                     args_.border_F);
            args_.done->columns.store((done + 1) * V::columns, std::memory_order_release);
            cells_done_ += args_.n_rows * V::columns;
            if (done % 64 == 0 || done == n_tiles_ - 1)
                args_.cells->fetch_add(cells_done_, std::memory_order_relaxed), cells_done_ = 0;
        }
    }

    void copy_row(int32_t stop, int lane, int64_t tile, int64_t n_columns, const exaln::ScoreArray& H,
                  const exaln::ScoreArray& F) {
        const Lane* from = work_.stops + size_t(stop) * 2 * work_.tile_lanes + lane;
        const int64_t column = tile * V::columns;
        for (int c = 0; c < V::columns && column + c < n_columns; ++c) {
            set_score(H, column + c, from[c * V::lanes] + bases_[lane]);
            set_score(F, column + c, from[work_.tile_lanes + c * V::lanes] + bases_[lane]);
        }
    }

    const exaln::StripArgs& args_;
    const StripWorkspace<V> work_;
    const int64_t n_tiles_, anchor_limit_;
    CellCosts<V> costs_;
    PlainScores plain_scores_;
    AnyScores<V> odd_scores_;
    bool has_odd_rows_ = false, is_odd_ = false;  // of the strip; the step at hand
    uint8_t* directions_;
    int64_t columns_above_ = 0, next_column_ = 0, cells_done_ = 0;
    bool keeps_cells_ = false;  // in the step at hand
    int64_t bases_[V::lanes];
    // Of each lane: H above and left of its next tile; the highest H of the column left of it; what its base
    // adds to numbers from the lane before; above which a cell may be the best
    alignas(64) Lane corners_[V::lanes];
    alignas(64) Lane high_[V::lanes];
    alignas(64) Lane deltas_[V::lanes];
    alignas(64) Lane seen_[V::lanes];
    int64_t end_bases_[V::lanes];  // bases of the lanes in which an alignment may end, never_seen of others
};

template <class V>
void run_strip(const exaln::StripArgs& args) {
    if (args.is_local) {
        Strip<V, true>(args).run();
    } else {
        Strip<V, false>(args).run();
    }
}

// Walks a path back over the directions of a strip until it leaves it or is complete.
template <class V>
uint8_t* walk_strip(const exaln::StripArgs& args, const uint8_t* query, const uint8_t* target,
                    exaln::PathState& path, uint8_t* steps) {
    auto bits = [&](int64_t row, int64_t column) {
        const int64_t lane = row / args.lane_rows, step = column / V::columns + lane;
        const int64_t cell =
            (step * args.lane_rows + row % args.lane_rows) * V::columns + column % V::columns;
        return LaneDirections<V>{args.directions + cell * Directions<V>::bytes, int(lane)};
    };
    auto score = [&](int64_t row, int64_t column) { return args.costs->scores[query[row]][target[column]]; };
    if (args.is_local) {
        walk_rows<true>(*args.costs, bits, score, 0, path, steps);
    } else {
        walk_rows<false>(*args.costs, bits, score, 0, path, steps);
    }
    return steps;
}

}  // namespace
