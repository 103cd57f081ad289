// The table of kernels that every instruction set provides: plain data and function pointers.
//
// Each width (8, 16 or 32 bits per score) has one entry with the kernels of all families. A family is a way
// to divide the work among the lanes:
//   group    one query, one target per lane (inter-sequence)            scan/group_kernel.hpp
//   striped  one query, one target, the query's rows over all lanes     scan/striped_kernel.hpp
//   pair     one pair per lane, in any mode, with or without paths      pairs/kernel.hpp
//   column   one pair, in any mode, with or without a path            pairs/column_kernel.hpp
//   tile     one pair, local, a rectangle of its table over all lanes   pairs/tile_kernel.hpp
//   strip    one pair of any size, a strip of rows over all lanes       long/strip_kernel.hpp
// Letters are encoded a register at a time by sequences/letter_kernel.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exaln {

struct ColumnArgs;
struct BaseCounts;
struct Costs;
struct EndCell;
struct GroupArgs;
struct LastCell;
struct LetterArgs;
struct PairArgs;
struct PathState;
struct StripArgs;
struct StripedArgs;
struct TileArgs;

// Null except at 8 bits, and without vector lookups.
struct LetterKernels {
    int64_t (*encode)(const LetterArgs&, const uint8_t* text, int64_t n, uint8_t* codes);
    int64_t (*count)(BaseCounts&, const uint8_t* text, int64_t n);
};

struct WidthKernels {
    int bits;
    int lanes;
    int columns;           // of a tile
    bool has_byte_tables;  // see pairs/table_scores.hpp

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
    void (*search_last_row)(const PairArgs&);
    void (*search_last_column)(const PairArgs&, const bool* ending, LastCell* best);
    uint8_t* (*trace_pair)(const PairArgs&, int lane, PathState&, uint8_t* steps);

    int64_t (*column_rows)(int64_t n_rows);  // with the padding of the last lanes
    size_t (*column_workspace)(int64_t n_rows, int64_t n_columns);
    size_t (*column_directions)(int64_t n_rows, int64_t n_columns);
    void (*run_columns)(const ColumnArgs&, EndCell& end);
    uint8_t* (*trace_columns)(const ColumnArgs&, PathState&, uint8_t* steps);

    // scores: [n_codes][n_segments][lanes] values, for rows with these striped letters
    void (*make_tile_scores)(const Costs&, const uint8_t* letters, int64_t n_segments, void* scores);
    int64_t (*fill_tile)(const TileArgs&);

    size_t (*strip_workspace)(int64_t lane_rows, int64_t n_stops);
    size_t (*strip_directions)(int64_t lane_rows, int64_t n_columns);
    void (*run_strip)(const StripArgs&);  // null at 8 bits, which are too narrow for strips
    // query, target: codes of the strip's rows and columns
    uint8_t* (*trace_strip)(const StripArgs&, const uint8_t* query, const uint8_t* target, PathState&,
                            uint8_t* steps);

    double (*bare_loop)(int64_t n_rows);  // the cell update alone, in registers; returns the number of cells

    LetterKernels letters;

    // The number of columns of a group whose longest target has this length.
    int64_t padded(int64_t length) const { return (length + columns - 1) / columns * columns; }
};

struct Isa {
    const char* name;
    bool (*supported)();     // on this CPU
    WidthKernels widths[3];  // 8, 16, 32 bits
};

}  // namespace exaln
