// Scores of any matrix where bytes can be looked up in tables of 128 (V::has_byte_tables). A few such tables
// hold the matrix of the letters that occur, as many query letters in each as fit.
//
//   index of a cell in its table = offset of the query letter + index of the target letter, one addition
//
// Each table is looked up only for the lanes whose query letter it holds and leaves the other lanes
// unchanged, so indices become scores table by table, without a blend. Unlike MatrixScores, nothing is
// gathered in memory. One addition and four lookups per cell, beside nine or ten operations of the update:
// about 60 % of the speed with a profile in memory. Eight columns at a time hide the latency of a lookup, and
// scores are computed one row ahead so that no cell waits.
#pragma once

#include "pairs/cell_scores.hpp"

namespace {

template <class V>
struct TableScores {
    using Lane = typename V::Lane;
    using Reg = typename V::Reg;
    using Mask = typename V::Mask;
    static constexpr int n_tables = 4, table_bytes = 128;
    static constexpr bool is_pipelined = false;  // it computes a row ahead itself

    const uint8_t* letters;  // [columns][lanes]
    const Lane* offsets;     // [n_rows][lanes], written here
    const Mask* masks;       // [n_rows][n_tables], written here
    int64_t n_rows;
    typename V::ScoreRow places;
    // In memory, because the cells need the registers: [n_tables][table_bytes]; [columns][lanes] indices of
    // the tile; [2][columns][lanes] scores of this row and the next
    const Lane* tables;
    Lane *columns, *row_scores, *next_scores = nullptr;
    const Lane* scores = nullptr;
    int64_t next_row = 0;

    static bool fits(const exaln::PairArgs& args) {
        const int per_table = table_bytes / __builtin_popcount(args.target_letters);
        return __builtin_popcount(args.query_letters) <= n_tables * per_table;
    }

    EXALN_INLINE TableScores(const exaln::PairArgs& args, const PairWorkspace<V>& work)
        : letters(args.letters),
          offsets(work.row_words),
          masks(reinterpret_cast<Mask*>(work.far_scores)),
          n_rows(args.n_rows),
          tables(work.scores),
          columns(work.scores + n_tables * table_bytes),
          row_scores(columns + V::columns * V::lanes) {
        int32_t place_of[exaln::MAX_CODES] = {};
        prepare(args, work, place_of);
        V::make_score_row(place_of, places);
    }

    static __attribute__((noinline)) void prepare(const exaln::PairArgs& args, const PairWorkspace<V>& work,
                                                  int32_t* place_of) {
        const auto* rows = static_cast<const typename V::ScoreRow*>(args.score_rows);
        const int n_targets = __builtin_popcount(args.target_letters), per_table = table_bytes / n_targets;
        int32_t offset_of[exaln::MAX_CODES] = {}, table_of[exaln::MAX_CODES] = {};
        const auto rank = [](uint32_t set, int letter) {
            return __builtin_popcount(set & ((uint32_t(1) << letter) - 1));
        };
        for (uint32_t rest = args.target_letters; rest != 0; rest &= rest - 1)
            place_of[__builtin_ctz(rest)] = rank(args.target_letters, __builtin_ctz(rest));
        for (uint32_t rest = args.query_letters; rest != 0; rest &= rest - 1) {
            const int letter = __builtin_ctz(rest), number = rank(args.query_letters, letter);
            table_of[letter] = number / per_table, offset_of[letter] = number % per_table * n_targets;
            for (uint32_t others = args.target_letters; others != 0; others &= others - 1) {
                const int other = __builtin_ctz(others);
                work.scores[table_of[letter] * table_bytes + offset_of[letter] + place_of[other]] =
                    rows[letter].scores[other];
            }
        }
        prepare_rows(args, work, offset_of, table_of);
    }

    static void prepare_rows(const exaln::PairArgs& args, const PairWorkspace<V>& work,
                             const int32_t* offset_of, const int32_t* table_of) {
        typename V::ScoreRow offset_row, table_row;
        V::make_score_row(offset_of, offset_row), V::make_score_row(table_of, table_row);
        const uint8_t* query = args.query + args.first_row * V::lanes;
        auto* row_masks_out = reinterpret_cast<Mask*>(work.far_scores);
        for (int64_t row = 0; row < args.n_rows; ++row) {
            const typename V::Letters codes = V::load_letters(query + row * V::lanes);
            V::store(work.row_words + row * V::lanes, V::lookup(V::load_table(offset_row), codes));
            const Reg numbers = V::lookup(V::load_table(table_row), codes);
            for (int table = 0; table < n_tables; ++table)
                row_masks_out[row * n_tables + table] = V::equal(numbers, V::fill(Lane(table)));
        }
    }

    EXALN_INLINE void enter(int64_t column) {
        const typename V::Table places_of = V::load_table(places);
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c)
            V::store(columns + c * V::lanes,
                     V::lookup(places_of, V::load_letters(letters + (column + c) * V::lanes)));
        next_scores = row_scores;
        prepare_row(0);
    }

    EXALN_INLINE void enter_row(int64_t row) {
        scores = next_scores;
        next_scores = row_scores + ((row + 1) & 1) * V::columns * V::lanes;
        next_row = row + 1 < n_rows ? row + 1 : 0;
    }

    EXALN_INLINE void prepare_row(int64_t row) {
        const Reg next_offsets = V::load(offsets + row * V::lanes);
        Reg cells[V::columns];
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) cells[c] = V::add(next_offsets, V::load(columns + c * V::lanes));
        EXALN_UNROLL
        for (int table = 0; table < n_tables; ++table) {
            const Mask mask = masks[row * n_tables + table];
            const Reg lower = V::load(tables + table * table_bytes),
                      upper = V::load(tables + table * table_bytes + table_bytes / 2);
            EXALN_UNROLL
            for (int c = 0; c < V::columns; ++c) cells[c] = V::lookup_bytes(lower, upper, cells[c], mask);
        }
        EXALN_UNROLL
        for (int c = 0; c < V::columns; ++c) V::store(next_scores + c * V::lanes, cells[c]);
    }

    EXALN_INLINE void cell_done(int c) {
        if (c == 0) prepare_row(next_row);
    }
    EXALN_INLINE Reg at(int c) const { return V::load(scores + c * V::lanes); }
};

}  // namespace
