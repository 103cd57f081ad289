// Arguments of the kernel that computes one pair column by column (pairs/column_kernel.hpp).
#pragma once

#include <cstdint>

#include "recurrence/modes.hpp"
#include "recurrence/ranges.hpp"

namespace exaln {

// One query against one target; neither is empty.
struct ColumnArgs {
    const uint8_t* query;  // [n_rows] codes
    int64_t n_rows;
    const uint8_t* target;  // [n_columns] codes
    int64_t n_columns;
    const void*
        score_rows;  // [MAX_CODES] of the kernel's ScoreRow: each target letter against the query letters
    const Costs* costs;
    Mode mode;
    Range range;          // Range::of_columns with the rows of column_rows(n_rows)
    void* workspace;      // column_workspace(n_rows, n_columns) bytes, 64-byte aligned
    uint8_t* directions;  // column_directions(n_rows, n_columns) bytes, out; null for the score alone
};

}  // namespace exaln
