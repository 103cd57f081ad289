// Whole tables of scores, filled in the orders that the papers compare. Used by the studies only.
//
// All tables are int32 with a border of zeros, for m query letters and n target letters:
//
// clang-format off
//     by rows         H[i][j] at table[i * (n + 1) + j]
//     rotated         H[i][j] at table[i * (m + n + 1) + i + j]     a diagonal is a column (Chaibou, Fig. 3)
//     by diagonals    H[i][j] at table[(i + j) * (m + 1) + i]       transposed: a diagonal is contiguous
// clang-format on
#pragma once

#include <cstdint>
#include <vector>

namespace exaln {

// Two sequences of codes, a matrix of n_letters x n_letters scores, and gap costs, equal for linear gaps.
struct StudyPair {
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

// The number of cells of a table, borders included.
int64_t table_size(TableLayout layout, int64_t m, int64_t n);

// Linear gaps; row by row on one thread.
void fill_by_rows(const StudyPair& pair, int32_t* table);

// Linear gaps; one diagonal per step, of which each thread takes `chunk` cells in turn.
void fill_by_steps(const StudyPair& pair, TableLayout layout, int threads, int64_t chunk, int32_t* table);

// Seconds of n_steps steps without work: the cost of the barrier alone.
double empty_steps(int threads, int64_t n_steps);

// Affine gaps; H, E and F by rows, in tiles of side x side cells, one diagonal of tiles per step. Returns the
// seconds that each thread waited.
std::vector<double> fill_by_tiles(const StudyPair& pair, int threads, int64_t side, int32_t* H, int32_t* E,
                                  int32_t* F);

// Pairs with linear gaps, one after the other on one thread, each with a whole table and one byte of
// directions per cell.
struct PlainPairs {
    std::vector<int32_t> scores;
    std::vector<int64_t> ends;   // query end, target end of each pair
    std::vector<uint8_t> steps;  // of all paths, from end to start: 1 diagonal, 2 target alone, 3 query alone
    std::vector<int64_t> offsets;  // of each path in `steps`
    double fill_seconds = 0, walk_seconds = 0;
};
PlainPairs align_plainly(const std::vector<StudyPair>& pairs);

}  // namespace exaln
