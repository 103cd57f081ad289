// A region of one pair's table: all its cells on several threads, with some rows and columns kept.
#pragma once

#include <cstdint>
#include <vector>

#include "scan/scores.hpp"

namespace exaln {

// A row or a column that is kept, counted in letters of the region from 1: H, and F or E as the next one
// takes it.
struct KeptLine {
    int64_t place;
    ScoreArray H, gap;
};

// Letters of a region with what surrounds it: the row above it, the column left of it, the cell between them.
struct Region {
    const uint8_t *query, *target;  // codes of its rows and columns
    int64_t n_rows, n_columns;
    ScoreArray top_H, top_F, left_H, left_E;
    int64_t corner;
};

// Leave to skip cells that no alignment with a score of `best` or more has: see region.cpp. rows_left and
// columns_left: from the first ones of the region on, in which an alignment can gain.
struct Pruning {
    bool is_wanted;  // local only
    int64_t best, rows_left, columns_left;
};

struct RegionJob {
    const Isa& isa;
    Region region;
    const Costs& costs;
    bool is_local;
    std::vector<KeptLine> rows, columns;  // ascending
    bool wants_end;                       // local only
    Pruning pruning;
    int threads;
};

struct RegionResult {
    EndCell end;  // in letters of the region, if it is wanted: score 0 in row and column 0 where nothing is
                  // above 0
    int64_t pruned;  // cells
};

// Writes the kept lines. Borders of a local table may be those of pruned cells. Results are undefined once
// progress.cancelled is set. Throws std::bad_alloc.
RegionResult fill_region(const RegionJob& job, Progress& progress);

}  // namespace exaln
