// Pairs: one pair per lane, each with its own query and target (or all with the same query), in any mode,
// with or without the directions of the cells.
//
//              columns of the targets, V::columns at a time
//            +----+----+----+----+-- ...     tiles as in the group kernel: H and F of the columns in
//            registers,
//   a strip  | ------> tile by tile          H and E of the rows in the strip's state. H and F of the row
//            +----+----+----+----+-- ...     between two strips go through a border that the caller keeps.
//
//   directions[tile][row of the strip][column of the tile] is four masks, one bit (or, without mask
//   registers, a few) per lane: see Directions in recurrence.hpp. About four bits per cell, written in order;
//   a path is walked back over them, lane by lane.
//
// Scores of a cell: from one of three sources, which a template takes (Letters in kernels.hpp).
//
// Borders: H and the gaps that open on it, as border_score in modes.hpp says, the same for all lanes.
//
// Ends. Local: whenever a row of a tile has a cell above the best so far, the slow way notes where, smallest
// column first, then smallest row: strips go from top to bottom, tiles of a strip by column, all rows of a
// tile go by before the next. If the score is known, the best so far is one less on entry, and the first end
// is it. Other modes: H of the last row, and of the last column if that end of the query is free, is kept for
// each lane at its own lengths; pair_end chooses among them. What lanes compute beyond their pair is never
// looked at.
//
// Pairs whose directions would take too much memory go in strips of rows: a first pass over all strips keeps
// no directions but the borders and finds the ends; then the strips that paths run through are computed again
// from the bottom up, with directions. The cells are the same, and so is the path.
//
// Range of values: both forms of Range in kernels.hpp. Tests: tests/test_pairs.py, tests/test_trace.py.
#pragma once

#include "group_kernel.hpp"
#include "walk.hpp"

namespace {

template <class V>
struct PairWorkspace {
    using Lane = typename V::Lane;
    GroupWorkspace<V> tiles;  // state of n_rows instead of STRIP_ROWS, profile; no border
    Lane* scores;             // [2][columns][lanes] of the row at hand and the next
    // For the slow ways: H of a row, or V and U, [columns][lanes] each; the best H of the row, [lanes]
    Lane *cells, *column_cells, *row_best;
    uint8_t* ends_here;  // [n_rows]: whether the last row of a pair is this one

    static constexpr size_t tile_lanes = size_t(V::columns) * V::lanes;

    PairWorkspace(void* memory, int64_t n_rows) : tiles(memory) {
        tiles.profile = tiles.state + n_rows * 2 * V::lanes;
        tiles.border = nullptr;
        scores = tiles.profile + GroupWorkspace<V>::profile_lanes;
        cells = scores + 2 * tile_lanes;
        column_cells = cells + tile_lanes;
        row_best = column_cells + tile_lanes;
        ends_here = reinterpret_cast<uint8_t*>(row_best + V::lanes);
    }

    static size_t bytes(int64_t n_rows) {
        const size_t rows = size_t(n_rows) * 2 * V::lanes, tiles = 4 * tile_lanes + V::lanes;
        return (rows + GroupWorkspace<V>::profile_lanes + tiles) * sizeof(Lane) + size_t(n_rows);
    }
};

template <class V>
size_t pair_border(int64_t n_columns) {
    return size_t(n_columns) * 2 * V::lanes * sizeof(typename V::Lane);
}

template <class V>
size_t pair_directions(int64_t n_rows, int64_t n_columns) {
    return size_t(n_rows) * size_t(n_columns) * Directions<V>::bytes;
}

// Scores of pairs that have the same query: a profile of its letters, filled for each tile.
template <class V>
struct OneQueryScores {
    const PairWorkspace<V>& work;
    const typename V::ScoreRow* rows;
    const uint8_t *query, *letters;
    const typename V::Lane* scores = nullptr;
    uint32_t letters_present = 0;

    OneQueryScores(const exaln::PairArgs& args, const PairWorkspace<V>& workspace)
        : work(workspace),
          rows(static_cast<const typename V::ScoreRow*>(args.score_rows)),
          query(args.query + args.first_row),
          letters(args.letters) {
        for (int64_t row = 0; row < args.n_rows; ++row) letters_present |= uint32_t(1) << query[row];
    }
    EXALN_INLINE void enter(int64_t column) {
        fill_profile<V>(work.tiles, rows, letters + column * V::lanes, letters_present);
    }
    EXALN_INLINE void enter_row(int64_t row) {
        scores = work.tiles.profile + size_t(query[row]) * V::columns * V::lanes;
    }
    EXALN_INLINE typename V::Reg at(int c) const { return V::load(scores + c * V::lanes); }
};

// Scores of equal and of different letters.
template <class V>
struct EqualScores {
    const uint8_t *query, *letters;
    typename V::Reg match, mismatch, row_letters, column_letters[V::columns];

    EqualScores(const exaln::PairArgs& args, const PairWorkspace<V>&)
        : query(args.query + args.first_row * V::lanes),
          letters(args.letters),
          match(V::fill(typename V::Lane(args.match))),
          mismatch(V::fill(typename V::Lane(args.mismatch))) {}
    EXALN_INLINE void enter(int64_t column) {
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) column_letters[c] = V::widen(letters + (column + c) * V::lanes);
    }
    EXALN_INLINE void enter_row(int64_t row) { row_letters = V::widen(query + row * V::lanes); }
    EXALN_INLINE typename V::Reg at(int c) const {
        return V::choose_equal(row_letters, column_letters[c], match, mismatch);
    }
};

// A tile of scores, [column][lane] in registers, against the same lane by lane, each with its columns side by
// side in one or two pieces of 16 bytes or less. Within blocks of 16 bytes, as all instruction sets have
// them, one is the other with the bits of the index rotated: each zip of the first half of the registers with
// the second rotates by one.
template <class V>
struct TileOfLanes {
    using Lane = typename V::Lane;
    static constexpr int block_lanes = 16 / int(sizeof(Lane)), n_blocks = V::lanes / block_lanes;
    static constexpr int lane_bytes = V::columns * int(sizeof(Lane));
    static constexpr int piece_bytes = lane_bytes < 16 ? lane_bytes : 16, n_pieces = lane_bytes / piece_bytes;
    static constexpr int bytes = V::lanes * lane_bytes;

    // Where a piece of a lane lies in the memory of the registers.
    static constexpr int place(int lane, int piece) {
        const int in_block = lane % block_lanes * lane_bytes + piece * piece_bytes;
        return (in_block / 16 * n_blocks + lane / block_lanes) * 16 + in_block % 16;
    }

    static constexpr int log2(int n) { return n == 1 ? 0 : 1 + log2(n / 2); }

    template <int times>
    static EXALN_INLINE void rotate(typename V::Reg (&tile)[V::columns]) {
        EXALN_UNROLL
        for (int time = 0; time < times; ++time) {
            typename V::Reg zipped[V::columns];
            EXALN_UNROLL
            for (int i = 0; i < V::columns / 2; ++i) {
                zipped[2 * i] = V::zip_low(tile[i], tile[i + V::columns / 2]);
                zipped[2 * i + 1] = V::zip_high(tile[i], tile[i + V::columns / 2]);
            }
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) tile[c] = zipped[c];
        }
    }
    static EXALN_INLINE void to_lanes(typename V::Reg (&tile)[V::columns]) { rotate<log2(V::columns)>(tile); }
    static EXALN_INLINE void to_columns(typename V::Reg (&tile)[V::columns]) {
        rotate<log2(block_lanes)>(tile);
    }
};

// Scores of any matrix: for each tile a profile [letter of a query] of tiles by lane; for each row the lanes
// of their letters are put together, one row ahead so that no load waits for the stores before it.
template <class V>
struct AnyScores {
    using Lane = typename V::Lane;
    using Lanes = TileOfLanes<V>;
    const typename V::ScoreRow* rows;
    const uint8_t *query, *letters;
    uint8_t *profile, *next_rows;  // [letters] and [2] tiles by lane
    int64_t n_rows;
    uint32_t letters_present = 0;
    typename V::Reg scores[V::columns];

    AnyScores(const exaln::PairArgs& args, const PairWorkspace<V>& work)
        : rows(static_cast<const typename V::ScoreRow*>(args.score_rows)),
          query(args.query + args.first_row * V::lanes),
          letters(args.letters),
          profile(reinterpret_cast<uint8_t*>(work.tiles.profile)),
          next_rows(reinterpret_cast<uint8_t*>(work.scores)),
          n_rows(args.n_rows) {
        for (int64_t i = 0; i < args.n_rows * V::lanes; ++i) letters_present |= uint32_t(1) << query[i];
    }

    EXALN_INLINE void enter(int64_t column) {
        typename V::Letters columns[V::columns];
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) columns[c] = V::load_letters(letters + (column + c) * V::lanes);
        for (uint32_t rest = letters_present; rest != 0; rest &= rest - 1) {
            const int letter = __builtin_ctz(rest);
            const typename V::Table table = V::load_table(rows[letter]);
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) scores[c] = V::lookup(table, columns[c]);
            Lanes::to_lanes(scores);
            auto* out = reinterpret_cast<Lane*>(profile + letter * Lanes::bytes);
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) V::store(out + c * V::lanes, scores[c]);
        }
        prepare(0);
    }

    EXALN_INLINE void prepare(int64_t row) {
        const uint8_t* row_letters = query + row * V::lanes;
        uint8_t* out = next_rows + (row & 1) * Lanes::bytes;
        EXALN_UNROLL_LANES
        for (int lane = 0; lane < V::lanes; ++lane) {
            const uint8_t* tile = profile + row_letters[lane] * Lanes::bytes;
            EXALN_UNROLL
            for (int piece = 0; piece < Lanes::n_pieces; ++piece)
                memcpy(out + Lanes::place(lane, piece), tile + Lanes::place(lane, piece), Lanes::piece_bytes);
        }
    }

    EXALN_INLINE void enter_row(int64_t row) {
        const auto* in = reinterpret_cast<const Lane*>(next_rows + (row & 1) * Lanes::bytes);
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) scores[c] = V::load(in + c * V::lanes);
        Lanes::to_columns(scores);
        if (row + 1 < n_rows) prepare(row + 1);
    }
    EXALN_INLINE typename V::Reg at(int c) const { return scores[c]; }
};

// H and the gap that opens on it along both borders.
template <class V>
struct PairBorders {
    int64_t floor, gap_first, gap_extend;
    exaln::Mode mode;

    explicit PairBorders(const exaln::PairArgs& args)
        : floor(args.range.floor),
          gap_first(args.costs->gap_first),
          gap_extend(args.costs->gap_extend),
          mode(args.mode) {}

    typename V::Reg stored(int64_t score) const { return V::fill(typename V::Lane(score + floor)); }
    int64_t left(int64_t row) const {
        return exaln::border_score(row, mode.query_start, gap_first, gap_extend);
    }
    int64_t top(int64_t column) const {
        return exaln::border_score(column, mode.target_start, gap_first, gap_extend);
    }

    // Rows before their first column.
    template <bool are_differences>
    void reset_rows(typename V::Lane* state, int64_t first_row, int64_t n_rows) const {
        for (int64_t row = first_row + 1; row <= first_row + n_rows; ++row, state += 2 * V::lanes) {
            const int64_t before = are_differences ? left(row - 1) - gap_extend : 0;
            const int64_t opened = are_differences ? gap_extend - gap_first : left(row) - gap_first;
            V::store(state, stored(left(row) - before));
            V::store(state + V::lanes, stored(opened));
        }
    }

    template <bool are_differences>
    EXALN_INLINE void enter_first_strip(Tile<V>& tile, int64_t first_column) const {
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) {
            const int64_t column = first_column + c + 1;
            const int64_t before = are_differences ? top(column - 1) - gap_extend : 0;
            const int64_t opened = are_differences ? gap_extend - gap_first : top(column) - gap_first;
            tile.H[c] = stored(top(column) - before), tile.F[c] = stored(opened);
        }
    }
};

// Local: the best cell of each lane so far.
//
// Along a good alignment almost every row has a new best cell, so what is done for one must be cheap: its row
// is kept, all columns of it; in which of them it was is found out when the tile is left. Only if a cell is
// as good as the best, and may stand in a smaller column, lanes are looked at one by one.
template <class V>
struct LocalEnds {
    using Lane = typename V::Lane;
    using Reg = typename V::Reg;
    static constexpr int row_digits = 4;  // rows as numbers of 7 bits each, which every lane can hold

    typename V::Reg best, seen;  // cells above `seen` are looked at
    Reg floor, best_before;      // best_before: when the tile was entered
    bool has_strips_above;
    bool is_new = false;  // there is a new end in this tile
    alignas(64) Lane cells[V::columns][V::lanes];
    alignas(64) Lane rows[row_digits][V::lanes];

    // Without `best` nothing is above it, whatever lanes hold that have overflowed.
    explicit LocalEnds(const exaln::PairArgs& args) : has_strips_above(args.best && args.first_row > 0) {
        constexpr auto largest = Lane((uint64_t(1) << (8 * sizeof(Lane) - 1)) - 1);
        floor = V::fill(Lane(args.range.floor));
        best = args.best ? V::load(static_cast<const Lane*>(args.best)) : V::fill(largest);
        enter_tile();
    }

    // A cell as good as the best comes first if its column is smaller: in the tile where the best was found,
    // and below the strip where it was found.
    void enter_tile() {
        best_before = best;
        seen = has_strips_above ? V::max(V::sub(best, V::fill(1)), floor) : best;
        is_new = false;
    }

    // A row of a tile where `row_best`, the best cell of each lane, is above `seen` in some.
    EXALN_INLINE void note(const exaln::PairArgs& args, const PairWorkspace<V>& work, const Tile<V>& tile,
                           Reg row_best, int64_t row, int64_t column) {
        if (V::any(V::equal(row_best, best) & V::greater(row_best, seen))) {
            V::store(work.row_best, row_best);
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) V::store(work.cells + c * V::lanes, tile.H[c]);
            note_ties(args, work.cells, work.row_best, row, column);
        }
        const Reg better = V::max(best, row_best);
        const auto keep = [&](Lane* kept, Reg value) {
            V::store(kept, V::choose_equal(better, best, V::load(kept), value));
        };
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) keep(cells[c], tile.H[c]);
        EXALN_UNROLL
        for (int digit = 0; digit < row_digits; ++digit)
            keep(rows[digit], V::fill(Lane(row >> (7 * digit) & 127)));
        seen = V::choose_equal(better, best_before, seen, V::sub(better, V::fill(1)));
        best = better;
        is_new = true;
    }

    // Lanes that have a cell as good as the best one in this row: it is the end if its column is smaller.
    __attribute__((noinline)) void note_ties(const exaln::PairArgs& args, const Lane* row_cells,
                                             const Lane* row_best, int64_t row, int64_t column) {
        alignas(64) Lane bests[V::lanes], before[V::lanes], looked_at[V::lanes];
        V::store(bests, best), V::store(before, best_before), V::store(looked_at, seen);
        for (int lane = 0; lane < V::lanes; ++lane) {
            if (row_best[lane] != bests[lane] || row_best[lane] <= looked_at[lane]) continue;
            const bool is_of_tile = bests[lane] != before[lane];
            const int64_t known =
                is_of_tile ? column + place(cells[0] + lane, bests[lane]) : args.end_columns[lane] - 1;
            const int64_t found = column + place(row_cells + lane, bests[lane]);
            if (found >= known) continue;
            if (!is_of_tile)
                args.end_rows[lane] = args.first_row + row + 1, args.end_columns[lane] = found + 1;
            for (int c = 0; c < V::columns; ++c) cells[c][lane] = row_cells[c * V::lanes + lane];
            for (int digit = 0; digit < row_digits; ++digit)
                rows[digit][lane] = Lane(row >> (7 * digit) & 127);
        }
    }

    // The first of a lane's columns that has this value.
    static int place(const Lane* lane_cells, Lane value) {
        int c = 0;
        while (c < V::columns - 1 && lane_cells[c * V::lanes] != value) ++c;
        return c;
    }

    // Rows and columns of the ends that lie in this tile.
    __attribute__((noinline)) void leave_tile(const exaln::PairArgs& args, int64_t column) {
        alignas(64) Lane bests[V::lanes], before[V::lanes];
        V::store(bests, best), V::store(before, best_before);
        for (int lane = 0; lane < V::lanes; ++lane) {
            if (bests[lane] == before[lane]) continue;
            int64_t row = 0;
            for (int digit = 0; digit < row_digits; ++digit) row |= int64_t(rows[digit][lane]) << (7 * digit);
            args.end_rows[lane] = args.first_row + row + 1;
            args.end_columns[lane] = column + place(cells[0] + lane, bests[lane]) + 1;
        }
        enter_tile();
    }
};

// Other modes: H of the last row and of the last column of each lane's pair.
template <class V>
struct LastCells {
    using Lane = typename V::Lane;
    const exaln::PairArgs& args;
    uint8_t* ends_here;
    bool wants_row, wants_column;
    int n_columns_ending = 0;  // columns of the tile that are the last ones of a pair
    int columns_ending[V::columns];
    alignas(64) Lane masks[V::columns][V::lanes];

    LastCells(const exaln::PairArgs& pair_args, const PairWorkspace<V>& work)
        : args(pair_args),
          ends_here(work.ends_here),
          wants_row(args.last_row != nullptr),
          wants_column(args.last_column != nullptr) {
        memset(ends_here, 0, size_t(args.n_rows));
        for (int lane = 0; lane < V::lanes && wants_row; ++lane) {
            const int64_t row = args.query_lengths[lane] - 1 - args.first_row;
            if (row >= 0 && row < args.n_rows) ends_here[row] = 1;
        }
    }

    // All ones for lanes of that length.
    static bool make_mask(const int64_t* lengths, int64_t length, Lane* mask) {
        bool any = false;
        for (int lane = 0; lane < V::lanes; ++lane) {
            mask[lane] = lengths[lane] == length ? Lane(-1) : Lane(0);
            any |= mask[lane] != 0;
        }
        return any;
    }

    void enter(int64_t column) {
        n_columns_ending = 0;
        for (int c = 0; c < V::columns && wants_column; ++c)
            if (make_mask(args.target_lengths, column + c + 1, masks[c]))
                columns_ending[n_columns_ending++] = c;
    }

    static void keep(Lane* kept, const Lane* mask, const Lane* cells) {
        V::store(kept, V::select(V::load(mask), V::load(cells), V::load(kept)));
    }

    __attribute__((noinline)) void note_row(const Lane* cells, int64_t row, int64_t column) const {
        alignas(64) Lane mask[V::lanes];
        make_mask(args.query_lengths, args.first_row + row + 1, mask);
        Lane* kept = static_cast<Lane*>(args.last_row) + column * V::lanes;
        for (int c = 0; c < V::columns; ++c) keep(kept + c * V::lanes, mask, cells + c * V::lanes);
    }

    __attribute__((noinline)) void note_columns(const Lane* cells, int64_t row) const {
        Lane* kept = static_cast<Lane*>(args.last_column) + (args.first_row + row) * V::lanes;
        for (int i = 0; i < n_columns_ending; ++i)
            keep(kept, masks[columns_ending[i]], cells + columns_ending[i] * V::lanes);
    }
};

// Whether the ends of all paths lie in columns up to this one: what is right of them is not needed.
template <class V>
bool all_ends_before(const exaln::PairArgs& args, int64_t column) {
    for (int lane = 0; lane < V::lanes; ++lane)
        if (args.query_lengths[lane] > 0 && (args.end_columns[lane] == 0 || args.end_columns[lane] > column))
            return false;
    return true;
}

enum class Cells { LOCAL, WHOLE, DIFFERENCES };
enum class Keeps { SCORE, END, DIRECTIONS };

// What goes through the rows of a tile, but for the tile itself.
template <class V>
struct TileRun {
    typename V::Reg corner, best, row_best;
    uint8_t* directions;
};

// One row of a tile: H, F of its columns, or V, Y; the state of the row is H, E or U, X. U of each column
// goes to `columns` if it is wanted.
template <class V, Cells cells, Keeps keeps, bool wants_columns, class Scores>
EXALN_INLINE void update_row(Tile<V>& tile, typename V::Lane* state, const Scores& scores,
                             const CellCosts<V>& costs, TileRun<V>& run, typename V::Lane* columns) {
    using Reg = typename V::Reg;
    constexpr bool is_local = cells == Cells::LOCAL, notes_ends = is_local && keeps != Keeps::SCORE;
    Reg left = V::load(state), E = V::load(state + V::lanes);
    if (cells != Cells::DIFFERENCES) {
        EXALN_UNROLL
        for (int c = V::columns - 1; c > 0; --c) tile.H[c] = V::add(tile.H[c - 1], scores.at(c));
        tile.H[0] = V::add(run.corner, scores.at(0));
        run.corner = left;
    }
    if (notes_ends) run.row_best = costs.floor;
    EXALN_UNROLL
    for (int c = 0; c < V::columns; ++c) {
        if (cells == Cells::DIFFERENCES) {
            const Directions<V> cell =
                update_differences<V>(scores.at(c), left, E, tile.H[c], tile.F[c], costs.no_gap);
            if (keeps == Keeps::DIRECTIONS) cell.store(run.directions);
            if (wants_columns) V::store(columns + c * V::lanes, left);
        } else if (keeps == Keeps::DIRECTIONS) {
            update_cell_traced<V, is_local>(tile.H[c], E, tile.F[c], costs).store(run.directions);
        } else {
            update_cell<V, is_local, is_local && !notes_ends>(tile.H[c], E, tile.F[c], run.best, costs);
        }
        if (keeps == Keeps::DIRECTIONS) run.directions += Directions<V>::bytes;
        if (notes_ends) run.row_best = V::max(run.row_best, tile.H[c]);
    }
    V::store(state, cells == Cells::DIFFERENCES ? left : tile.H[V::columns - 1]);
    V::store(state + V::lanes, E);
}

template <class V, Cells cells, Keeps keeps, bool wants_columns, class Scores>
EXALN_INLINE void run_tile_rows(const exaln::PairArgs& args, const PairWorkspace<V>& work, Tile<V>& tile,
                                Scores& scores, const CellCosts<V>& costs, TileRun<V>& run, int64_t column,
                                LocalEnds<V>& ends, const LastCells<V>& last) {
    constexpr bool is_local = cells == Cells::LOCAL, notes_ends = is_local && keeps != Keeps::SCORE;
    typename V::Lane* state = work.tiles.state;
    for (int64_t row = 0; row < args.n_rows; ++row, state += 2 * V::lanes) {
        scores.enter_row(row);
        update_row<V, cells, keeps, wants_columns>(tile, state, scores, costs, run, work.column_cells);
        if (notes_ends && V::any_greater(run.row_best, ends.seen))
            ends.note(args, work, tile, run.row_best, row, column);
        if (is_local || !(wants_columns || last.ends_here[row])) continue;
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) V::store(work.cells + c * V::lanes, tile.H[c]);
        if (last.ends_here[row]) last.note_row(work.cells, row, column);
        if (wants_columns)
            last.note_columns(cells == Cells::DIFFERENCES ? work.column_cells : work.cells, row);
    }
}

template <class V, class Scores, Cells cells, Keeps keeps>
void run_pair_rows(const exaln::PairArgs& args) {
    using Lane = typename V::Lane;
    constexpr bool is_local = cells == Cells::LOCAL, are_differences = cells == Cells::DIFFERENCES;
    constexpr bool notes_ends = is_local && keeps != Keeps::SCORE;
    CellCosts<V> costs(*args.costs, args.range);
    const PairWorkspace<V> work(args.workspace, args.n_rows);
    const PairBorders<V> borders(args);
    if (are_differences) costs.no_gap = borders.stored(borders.gap_extend - borders.gap_first);
    GroupWorkspace<V> above = work.tiles, below = work.tiles;
    above.border = static_cast<Lane*>(const_cast<void*>(args.border_above));
    below.border = static_cast<Lane*>(args.border_below);
    borders.template reset_rows<are_differences>(above.state, args.first_row, args.n_rows);
    Scores scores(args, work);
    LocalEnds<V> ends(args);
    LastCells<V> last(args, work);
    typename V::Reg left_corner = borders.stored(are_differences ? 0 : borders.left(args.first_row));
    TileRun<V> run{left_corner, ends.best, costs.floor, args.directions};
    for (int64_t column = 0; column < args.n_columns; column += V::columns) {
        if (args.cancelled->load(std::memory_order_relaxed)) return;
        Tile<V> tile;
        if (args.border_above) {
            tile.enter(above, column, false, costs);
        } else {
            borders.template enter_first_strip<are_differences>(tile, column);
        }
        scores.enter(column);
        run.corner = left_corner, left_corner = tile.H[V::columns - 1];
        if (!is_local) last.enter(column);
        bool has_run = false;
        if constexpr (!is_local) {
            has_run = last.n_columns_ending > 0;
            if (has_run)
                run_tile_rows<V, cells, keeps, true>(args, work, tile, scores, costs, run, column, ends,
                                                     last);
        }
        if (!has_run)
            run_tile_rows<V, cells, keeps, false>(args, work, tile, scores, costs, run, column, ends, last);
        if (args.border_below) tile.leave(below, column);
        if (!notes_ends || !ends.is_new) continue;
        ends.leave_tile(args, column);
        if (args.stops_at_ends && !args.border_below && all_ends_before<V>(args, column + V::columns)) break;
    }
    if (is_local && args.best) V::store(static_cast<Lane*>(args.best), notes_ends ? ends.best : run.best);
}

template <class V, class Scores, Cells cells>
void run_cells(const exaln::PairArgs& args) {
    if (args.directions) {
        run_pair_rows<V, Scores, cells, Keeps::DIRECTIONS>(args);
    } else if (cells == Cells::LOCAL && args.end_rows) {
        run_pair_rows<V, Scores, cells, Keeps::END>(args);
    } else {
        run_pair_rows<V, Scores, cells, Keeps::SCORE>(args);
    }
}

template <class V, class Scores>
void run_pairs_with(const exaln::PairArgs& args) {
    if (args.mode.is_local) {
        run_cells<V, Scores, Cells::LOCAL>(args);
    } else if (!args.are_differences) {
        run_cells<V, Scores, Cells::WHOLE>(args);
    } else if constexpr (sizeof(typename V::Lane) == 1) {
        run_cells<V, Scores, Cells::DIFFERENCES>(args);
    }
}

template <class V>
void run_pairs(const exaln::PairArgs& args) {
    if (args.kind == exaln::Letters::ONE_QUERY) {
        run_pairs_with<V, OneQueryScores<V>>(args);
    } else if (args.kind == exaln::Letters::EQUAL) {
        run_pairs_with<V, EqualScores<V>>(args);
    } else {
        run_pairs_with<V, AnyScores<V>>(args);
    }
}

// H along the last row or column of a lane's pair, from what was kept of it; cells are asked for in order.
template <class V>
struct KeptCells {
    const exaln::PairArgs& args;
    const void* cells;
    int lane;
    int64_t sum;  // H of the border cell, and of those after it as far as they were asked for
    int64_t n_summed = 0;

    int64_t stored(int64_t i) const {
        return static_cast<const typename V::Lane*>(cells)[(i - 1) * V::lanes + lane] - args.range.floor;
    }
    int64_t operator()(int64_t i) {
        if (!args.are_differences) return stored(i);
        while (n_summed < i) sum += stored(++n_summed) - args.costs->gap_extend;
        return sum;
    }
};

// Score and end of a lane's pair, once all strips have run. A local score above the range's limit is not
// exact.
template <class V>
exaln::EndCell pair_end(const exaln::PairArgs& args, int lane) {
    if (args.mode.is_local) {
        const int64_t score = KeptCells<V>{args, args.best, lane, 0}.stored(1);
        return {score, args.end_rows ? args.end_rows[lane] : 0, args.end_rows ? args.end_columns[lane] : 0};
    }
    const PairBorders<V> borders(args);
    const int64_t m = args.query_lengths[lane], n = args.target_lengths[lane];
    return exaln::choose_end(args.mode, m, n, borders.gap_first, borders.gap_extend,
                             KeptCells<V>{args, args.last_row, lane, borders.left(m)},
                             KeptCells<V>{args, args.last_column, lane, borders.top(n)});
}

// The directions of a lane's cell, of which only those are looked at that are asked for.
template <class V>
struct LaneDirections {
    const uint8_t* masks;
    int lane;

    EXALN_INLINE bool operator&(uint8_t which) const {
        return V::test(masks + __builtin_ctz(which) * V::mask_bytes, lane);
    }
};

// Walks a lane's path back until it leaves the strip or is complete, and returns where the next step is to be
// written.
template <class V>
uint8_t* walk_back(const exaln::PairArgs& args, int lane, exaln::PathState& path, uint8_t* steps) {
    auto bits = [&](int64_t row, int64_t column) {
        const int64_t tile = column / V::columns, in_tile = column % V::columns;
        const int64_t cell = (tile * args.n_rows + row - args.first_row) * V::columns + in_tile;
        const uint8_t* masks = args.directions + cell * Directions<V>::bytes;
        return LaneDirections<V>{masks, lane};
    };
    const uint8_t *query = args.queries[lane], *target = args.targets[lane];
    auto score = [&](int64_t row, int64_t column) { return args.costs->scores[query[row]][target[column]]; };
    if (args.mode.is_local) {
        walk_rows<true>(*args.costs, bits, score, args.first_row, path, steps);
    } else {
        walk_rows<false>(*args.costs, bits, score, args.first_row, path, steps);
    }
    return steps;
}

}  // namespace
