// Batches of pairs for a GPU, between the host's columns and the pinned blocks that a GPU copies: letters and
// tables of pairs are packed into a block, results and paths are taken out of one. device_plan.hpp has the
// layout of a block.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "pairs/device_plan.hpp"
#include "sequences/codes.hpp"

namespace exaln {

constexpr int N_BYTES = 256;  // values of a code

// One side of all pairs. is_sent: the letters travel in the block of each batch. Otherwise the device has
// them already, from codes[first] on.
struct PairSide {
    Sequences sequences;
    int64_t n_codes;
    const int64_t* rows;  // the sequence of each pair
    bool is_sent;
    int64_t first;

    // The length of a pair's sequence. Throws std::invalid_argument if there is no such sequence.
    int64_t length(int64_t pair) const {
        const int64_t row = rows[pair];
        if (row < 0 || row >= sequences.n || sequences.offsets[row] < 0 ||
            sequences.offsets[row] > sequences.offsets[row + 1] || sequences.offsets[row + 1] > n_codes)
            throw std::invalid_argument("a pair names a sequence that is not there");
        return sequences.length(row);
    }
    const uint8_t* letters(int64_t pair) const { return sequences.at(rows[pair]); }
};

// Marks the codes that occur in the sequences of n pairs. In a sequence without a code of `few` or more, all
// codes below count as used: the largest code is found faster than all of them.
void mark_used_codes(const PairSide& side, int64_t n, uint8_t few, int threads, bool (&used)[N_BYTES]);

// Writes the pairs, layouts, run starts, letters and counters of a batch into its block. order: of the plan.
// Throws std::invalid_argument if the letters are not those of the plan.
void fill_block(uint8_t* block, const DeviceBatch& batch, const int64_t* order, const PairSide& queries,
                const PairSide& targets, const DeviceShape& shape, const DeviceTables& tables, int threads);

// Columns with a row per pair of a call; without paths only the scores.
struct PairColumns {
    int64_t *scores, *positions;
    int32_t* counts;
    int64_t *n_runs, *first_runs;
};

// Copies the results of a batch to the rows order[begin .. end) of the columns, and the first `n_runs` runs
// to `runs`. first_run: added to the place of each path. Throws std::out_of_range if a path lies outside the
// batch.
void collect_block(const uint8_t* block, const DeviceBatch& batch, const int64_t* order,
                   const PairColumns& columns, uint32_t* runs, int64_t n_runs, int64_t first_run,
                   int threads);
void collect_scores(const uint8_t* block, const DeviceBatch& batch, const int64_t* order, int64_t* scores);

// Runs of consecutive batches.
struct RunPiece {
    const uint32_t* runs;
    int64_t n;
};

// Writes the path of each pair i, which begins at first_runs[i] in the pieces, to operations[offsets[i]].
// offsets: 0 <= offsets[n_pairs] <= n_operations. Throws std::out_of_range if a path does not lie within a
// piece, or outside the operations.
void gather_paths(const std::vector<RunPiece>& pieces, const int64_t* first_runs, const int64_t* offsets,
                  int64_t n_pairs, uint32_t* operations, int64_t n_operations, int threads);

}  // namespace exaln
