// Predicts the blocks of a path, computes them on all threads, and traces the path through them.
#include "long/block_traceback.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "long/boundary.hpp"
#include "long/letters.hpp"
#include "long/strips.hpp"
#include "threads/pool.hpp"
#include "threads/scratch.hpp"

namespace exaln {
namespace {

constexpr int64_t BAND_SHARE = 16;  // the band extends 1/16 of a block's side to both sides, or all of it
constexpr size_t MAX_FILLED_PER_THREAD = 4;   // blocks computed in advance, usually of 160 kB each
constexpr size_t MAX_BLOCKS_PER_CALL = 1024;  // less than 0.1 s, during which Ctrl-C and progress wait

// Rows [first_row, end_row) and columns [first_column, end_column) of a region. The first row and column
// follow a checkpoint line or the boundary of the region.
struct Block {
    int64_t first_row, end_row, first_column, end_column;
};

// A block with its directions.
struct FilledBlock {
    Block block;
    Region region;  // the block as a region
    const WidthKernels* kernels;
    int64_t lane_rows;
    Scratch directions;
};

}  // namespace

struct TracebackMemory {
    const Isa& isa;
    ThreadPool pool;
    std::vector<Scratch> workspaces;  // one per thread
    std::vector<FilledBlock> filled;

    TracebackMemory(const Isa& its_isa, int threads)
        : isa(its_isa),
          pool(threads),
          workspaces(pool.size()),
          filled(threads > 1 ? MAX_FILLED_PER_THREAD * pool.size() : 1) {}  // one thread need not predict
};

namespace {

class BlockTraceback {
  public:
    BlockTraceback(TracebackMemory& memory, const TracebackJob& job, PathState& path)
        : job_(job),
          path_(path),
          isa_(memory.isa),
          pool_(memory.pool),
          workspaces_(memory.workspaces),
          filled_(memory.filled),
          n_predicted_(pool_.size()),
          band_(job.spacing / BAND_SHARE) {}

    std::vector<uint8_t> run() {
        for (size_t n_blocks = 0; n_blocks < MAX_BLOCKS_PER_CALL && is_unfinished();
             n_blocks += predicted_.size()) {
            predicted_.clear();
            predict();
            if (predicted_.empty() && n_blocks == 0)
                throw std::invalid_argument("the lines around the path are not at hand");
            if (predicted_.empty()) break;
            fill_predicted();
            const bool was_right = trace_predicted();
            n_predicted_ = was_right ? std::min(2 * n_predicted_, filled_.size()) : pool_.size();
            band_ = was_right ? job_.spacing / BAND_SHARE : job_.spacing;
        }
        return std::move(steps_);
    }

  private:
    bool is_unfinished() const {
        return !path_.is_complete(job_.is_local) && path_.row >= 0 && path_.column >= 0;
    }

    // Predicts blocks in the order of the path, beginning with its own block, which ends at its cell: as many
    // as possible, up to one whose lines are not in memory. A path in a gap is predicted to stay in it.
    void predict() {
        if (path_.gap == PathState::NO_GAP) {
            predict_along_diagonal();
        } else {
            predict_along_gap();
        }
    }

    void predict_along_gap() {
        const int64_t spacing = job_.spacing, end_row = path_.row + 1, end_column = path_.column + 1;
        Block block{path_.row / spacing * spacing, end_row, path_.column / spacing * spacing, end_column};
        int64_t& first = path_.gap == PathState::IN_E ? block.first_column : block.first_row;
        int64_t& end = path_.gap == PathState::IN_E ? block.end_column : block.end_row;
        for (; first >= 0 && add(block); first -= spacing) end = first;
    }

    // The blocks that the band around the path's diagonal meets.
    void predict_along_diagonal() {
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
        const bool is_possible = predicted_.size() < n_predicted_ && is_available(block);
        if (is_possible) predicted_.push_back(block);
        return is_possible;
    }

    const CheckpointWindow* line_above(const Block& block) const {
        return block.first_row == 0 ? nullptr : &job_.rows[size_t(block.first_row / job_.spacing - 1)];
    }

    const CheckpointWindow* line_left_of(const Block& block) const {
        return block.first_column == 0 ? nullptr
                                       : &job_.columns[size_t(block.first_column / job_.spacing - 1)];
    }

    bool is_available(const Block& block) const {
        const CheckpointWindow *above = line_above(block), *left = line_left_of(block);
        const int64_t corner = block.first_column > 0 ? 1 : 0;
        return (!above || above->has(block.first_column - corner, block.end_column)) &&
               (!left || left->has(block.first_row, block.end_row));
    }

    Region region_of(const Block& block) const {
        const Region& whole = job_.region;
        const CheckpointWindow *above = line_above(block), *left = line_left_of(block);
        const CheckpointWindow top =
            above ? *above : CheckpointWindow{0, whole.n_columns, whole.top_H, whole.top_F};
        const CheckpointWindow side =
            left ? *left : CheckpointWindow{0, whole.n_rows, whole.left_H, whole.left_E};
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

    void fill_predicted() {
        pool_.run(predicted_.size(), [&](size_t thread, size_t i) {
            filled_[i].block = predicted_[i];
            fill(workspaces_[thread], filled_[i]);
        });
    }

    void fill(Scratch& workspace, FilledBlock& filled) const {
        const Region region = filled.region = region_of(filled.block);
        const WidthKernels* kernels = filled.kernels =
            kernels_for(isa_, job_.costs, region.n_rows, INT64_MAX);
        if (!kernels) throw std::invalid_argument("the region is too large for traceback");
        RegionLetters letters(*kernels, region, job_.costs, job_.is_local);
        const int64_t padded_columns = kernels->padded(region.n_columns);
        Boundary boundary(region, padded_columns);
        if (job_.is_local)
            Boundary::smooth(job_.costs, boundary.top, padded_columns, boundary.left, region.n_rows,
                             boundary.corner);
        filled.lane_rows = (region.n_rows + kernels->lanes - 1) / kernels->lanes;
        StripArgs args{};
        StripLetters strip;
        letters.set(0, filled.lane_rows, strip, args);
        args.border_H = boundary.top.H, args.border_F = boundary.top.gap;
        const std::vector<RowRun> runs = make_runs({filled.lane_rows}, strip.mixed_rows);
        args.runs = runs.data(), args.n_runs = int64_t(runs.size()), args.n_stops = 1;
        args.costs = &job_.costs, args.is_local = job_.is_local;
        args.left_H = boundary.left.H, args.left_E = boundary.left.gap, args.corner = boundary.corner;
        args.workspace = workspace.reserve(kernels->strip_workspace(filled.lane_rows, 1));
        args.directions = static_cast<uint8_t*>(
            filled.directions.reserve(kernels->strip_directions(filled.lane_rows, region.n_columns)));
        Progress progress;
        StripProgress done;
        args.cells = &progress.cells, args.cancelled = &progress.cancelled, args.done = &done;
        kernels->run_strip(args);
    }

    // Traces the path through the predicted blocks; false if it leaves them.
    bool trace_predicted() {
        for (size_t i = 0; i < predicted_.size() && is_unfinished(); ++i) {
            const Block& block = filled_[i].block;
            if (path_.row < block.first_row || path_.column < block.first_column) continue;
            if (path_.row >= block.end_row || path_.column >= block.end_column) return false;
            trace_block(filled_[i]);
        }
        return true;
    }

    void trace_block(FilledBlock& filled) {
        StripArgs args{};
        args.lane_rows = filled.lane_rows, args.costs = &job_.costs, args.is_local = job_.is_local;
        args.directions = static_cast<uint8_t*>(filled.directions.reserve(0));
        PathState inside = path_;
        inside.row -= filled.block.first_row, inside.column -= filled.block.first_column;
        const size_t n_steps = steps_.size();
        steps_.resize(n_steps + size_t(inside.row + inside.column + 2));
        const uint8_t* end = filled.kernels->trace_strip(args, filled.region.query, filled.region.target,
                                                         inside, steps_.data() + n_steps);
        steps_.resize(size_t(end - steps_.data()));
        path_ = inside;
        path_.row += filled.block.first_row, path_.column += filled.block.first_column;
    }

    const TracebackJob& job_;
    PathState& path_;
    const Isa& isa_;
    ThreadPool& pool_;
    std::vector<Scratch>& workspaces_;
    std::vector<FilledBlock>& filled_;
    // Few blocks in a wide band after a wrong prediction, as in long gaps; then ever more in a narrow band.
    size_t n_predicted_;
    int64_t band_;
    std::vector<Block> predicted_;
    std::vector<uint8_t> steps_;
};

}  // namespace

BlockTracer::BlockTracer(const Isa& isa, int threads)
    : memory_(std::make_unique<TracebackMemory>(isa, threads)) {}
BlockTracer::~BlockTracer() = default;

std::vector<uint8_t> BlockTracer::trace(const TracebackJob& job, PathState& path) {
    if (path.row < 0 || path.row >= job.region.n_rows || path.column < 0 ||
        path.column >= job.region.n_columns)
        throw std::invalid_argument("the path is not inside the region");
    return BlockTraceback(*memory_, job, path).run();
}

}  // namespace exaln
