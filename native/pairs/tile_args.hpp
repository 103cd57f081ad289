// Arguments of the tile kernel (pairs/tile_kernel.hpp): a rectangle of one pair's table, in local mode.
#pragma once

#include <cstdint>

#include "recurrence/costs.hpp"

namespace exaln {

// Values are those of a width's lanes, unbiased. A column of rows is striped: [n_segments][lanes], row =
// lane * n_segments + segment; rows beyond the last have the letter Costs::pad.
struct TileArgs {
    const Costs* costs;
    int64_t n_segments, n_columns;
    // State before the first column: H of the column to its left, and E that enters it. The state after
    // column j is written `stride` values after the one before it; 0 overwrites it.
    void *H, *E;
    int64_t stride;
    const void* const* scores;  // [n_columns] the striped scores of a column's letter; lowest where forbidden
    const void *top_H,
        *top_F;  // [n_columns] H above and to the left of each column, F that enters it; or null
    void *bottom_H, *bottom_F;  // [n_columns] H of the last lane's last row, F that leaves it; or null
};

}  // namespace exaln
