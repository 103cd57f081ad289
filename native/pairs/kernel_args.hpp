// Arguments of the kernel that computes a group of pairs, one pair per lane (pairs/kernel.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "recurrence/modes.hpp"
#include "recurrence/ranges.hpp"

namespace exaln {

// Where the substitution scores of a group come from.
enum class ScoreSource {
    SHARED,  // a profile of one query, or of a few, that all pairs of the group share
    EQUAL,   // two scores, match and mismatch, for letters in a few classes
    ANY      // any matrix
};

constexpr int MAX_SHARED_QUERIES = 4;  // more than one only for scores without paths in 8-bit lanes

// The cells of a lane's last row or column so far: H of the last one, and the best, the first among equals.
// Position 0 is the border.
struct LastCell {
    int64_t sum, score, position;
};

// A strip of rows of `lanes` pairs side by side. A call computes some columns of it; where a pair goes on
// from an earlier call, the workspace, `best` and `in_row` have what it needs.
struct PairArgs {
    ScoreSource source;
    const uint8_t* query;                 // SHARED: [n_queries][all_rows] codes; otherwise [all_rows][lanes]
    int n_queries;                        // SHARED
    int first_lanes[MAX_SHARED_QUERIES];  // first lane of each query, whose lanes extend to the next one
    int64_t all_rows;                     // rows of all strips
    int64_t first_row;                    // first row of this strip
    int64_t n_rows;                       // rows of this strip
    const uint8_t* letters;               // [n_columns][lanes] of the targets, as in GroupArgs
    int64_t n_columns;                    // of this call, a multiple of WidthKernels::columns
    const int64_t* columns_before;        // [lanes] columns of the lane's pair before this call; 0: it begins
    const void* score_rows;               // SHARED, ANY
    uint32_t query_letters, target_letters;  // ANY: bit a for each letter a that occurs, padding included
    int32_t match, mismatch;                 // EQUAL; query and letters then hold classes (LetterClasses)
    const Costs* costs;
    Mode mode;
    Range range;      // Range::of(costs, bits) if local, otherwise that of the mode and the group's size
    void* workspace;  // pair_workspace(workspace_rows) bytes, 64-byte aligned
    int64_t workspace_rows;    // at least n_rows, the same for all calls of a strip
    const void* border_above;  // pair_border(n_columns) bytes: H and F above the strip; null for the first
    void* border_below;        // H and F below the strip, out; null if not needed; may equal border_above
    // [direction_tiles][direction_rows] of a ring, pair_directions bytes, out; null if not needed.
    // first_tile: the place of the call's first tile. No call goes past the end of the ring.
    uint8_t* directions;
    int64_t direction_rows, direction_tiles, first_tile;

    // Local mode, [lanes] each. best: the best score so far as stored, in and out; null in the second pass.
    // end_rows, end_columns: the end of the best path in letters, out, the smallest column first, then the
    // smallest row; 0 if no cell is better than `best` on entry; null for scores alone.
    void* best;
    int64_t *end_rows, *end_columns;
    bool stops_at_ends;  // `best` on entry is the known score minus 1: the first end found is the end

    // Other modes: lengths of each lane's pair, 0 for unused lanes; if the target's end is free, H of its
    // last row, [n_columns][lanes], and the best of it; unless only that is free, H of its last column,
    // [all_rows][lanes].
    const int64_t *query_lengths, *target_lengths;
    const uint8_t *const *queries, *const *targets;  // [lanes] codes of each lane's pair, for the traceback
    void *last_row, *last_column;                    // null if not needed
    LastCell* in_row;                                // [lanes]

    // Other modes: lanes hold differences instead of H. score_rows, match and mismatch then include
    // 2 * gap_extend, borders hold V and B, last_row holds V, last_column U.
    bool are_differences;
    // Local mode: lanes are relative to bases and `best` has 16-bit lanes (pairs/bases.hpp). One strip only.
    bool have_bases;
    const std::atomic<bool>* cancelled;
};

}  // namespace exaln
