// Group kernel: scores one query against many targets, one target per lane.
//
// clang-format off
//              columns of the targets, V::columns at a time
//            +----+----+----+----+-- ...   A tile is STRIP_ROWS query rows x V::columns target columns.
//   strip 0  | ------> tile by tile        H and F of its columns stay in registers from row to row.
//            +----+----+----+----+-- ...   H and E of its rows are in the strip's state (2 registers a row,
//   strip 1  | ------> takes H and F       first-level cache) from tile to tile. The lowest row of a
//            +----+----+----+----+-- ...   strip reaches the next strip through `border` (2 registers a
//                                          column, read and written in order).
// clang-format on
//
// Scores s(q_i, t_j) of all lanes come from a small profile [query letter][column]. It is filled once per
// tile by looking up the lanes' letters in the matrix row of each query letter. (A lookup per cell is slower
// even where it is one instruction, vpermb: it competes with the maxima for a port, a load does not.)
//
// After the end of its target a lane continues over padding letters. They score at most 0, so no H there
// exceeds an earlier one, and the maximum is unchanged.
//
// Range of values and overflow: Range in recurrence/ranges.hpp. Tests: tests/engines/cpu/test_kernels.py runs
// every width of every instruction set against the oracle. The layout follows Rognes, "Faster Smith-Waterman
// database searches with inter-sequence SIMD parallelisation", BMC Bioinformatics 12:221 (2011); strips, and
// wrapping arithmetic with a proven range, are ours.
#pragma once

#include "recurrence/cell.hpp"
#include "scan/kernel_args.hpp"

namespace {

template <class V>
struct GroupWorkspace {
    typename V::Lane* state;    // [STRIP_ROWS][2][lanes]: H and E of each row at the last column done
    typename V::Lane* profile;  // [MAX_CODES][columns][lanes]
    typename V::Lane* border;   // [n_columns][2][lanes]: H of the strip's last row, F of the row below it

    static constexpr size_t state_lanes = size_t(exaln::STRIP_ROWS) * 2 * V::lanes;
    static constexpr size_t profile_lanes = size_t(exaln::MAX_CODES) * V::columns * V::lanes;

    explicit GroupWorkspace(void* memory)
        : state(static_cast<typename V::Lane*>(memory)),
          profile(state + state_lanes),
          border(profile + profile_lanes) {}

    static size_t bytes(int64_t n_columns) {
        return (state_lanes + profile_lanes + size_t(n_columns) * 2 * V::lanes) * sizeof(typename V::Lane);
    }
};

template <class V>
struct Tile {
    using Reg = typename V::Reg;
    Reg H[V::columns], F[V::columns];

    EXALN_INLINE void enter(const GroupWorkspace<V>& work, int64_t column, bool first_strip,
                            const CellCosts<V>& costs) {
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) {
            const typename V::Lane* border = work.border + (column + c) * 2 * V::lanes;
            H[c] = first_strip ? costs.floor : V::load(border);
            F[c] = first_strip ? costs.no_gap : V::load(border + V::lanes);
        }
    }

    EXALN_INLINE void leave(const GroupWorkspace<V>& work, int64_t column) const {
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) {
            typename V::Lane* border = work.border + (column + c) * 2 * V::lanes;
            V::store(border, H[c]);
            V::store(border + V::lanes, F[c]);
        }
    }
};

// Fills the profile with the scores of the tile's columns for every query letter: [letter][column][lane].
template <class V>
EXALN_INLINE void fill_profile(const GroupWorkspace<V>& work, const typename V::ScoreRow* rows,
                               const uint8_t* letters, uint32_t query_letters) {
    typename V::Letters columns[V::columns];
    EXALN_UNROLL
    for (int c = 0; c < V::columns; ++c) columns[c] = V::load_letters(letters + c * V::lanes);
    for (uint32_t rest = query_letters; rest != 0; rest &= rest - 1) {
        const int letter = __builtin_ctz(rest);
        const typename V::Table table = V::load_table(rows[letter]);
        typename V::Lane* out = work.profile + size_t(letter) * V::columns * V::lanes;
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) V::store(out + c * V::lanes, V::lookup(table, columns[c]));
    }
}

// Turns H of the row above into the diagonal of this row plus its scores. Goes from the last column to the
// first, so that each H is used before it is overwritten, without register moves.
template <class V>
EXALN_INLINE void add_scores(Tile<V>& tile, const GroupWorkspace<V>& work, uint8_t letter,
                             typename V::Reg corner) {
    const typename V::Lane* scores = work.profile + size_t(letter) * V::columns * V::lanes;
    EXALN_UNROLL
    for (int c = V::columns - 1; c > 0; --c)
        tile.H[c] = V::add(tile.H[c - 1], V::load(scores + c * V::lanes));
    tile.H[0] = V::add(corner, V::load(scores));
}

// Sets the state of the rows before their first column. Returns bit a for each letter a of the query.
template <class V>
uint32_t reset_rows(const GroupWorkspace<V>& work, const uint8_t* query, int64_t n_rows,
                    const CellCosts<V>& costs) {
    uint32_t letters_present = 0;
    for (int64_t row = 0; row < n_rows; ++row) {
        letters_present |= uint32_t(1) << query[row];
        V::store(work.state + row * 2 * V::lanes, costs.floor);
        V::store(work.state + row * 2 * V::lanes + V::lanes, costs.no_gap);
    }
    return letters_present;
}

template <class V>
EXALN_INLINE void run_tile(Tile<V>& tile, const GroupWorkspace<V>& work, const uint8_t* query, int n_rows,
                           typename V::Reg corner, typename V::Reg& running_best, const CellCosts<V>& costs) {
    using Reg = typename V::Reg;
    Reg best = running_best;
    typename V::Lane* state = work.state;
    for (int r = 0; r < n_rows; ++r, state += 2 * V::lanes) {
        add_scores<V>(tile, work, query[r], corner);
        corner = V::load(state);
        Reg E = V::load(state + V::lanes);
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) update_cell<V>(tile.H[c], E, tile.F[c], best, costs);
        V::store(state, tile.H[V::columns - 1]);
        V::store(state + V::lanes, E);
    }
    running_best = best;
}

// Adds the best of a block of columns in one strip to that of the strips above it.
template <class V>
EXALN_INLINE void keep_block(const exaln::GroupArgs& args, int64_t block, bool first_strip,
                             typename V::Reg best) {
    typename V::Lane* const kept = static_cast<typename V::Lane*>(args.block_best) + block * V::lanes;
    V::store(kept, first_strip ? best : V::max(V::load(kept), best));
}

template <class V>
typename V::Reg run_strip(const exaln::GroupArgs& args, int64_t first_row, int n_rows,
                          const CellCosts<V>& costs, typename V::Reg best) {
    const GroupWorkspace<V> work(args.workspace);
    const uint8_t* query = args.query + first_row;
    const uint32_t letters_present = reset_rows<V>(work, query, n_rows, costs);
    const bool first_strip = first_row == 0, last_strip = first_row + n_rows == args.n_rows;
    const auto* rows = static_cast<const typename V::ScoreRow*>(args.score_rows);
    typename V::Reg corner = costs.floor, block_best = costs.floor;
    const int64_t block_columns = args.block_columns ? args.block_columns : args.n_columns;
    for (int64_t column = 0, block_end = block_columns; column < args.n_columns; column += V::columns) {
        Tile<V> tile;
        tile.enter(work, column, first_strip, costs);
        fill_profile<V>(work, rows, args.letters + column * V::lanes, letters_present);
        const typename V::Reg next_corner = tile.H[V::columns - 1];
        run_tile<V>(tile, work, query, n_rows, corner, block_best, costs);
        corner = next_corner;
        if (!last_strip) tile.leave(work, column);
        if (column + V::columns == block_end || column + V::columns == args.n_columns) {
            if (args.block_columns) keep_block<V>(args, column / block_columns, first_strip, block_best);
            best = V::max(best, block_best), block_best = costs.floor, block_end += block_columns;
        }
    }
    return best;
}

template <class V>
void score_group(const exaln::GroupArgs& args) {
    const exaln::Range range = exaln::Range::of(*args.costs, 8 * int(sizeof(typename V::Lane)));
    const CellCosts<V> costs(*args.costs, range);
    const int64_t n_strips = (args.n_rows + exaln::STRIP_ROWS - 1) / exaln::STRIP_ROWS;
    typename V::Reg best = costs.floor;
    for (int64_t strip = 0; strip < n_strips && !args.cancelled->load(std::memory_order_relaxed); ++strip) {
        const int64_t first = args.n_rows * strip / n_strips, end = args.n_rows * (strip + 1) / n_strips;
        best = run_strip<V>(args, first, int(end - first), costs, best);
        if (args.cells) args.cells->fetch_add((end - first) * args.n_residues, std::memory_order_relaxed);
    }
    store_scores<V>(best, range, args.scores);
    const int64_t n_blocks =
        args.block_columns ? (args.n_columns + args.block_columns - 1) / args.block_columns : 0;
    for (int64_t block = 0; block < n_blocks; ++block) {
        if (n_strips == 0) keep_block<V>(args, block, true, costs.floor);
        store_scores<V>(V::load(static_cast<typename V::Lane*>(args.block_best) + block * V::lanes), range,
                        args.block_scores + block * V::lanes);
    }
}

template <class V>
void make_score_rows(const exaln::Costs& costs, void* memory) {
    auto* rows = static_cast<typename V::ScoreRow*>(memory);
    for (int letter = 0; letter < exaln::MAX_CODES; ++letter)
        V::make_score_row(costs.scores[letter], rows[letter]);
}

// The loop of run_tile with everything in registers: the speed of the kernel if memory, borders and padding
// cost nothing. It is slightly optimistic: the last E of a row is unused, so the compiler omits it.
template <class V>
double bare_loop(int64_t n_rows) {
    exaln::Costs costs{};
    costs.gap_first = 12, costs.gap_extend = 1, costs.max_score = 11, costs.min_score = -4;
    const CellCosts<V> cell_costs(costs, exaln::Range::of(costs, 8 * int(sizeof(typename V::Lane))));
    typename V::Reg best = cell_costs.floor, scores[V::columns];
    Tile<V> tile;
    for (int c = 0; c < V::columns; ++c) {
        tile.H[c] = cell_costs.floor, tile.F[c] = cell_costs.no_gap;
        scores[c] = V::fill(typename V::Lane(c % 3 - 1));
    }
    for (int64_t r = 0; r < n_rows; ++r) {
        typename V::Reg E = cell_costs.no_gap;
        EXALN_UNROLL
        for (int c = V::columns - 1; c > 0; --c) tile.H[c] = V::add(tile.H[c - 1], scores[c]);
        tile.H[0] = V::add(cell_costs.floor, scores[0]);
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) update_cell<V>(tile.H[c], E, tile.F[c], best, cell_costs);
    }
    alignas(64) typename V::Lane stored[V::lanes];
    V::store(stored, best);
    for (int lane = 0; lane < V::lanes; ++lane) {
        volatile typename V::Lane used = stored[lane];  // keeps the compiler from dropping the loop
        (void)used;
    }
    return double(n_rows) * V::columns * V::lanes;
}

}  // namespace
