// Complete score tables, filled in the orders that the papers compare.
//
// All tables are int32 with a border of zeros, for m query letters and n target letters:
//
// clang-format off
//     by rows         H[i][j] at table[i * (n + 1) + j]
//     rotated         H[i][j] at table[i * (m + n + 1) + i + j]     a diagonal is a column (Chaibou and Sie, Fig. 3)
//     by diagonals    H[i][j] at table[(i + j) * (m + 1) + i]       its transpose: a diagonal is contiguous
// clang-format on
#pragma once

#include <cstdint>
#include <vector>

namespace exaln_studies {

// Two sequences of codes, a matrix of n_letters x n_letters scores, and gap costs: a gap of k letters costs
// gap_first + (k - 1) * gap_extend. Gaps are linear where gap_first == gap_extend.
struct Pair {
    const uint8_t* query;
    int64_t m;
    const uint8_t* target;
    int64_t n;
    const int32_t* matrix;
    int64_t n_letters;
    int32_t gap_first, gap_extend;

    int32_t score(int64_t i, int64_t j) const { return matrix[query[i - 1] * n_letters + target[j - 1]]; }
};

enum class TableLayout { by_rows, rotated, by_diagonals };

// Cells of a table, border included.
int64_t table_size(TableLayout layout, int64_t m, int64_t n);

// Fills a table row by row on one thread, with linear gaps.
void fill_by_rows(const Pair& pair, int32_t* table);

// Fills a table with linear gaps, one diagonal per step. The threads take chunks of `chunk` cells in turn.
void fill_by_diagonals(const Pair& pair, TableLayout layout, int threads, int64_t chunk, int32_t* table);

// Seconds that n_steps steps without work take: the cost of the barriers alone.
double time_empty_steps(int threads, int64_t n_steps);

// Fills H, E and F by rows, with affine gaps, in tiles of side x side cells and one diagonal of tiles per
// step. Returns the seconds that each thread spent waiting.
std::vector<double> fill_by_tiles(const Pair& pair, int threads, int64_t side, int32_t* H, int32_t* E,
                                  int32_t* F);

// Alignments with linear gaps, computed one after another on one thread, each with a complete table and one
// direction byte per cell.
struct Alignments {
    std::vector<int32_t> scores;
    std::vector<int64_t> ends;     // query end and target end of each pair
    std::vector<uint8_t> steps;    // all paths, each from its end: 1 diagonal, 2 target only, 3 query only
    std::vector<int64_t> offsets;  // of each path in `steps`
    double fill_seconds = 0, traceback_seconds = 0;
};
Alignments align_pairs(const std::vector<Pair>& pairs);

}  // namespace exaln_studies
