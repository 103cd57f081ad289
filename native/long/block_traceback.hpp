// clang-format off
// A path walked back through blocks between kept lines, which are filled again, now with directions.
//
//        +-----+-----+-----+    The cells of a block depend on the lines above and left of it, not on where the path
//        |  \  |     |     |    enters it. So those that the path meets if it keeps to its diagonal are filled ahead,
//        +----\+-----+-----+    on all threads, as far as the band around the diagonal reaches, and the path is walked
//        |     | \   |     |    through them. Where it leaves the band, what was filled beyond that is forgotten, and
//        +-----+----\+-----+    filled anew in a wider one, along the diagonal that the path is on then. Only the time
//        |     |     | \   |    depends on it.
//        +-----+-----+-----+    Tests: tests/test_block_walk.py.
// clang-format on
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "long/region.hpp"

namespace exaln {

// A kept line as far as it is at hand: letters [first, end) of the region.
struct LineWindow {
    int64_t first, end;
    ScoreArray H, gap;  // from the letter `first` on

    bool has(int64_t from, int64_t to) const { return first <= from && to <= end; }
};

struct WalkJob {
    Region region;
    const Costs& costs;
    bool is_local;
    int64_t spacing;
    std::vector<LineWindow> rows, columns;  // after spacing, 2 * spacing, ... letters; empty: not at hand
};

struct WalkRoom;

// Threads, and room for blocks, for one piece of a path after another.
class BlockWalker {
  public:
    // Throws std::system_error if a thread could not be started.
    BlockWalker(const Isa& isa, int threads);
    ~BlockWalker();

    // The steps of a path from its cell on, backwards, until it leaves the region, is complete, or comes to a
    // block whose lines are not at hand, or for many blocks; `path` is then there. Rows and columns of the
    // path count in the region. Throws std::invalid_argument if the path is not inside it, if the lines
    // around its first block are not at hand, or if a block is too large for walking; std::bad_alloc.
    std::vector<uint8_t> walk(const WalkJob& job, PathState& path);

  private:
    std::unique_ptr<WalkRoom> room_;
};

}  // namespace exaln
