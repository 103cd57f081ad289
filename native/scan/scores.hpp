// Exact scores of every query against every target: plans the work, runs it on threads, and repeats pairs
// that overflowed in wider lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "sequences/codes.hpp"
#include "simd/kernels.hpp"
#include "threads/progress.hpp"

namespace exaln {

// Columns of targets in blocks of `columns`, a multiple of BLOCK_UNIT; first: [n + 1], the number of the
// first block of each target, and of all blocks.
struct ColumnBlocks {
    int64_t columns;
    std::vector<int64_t> first;

    ColumnBlocks(const Sequences& targets, int64_t columns);
    int64_t n() const { return first.back(); }
};
constexpr int64_t BLOCK_UNIT = 64;  // a multiple of the columns of every tile

// Fills scores[query * targets.n + target] or, with blocks, scores[query * blocks->n() + block]: the best
// score of an alignment that ends in the block. Targets may come in any order. Returns early, with undefined
// scores, once progress.cancelled is set. Throws std::overflow_error if a score does not fit 31 bits,
// std::invalid_argument if a code is 32 or more, std::bad_alloc.
void score_all(const Isa& isa, const Sequences& queries, const Sequences& targets, const Costs& costs,
               int threads, Progress& progress, int32_t* scores, const ColumnBlocks* blocks = nullptr);

}  // namespace exaln
