// Pieces of targets that are scored again in wider lanes, where the scores of some blocks of columns
// overflowed.
//
// An alignment with a score spans a bounded number of columns. So the best score of a block depends on the
// columns of the block and on `span` columns before it, and a table that begins there has the same scores in
// the block.
//
// Which blocks are wrong? Lanes wrap, but no H is below the floor, and a value that has wrapped is below the
// true one. So no H is above the true one, anywhere. It is below only if the alignment that it belongs to has
// a cell beside an overflowed one, at most `span` columns earlier.
//
// clang-format off
//    block   |      |      | over |      |      |      |      |
//    wrong                 [------ span + 1 ]                     the block, and all within span + 1 columns
//    piece      [-- span --|------------------------]             what is scored again
// clang-format on
#pragma once

#include <cstdint>
#include <vector>

#include "recurrence/costs.hpp"
#include "sequences/codes.hpp"

namespace exaln {

constexpr int64_t UNBOUNDED = -1;

// The most columns of a target that a local alignment with a score of 1 or more spans; UNBOUNDED if gaps are
// extended for free. Aligned letters score no more than the best score of each letter of the query, gaps in
// the query of k letters in all cost at least a gap of k letters, and the other columns are letters of the
// query.
int64_t alignment_span(const uint8_t* query, int64_t n_rows, const Costs& costs);

// Columns of a target to be scored with a query: `n_columns` from `first_column` on, a multiple of the
// columns of a block. Scores are those of the blocks [first_block, end_block) of the target.
struct Piece {
    int64_t query, target, first_column, n_columns, first_block, end_block;
};

// Adds the pieces of a whole target that have to be scored again, one to each run of wrong blocks.
// block_scores[i * stride]: the score of block i, OVERFLOWED if it is not exact. columns: of a block. span:
// of the query.
void add_wrong_pieces(const Piece& whole, const int32_t* block_scores, int64_t stride, int64_t columns,
                      int64_t span, std::vector<Piece>& pieces);

// Pieces in ascending order of length.
struct Pieces {
    std::vector<Piece> sorted;
    std::vector<int64_t> offsets, order;  // of sequences as long as the pieces; 0, 1, 2...

    Pieces() : Pieces(std::vector<Piece>()) {}
    explicit Pieces(std::vector<Piece> pieces);
    Sequences lengths() const { return {nullptr, offsets.data(), int64_t(sorted.size())}; }
};

}  // namespace exaln
