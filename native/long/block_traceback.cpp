// Traceback through blocks between checkpoint lines: blocks are filled ahead along the diagonal of the path,
// on all threads.
#include "long/block_traceback.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "long/boundary.hpp"
#include "long/strips.hpp"
#include "threads/pool.hpp"
#include "threads/tasks.hpp"

namespace exaln {
namespace {

constexpr int64_t BAND_SHARE = 16;  // a band reaches this part of a block's side to both sides, or all of it
constexpr size_t MOST_AHEAD = 4;    // blocks for each thread: of the usual size 160 kB each
constexpr size_t ENOUGH_BLOCKS = 1024;  // less than a tenth of a second: Ctrl-C and progress wait for it

// Rows [first_row, end_row) and columns [first_column, end_column) of a region, the first ones below and
// right of a line, or of the region's border.
struct Block {
    int64_t first_row, end_row, first_column, end_column;
};

// A block with directions.
struct FilledBlock {
    Block block;
    Region region;  // the block as one
    const WidthKernels* kernels;
    int64_t lane_rows;
    Scratch directions;
};

}  // namespace

struct WalkRoom {
    const Isa& isa;
    Crew crew;
    std::vector<Scratch> workspaces;  // of each member
    std::vector<FilledBlock> filled;

    WalkRoom(const Isa& its_isa, int threads)
        : isa(its_isa),
          crew(threads),
          workspaces(crew.size()),
          filled(threads > 1 ? MOST_AHEAD * crew.size() : 1) {}  // alone there is no need to guess
};

namespace {

class BlockWalk {
  public:
    BlockWalk(WalkRoom& room, const WalkJob& job, PathState& path)
        : job_(job),
          path_(path),
          isa_(room.isa),
          crew_(room.crew),
          workspaces_(room.workspaces),
          filled_(room.filled),
          n_ahead_(crew_.size()),
          band_(job.spacing / BAND_SHARE) {}

    std::vector<uint8_t> run() {
        for (size_t n_blocks = 0; n_blocks < ENOUGH_BLOCKS && is_going_on(); n_blocks += ahead_.size()) {
            ahead_.clear();
            choose_ahead();
            if (ahead_.empty() && n_blocks == 0)
                throw std::invalid_argument("the lines around the path are not at hand");
            if (ahead_.empty()) break;
            fill_ahead();
            const bool was_right = walk_ahead();
            n_ahead_ = was_right ? std::min(2 * n_ahead_, filled_.size()) : crew_.size();
            band_ = was_right ? job_.spacing / BAND_SHARE : job_.spacing;
        }
        return std::move(steps_);
    }

  private:
    bool is_going_on() const {
        return !path_.is_complete(job_.is_local) && path_.row >= 0 && path_.column >= 0;
    }

    // Blocks in the order of a path, the first that of the path itself, which ends with it: as many as may
    // be, up to one whose lines are not at hand. A path in a gap is thought to stay in it for long.
    void choose_ahead() {
        if (path_.gap == PathState::NO_GAP) {
            choose_along_diagonal();
        } else {
            choose_along_gap();
        }
    }

    void choose_along_gap() {
        const int64_t spacing = job_.spacing, end_row = path_.row + 1, end_column = path_.column + 1;
        Block block{path_.row / spacing * spacing, end_row, path_.column / spacing * spacing, end_column};
        int64_t& first = path_.gap == PathState::IN_E ? block.first_column : block.first_row;
        int64_t& end = path_.gap == PathState::IN_E ? block.end_column : block.end_row;
        for (; first >= 0 && add(block); first -= spacing) end = first;
    }

    // Those that the band around the path's diagonal meets.
    void choose_along_diagonal() {
        const int64_t spacing = job_.spacing, diagonal = path_.column - path_.row;
        for (int64_t row = path_.row / spacing; row >= 0; --row) {
            const int64_t end_row = std::min((row + 1) * spacing, path_.row + 1);
            const int64_t last_column = std::min(end_row - 1 + diagonal + band_, path_.column);
            if (last_column < 0) return;
            const int64_t first_column = std::max<int64_t>(row * spacing + diagonal - band_, 0);
            for (int64_t column = last_column / spacing; column >= first_column / spacing; --column) {
                const int64_t end_column = std::min((column + 1) * spacing, last_column + 1);
                const Block block{row * spacing, std::min(end_row, end_column - diagonal + band_),
                                  column * spacing, end_column};
                if (block.end_row > block.first_row && !add(block)) return;
            }
        }
    }

    bool add(const Block& block) {
        const bool is_possible = ahead_.size() < n_ahead_ && is_at_hand(block);
        if (is_possible) ahead_.push_back(block);
        return is_possible;
    }

    const LineWindow* line_above(const Block& block) const {
        return block.first_row == 0 ? nullptr : &job_.rows[size_t(block.first_row / job_.spacing - 1)];
    }

    const LineWindow* line_left_of(const Block& block) const {
        return block.first_column == 0 ? nullptr
                                       : &job_.columns[size_t(block.first_column / job_.spacing - 1)];
    }

    bool is_at_hand(const Block& block) const {
        const LineWindow *above = line_above(block), *left = line_left_of(block);
        const int64_t corner = block.first_column > 0 ? 1 : 0;
        return (!above || above->has(block.first_column - corner, block.end_column)) &&
               (!left || left->has(block.first_row, block.end_row));
    }

    Region region_of(const Block& block) const {
        const Region& whole = job_.region;
        const LineWindow *above = line_above(block), *left = line_left_of(block);
        const LineWindow top = above ? *above : LineWindow{0, whole.n_columns, whole.top_H, whole.top_F};
        const LineWindow side = left ? *left : LineWindow{0, whole.n_rows, whole.left_H, whole.left_E};
        int64_t corner = whole.corner;
        if (left) {
            corner = score_at(top.H, block.first_column - 1 - top.first);
        } else if (above) {
            corner = score_at(whole.left_H, block.first_row - 1);
        }
        return {whole.query + block.first_row,
                whole.target + block.first_column,
                block.end_row - block.first_row,
                block.end_column - block.first_column,
                scores_from(top.H, block.first_column - top.first),
                scores_from(top.gap, block.first_column - top.first),
                scores_from(side.H, block.first_row - side.first),
                scores_from(side.gap, block.first_row - side.first),
                corner};
    }

    void fill_ahead() {
        crew_.run(ahead_.size(), [&](size_t member, size_t i) {
            filled_[i].block = ahead_[i];
            fill(workspaces_[member], filled_[i]);
        });
    }

    void fill(Scratch& workspace, FilledBlock& filled) const {
        const Region region = filled.region = region_of(filled.block);
        const WidthKernels* kernels = filled.kernels =
            kernels_for(isa_, job_.costs, region.n_rows, INT64_MAX);
        if (!kernels) throw std::invalid_argument("the region is too large for walking");
        RegionLetters letters(*kernels, region, job_.costs, job_.is_local);
        const int64_t padded_columns = kernels->padded(region.n_columns);
        Surroundings around(region, padded_columns);
        if (job_.is_local)
            Surroundings::smooth(job_.costs, around.top, padded_columns, around.left, region.n_rows,
                                 around.corner);
        filled.lane_rows = (region.n_rows + kernels->lanes - 1) / kernels->lanes;
        StripArgs args{};
        StripLetters strip;
        letters.set(0, filled.lane_rows, strip, args);
        args.border_H = around.top.H, args.border_F = around.top.gap;
        const std::vector<RowRun> runs = make_runs({filled.lane_rows}, strip.odd_rows);
        args.runs = runs.data(), args.n_runs = int64_t(runs.size()), args.n_stops = 1;
        args.costs = &job_.costs, args.is_local = job_.is_local;
        args.left_H = around.left.H, args.left_E = around.left.gap, args.corner = around.corner;
        args.workspace = workspace.reserve(kernels->strip_workspace(filled.lane_rows, 1));
        args.directions = static_cast<uint8_t*>(
            filled.directions.reserve(kernels->strip_directions(filled.lane_rows, region.n_columns)));
        Progress progress;
        StripDone done;
        args.cells = &progress.cells, args.cancelled = &progress.cancelled, args.done = &done;
        kernels->run_strip(args);
    }

    // Whether the path has kept to what was filled.
    bool walk_ahead() {
        for (size_t i = 0; i < ahead_.size() && is_going_on(); ++i) {
            const Block& block = filled_[i].block;
            if (path_.row < block.first_row || path_.column < block.first_column) continue;
            if (path_.row >= block.end_row || path_.column >= block.end_column) return false;
            walk(filled_[i]);
        }
        return true;
    }

    void walk(FilledBlock& filled) {
        StripArgs args{};
        args.lane_rows = filled.lane_rows, args.costs = &job_.costs, args.is_local = job_.is_local;
        args.directions = static_cast<uint8_t*>(filled.directions.reserve(0));
        PathState inside = path_;
        inside.row -= filled.block.first_row, inside.column -= filled.block.first_column;
        const size_t n_steps = steps_.size();
        steps_.resize(n_steps + size_t(inside.row + inside.column + 2));
        const uint8_t* end = filled.kernels->walk_strip(args, filled.region.query, filled.region.target,
                                                        inside, steps_.data() + n_steps);
        steps_.resize(size_t(end - steps_.data()));
        path_ = inside;
        path_.row += filled.block.first_row, path_.column += filled.block.first_column;
    }

    const WalkJob& job_;
    PathState& path_;
    const Isa& isa_;
    Crew& crew_;
    std::vector<Scratch>& workspaces_;
    std::vector<FilledBlock>& filled_;
    // After a wrong guess, as in long gaps: few blocks in a wide band; then more and more in a narrow one.
    size_t n_ahead_;
    int64_t band_;
    std::vector<Block> ahead_;
    std::vector<uint8_t> steps_;
};

}  // namespace

BlockWalker::BlockWalker(const Isa& isa, int threads) : room_(std::make_unique<WalkRoom>(isa, threads)) {}
BlockWalker::~BlockWalker() = default;

std::vector<uint8_t> BlockWalker::walk(const WalkJob& job, PathState& path) {
    if (path.row < 0 || path.row >= job.region.n_rows || path.column < 0 ||
        path.column >= job.region.n_columns)
        throw std::invalid_argument("the path is not inside the region");
    return BlockWalk(*room_, job, path).run();
}

}  // namespace exaln
