// Traceback through blocks between checkpoint lines, which are computed again, now with directions.
//
// clang-format off
//     +-----+-----+-----+   The cells of a block depend on the lines above it and to its left, not on where
//     |  \  |     |     |   the path enters it. So the blocks that the path meets if it stays near its
//     +----\+-----+-----+   diagonal are predicted, and computed in advance on all threads, as far as the band
//     |     | \   |     |   around the diagonal reaches. The path is then traced through them. Where it leaves
//     +-----+----\+-----+   the band, the remaining blocks are discarded, and the next ones are predicted along
//     |     |     | \   |   the new diagonal of the path, in a wider band.
//     +-----+-----+-----+   Predictions affect only the time, not the path.
// clang-format on
//
// Tests: tests/engines/cpu/test_traceback_blocks.py.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "long/region.hpp"
#include "pairs/path.hpp"

namespace exaln {

// The part of a checkpoint line that is in memory: letters [first, end) of the region.
struct CheckpointWindow {
    int64_t first, end;
    ScoreArray H, gap;  // from letter `first` on

    bool has(int64_t from, int64_t to) const { return first <= from && to <= end; }
};

struct TracebackJob {
    Region region;
    const Costs& costs;
    bool is_local;
    int64_t spacing;
    std::vector<CheckpointWindow> rows,
        columns;  // after spacing, 2 * spacing, ... letters; empty if not in memory
};

struct TracebackMemory;

// A thread pool and memory for blocks, used for one piece of a path after another.
class BlockTracer {
  public:
    // Throws std::system_error if a thread cannot be started.
    BlockTracer(const Isa& isa, int threads);
    ~BlockTracer();

    // Follows a path back from its cell until it leaves the region, is complete, reaches a block whose lines
    // are not in memory, or has passed many blocks. Returns its steps and moves `path` to its last cell. Rows
    // and columns count in the region. Throws std::invalid_argument if the path is outside the region, if the
    // lines of its first block are not in memory, or if a block is too large; std::bad_alloc.
    std::vector<uint8_t> trace(const TracebackJob& job, PathState& path);

  private:
    std::unique_ptr<TracebackMemory> memory_;
};

}  // namespace exaln
