// What a kernel needs and gives, shared by every instruction set: plain data and function pointers, no
// policy.
//
// A family is how the work is split, a width is how many bits a score has inside the kernel:
//   group    one target per lane, many targets at once (inter-sequence)
//   striped  one target, its query spread over the lanes (intra-sequence)
// Both run at 8, 16 and 32 bits. A score that may not be exact at a width is returned as OVERFLOWED and must
// be computed again one width up.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recurrence/modes.hpp"
#include "recurrence/score_array.hpp"

namespace exaln {

constexpr int MAX_CODES = 32;       // letters plus the padding code fit one in-register table
constexpr int STRIP_ROWS = 512;     // query rows per strip: its state stays in the second-level cache
constexpr int32_t OVERFLOWED = -1;  // instead of a score
constexpr int64_t CANCELLED = -2;   // instead of a score: the caller asked to stop

// Substitution scores and gap costs. A gap of length k costs gap_first + (k - 1) * gap_extend.
// scores[q][t] for query letter q, target letter t; column `pad` is a letter that never raises a score.
struct Costs {
    int32_t scores[MAX_CODES][MAX_CODES];
    int32_t n_codes;  // letters, without the padding code
    int32_t pad;      // == n_codes
    int32_t gap_first;
    int32_t gap_extend;
    int32_t max_score;
    int32_t min_score;  // at most 0
};

// How scores are stored in a signed lane: stored = score + floor, exact while stored <= limit.
//
// Additions wrap, so no intermediate value may leave the lane. With lo and hi the lane's ends:
//   the smallest value ever formed is  floor - gap_first - gap_extend  (E or F, once extended)  or  floor +
//   min_score, so floor = lo + max(gap_first + gap_extend, -min_score) keeps everything >= lo. The largest is
//   H + max_score. As long as every H so far was <= limit = hi - max_score, it is <= hi: exact. The first H
//   above limit is itself exact and raises the running maximum above limit, where it stays whatever wraps
//   afterwards.
// So "maximum <= limit" proves every value, and "maximum > limit" is never missed.
// At 32 bits floor is 0, so that every exact score is an int32.
struct Range {
    int64_t floor;
    int64_t limit;
    bool usable;  // whether the width leaves room for any score worth trying

    static Range of(const Costs& costs, int bits) {
        const int64_t lo = -(int64_t(1) << (bits - 1)), hi = -lo - 1;
        const int64_t gap = int64_t(costs.gap_first) + costs.gap_extend;
        const int64_t depth = gap > -int64_t(costs.min_score) ? gap : -int64_t(costs.min_score);
        const int64_t floor = bits == 32 ? 0 : lo + depth;
        const int64_t limit = hi - costs.max_score;
        return {floor, limit, floor + 2 * int64_t(costs.max_score) <= limit && lo + depth <= 0};
    }

    // The same for all values of a table of so many rows and columns in a mode without a floor. Two gaps
    // reach every cell, so no H is below -(2 * gap_first + (rows + columns) * gap_extend), and what is formed
    // from it is less by at most `depth`, as above; no cell is above min(rows, columns) * max_score. If both
    // fit the lane nothing can overflow: the limit is never passed.
    static Range of(const Costs& costs, int bits, int64_t rows, int64_t columns) {
        const int64_t lo = -(int64_t(1) << (bits - 1)), hi = -lo - 1;
        const int64_t gap = int64_t(costs.gap_first) + costs.gap_extend;
        const int64_t depth = gap > -int64_t(costs.min_score) ? gap : -int64_t(costs.min_score);
        const int64_t lowest = 2 * int64_t(costs.gap_first) + (rows + columns) * costs.gap_extend + depth;
        const int64_t highest = (rows < columns ? rows : columns) * costs.max_score;
        return {lo + lowest, hi, lowest + highest <= hi - lo && lowest <= hi};
    }

    // The same for the differences of recurrence.hpp. To take a letter away, or to add one, changes a score
    // by at most max_score + gap_first and no less than -gap_first: so u and v lie within [gap_extend -
    // gap_first, max_score + gap_first + gap_extend]. z is at least 2 (gap_extend - gap_first), w less than
    // it by gap_first - gap_extend, and max(a, w), max(b, w), a and b lie between w and z; z is at most
    // max_score + gap_first + 2 gap_extend. This holds for any letters, so for what lanes compute beyond
    // their pair, too.
    static Range of_differences(const Costs& costs, int bits) {
        const int64_t lo = -(int64_t(1) << (bits - 1)), hi = -lo - 1;
        const int64_t twice = 2 * (int64_t(costs.gap_first) + costs.gap_extend);
        const int64_t lowest = 3 * (int64_t(costs.gap_extend) - costs.gap_first);
        return {0, hi, costs.max_score + twice <= hi && costs.min_score >= lo && lowest >= lo};
    }
};

// Local scores relative to a base per lane, for a block of some rows and columns of a table: how many rows,
// and as what H of its corner, above and left of it, is stored.
//
// To go k letters on in one sequence takes at most fall(k) = gap_first + (k - 1) gap_extend from H, as a gap
// of that length is one way, and adds at most rise(k) = k max_score + fall(k): of the alignment that ends
// there, cut off what lies beyond the k letters, at most k pairs, and put a gap where the other sequence had
// letters in it. An alignment that ends in the block enters it from the row above or the column left of it, k
// letters from the corner, with at most rise(k) more than the corner has, and gains max_score for each letter
// that is left on that side: no H is above the corner by more than rise(rows) and rise(columns), whichever is
// more. None is below it by more than fall(rows) + fall(columns). What is formed from H is more by at most
// max_score, and less by `depth`, as in Range. If both ends fit the lane nothing overflows.
struct BlockRange {
    int64_t rows, corner;
    bool usable;

    static constexpr int64_t MOST_ROWS = 32, LEAST_ROWS = 4;

    static BlockRange of(const Costs& costs, int bits, int64_t columns) {
        const int64_t lo = -(int64_t(1) << (bits - 1)), hi = -lo - 1;
        const auto fall = [&](int64_t k) { return costs.gap_first + (k - 1) * int64_t(costs.gap_extend); };
        const auto rise = [&](int64_t k) { return k * costs.max_score + fall(k); };
        const int64_t gap = int64_t(costs.gap_first) + costs.gap_extend;
        const int64_t depth = gap > -int64_t(costs.min_score) ? gap : -int64_t(costs.min_score);
        for (int64_t rows = MOST_ROWS; rows >= LEAST_ROWS; --rows) {
            const int64_t above = rise(rows > columns ? rows : columns) + costs.max_score;
            const int64_t below =
                fall(rows) + fall(columns) + depth + 1;  // so that none is the lowest number
            if (above + below <= hi - lo) return {rows, lo + below, true};
        }
        return {0, 0, false};
    }
};

// One query against `lanes` targets.
struct GroupArgs {
    const uint8_t* query;  // [n_rows] codes
    int64_t n_rows;
    const uint8_t* letters;  // [n_columns][lanes] codes, padded with Costs::pad
    int64_t n_columns;       // a multiple of WidthKernels::columns
    const void* score_rows;  // [MAX_CODES] of the kernel's ScoreRow
    const Costs* costs;
    void* workspace;  // group_workspace(n_columns) bytes, 64-byte aligned
    const std::atomic<bool>* cancelled;
    int32_t* scores;  // [lanes], OVERFLOWED where the width was too small
};

// One query against one target.
struct StripedArgs {
    const uint8_t* query;
    int64_t n_rows;
    const uint8_t* target;
    int64_t n_columns;
    const Costs* costs;
    void* workspace;  // striped_workspace(n_rows) bytes, 64-byte aligned; keep it, and `built`, for the next
                      // target of this query
    uint32_t* built;  // bit a: the profile of letter a is in the workspace
    const std::atomic<bool>* cancelled;
};

// Where the scores of a cell of a group of pairs come from.
enum class Letters {
    SHARED,  // all pairs have the same query, or a few in all: a small profile, as in the group kernel
    EQUAL,   // two scores, for letters of few classes: those of the same and those of different ones
    ANY      // any matrix
};

constexpr int MOST_SHARED = 4;  // queries of a group; more than one only for scores alone in lanes of 8 bits

// Some rows, a strip, of `lanes` pairs side by side.
struct PairArgs {
    Letters kind;
    const uint8_t* query;          // SHARED: [n_queries][all_rows] codes; otherwise [all_rows][lanes]
    int n_queries;                 // SHARED
    int first_lanes[MOST_SHARED];  // of each query; those up to the next one's have it, too
    int64_t all_rows;              // of all strips
    int64_t first_row;             // of the strip
    int64_t n_rows;                // in the strip
    const uint8_t* letters;        // [n_columns][lanes], as in GroupArgs
    int64_t n_columns;             // a multiple of WidthKernels::columns
    const void* score_rows;        // SHARED, ANY
    uint32_t query_letters, target_letters;  // ANY: bit a for each letter a that occurs, padding as well
    int32_t match, mismatch;                 // EQUAL; codes are classes then: LetterClasses
    const Costs* costs;
    Mode mode;
    Range range;               // of(costs, bits) if local, otherwise of the mode and the size of the group
    void* workspace;           // pair_workspace(n_rows) bytes, 64-byte aligned
    const void* border_above;  // pair_border(n_columns) bytes: H and F above the strip; null for the first
    void* border_below;        // the same below it, out; null if not wanted; may be border_above itself
    uint8_t* directions;       // pair_directions(n_rows, n_columns) bytes, out; null if not wanted
    // Local: the best score so far as stored, [lanes] lanes, in and out; where the path ends, smallest column
    // first, then smallest row, counted in letters: [lanes], 0 where no cell was better than `best` on entry.
    // Null if not wanted: best in the second pass, ends for scores alone.
    void* best;
    int64_t *end_rows, *end_columns;
    bool stops_at_ends;  // `best` on entry is one less than the score: nothing better can come
    // Other modes: letters of each lane's pair, 0 for lanes that are not used; H of the last row of each
    // pair, [n_columns][lanes] lanes, and if the query's end is free of the last column, [rows of all
    // strips][lanes]
    const int64_t *query_lengths, *target_lengths;
    const uint8_t *const *queries, *const *targets;  // [lanes] codes of each lane's pair, for walking back
    void *last_row, *last_column;                    // null if not wanted
    // Other modes: lanes hold differences, not H: score_rows, match and mismatch have 2 gap_extend added,
    // borders are V and B, and what is kept of the last row and column is V and U.
    bool are_differences;
    // Local: lanes are relative to bases, `best` has lanes of 16 bits: see pair_bases.hpp. One strip only.
    bool have_bases;
    const std::atomic<bool>* cancelled;
};

// Steps of a path: both sequences go on, or only the query (F, CIGAR I), or only the target (E, CIGAR D).
enum Step : uint8_t { STEP_BOTH = 0, STEP_QUERY = 1, STEP_TARGET = 2 };

// A path that is walked back: the cell to be looked at next, the score of the part that ends there, the gap
// it is in.
struct PathState {
    enum Gap { NO_GAP, IN_E, IN_F };

    int64_t row, column;  // as index: -1 is the border
    int64_t left;         // local only
    Gap gap = NO_GAP;

    // A local path starts at the first zero, any other once it has reached a border.
    bool is_complete(bool is_local) const {
        return is_local ? gap == NO_GAP && left == 0 : row < 0 || column < 0;
    }
};

// Rows of each lane of a strip up to `end`. Plain: the letters of all lanes are, see StripArgs.
struct RowRun {
    int64_t end;
    bool are_plain;
    int32_t stop;  // H and F after the last of them are stored as the stop-th; -1: they are not
};

// A row of a strip whose H and F are kept: the one that a lane has done at a stop.
struct KeptRow {
    int32_t stop, lane;
    ScoreArray H, F;  // [n_columns]
};

// A column of a strip whose H and E are kept.
struct KeptColumn {
    int64_t column;   // counted from 1
    ScoreArray H, E;  // [n_rows] of the strip
};

// Columns that a strip has done, which the strip below it waits for.
struct StripDone {
    alignas(64) std::atomic<int64_t> columns{0};
};

// Some rows of one pair's table, a strip, spread over the lanes: see strip_kernel.hpp. Letters are given as
// codes, and, if they are plain, as classes below 16 / bytes of a lane, which score `match` if they are the
// same and `mismatch` if not.
struct StripArgs {
    const uint8_t *query_codes, *query_classes;    // [lane_rows][lanes]; any beyond the strip's rows
    int64_t n_rows, lane_rows;                     // fewer than lanes * lane_rows only in the lowest strip
    const uint8_t *target_codes, *target_classes;  // [columns][plane_bytes]: TargetPlanes in region.cpp
    const uint8_t* odd_tiles;  // [plane_bytes], like a plane: whether a tile has letters that are not plain
    int64_t plane_bytes, n_columns;
    const void* score_rows;
    int32_t match, mismatch;
    const Costs* costs;
    bool is_local;
    ScoreArray left_H, left_E;      // [n_rows] of the column left of the strip
    int64_t corner;                 // H above and left of it
    ScoreArray border_H, border_F;  // [n_columns, padded]: the row above, in; the row below, out
    int64_t* above_last;            // H above the last column, out; null if not wanted
    const RowRun* runs;             // [n_runs]; the last ends at lane_rows, and at the last stop
    int64_t n_runs, n_stops;
    const KeptRow* kept_rows;
    int64_t n_kept_rows;
    const KeptColumn* kept_columns;  // ascending
    int64_t n_kept_columns;
    void* workspace;      // strip_workspace(lane_rows, n_stops) bytes, 64-byte aligned
    uint8_t* directions;  // strip_directions(lane_rows, n_columns) bytes, out; null if not wanted
    EndCell*
        end;  // local: the best cell so far, in and out, rows and columns of the strip; null if not wanted
    std::atomic<int64_t>* best_score;  // of all strips, with `end`
    std::atomic<int64_t>* cells;       // done, counted on
    const StripDone* above;            // null if the row above is complete
    StripDone* done;
    bool (*wait)(const StripArgs&, int64_t n_columns);  // until so many columns are done above; false: stop
    const std::atomic<bool>* cancelled;
};

// Bounds of a strip whose lanes have bases of their own, so that stored = score - base.
//
// Neighbours differ by at most D = max_score + gap_first: to take a letter away from an alignment, or to add
// one, changes its score by no more (see Range::of_differences). E and F lie between H - gap_first of the
// cell they come from and that H. So all H of a step of a lane, lane_rows x columns cells with the row above
// and the column left of them, are within (lane_rows + columns) D of the H above the last column, its anchor,
// and every number that is formed within `reach`, which adds what one update adds or takes away, and columns
// * max_score for a bound on the scores of a step, and 2 D beside borders that were raised (region.cpp).
// While all anchors are within `anchor_limit` of 0 nothing leaves the lane.
struct StripRange {
    int64_t anchor_limit;
    bool usable;

    static StripRange of(const Costs& costs, int bits, int64_t lane_rows, int64_t columns) {
        const int64_t highest = (int64_t(1) << (bits - 1)) - 1;
        const int64_t step = int64_t(costs.max_score) + costs.gap_first;
        const int64_t update = step + costs.gap_extend - int64_t(costs.min_score);
        const int64_t reach = (lane_rows + 2 * columns + 2) * step + update;
        return {highest - reach, reach <= highest / 2};
    }
};

struct WidthKernels {
    int bits;
    int lanes;
    int columns;           // of a tile of the group kernel
    bool has_byte_tables;  // see table_scores.hpp
    size_t score_rows_bytes;
    void (*make_score_rows)(const Costs&, void*);
    size_t (*group_workspace)(int64_t n_columns);
    void (*score_group)(const GroupArgs&);
    size_t (*striped_workspace)(int64_t n_rows);
    int64_t (*score_striped)(const StripedArgs&);
    size_t (*pair_workspace)(int64_t n_rows);
    size_t (*pair_border)(int64_t n_columns);
    size_t (*pair_directions)(int64_t n_rows, int64_t n_columns);
    void (*run_pairs)(const PairArgs&);
    void (*pair_ends)(const PairArgs&, EndCell* ends);  // [lanes]
    uint8_t* (*walk_back)(const PairArgs&, int lane, PathState&, uint8_t* steps);
    size_t (*strip_workspace)(int64_t lane_rows, int64_t n_stops);
    size_t (*strip_directions)(int64_t lane_rows, int64_t n_columns);
    void (*run_strip)(const StripArgs&);
    // query and target: codes of the strip's rows and columns
    uint8_t* (*walk_strip)(const StripArgs&, const uint8_t* query, const uint8_t* target, PathState&,
                           uint8_t* steps);
    double (*bare_loop)(int64_t n_rows);  // cells updated, without touching memory: the bound to compare with

    // The columns of a group whose longest target has this length.
    int64_t padded(int64_t length) const { return (length + columns - 1) / columns * columns; }
};

struct Isa {
    const char* name;
    bool (*supported)();
    WidthKernels widths[3];  // 8, 16, 32 bits
};

}  // namespace exaln
