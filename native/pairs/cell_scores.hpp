// The workspace of a group of pairs, and the classes that provide the substitution scores of its cells, one
// for each ScoreSource and instruction set (table_scores.hpp has one more).
//
// A score class is called for each tile (enter), each row (enter_row) and each finished cell (cell_done);
// at(c) then returns the scores of the row's column c. is_pipelined: without paths, the scores of a row are
// requested while the previous row is computed (update_row_pipelined), where that is faster.
#pragma once

#include "pairs/kernel_args.hpp"
#include "scan/group_kernel.hpp"

namespace {

// The lanes of a register in blocks of 16 bytes; see MatrixScores.
template <class V>
struct BlocksOfLanes {
    static constexpr int size = 16 / int(sizeof(typename V::Lane));  // lanes per block
    static constexpr int columns =
        V::columns > size ? V::columns : size;  // that are prepared together, in squares
    static constexpr int other_columns = columns - V::columns;
    static constexpr int register_bytes = V::lanes * int(sizeof(typename V::Lane));
    static constexpr int letter_bytes = columns * register_bytes;
};

template <class V>
struct PairWorkspace {
    using Lane = typename V::Lane;
    static constexpr int near_rows = 8;

    GroupWorkspace<V> tiles;    // state of n_rows rows instead of STRIP_ROWS, a larger profile, no border
    Lane *scores, *far_scores;  // MatrixScores: [near_rows][columns][lanes], [n_rows][other columns][lanes]
    Lane* row_words;            // [n_rows][lanes], for ClassScores; TableScores uses all three
    // For rows that are examined cell by cell: H, or U, [columns][lanes] each; the best H, [lanes]
    Lane *cells, *column_cells, *row_best;
    Lane* row_masks;     // [lanes][lanes], see last_cells.hpp
    int16_t* bases;      // [blocks][lanes], see bases.hpp
    uint8_t* ends_here;  // [n_rows], see last_cells.hpp

    static constexpr size_t tile_lanes = size_t(V::columns) * V::lanes;
    static constexpr size_t far_lanes = size_t(BlocksOfLanes<V>::other_columns) * V::lanes;
    static constexpr size_t profile_lanes = size_t(exaln::MAX_CODES) * BlocksOfLanes<V>::columns * V::lanes;

    PairWorkspace(void* memory, int64_t n_rows) : tiles(memory) {
        tiles.profile = tiles.state + n_rows * 2 * V::lanes;
        tiles.border = nullptr;
        scores = tiles.profile + profile_lanes;
        far_scores = scores + near_rows * tile_lanes;
        row_words = far_scores + n_rows * far_lanes;
        cells = row_words + n_rows * V::lanes;
        column_cells = cells + tile_lanes;
        row_best = column_cells + tile_lanes;
        row_masks = row_best + V::lanes;
        bases = reinterpret_cast<int16_t*>(row_masks + V::lanes * V::lanes);
        ends_here = reinterpret_cast<uint8_t*>(bases + n_bases(n_rows));
    }

    static size_t bytes(int64_t n_rows) {
        const size_t rows = size_t(n_rows) * (3 * V::lanes + far_lanes);
        const size_t tiles = (near_rows + 2) * tile_lanes + V::lanes + V::lanes * V::lanes;
        return (rows + profile_lanes + tiles) * sizeof(Lane) + n_bases(n_rows) * sizeof(int16_t) +
               size_t(n_rows);
    }

    static size_t n_bases(int64_t n_rows) {
        return sizeof(Lane) > 1 ? 0 : size_t(n_rows / exaln::BlockRange::MIN_ROWS + 1) * V::lanes;
    }
};

// 32 registers instead of 16: enough to look up the next row without spilling.
template <class V>
constexpr bool has_many_registers = V::columns >= 8;

// Scores of pairs that share one query, or a few of them with adjacent lanes each: a profile of their
// letters, filled for each tile. With several queries a row of scores is blended from the profile rows of
// their letters.
template <class V, int n_queries>
struct SharedScores {
    using Lane = typename V::Lane;
    using Reg = typename V::Reg;
    static constexpr bool is_pipelined = has_many_registers<V>;
    const PairWorkspace<V>& work;
    const typename V::ScoreRow* rows;
    const uint8_t *queries[n_queries], *letters;
    const Lane* scores[n_queries];
    Reg lanes_from[n_queries];  // all ones from the query's first lane on
    uint32_t letters_present = 0;

    SharedScores(const exaln::PairArgs& args, const PairWorkspace<V>& workspace)
        : work(workspace),
          rows(static_cast<const typename V::ScoreRow*>(args.score_rows)),
          letters(args.letters) {
        alignas(64) Lane mask[V::lanes];
        for (int i = 0; i < n_queries; ++i) {
            queries[i] = args.query + i * args.all_rows + args.first_row;
            for (int64_t row = 0; row < args.n_rows; ++row) letters_present |= uint32_t(1) << queries[i][row];
            for (int lane = 0; lane < V::lanes; ++lane) mask[lane] = Lane(-(lane >= args.first_lanes[i]));
            lanes_from[i] = V::load(mask);
        }
    }
    EXALN_INLINE void enter(int64_t column) {
        fill_profile<V>(work.tiles, rows, letters + column * V::lanes, letters_present);
    }
    EXALN_INLINE void enter_row(int64_t row) {
        EXALN_UNROLL
        for (int i = 0; i < n_queries; ++i)
            scores[i] = work.tiles.profile + size_t(queries[i][row]) * V::columns * V::lanes;
    }
    EXALN_INLINE void cell_done(int) {}
    EXALN_INLINE Reg at(int c) const {
        Reg row_scores = V::load(scores[0] + c * V::lanes);
        EXALN_UNROLL
        for (int i = 1; i < n_queries; ++i)
            row_scores = V::select(lanes_from[i], V::load(scores[i] + c * V::lanes), row_scores);
        return row_scores;
    }
};

// All ones in the lanes whose pair begins with this call.
template <class V>
typename V::Reg beginning_lanes(const exaln::PairArgs& args) {
    alignas(64) typename V::Lane mask[V::lanes];
    for (int lane = 0; lane < V::lanes; ++lane)
        mask[lane] = typename V::Lane(-(args.columns_before[lane] == 0));
    return V::load(mask);
}

// Sets H and E of a row in the lanes of `mask`.
template <class V>
EXALN_INLINE void reset_row(typename V::Lane* state, typename V::Reg mask, typename V::Reg H,
                            typename V::Reg E) {
    V::store(state, V::select(mask, H, V::load(state)));
    V::store(state + V::lanes, V::select(mask, E, V::load(state + V::lanes)));
}

// Writes work.row_words: of_letters[letter] for the letter of each row and lane.
template <class V>
void store_row_words(const exaln::PairArgs& args, const PairWorkspace<V>& work,
                     const int32_t (&of_letters)[exaln::MAX_CODES]) {
    typename V::ScoreRow words;
    V::make_score_row(of_letters, words);
    const uint8_t* query = args.query + args.first_row * V::lanes;
    for (int64_t row = 0; row < args.n_rows; ++row)
        V::store(work.row_words + row * V::lanes,
                 V::lookup(V::load_table(words), V::load_letters(query + row * V::lanes)));
}

// Match and mismatch scores by comparing letters.
template <class V>
struct EqualScores {
    static constexpr bool is_pipelined = has_many_registers<V>;
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
    EXALN_INLINE void cell_done(int) {}
    EXALN_INLINE typename V::Reg at(int c) const {
        return V::choose_equal(row_letters, column_letters[c], match, mismatch);
    }
};

// The same for few classes of letters with a byte shuffle, which is faster than a comparison and a blend.
// Every byte of a lane holds the class; byte k of a row word has k * max_classes added. So the exclusive or
// of row word and column word is, byte by byte, an index into a table of 16 bytes, which has byte k of
// `match` at index k * max_classes, and byte k of `mismatch` at the other indices of that part.
template <class V>
struct ClassScores {
    using Lane = typename V::Lane;
    static constexpr bool is_pipelined = has_many_registers<V>;
    static constexpr int max_classes = 16 / int(sizeof(Lane));

    const uint8_t* letters;  // [columns][lanes] classes
    const Lane* rows;        // [n_rows][lanes], written here
    typename V::ScoreRow column_words;
    typename V::Reg table, row_words, words[V::columns];

    ClassScores(const exaln::PairArgs& args, const PairWorkspace<V>& work)
        : letters(args.letters), rows(work.row_words) {
        int32_t of_rows[exaln::MAX_CODES] = {}, of_columns[exaln::MAX_CODES] = {};
        alignas(64) uint8_t bytes[V::lanes * sizeof(Lane)];
        for (int letter = 0; letter < max_classes; ++letter)
            for (int k = 0; k < int(sizeof(Lane)); ++k) {
                of_columns[letter] |= letter << 8 * k;
                of_rows[letter] |= (letter + k * max_classes) << 8 * k;
                const int32_t score = letter == 0 ? args.match : args.mismatch;
                for (int block = 0; block < int(sizeof bytes); block += 16)
                    bytes[block + k * max_classes + letter] = uint8_t(score >> 8 * k);
            }
        memcpy(&table, bytes, sizeof table);
        V::make_score_row(of_columns, column_words);
        store_row_words<V>(args, work, of_rows);
    }
    EXALN_INLINE void enter(int64_t column) {
        const typename V::Table words_of = V::load_table(column_words);
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c)
            words[c] = V::lookup(words_of, V::load_letters(letters + (column + c) * V::lanes));
    }
    EXALN_INLINE void enter_row(int64_t row) { row_words = V::load(rows + row * V::lanes); }
    EXALN_INLINE void cell_done(int) {}
    EXALN_INLINE typename V::Reg at(int c) const { return V::pick_bytes(table, row_words, words[c]); }
};

// The same for 8-bit lanes where 64 bytes can be looked up at once (V::has_byte_tables): one byte holds the
// classes of two columns, three bits each, so that an exclusive or serves two cells. The score of the first
// column depends on the lower three bits of the index, that of the second on the upper three.
template <class V>
struct ClassPairScores {
    using Lane = typename V::Lane;
    using Reg = typename V::Reg;
    static constexpr bool is_pipelined = true;
    static constexpr int max_classes = 8, n_words = V::columns / 2;

    const uint8_t* letters;  // [columns][lanes] classes
    const Lane* rows;        // [n_rows][lanes], written here
    typename V::ScoreRow first_words, second_words;
    typename V::Table first_scores, second_scores;
    Reg row_words, words[n_words];

    ClassPairScores(const exaln::PairArgs& args, const PairWorkspace<V>& work)
        : letters(args.letters), rows(work.row_words) {
        int32_t lower[exaln::MAX_CODES] = {}, upper[exaln::MAX_CODES] = {}, both[exaln::MAX_CODES] = {};
        for (int letter = 0; letter < max_classes; ++letter)
            lower[letter] = letter, upper[letter] = max_classes * letter,
            both[letter] = lower[letter] + upper[letter];
        V::make_score_row(lower, first_words), V::make_score_row(upper, second_words);
        typename V::ScoreRow scores;
        for (int place = 0; place < max_classes * max_classes; ++place)
            scores.scores[place] = Lane(place % max_classes == 0 ? args.match : args.mismatch);
        first_scores = V::load_table(scores);
        for (int place = 0; place < max_classes * max_classes; ++place)
            scores.scores[place] = Lane(place < max_classes ? args.match : args.mismatch);
        second_scores = V::load_table(scores);
        store_row_words<V>(args, work, both);
    }
    EXALN_INLINE void enter(int64_t column) {
        const typename V::Table first = V::load_table(first_words), second = V::load_table(second_words);
        const uint8_t* tile = letters + column * V::lanes;
        EXALN_UNROLL
        for (int i = 0; i < n_words; ++i, tile += 2 * V::lanes)
            words[i] = V::add(V::lookup(first, V::load_letters(tile)),
                              V::lookup(second, V::load_letters(tile + V::lanes)));
    }
    EXALN_INLINE void enter_row(int64_t row) { row_words = V::load(rows + row * V::lanes); }
    EXALN_INLINE void cell_done(int) {}
    EXALN_INLINE Reg at(int c) const {
        return V::lookup(c % 2 ? second_scores : first_scores, V::exclusive_or(row_words, words[c / 2]));
    }
};

// Transposes squares of scores within blocks of 16 bytes, which all instruction sets can zip: registers of
// columns with adjacent lanes become registers of lanes with adjacent columns, or back. A transposition
// rotates the bits of an element's index; each zip of the first half of the registers with the second rotates
// them by one.
template <class V>
EXALN_INLINE void transpose_square(typename V::Reg (&square)[BlocksOfLanes<V>::size]) {
    constexpr int n = BlocksOfLanes<V>::size;
    EXALN_UNROLL
    for (int times = n; times > 1; times /= 2) {
        typename V::Reg zipped[n];
        EXALN_UNROLL_LANES
        for (int i = 0; i < n / 2; ++i) {
            zipped[2 * i] = V::zip_low(square[i], square[i + n / 2]);
            zipped[2 * i + 1] = V::zip_high(square[i], square[i + n / 2]);
        }
        EXALN_UNROLL_LANES
        for (int i = 0; i < n; ++i) square[i] = zipped[i];
    }
}

// Scores of any matrix: a profile [query letter] of squares, transposed so that the columns of a lane are
// adjacent. For each row the pieces of the lanes' letters are gathered and transposed back. A piece has 16
// bytes, which may cover the columns of several tiles; the scores of later tiles are stored until those tiles
// are computed.
template <class V>
struct MatrixScores {
    using Lane = typename V::Lane;
    using Reg = typename V::Reg;
    using Blocks = BlocksOfLanes<V>;
    using Work = PairWorkspace<V>;
    static constexpr bool is_pipelined = has_many_registers<V>;
    const typename V::ScoreRow* rows;
    const uint8_t *query, *letters;
    Lane *profile, *near, *far;  // near: [near_rows][columns][lanes], far: [n_rows][other columns][lanes]
    int64_t n_rows, n_columns;
    uint32_t letters_present;
    int64_t near_begin = 0, near_end = 0;  // rows whose scores are prepared
    int64_t part = 0;                      // which of the tiles that were prepared together
    const Lane* scores = nullptr;

    MatrixScores(const exaln::PairArgs& args, const Work& work)
        : rows(static_cast<const typename V::ScoreRow*>(args.score_rows)),
          query(args.query + args.first_row * V::lanes),
          letters(args.letters),
          profile(work.tiles.profile),
          near(work.scores),
          far(work.far_scores),
          n_rows(args.n_rows),
          n_columns(args.n_columns),
          letters_present(args.query_letters) {}

    void enter(int64_t column) {
        near_begin = near_end = 0;
        part = column % Blocks::columns / V::columns;
        if (part > 0) return;
        for (int first = 0; first < Blocks::columns; first += Blocks::size) fill_profile(column, first);
    }

    void fill_profile(int64_t column, int first) {
        typename V::Letters columns[Blocks::size];
        EXALN_UNROLL_LANES
        for (int c = 0; c < Blocks::size; ++c) {
            const int64_t index = column + first + c, last = n_columns - 1;
            columns[c] = V::load_letters(letters + (index < last ? index : last) * V::lanes);
        }
        for (uint32_t rest = letters_present; rest != 0; rest &= rest - 1) {
            const int letter = __builtin_ctz(rest);
            const typename V::Table table = V::load_table(rows[letter]);
            Reg square[Blocks::size];
            EXALN_UNROLL_LANES
            for (int c = 0; c < Blocks::size; ++c) square[c] = V::lookup(table, columns[c]);
            transpose_square<V>(square);
            Lane* out = profile + (size_t(letter) * Blocks::columns + size_t(first)) * V::lanes;
            EXALN_UNROLL_LANES
            for (int i = 0; i < Blocks::size; ++i) V::store(out + i * V::lanes, square[i]);
        }
    }

    EXALN_INLINE void enter_row(int64_t row) {
        if (part > 0) {
            scores = far + (row * Blocks::other_columns + (part - 1) * V::columns) * V::lanes;
            return;
        }
        if (row >= near_end) prepare(row);
        scores = near + (row - near_begin) * V::columns * V::lanes;
    }

    __attribute__((noinline)) void prepare(int64_t first_row) {
        near_begin = first_row;
        near_end = first_row + Work::near_rows < n_rows ? first_row + Work::near_rows : n_rows;
        for (int64_t row = near_begin; row < near_end; ++row)
            for (int first = 0; first < Blocks::columns; first += Blocks::size) prepare_square(row, first);
    }

    EXALN_INLINE void prepare_square(int64_t row, int first) {
        const uint8_t* row_letters = query + row * V::lanes;
        const auto* squares = reinterpret_cast<const uint8_t*>(profile + size_t(first) * V::lanes);
        Reg square[Blocks::size];
        EXALN_UNROLL_LANES
        for (int i = 0; i < Blocks::size; ++i)
            square[i] = V::load_blocks([&](int block) {
                // As size_t, or the compiler sign-extends every product: a fifth of the time (measured).
                const auto letter = size_t(row_letters[block * Blocks::size + i]);
                return squares + letter * Blocks::letter_bytes + i * Blocks::register_bytes + block * 16;
            });
        transpose_square<V>(square);
        Lane* const near_row = near + (row - near_begin) * V::columns * V::lanes;
        Lane* const far_row = far + (row * Blocks::other_columns - V::columns) * V::lanes;
        EXALN_UNROLL_LANES
        for (int i = 0; i < Blocks::size; ++i)
            V::store((first + i < V::columns ? near_row : far_row) + (first + i) * V::lanes, square[i]);
    }

    EXALN_INLINE void cell_done(int) {}
    EXALN_INLINE Reg at(int c) const { return V::load(scores + c * V::lanes); }
};

}  // namespace
