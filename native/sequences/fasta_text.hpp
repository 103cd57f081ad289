// FASTA text of sequences that are stored as columns.
#pragma once

#include <cstdint>
#include <vector>

#include "sequences/rows.hpp"

namespace exaln {

struct FastaColumns {
    Rows ids, descriptions, codes;
    Column<int64_t> mask_starts, mask_ends, mask_offsets;  // soft-masked intervals
    Column<uint8_t> upper, lower;                          // the letter of each code
    int64_t width;                                         // letters per line; 0: all on one line
};

// The text of some rows, soft-masked letters in lower case. Throws std::invalid_argument if columns differ in
// length, std::out_of_range if a row, a code or a masked interval does not exist.
std::vector<uint8_t> fasta_text(const FastaColumns& columns, const Column<int32_t>& rows);

}  // namespace exaln
