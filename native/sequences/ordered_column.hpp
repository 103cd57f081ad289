// A column of variable-length rows that lie in several pieces, as if it were one column in another order.
#pragma once

#include <cstdint>
#include <vector>

#include "sequences/rows.hpp"

namespace exaln {

class OrderedColumn {
  public:
    // Row i of all pieces together becomes row ranks[i]. The pieces are referenced, not copied. Throws
    // std::out_of_range if a rank is not a row number, std::invalid_argument if there is not one per row.
    OrderedColumn(const std::vector<Rows>& pieces, const Column<int32_t>& ranks, int threads);

    // n + 1 offsets: row i is the bytes [offsets[i], offsets[i + 1]) of the column.
    const std::vector<int64_t>& offsets() const { return offsets_; }

    // Writes the bytes [begin, end) of the column. Throws std::out_of_range if they do not exist.
    void copy(int64_t begin, int64_t end, unsigned char* out, int threads) const;

  private:
    void add_piece(const Rows& piece, int64_t first_row, const Column<int32_t>& ranks);
    void copy_range(int64_t begin, int64_t end, unsigned char* out) const;

    std::vector<const unsigned char*> rows_;
    std::vector<int64_t> offsets_;
};

}  // namespace exaln
