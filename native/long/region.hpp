// Computes a region of one pair's table on several threads, and stores some rows and columns as checkpoints.
#pragma once

#include <cstdint>
#include <vector>

#include "recurrence/costs.hpp"
#include "recurrence/modes.hpp"
#include "recurrence/score_array.hpp"
#include "simd/kernels.hpp"
#include "threads/progress.hpp"

namespace exaln {

// A checkpoint row or column: its position in letters of the region, counted from 1; H; and F (of a row) or E
// (of a column) as the next row or column takes it.
struct CheckpointLine {
    int64_t position;
    ScoreArray H, gap;
};

// The letters of a region and its boundary: the row above, the column to the left, and the corner between.
struct Region {
    const uint8_t *query, *target;  // codes of its rows and columns
    int64_t n_rows, n_columns;
    ScoreArray top_H, top_F, left_H, left_E;
    int64_t corner;
};

// Permits skipping cells that no alignment with a score of at least `best` uses (see region.cpp). rows_left
// and columns_left count from the region's first row and column to the end of the table.
struct Pruning {
    bool is_enabled;  // local only
    int64_t best, rows_left, columns_left;
};

struct RegionJob {
    const Isa& isa;
    Region region;
    const Costs& costs;
    bool is_local;
    std::vector<CheckpointLine> rows, columns;  // ascending
    bool finds_end;                             // local only
    Pruning pruning;
    int threads;
};

struct RegionResult {
    EndCell end;     // in letters of the region, with RegionJob::finds_end; all 0 if no score is above 0
    int64_t pruned;  // cells that were skipped
};

// Computes the region and writes its checkpoints. The boundary of a local region may border on pruned cells.
// Results are undefined once progress.cancelled is set. Throws std::invalid_argument if scores are too large,
// std::bad_alloc.
RegionResult fill_region(const RegionJob& job, Progress& progress);

}  // namespace exaln
