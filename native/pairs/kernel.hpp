// Pair kernel: one pair per lane, in any mode, with or without the directions of the cells. The queries may
// all differ, or all be the same, or be one of a few.
//
// clang-format off
//              columns of the targets, V::columns at a time
//            +----+----+----+----+-- ...   Tiles as in the group kernel: H and F of the columns are in
//   a strip  | ------> tile by tile        registers, H and E of the rows in the strip's state. H and F of
//            +----+----+----+----+-- ...   the row between two strips are in a border that the caller owns.
// clang-format on
//
// Numbers. In modes without a floor, 8-bit lanes hold differences where the costs are small
// (update_differences in recurrence/cell.hpp): V and B take the place of H and F, U and A that of H and E of
// the rows. Local scores that are too high for 8 bits are stored relative to a base (bases.hpp).
//
// Directions. directions[tile][row of the strip][column of the tile] is four masks, one bit (or, without mask
// registers, a few) per lane; see Directions in recurrence/cell.hpp. They are written in order and read lane
// by lane during traceback. About four bits per cell.
//
// Scores of cells come from a class that is a template parameter (cell_scores.hpp, table_scores.hpp). Borders
// hold H as border_score in recurrence/modes.hpp defines it, and the gap that opens on it, the same for all
// lanes.
//
// Ends. Local mode: whenever a row of a tile has a cell above the best so far, its position is recorded, the
// smallest column first, then the smallest row. (Strips run from top to bottom, the tiles of a strip from
// left to right, and the rows of a tile from top to bottom.) If the score is known, the best on entry is the
// score minus 1, and the first end found is the end. Other modes: H of the last row, or column, or both, is
// stored for each lane at its own lengths, and last_cells.hpp finds the best cell.
// Cells that a lane computes beyond its pair are never used.
//
// Pairs whose directions would take too much memory are divided into strips of rows. A first pass over all
// strips stores the borders, without directions, and finds the ends. Then the strips that paths run through
// are computed again from the bottom up, with directions. The cells, and so the paths, are the same.
//
// Range of values: Range and BlockRange in recurrence/ranges.hpp. Tests: test_pairs.py, test_shared_pairs.py
// and test_trace.py in tests/engines/cpu.
#pragma once

#include <type_traits>

#include "pairs/bases.hpp"
#include "pairs/last_cells.hpp"
#include "pairs/table_scores.hpp"
#include "pairs/traceback.hpp"

namespace {

template <class V>
size_t pair_border(int64_t n_columns) {
    return size_t(n_columns) * 2 * V::lanes * sizeof(typename V::Lane);
}

template <class V>
size_t pair_directions(int64_t n_rows, int64_t n_columns) {
    return size_t(n_rows) * size_t(n_columns) * Directions<V>::bytes;
}

// H along both borders, and the gap that opens on it.
template <class V>
struct PairBorders {
    using Reg = typename V::Reg;
    int64_t floor, gap_first, gap_extend;
    exaln::Mode mode;
    Reg begins;  // all ones in the lanes whose pair begins with this call

    explicit PairBorders(const exaln::PairArgs& args)
        : floor(args.range.floor),
          gap_first(args.costs->gap_first),
          gap_extend(args.costs->gap_extend),
          mode(args.mode),
          begins(beginning_lanes<V>(args)) {}

    typename V::Reg stored(int64_t score) const { return V::fill(typename V::Lane(score + floor)); }
    int64_t left(int64_t row) const {
        return exaln::border_score(row, mode.query_start, gap_first, gap_extend);
    }
    int64_t top(int64_t column) const {
        return exaln::border_score(column, mode.target_start, gap_first, gap_extend);
    }

    // Sets the state of the rows before their first column.
    template <bool are_differences>
    void reset_rows(typename V::Lane* state, int64_t first_row, int64_t n_rows) const {
        const int64_t opened = (are_differences ? gap_extend : 0) - gap_first;
        for (int64_t row = first_row + 1; row <= first_row + n_rows; ++row, state += 2 * V::lanes) {
            const int64_t before = are_differences ? left(row - 1) - gap_extend : 0;
            reset_row<V>(state, begins, stored(left(row) - before), stored(left(row) - before + opened));
        }
    }

    // H of the top border before the first column of the call. From the second column of a pair on it changes
    // by the same from column to column; pairs that begin get what precedes their second column in this way.
    Reg top_before(const exaln::PairArgs& args) const {
        alignas(64) typename V::Lane H[V::lanes];
        for (int lane = 0; lane < V::lanes; ++lane)
            H[lane] = typename V::Lane(top(args.columns_before[lane] + 1) + top_step() + floor);
        return V::load(H);
    }
    int64_t top_step() const { return mode.target_start ? 0 : gap_extend; }

    // before: H of the top border before the tile, then of its last column.
    EXALN_INLINE void enter_first_strip(Tile<V>& tile, Reg& before) const {
        const Reg step = V::fill(typename V::Lane(top_step())),
                  opening = V::fill(typename V::Lane(gap_first));
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) {
            before = V::sub(before, step);
            tile.H[c] = before, tile.F[c] = V::sub(before, opening);
        }
    }

    // V and B of the top border. is_first: the tile has the first column of pairs that begin.
    EXALN_INLINE void enter_differences(Tile<V>& tile, bool is_first) const {
        const Reg opened = stored(gap_extend - gap_first), later = stored(gap_extend - top_step());
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) tile.H[c] = later, tile.F[c] = V::add(later, opened);
        if (!is_first) return;
        tile.H[0] = V::select(begins, stored(top(1) + gap_extend), later);
        tile.F[0] = V::add(tile.H[0], opened);
    }
};

// Where the directions of a tile are.
template <class V>
EXALN_INLINE uint8_t* directions_of(const exaln::PairArgs& args, int64_t tile) {
    return args.directions + size_t(tile * args.direction_rows) * V::columns * Directions<V>::bytes;
}

// How cells are stored: local scores, local scores relative to a base, scores without a floor, differences.
enum class Cells { LOCAL, BASED, NO_FLOOR, DIFFERENCES };
// What is recorded of them, beside the scores.
enum class Records { SCORE, END, DIRECTIONS };

// What is handed from row to row of a tile, beside the tile itself.
template <class V>
struct TileRun {
    typename V::Reg corner, best, row_best, gap;  // gap: E behind the last column
    typename V::Reg row_shift;                    // BASED cells only
    uint8_t* directions;
};

// See LocalEnds.
template <class V, Cells cells>
constexpr bool has_gate = cells == Cells::BASED || sizeof(typename V::Lane) > 1;

// Turns H of the row above into the diagonal of this row plus its scores, from the last column to the first,
// so that each H is used before it is overwritten.
template <class V, class Scores>
EXALN_INLINE void add_row_scores(Tile<V>& tile, const Scores& scores, typename V::Reg corner) {
    EXALN_UNROLL
    for (int c = V::columns - 1; c > 0; --c) tile.H[c] = V::add(tile.H[c - 1], scores.at(c));
    tile.H[0] = V::add(corner, scores.at(0));
}

// Computes one row of a tile. The tile holds H, F of its columns (or V, B), the state of the row H, E (or U,
// A). With stores_columns, U of each column is written to `columns`.
template <class V, Cells cells, Records records, bool stores_columns, class Scores>
EXALN_INLINE void update_row(Tile<V>& tile, typename V::Lane* state, Scores& scores,
                             const CellCosts<V>& costs, TileRun<V>& run, typename V::Lane* columns) {
    using Reg = typename V::Reg;
    constexpr bool is_local = cells == Cells::LOCAL || cells == Cells::BASED;
    constexpr bool records_ends = is_local && records != Records::SCORE;
    constexpr bool finds_best = records_ends && !has_gate<V, cells>;
    Reg left = V::load(state), E = V::load(state + V::lanes);
    if (cells == Cells::BASED) left = V::add(left, run.row_shift), E = V::add(E, run.row_shift);
    if (cells != Cells::DIFFERENCES) {
        add_row_scores<V>(tile, scores, run.corner);
        run.corner = left;
    }
    if (finds_best) run.row_best = costs.floor;
    EXALN_UNROLL
    for (int c = 0; c < V::columns; ++c) {
        if (cells == Cells::DIFFERENCES) {
            const Directions<V> cell =
                update_differences<V>(scores.at(c), left, E, tile.H[c], tile.F[c], costs.no_gap);
            if (records == Records::DIRECTIONS) cell.store(run.directions);
            if (stores_columns) V::store(columns + c * V::lanes, left);
        } else if (records == Records::DIRECTIONS) {
            update_cell_traced<V, is_local>(tile.H[c], E, tile.F[c], costs).store(run.directions);
        } else {
            update_cell<V, is_local, is_local && !records_ends>(tile.H[c], E, tile.F[c], run.best, costs);
        }
        if (records == Records::DIRECTIONS) run.directions += Directions<V>::bytes;
        if (finds_best) run.row_best = V::max(run.row_best, tile.H[c]);
        scores.cell_done(c);
    }
    V::store(state, cells == Cells::DIFFERENCES ? left : tile.H[V::columns - 1]);
    V::store(state + V::lanes, E);
    if (records_ends) run.gap = E;
}

// Computes one row of local cells, for scores alone, while the scores of the next row are looked up. Before
// and after, tile.H of a column is its diagonal plus score; that of the next row is formed as soon as this
// row has used it. So the lookups are spread over the row, and no cell waits for one.
template <class V, bool has_bases, class Scores>
EXALN_INLINE void update_row_pipelined(Tile<V>& tile, typename V::Lane* state, const Scores& next_scores,
                                       const CellCosts<V>& costs, TileRun<V>& run) {
    typename V::Reg left = V::load(state), E = V::load(state + V::lanes);
    if (has_bases) left = V::add(left, run.row_shift), E = V::add(E, run.row_shift);
    run.corner = left;
    EXALN_UNROLL
    for (int c = 0; c < V::columns; ++c) {
        const typename V::Reg diagonal = V::add(left, next_scores.at(c));
        left = tile.H[c], tile.H[c] = diagonal;
        update_cell<V>(left, E, tile.F[c], run.best, costs);
    }
    V::store(state, left);
    V::store(state + V::lanes, E);
}

template <class V, class Scores>
EXALN_INLINE void start_pipeline(Tile<V>& tile, Scores& scores, typename V::Reg corner) {
    scores.enter_row(0);
    add_row_scores<V>(tile, scores, corner);
}

// Restores H of the last row, which has no next row and took its own scores for it.
template <class V, class Scores>
EXALN_INLINE void drain_pipeline(Tile<V>& tile, const Scores& scores, const typename V::Lane* last_state) {
    EXALN_UNROLL
    for (int c = 1; c < V::columns; ++c) tile.H[c - 1] = V::sub(tile.H[c], scores.at(c));
    tile.H[V::columns - 1] = V::load(last_state);
}

// True if a row of a tile may have a new end; run.row_best then holds its best cells.
template <class V, bool has_gate>
EXALN_INLINE bool has_end(const Tile<V>& tile, TileRun<V>& run, const LocalEnds<V, has_gate>& ends) {
    if (has_gate) {
        if (!V::any_greater(run.gap, ends.gate)) return false;
        run.row_best = tile.H[0];
        EXALN_UNROLL
        for (int c = 1; c < V::columns; ++c) run.row_best = V::max(run.row_best, tile.H[c]);
    }
    return V::any_greater(run.row_best, ends.threshold);
}

template <class V, class Scores>
EXALN_INLINE void run_tile_pipelined(const exaln::PairArgs& args, const PairWorkspace<V>& work, Tile<V>& tile,
                                     Scores& scores, const CellCosts<V>& costs, TileRun<V>& run) {
    typename V::Lane* state = work.tiles.state;
    start_pipeline<V>(tile, scores, run.corner);
    for (int64_t row = 1; row <= args.n_rows; ++row, state += 2 * V::lanes) {
        scores.enter_row(row < args.n_rows ? row : row - 1);
        update_row_pipelined<V, false>(tile, state, scores, costs, run);
    }
    if (args.border_below) drain_pipeline<V>(tile, scores, state - 2 * V::lanes);
}

template <class V, Cells cells, Records records, bool stores_columns, class Scores>
EXALN_INLINE void run_tile_rows(const exaln::PairArgs& args, const PairWorkspace<V>& work, Tile<V>& tile,
                                Scores& scores, const CellCosts<V>& costs, TileRun<V>& run, int64_t column,
                                LocalEnds<V, has_gate<V, cells>>& ends, const LastCells<V>& last) {
    constexpr bool is_local = cells == Cells::LOCAL, records_ends = is_local && records != Records::SCORE;
    typename V::Lane* state = work.tiles.state;
    for (int64_t row = 0; row < args.n_rows; ++row, state += 2 * V::lanes) {
        scores.enter_row(row);
        update_row<V, cells, records, stores_columns>(tile, state, scores, costs, run, work.column_cells);
        if (records_ends && has_end(tile, run, ends))
            ends.record(args, work, tile, run.row_best, row, column);
        if (is_local || !(stores_columns || last.ends_here[row])) continue;
        if (last.ends_here[row]) last.store_row(tile, row, column);
        if (!stores_columns) continue;
        if (cells == Cells::NO_FLOOR) {
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) V::store(work.column_cells + c * V::lanes, tile.H[c]);
        }
        last.store_columns(work.column_cells, row);
    }
}

template <class V, class Scores, Cells cells, Records records>
void run_pair_rows(const exaln::PairArgs& args) {
    using Lane = typename V::Lane;
    constexpr bool is_local = cells == Cells::LOCAL, are_differences = cells == Cells::DIFFERENCES;
    constexpr bool records_ends = is_local && records != Records::SCORE;
    CellCosts<V> costs(*args.costs, args.range);
    const PairWorkspace<V> work(args.workspace, args.workspace_rows);
    const PairBorders<V> borders(args);
    if (are_differences) costs.no_gap = borders.stored(borders.gap_extend - borders.gap_first);
    GroupWorkspace<V> above = work.tiles, below = work.tiles;
    above.border = static_cast<Lane*>(const_cast<void*>(args.border_above));
    below.border = static_cast<Lane*>(args.border_below);
    borders.template reset_rows<are_differences>(above.state, args.first_row, args.n_rows);
    Scores scores(args, work);
    LocalEnds<V, has_gate<V, cells>> ends(args);
    LastCells<V> last(args, work);
    typename V::Reg top = borders.top_before(args);
    typename V::Reg left_corner =
        V::select(borders.begins, borders.stored(borders.left(args.first_row)), top);
    TileRun<V> run{left_corner, ends.best, costs.floor, costs.floor, costs.floor, nullptr};
    for (int64_t column = 0; column < args.n_columns; column += V::columns) {
        if (args.cancelled->load(std::memory_order_relaxed)) return;
        Tile<V> tile;
        if (args.border_above) {
            tile.enter(above, column, false, costs);
        } else if (are_differences) {
            borders.enter_differences(tile, column == 0);
        } else {
            borders.enter_first_strip(tile, top);
        }
        if (records == Records::DIRECTIONS)
            run.directions = directions_of<V>(args, args.first_tile + column / V::columns);
        scores.enter(column);
        run.corner = left_corner, left_corner = tile.H[V::columns - 1];
        if (!is_local) last.enter(column);
        bool has_run = false;
        if constexpr (is_local && !records_ends && Scores::is_pipelined) {
            run_tile_pipelined<V>(args, work, tile, scores, costs, run);
            has_run = true;
        }
        if constexpr (!is_local) {
            has_run = last.n_columns_ending > 0;
            if (has_run)
                run_tile_rows<V, cells, records, true>(args, work, tile, scores, costs, run, column, ends,
                                                       last);
        }
        if (!has_run)
            run_tile_rows<V, cells, records, false>(args, work, tile, scores, costs, run, column, ends, last);
        if (args.border_below) tile.leave(below, column);
        if (is_local && !records_ends && !args.border_below && all_overflowed<V>(run.best, args.range)) break;
        if (!records_ends || !ends.is_new) continue;
        ends.leave_tile(args, column);
        if (args.stops_at_ends && !args.border_below && all_ends_before<V>(args, column + V::columns)) break;
    }
    if (is_local && args.best) V::store(static_cast<Lane*>(args.best), records_ends ? ends.best : run.best);
}

// Computes a strip of local scores relative to bases, block by block.
template <class V, class Scores, Records records>
void run_based_rows(const exaln::PairArgs& args) {
    constexpr bool records_ends = records != Records::SCORE,
                   is_pipelined = !records_ends && Scores::is_pipelined;
    const PairWorkspace<V> work(args.workspace, args.workspace_rows);
    PairBases<V> bases(args, work);
    Scores scores(args, work);
    CellCosts<V> costs(*args.costs, args.range);
    LocalEnds<V, true> ends(args);
    TileRun<V> run{costs.floor, costs.floor, costs.floor, costs.floor, costs.floor, nullptr};
    for (int64_t column = 0; column < args.n_columns; column += V::columns) {
        if (args.cancelled->load(std::memory_order_relaxed)) return;
        Tile<V> tile;
        if (records == Records::DIRECTIONS)
            run.directions = directions_of<V>(args, args.first_tile + column / V::columns);
        bases.enter_tile(tile);
        scores.enter(column);
        run.corner = bases.corner();
        if (is_pipelined) start_pipeline<V>(tile, scores, run.corner);
        typename V::Lane* state = work.tiles.state;
        bool is_new = false;
        for (int64_t row = 0, block = 0; row < args.n_rows; ++block) {
            bases.enter_block(block, tile, run.corner);
            run.corner = bases.corner(), run.row_shift = bases.row_shift(), costs.floor = bases.floor();
            run.best = costs.floor;
            if (records_ends) bases.set_thresholds(), ends.enter(bases.best(), bases.threshold());
            const int64_t rest = args.n_rows - row, rows = bases.rows_of_a_block();
            for (const int64_t end = row + (rest < rows ? rest : rows); row < end;
                 ++row, state += 2 * V::lanes) {
                if (is_pipelined) {
                    scores.enter_row(row + 1 < args.n_rows ? row + 1 : row);
                    update_row_pipelined<V, true>(tile, state, scores, costs, run);
                    continue;
                }
                scores.enter_row(row);
                update_row<V, Cells::BASED, records, false>(tile, state, scores, costs, run,
                                                            work.column_cells);
                if (records_ends && has_end(tile, run, ends))
                    ends.record(args, work, tile, run.row_best, row, column);
            }
            if (!records_ends) bases.update_best(run.best);
            if (!ends.is_new) continue;
            bases.update_best(ends.best);
            ends.leave_tile(args, column);
            is_new = true;
        }
        if (is_new && args.stops_at_ends && all_ends_before<V>(args, column + V::columns)) break;
    }
}

template <class V, class Scores, Cells cells, Records records>
void run_rows(const exaln::PairArgs& args) {
    if constexpr (cells == Cells::BASED) {
        run_based_rows<V, Scores, records>(args);
    } else {
        run_pair_rows<V, Scores, cells, records>(args);
    }
}

template <class V, class Scores, Cells cells>
void run_cells(const exaln::PairArgs& args) {
    if (args.directions) return run_rows<V, Scores, cells, Records::DIRECTIONS>(args);
    if constexpr (cells == Cells::LOCAL || cells == Cells::BASED)
        if (args.end_rows) return run_rows<V, Scores, cells, Records::END>(args);
    run_rows<V, Scores, cells, Records::SCORE>(args);
}

template <class V, class Scores>
void run_pairs_with(const exaln::PairArgs& args) {
    if (args.have_bases || args.are_differences) {
        if constexpr (sizeof(typename V::Lane) == 1)
            args.have_bases ? run_cells<V, Scores, Cells::BASED>(args)
                            : run_cells<V, Scores, Cells::DIFFERENCES>(args);
    } else if (args.mode.is_local) {
        run_cells<V, Scores, Cells::LOCAL>(args);
    } else {
        run_cells<V, Scores, Cells::NO_FLOOR>(args);
    }
}

// For at most LetterClasses::MAX_CLASSES classes and two for padding.
template <class V>
using PlainScores = typename std::conditional<V::has_pick_bytes && ClassScores<V>::max_classes >= 8,
                                              ClassScores<V>, EqualScores<V>>::type;

// For local scores alone: with ends, directions or differences the latency of the lookups would show.
template <class V>
void run_class_pairs(const exaln::PairArgs& args) {
    using Scores = ClassPairScores<V>;
    args.have_bases ? run_based_rows<V, Scores, Records::SCORE>(args)
                    : run_pair_rows<V, Scores, Cells::LOCAL, Records::SCORE>(args);
}

// Runs the kernel without ends or directions.
template <class V, class Scores>
void run_scores(const exaln::PairArgs& args) {
    if (args.have_bases) {
        run_based_rows<V, Scores, Records::SCORE>(args);
    } else if (args.are_differences) {
        run_pair_rows<V, Scores, Cells::DIFFERENCES, Records::SCORE>(args);
    } else if (args.mode.is_local) {
        run_pair_rows<V, Scores, Cells::LOCAL, Records::SCORE>(args);
    } else {
        run_pair_rows<V, Scores, Cells::NO_FLOOR, Records::SCORE>(args);
    }
}

template <class V>
void run_shared(const exaln::PairArgs& args) {
    if (args.n_queries == 1) return run_pairs_with<V, SharedScores<V, 1>>(args);
    if constexpr (sizeof(typename V::Lane) == 1) {
        if (args.n_queries == 2) return run_scores<V, SharedScores<V, 2>>(args);
        if (args.n_queries == 3) return run_scores<V, SharedScores<V, 3>>(args);
        run_scores<V, SharedScores<V, exaln::MAX_SHARED_QUERIES>>(args);
    }
}

template <class V>
void run_pairs(const exaln::PairArgs& args) {
    if (args.source == exaln::ScoreSource::SHARED) {
        run_shared<V>(args);
    } else if (args.source == exaln::ScoreSource::EQUAL) {
        if constexpr (V::has_byte_tables)
            if (args.mode.is_local && !args.directions && !args.end_rows) return run_class_pairs<V>(args);
        run_pairs_with<V, PlainScores<V>>(args);
    } else {
        if constexpr (V::has_byte_tables)
            if (TableScores<V>::fits(args)) return run_pairs_with<V, TableScores<V>>(args);
        run_pairs_with<V, MatrixScores<V>>(args);
    }
}

// The directions of one cell of a lane; only the requested bits are read.
template <class V>
struct LaneDirections {
    const uint8_t* masks;
    int lane;

    EXALN_INLINE bool operator&(uint8_t which) const {
        return V::test(masks + __builtin_ctz(which) * V::mask_bytes, lane);
    }
};

// Follows a lane's path until it leaves the strip or is complete. Returns the position behind the last step.
template <class V>
uint8_t* trace_pair(const exaln::PairArgs& args, int lane, exaln::PathState& path, uint8_t* steps) {
    int64_t first_tile =
        args.first_tile - args.columns_before[lane] / V::columns;  // of the pair, in the ring
    if (first_tile < 0) first_tile += args.direction_tiles;
    auto bits = [&](int64_t row, int64_t column) {
        int64_t tile = first_tile + column / V::columns;
        if (tile >= args.direction_tiles) tile -= args.direction_tiles;
        const int64_t cell = (row - args.first_row) * V::columns + column % V::columns;
        return LaneDirections<V>{directions_of<V>(args, tile) + cell * Directions<V>::bytes, lane};
    };
    const uint8_t *query = args.queries[lane], *target = args.targets[lane];
    auto score = [&](int64_t row, int64_t column) { return args.costs->scores[query[row]][target[column]]; };
    if (args.mode.is_local) {
        trace_rows<true>(*args.costs, bits, score, args.first_row, path, steps);
    } else {
        trace_rows<false>(*args.costs, bits, score, args.first_row, path, steps);
    }
    return steps;
}

}  // namespace
