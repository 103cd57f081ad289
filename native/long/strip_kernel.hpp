// Strip kernel: one pair, a strip of its table's rows divided among the lanes, with or without directions.
//
// clang-format off
//            tiles of V::columns columns
//          +-----+-----+-----+-----+-- ...   Each lane owns lane_rows consecutive rows. A number is the step
//   lane 0 |  0  |  1  |  2  |  3  |         in which a tile is computed: in step s, lane l computes tile
//          +-----+-----+-----+-----+-- ...   s - l. The tile above was computed one step earlier by lane l - 1;
//   lane 1 |  1  |  2  |  3  |  4  |         H and F of its last row arrive by a shift of one lane, once per
//          +-----+-----+-----+-----+-- ...   step and column. Within a tile H and F of the columns are in
//   lane 2 |  2  |  3  |  4  |  5  |         registers, H and E of the rows in the strip's state, as in the
//          +-----+-----+-----+-----+-- ...   other kernels.
// clang-format on
//
// Strips. The first lane reads the row above the strip from the border, and the last lane writes the row
// below the strip to the same place, lanes - 1 steps later. Other threads compute the strips above and below
// at the same time; each waits until the columns it needs are done above.
//
// Numbers. 16-bit lanes hold scores of any size, because values are relative to a base per lane, an int64.
// StripRange in recurrence/ranges.hpp proves that they stay in range while the anchor of the lane, H above
// the last column of its tile, is near 0. Before a step in which it is not, the base is moved to it. Values
// that pass from lane to lane have the difference of the two bases added; it may wrap as long as the sum is
// in range. The floor of local alignments is -base or, if that is below the lane's range, its lowest value:
// no value is below either.
//
// Checkpoints. The rows of a lane are divided into runs. After some runs, at a stop, H and F of the columns
// are stored for all lanes. A checkpoint column at the end of a tile is in the state of the rows; for any
// other column all cells of the step are stored.
//
// Ends. No cell of a step exceeds the best H beside or above the step by more than columns * max_score. Only
// if that bound reaches the best score so far, which is rare for long sequences, is the step CAREFUL and
// examines each row.
//
// Scores. Plain letters, such as A, C, G and T, match or mismatch (ClassScores). A run of rows, or a step,
// with other letters, such as N, takes its scores from a profile of the matrix (MatrixScores), which is
// slower.
//
// Directions. directions[step][row of a lane][column of a tile], as in pairs/kernel.hpp, read by trace_strip.
//
// Cells before a lane's first tile, after its last tile, and in padding rows and columns are computed but
// never used. Tests: tests/engines/cpu/test_regions.py.
#pragma once

#include <type_traits>

#include "long/strip_args.hpp"
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
    static constexpr int64_t INACTIVE = INT64_MIN / 2;

  public:
    explicit Strip(const exaln::StripArgs& args)
        : args_(args),
          work_(args.workspace, args.lane_rows, args.n_stops),
          n_tiles_((args.n_columns + V::columns - 1) / V::columns),
          anchor_limit_(exaln::StripRange::of(*args.costs, 8 * int(sizeof(Lane)), args.lane_rows, V::columns)
                            .anchor_limit),
          costs_(*args.costs, exaln::Range{0, 0, true}),
          plain_scores_(pair_args(args, args.query_classes, work_.classes), work_.pairs),
          matrix_scores_(pair_args(args, args.query_codes, work_.codes), work_.pairs),
          directions_(args.directions) {
        for (int64_t i = 0; i < args.n_runs; ++i) has_mixed_rows_ |= !args.runs[i].are_plain;
        memset(work_.stops, 0, size_t(args.n_stops) * 2 * work_.tile_lanes * sizeof(Lane));
        memset(work_.pairs.tiles.state, 0, size_t(args.lane_rows) * 2 * V::lanes * sizeof(Lane));
        for (int lane = 0; lane < V::lanes; ++lane)
            bases_[lane] = 0, corners_[lane] = 0, high_[lane] = 0, thresholds_[lane] = Lane(highest);
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
    using PlainScores = typename std::conditional<V::has_pick_bytes, ClassScores<V>, EqualScores<V>>::type;

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

    // Begins a step: loads the row above each tile and the letters, and moves bases where needed.
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

    // Loads the letters of a step's tiles; those of neighbouring lanes are adjacent in the planes.
    EXALN_INLINE void enter_letters(int64_t step) {
        const int64_t first = n_tiles_ - 1 - step + V::lanes - 1;
        const uint8_t* mixed_tiles = args_.mixed_tiles + first;
        uint32_t mixed = 0;
        for (int lane = 0; lane < V::lanes; lane += 4) {
            uint32_t four;
            memcpy(&four, mixed_tiles + lane, sizeof four);
            mixed |= four;
        }
        is_mixed_ = mixed != 0;
        const bool needs_matrix = is_mixed_ || has_mixed_rows_;
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) {
            const int64_t place = c * args_.plane_bytes + first;
            memcpy(work_.classes + c * V::lanes, args_.target_classes + place, V::lanes);
            if (needs_matrix) memcpy(work_.codes + c * V::lanes, args_.target_codes + place, V::lanes);
        }
        plain_scores_.enter(0);
        if (needs_matrix) matrix_scores_.enter(0);
    }

    // Sets the state of a lane's rows from the column to their left, relative to a base near it.
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

    // Updates what depends on the bases and on the best score so far.
    void refresh(int64_t step) {
        alignas(64) Lane floors[V::lanes];
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t floor = -bases_[lane];
            floors[lane] = Lane(floor > lowest ? floor : lowest);
            deltas_[lane] = lane == 0 ? Lane(0) : Lane(bases_[lane - 1] - bases_[lane]);
            end_bases_[lane] = is_active(step, lane) ? bases_[lane] : INACTIVE;
        }
        costs_.floor = V::load(floors);
        if (is_local && args_.end) set_thresholds(args_.best_score->load(std::memory_order_relaxed));
    }

    void set_thresholds(int64_t best) {
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t threshold = (best > 1 ? best : 1) - 1 - end_bases_[lane];
            thresholds_[lane] = Lane(threshold > highest ? highest : threshold < lowest ? lowest : threshold);
        }
    }

    // True if a cell may be the best, or if a checkpoint column of this step does not end a tile.
    EXALN_INLINE bool must_be_careful(const Tile<V>& tile, Reg corner, int64_t step) {
        while (next_column_ < args_.n_checkpoint_columns && tile_of(next_column_) <= step - V::lanes)
            ++next_column_;
        stores_cells_ = false;
        for (int64_t i = next_column_; i < args_.n_checkpoint_columns && tile_of(i) <= step; ++i)
            stores_cells_ |= args_.checkpoint_columns[i].column % V::columns != 0;
        if (is_local && args_.end) {
            Reg bound = V::max(V::load(high_), corner);
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) bound = V::max(bound, tile.H[c]);
            bound = V::add(bound, V::fill(Lane(V::columns * args_.costs->max_score)));
            if (V::any_greater(bound, V::load(thresholds_))) return true;
        }
        return stores_cells_;
    }

    int64_t tile_of(int64_t checkpoint) const {
        return (args_.checkpoint_columns[checkpoint].column - 1) / V::columns;
    }

    template <StepKind kind>
    EXALN_INLINE void run_rows(Tile<V>& tile, Reg corner, int64_t step) {
        Reg high = costs_.floor;
        int64_t row = 0;
        for (int64_t i = 0; i < args_.n_runs; ++i) {
            const exaln::RowRun& run = args_.runs[i];
            if (run.are_plain && !is_mixed_) {
                run_some_rows<kind>(plain_scores_, tile, corner, high, row, run.end, step);
            } else {
                run_some_rows<kind>(matrix_scores_, tile, corner, high, row, run.end, step);
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
                if (kind == StepKind::CAREFUL && stores_cells_)
                    V::store(cells + c * 2 * V::lanes, tile.H[c]),
                        V::store(cells + (c * 2 + 1) * V::lanes, E);
            }
            cells += 2 * work_.tile_lanes;
            if (kind == StepKind::CAREFUL && is_local) {
                const Reg row_best = best_of_row(tile);
                if (V::any_greater(row_best, V::load(thresholds_))) record_row(tile, row_best, row, step);
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

    // Records a row of a tile with cells as good as the best so far, or better.
    void record_row(const Tile<V>& tile, Reg row_best, int64_t row, int64_t step) {
        alignas(64) Lane bests[V::lanes];
        V::store(bests, row_best);
        Lane* cells = work_.pairs.cells;
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) V::store(cells + c * V::lanes, tile.H[c]);
        exaln::EndCell& end = *args_.end;
        for (int lane = 0; lane < V::lanes; ++lane) {
            const int64_t table_row = lane * args_.lane_rows + row, column = (step - lane) * V::columns;
            if (bests[lane] <= thresholds_[lane] || table_row >= args_.n_rows) continue;
            for (int c = 0; c < V::columns && column + c < args_.n_columns; ++c) {
                const Lane stored = cells[c * V::lanes + lane];
                if (stored > thresholds_[lane])
                    end.consider(stored + bases_[lane], table_row + 1, column + c + 1);
            }
        }
        int64_t shared = args_.best_score->load(std::memory_order_relaxed);
        while (shared < end.score &&
               !args_.best_score->compare_exchange_weak(shared, end.score, std::memory_order_relaxed)) {
        }
        set_thresholds(end.score > shared ? end.score : shared);
    }

    // Writes the checkpoint columns of the tiles of this step.
    void store_checkpoint_columns(int64_t step) {
        const Lane* rows = stores_cells_ ? work_.cells : work_.pairs.tiles.state;
        const int64_t column_lanes = stores_cells_ ? 2 * V::lanes : 0;
        const int64_t row_lanes = stores_cells_ ? 2 * V::columns * V::lanes : 2 * V::lanes;
        for (int64_t i = next_column_; i < args_.n_checkpoint_columns && tile_of(i) <= step; ++i) {
            const int64_t lane = step - tile_of(i), first_row = lane * args_.lane_rows;
            if (lane >= V::lanes) continue;
            const exaln::CheckpointColumn& checkpoint = args_.checkpoint_columns[i];
            const Lane* from = rows + (checkpoint.column - 1) % V::columns * column_lanes + lane;
            const int64_t rest = args_.n_rows - first_row;
            const int64_t n_rows = rest < args_.lane_rows ? rest : args_.lane_rows;
            for (int64_t row = 0; row < n_rows; ++row, from += row_lanes) {
                set_score(checkpoint.H, first_row + row, from[0] + bases_[lane]);
                set_score(checkpoint.E, first_row + row, from[V::lanes] + bases_[lane]);
            }
        }
    }

    void leave(int64_t step) {
        store_checkpoint_columns(step);
        for (int64_t i = 0; i < args_.n_checkpoint_rows; ++i) {
            const exaln::CheckpointRow& checkpoint = args_.checkpoint_rows[i];
            if (is_active(step, checkpoint.lane))
                copy_row(checkpoint.stop, checkpoint.lane, step - checkpoint.lane, args_.n_columns,
                         checkpoint.H, checkpoint.F);
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
    MatrixScores<V> matrix_scores_;
    bool has_mixed_rows_ = false, is_mixed_ = false;  // in the strip; in the present step
    uint8_t* directions_;
    int64_t columns_above_ = 0, next_column_ = 0, cells_done_ = 0;
    bool stores_cells_ = false;  // in the present step
    int64_t bases_[V::lanes];
    // For each lane: H above and to the left of its next tile; the highest H of the column to the left of it;
    // the difference of bases to add to values from the lane before; the score above which a cell may be the
    // best
    alignas(64) Lane corners_[V::lanes];
    alignas(64) Lane high_[V::lanes];
    alignas(64) Lane deltas_[V::lanes];
    alignas(64) Lane thresholds_[V::lanes];
    int64_t end_bases_[V::lanes];  // bases of the lanes in which an alignment may end, INACTIVE for others
};

template <class V>
void run_strip(const exaln::StripArgs& args) {
    if (args.is_local) {
        Strip<V, true>(args).run();
    } else {
        Strip<V, false>(args).run();
    }
}

// Follows a path over the directions of a strip until it leaves the strip or is complete. Returns the
// position behind the last step.
template <class V>
uint8_t* trace_strip(const exaln::StripArgs& args, const uint8_t* query, const uint8_t* target,
                     exaln::PathState& path, uint8_t* steps) {
    auto bits = [&](int64_t row, int64_t column) {
        const int64_t lane = row / args.lane_rows, step = column / V::columns + lane;
        const int64_t cell =
            (step * args.lane_rows + row % args.lane_rows) * V::columns + column % V::columns;
        return LaneDirections<V>{args.directions + cell * Directions<V>::bytes, int(lane)};
    };
    auto score = [&](int64_t row, int64_t column) { return args.costs->scores[query[row]][target[column]]; };
    if (args.is_local) {
        trace_rows<true>(*args.costs, bits, score, 0, path, steps);
    } else {
        trace_rows<false>(*args.costs, bits, score, 0, path, steps);
    }
    return steps;
}

}  // namespace
