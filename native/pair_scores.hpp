// What a group of pairs works in, and the three sources of the scores of its cells (Letters in kernels.hpp).
// A source is told of each tile and of each row of it, and then gives the scores of the row, one register per
// column.
#pragma once

#include "group_kernel.hpp"

namespace {

template <class V>
struct PairWorkspace {
    using Lane = typename V::Lane;
    GroupWorkspace<V> tiles;  // state of n_rows instead of STRIP_ROWS, profile; no border
    Lane* scores;             // [2][columns][lanes] of the row at hand and the next
    Lane* row_words;          // [n_rows][lanes], for FewClassScores
    // For the slow ways: H of a row, or V and U, [columns][lanes] each; the best H of the row, [lanes]
    Lane *cells, *column_cells, *row_best;
    uint8_t* ends_here;  // [n_rows]: whether the last row of a pair is this one

    static constexpr size_t tile_lanes = size_t(V::columns) * V::lanes;

    PairWorkspace(void* memory, int64_t n_rows) : tiles(memory) {
        tiles.profile = tiles.state + n_rows * 2 * V::lanes;
        tiles.border = nullptr;
        scores = tiles.profile + GroupWorkspace<V>::profile_lanes;
        row_words = scores + 2 * tile_lanes;
        cells = row_words + n_rows * V::lanes;
        column_cells = cells + tile_lanes;
        row_best = column_cells + tile_lanes;
        ends_here = reinterpret_cast<uint8_t*>(row_best + V::lanes);
    }

    static size_t bytes(int64_t n_rows) {
        const size_t rows = size_t(n_rows) * 3 * V::lanes, tiles = 4 * tile_lanes + V::lanes;
        return (rows + GroupWorkspace<V>::profile_lanes + tiles) * sizeof(Lane) + size_t(n_rows);
    }
};

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

// The same for few classes of letters, without a comparison: a shuffle is faster than a mask and a blend. A
// class is written into every byte of a lane; byte k of a row's has k * most_classes added, so that the
// exclusive or of a row's and a column's is, byte by byte, a place in a table of 16 bytes: byte k of `match`
// if it is k * most_classes, otherwise of `mismatch`.
template <class V>
struct FewClassScores {
    using Lane = typename V::Lane;
    static constexpr int most_classes = 16 / int(sizeof(Lane));

    const uint8_t* letters;  // [columns][lanes] classes
    const Lane* rows;        // [n_rows][lanes], written here
    typename V::ScoreRow column_words;
    typename V::Reg table, row_words, words[V::columns];

    FewClassScores(const exaln::PairArgs& args, const PairWorkspace<V>& work)
        : letters(args.letters), rows(work.row_words) {
        int32_t of_rows[exaln::MAX_CODES] = {}, of_columns[exaln::MAX_CODES] = {};
        alignas(64) uint8_t bytes[V::lanes * sizeof(Lane)];
        for (int letter = 0; letter < most_classes; ++letter)
            for (int k = 0; k < int(sizeof(Lane)); ++k) {
                of_columns[letter] |= letter << 8 * k;
                of_rows[letter] |= (letter + k * most_classes) << 8 * k;
                const int32_t score = letter == 0 ? args.match : args.mismatch;
                for (int block = 0; block < int(sizeof bytes); block += 16)
                    bytes[block + k * most_classes + letter] = uint8_t(score >> 8 * k);
            }
        memcpy(&table, bytes, sizeof table);
        V::make_score_row(of_columns, column_words);
        typename V::ScoreRow row_table;
        V::make_score_row(of_rows, row_table);
        const uint8_t* query = args.query + args.first_row * V::lanes;
        for (int64_t row = 0; row < args.n_rows; ++row)
            V::store(work.row_words + row * V::lanes,
                     V::lookup(V::load_table(row_table), V::load_letters(query + row * V::lanes)));
    }
    EXALN_INLINE void enter(int64_t column) {
        const typename V::Table words_of = V::load_table(column_words);
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c)
            words[c] = V::lookup(words_of, V::load_letters(letters + (column + c) * V::lanes));
    }
    EXALN_INLINE void enter_row(int64_t row) { row_words = V::load(rows + row * V::lanes); }
    EXALN_INLINE typename V::Reg at(int c) const { return V::pick_bytes(table, row_words, words[c]); }
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
            // In size_t, or the compiler extends the sign of every product: a fifth of the time, measured.
            const uint8_t* tile = profile + size_t(row_letters[lane]) * size_t(Lanes::bytes);
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

}  // namespace
