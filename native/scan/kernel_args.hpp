// Arguments of the kernels that score one query against many targets (group) or one (striped).
//
// Both families run at 8, 16 and 32 bits. A score that may not be exact at a width is returned as OVERFLOWED
// and must be computed again one width up.
#pragma once

#include <atomic>
#include <cstdint>

#include "recurrence/ranges.hpp"

namespace exaln {

constexpr int STRIP_ROWS = 512;    // query rows per strip: its state stays in the second-level cache
constexpr int64_t CANCELLED = -2;  // returned instead of a score after a request to stop

// One query against `lanes` targets.
struct GroupArgs {
    const uint8_t* query;  // [n_rows] codes
    int64_t n_rows;
    const uint8_t* letters;  // [n_columns][lanes] codes of the targets, padded with Costs::pad
    int64_t n_columns;       // a multiple of WidthKernels::columns
    const void* score_rows;  // [MAX_CODES] of the kernel's ScoreRow
    const Costs* costs;
    void* workspace;  // group_workspace(n_columns) bytes, 64-byte aligned
    const std::atomic<bool>* cancelled;
    std::atomic<int64_t>* cells;  // cells done are added strip by strip; null if they do not count
    int64_t n_residues;           // of all targets
    int32_t* scores;              // [lanes], out
    // Also the best score in each block of columns, unless block_columns is 0; for lanes that do not
    // overflow.
    int64_t block_columns;  // a multiple of WidthKernels::columns
    void* block_best;       // [n_blocks][lanes] of the kernel's lanes, 64-byte aligned
    int32_t* block_scores;  // [n_blocks][lanes], out
};

// One query against one target.
struct StripedArgs {
    const uint8_t* query;
    int64_t n_rows;
    const uint8_t* target;
    int64_t n_columns;
    const Costs* costs;
    void* workspace;  // striped_workspace(n_rows) bytes, 64-byte aligned; holds the profile of the query
    uint32_t*
        built;  // bit a: the workspace has the profile of letter a. Keep both for the query's next target
    const std::atomic<bool>* cancelled;
    std::atomic<int64_t>* cells;  // cells done are added now and then; null if they do not count
    int64_t block_columns;        // as in GroupArgs
    int32_t* block_scores;        // [n_blocks], out
};

}  // namespace exaln
