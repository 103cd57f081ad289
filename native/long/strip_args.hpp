// Arguments of the kernel that computes a strip of one pair's table (long/strip_kernel.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "recurrence/modes.hpp"
#include "recurrence/ranges.hpp"
#include "recurrence/score_array.hpp"

namespace exaln {

// A run of rows of each lane, from the end of the previous run up to `end`.
struct RowRun {
    int64_t end;
    bool are_plain;  // in all lanes the letters are plain (StripArgs)
    int32_t stop;    // H and F of the last row are stored under this number; -1: not stored
};

// A row of a strip whose H and F are kept for the traceback: the row that `lane` has reached at `stop`.
struct CheckpointRow {
    int32_t stop, lane;
    ScoreArray H, F;  // [n_columns]
};

// A column of a strip whose H and E are kept for the traceback.
struct CheckpointColumn {
    int64_t column;   // counted from 1
    ScoreArray H, E;  // [n_rows] of the strip
};

// Progress flag of a strip: the number of columns that are done. The strip below waits for it.
struct StripProgress {
    alignas(64) std::atomic<int64_t> columns{0};
};

// A strip of rows of one pair's table, divided among the lanes. Letters are given as codes and, for plain
// letters, also as classes below 16 / (bytes of a lane): equal classes score `match`, others `mismatch`.
struct StripArgs {
    const uint8_t *query_codes, *query_classes;  // [lane_rows][lanes]; arbitrary beyond the strip's rows
    int64_t n_rows, lane_rows;                   // n_rows < lanes * lane_rows only in the lowest strip
    const uint8_t *target_codes,
        *target_classes;  // [columns][plane_bytes], see TargetPlanes in long/letters.hpp
    const uint8_t*
        mixed_tiles;  // [plane_bytes], laid out like a plane: the tile has letters that are not plain
    int64_t plane_bytes, n_columns;
    const void* score_rows;
    int32_t match, mismatch;
    const Costs* costs;
    bool is_local;
    ScoreArray left_H, left_E;      // [n_rows] of the column to the left of the strip
    int64_t corner;                 // H above and to the left of the strip
    ScoreArray border_H, border_F;  // [n_columns, padded]: the row above, in; the row below, out
    int64_t* above_last;            // H above the last column, out; null if not needed
    const RowRun* runs;             // [n_runs]; the last run ends at lane_rows, and at the last stop
    int64_t n_runs, n_stops;
    const CheckpointRow* checkpoint_rows;
    int64_t n_checkpoint_rows;
    const CheckpointColumn* checkpoint_columns;  // ascending
    int64_t n_checkpoint_columns;
    void* workspace;      // strip_workspace(lane_rows, n_stops) bytes, 64-byte aligned
    uint8_t* directions;  // strip_directions(lane_rows, n_columns) bytes, out; null if not needed
    EndCell* end;         // local: the best cell so far, in and out, in rows and columns of the
                          // strip; null if not needed
    std::atomic<int64_t>* best_score;  // of all strips, used with `end`
    std::atomic<int64_t>* cells;       // incremented by the number of cells done
    const StripProgress* above;        // progress of the strip above; null if the row above is complete
    StripProgress* done;               // progress of this strip
    bool (*wait)(const StripArgs&, int64_t n_columns);  // until that many columns are done above; false: stop
    const std::atomic<bool>* cancelled;
};

}  // namespace exaln
