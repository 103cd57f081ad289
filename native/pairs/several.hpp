// Several local alignments of each pair that share no aligned pair of letters (Waterman and Eggert 1987).
#pragma once

#include <cstdint>
#include <vector>

#include "pairs/alignment.hpp"
#include "pairs/run.hpp"
#include "pairs/tile_shape.hpp"
#include "threads/progress.hpp"

namespace exaln {

struct GridMemory;

struct FoundAlignment {
    int64_t score;
    Alignment alignment;
};

// Pairs, and how many alignments of each are wanted: at most `most`, each with a score of at least
// `least[pair]`, above 0.
struct SeveralJob {
    const PairJob& pairs;  // local mode; its known scores, if any, may be of any value
    int64_t most;
    const int64_t* least;
    double max_bytes;  // of the tables of all threads
    // For targets that are the ends of longer ones, or null: `upper` is the most that H can be in the column
    // before each, 0 if there is none; the first `margin` columns have no end of an alignment.
    const int64_t* upper = nullptr;
    const int64_t* margin = nullptr;
    TileShape shape = {0, 0};  // of the tiles, for tests: all alignments are found in grids of them
    int least_bits = 8;        // of the values, for tests
};

struct SeveralFound {
    std::vector<std::vector<FoundAlignment>> alignments;  // of each pair
    std::vector<uint8_t> is_certain;  // of each pair: whether these are the alignments of the longer target
};

// The alignments of each pair, in the order found: each follows the path rule in the table in which no pair
// of letters that an earlier one aligned may be aligned. One more than `most` is never computed. Throws
// std::bad_alloc if a table does not fit, std::overflow_error if a score does not fit 31 bits,
// std::logic_error if a known score is not that of its pair. A pair that is not certain has none. The result
// is undefined once progress.cancelled is set.
SeveralFound align_several(const SeveralJob& job, Progress& progress);

// The same for a job of one thread, in memory that is used for one job after another.
SeveralFound align_several(const SeveralJob& job, GridMemory& memory, Progress& progress);

// The least memory in which align_several can compute a pair of this size.
double several_bytes(int64_t n_rows, int64_t n_columns, const Costs& costs);

}  // namespace exaln
