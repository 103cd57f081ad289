// Computes a region strip by strip on several threads, and prunes parts of local tables.
#include "long/region.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

#include "long/boundary.hpp"
#include "long/letters.hpp"
#include "long/strips.hpp"
#include "threads/tasks.hpp"

namespace exaln {
namespace {

constexpr int64_t MAX_LANE_ROWS = 256;  // more gains little and leaves fewer strips for the threads
constexpr int64_t MIN_LANE_ROWS = 16;   // with fewer, the overhead of a step dominates
constexpr int64_t BLOCK_STEPS = 16;     // per lane, of a block of columns that may be pruned
constexpr int64_t UNDECIDED = -1;

bool wait_for_columns(const StripArgs& args, int64_t n_columns) {
    for (int spins = 0; args.above->columns.load(std::memory_order_acquire) < n_columns; ++spins) {
        if (args.cancelled->load(std::memory_order_relaxed)) return false;
        if (spins > 64) std::this_thread::yield();
    }
    return true;
}

// The memory of a thread, which computes one strip at a time.
struct StripWorker {
    Scratch workspace;
    StripLetters letters;
    std::vector<int64_t> stops;
    std::vector<RowRun> runs;
    std::vector<CheckpointRow> checkpoint_rows;
    std::vector<CheckpointColumn> checkpoint_columns;
    std::vector<CheckpointRow> rows_in_range;  // the checkpoints within the present range of columns
    std::vector<CheckpointColumn> columns_in_range;
    EndCell end{0, 0, 0};
};

// Computes strips of rows, each from left to right. In a local table, blocks of its columns may be pruned.
//
// An alignment that runs through a block enters it with at most the highest H of the row above and of the
// column to the left, or 0 if it begins there, and gains at most max_score for each remaining row and column.
// If that is below the score of a known alignment, no optimal alignment uses the block, and it is skipped: H
// is set to 0, E and F to -gap_first, as if an alignment began in each cell. long_pruning.cuh of the cuda
// engine, which does the same, proves that score, end and path do not change.
//
// A strip runs without interruption up to the column from which pruning is possible at all; for unrelated
// sequences that is its end. The rest is decided block by block, once the row above a block is known.
class RegionFill {
  public:
    RegionFill(const RegionJob& job, const WidthKernels& kernels, Progress& progress)
        : job_(job),
          kernels_(kernels),
          progress_(progress),
          lane_rows_(choose_lane_rows()),
          strip_rows_(lane_rows_ * kernels.lanes),
          letters_(kernels, job.region, job.costs, job.is_local),
          boundary_(job.region, kernels.padded(job.region.n_columns)),
          n_strips_(size_t((job.region.n_rows + strip_rows_ - 1) / strip_rows_)),
          done_(new StripProgress[n_strips_]),
          unpruned_until_(new std::atomic<int64_t>[n_strips_]),
          best_score_(job.pruning.is_enabled ? job.pruning.best : 0) {
        const Region& region = job.region;
        if (job.is_local)
            Boundary::smooth(job.costs, boundary_.top, kernels.padded(region.n_columns), boundary_.left,
                             region.n_rows, boundary_.corner);
        for (size_t strip = 0; strip < n_strips_; ++strip) {
            unpruned_until_[strip] = UNDECIDED;
            const int64_t first_row = int64_t(strip) * strip_rows_;
            corners_.push_back(strip == 0 ? boundary_.corner : score_at(boundary_.left.H, first_row - 1));
        }
    }

    RegionResult run() {
        EndCell best{0, 0, 0};
        run_tasks(
            n_strips_, job_.threads, [] { return std::make_unique<StripWorker>(); },
            [&](StripWorker& worker, size_t strip) { run_or_cancel(worker, strip); },
            [&](StripWorker& worker) { best.consider(worker.end.score, worker.end.row, worker.end.column); });
        return {best, pruned_.load()};
    }

  private:
    // As many rows per lane as possible such that all threads have equally many strips, unless these become
    // too small. Checkpoint rows, mostly a power of 2 apart, should coincide with the last row of a lane.
    int64_t choose_lane_rows() const {
        const int64_t all = (job_.region.n_rows + kernels_.lanes - 1) / kernels_.lanes;
        const int64_t rounds = (all + MAX_LANE_ROWS * job_.threads - 1) / (MAX_LANE_ROWS * job_.threads);
        const int64_t n_strips = rounds * job_.threads;
        int64_t rows = std::min(all, std::max(MIN_LANE_ROWS, (all + n_strips - 1) / n_strips));
        if (!job_.rows.empty() && rows > MIN_LANE_ROWS) {
            int64_t power = MIN_LANE_ROWS;
            while (power < rows) power *= 2;
            rows = power;
        }
        while (!StripRange::of(job_.costs, kernels_.bits, rows, kernels_.columns).usable) rows /= 2;
        return std::max<int64_t>(rows, 1);
    }

    // If a strip fails, the strips below would wait for ever; cancelling ends their wait.
    void run_or_cancel(StripWorker& worker, size_t strip) {
        try {
            run_strip(worker, strip);
        } catch (...) {
            progress_.cancelled = true;
            throw;
        }
    }

    void run_strip(StripWorker& worker, size_t strip) {
        const int64_t first_row = int64_t(strip) * strip_rows_, n_columns = job_.region.n_columns;
        StripArgs args{};
        letters_.set(first_row, lane_rows_, worker.letters, args);
        args.costs = &job_.costs, args.is_local = job_.is_local;
        args.left_H = scores_from(boundary_.left.H, first_row);
        args.left_E = scores_from(boundary_.left.gap, first_row);
        args.corner = corners_[strip];
        set_checkpoints(worker, first_row, args);
        args.workspace = worker.workspace.reserve(kernels_.strip_workspace(lane_rows_, args.n_stops));
        args.best_score = &best_score_;
        args.cells = &progress_.cells, args.cancelled = &progress_.cancelled;
        args.above = strip == 0 ? nullptr : &done_[strip - 1], args.done = &done_[strip];
        args.wait = wait_for_columns;
        const int64_t unpruned = decide_unpruned(strip);
        if (unpruned > 0) run_columns(worker, args, first_row, {0, unpruned});
        for (int64_t first = unpruned; first < n_columns && !progress_.cancelled; first += block_columns()) {
            const ColumnRange block{first, std::min(n_columns, first + block_columns())};
            if (args.above && !wait_for_columns(args, block.end)) return;
            run_or_skip(worker, args, first_row, block);
            args.done->columns.store(block.end, std::memory_order_release);
        }
    }

    // The column up to which nothing can be pruned; no further than in the strip above, because the boundary
    // behind that may need smoothing.
    int64_t decide_unpruned(size_t strip) {
        const int64_t n_columns = job_.region.n_columns, best = best_score_.load(std::memory_order_relaxed);
        const int64_t highest = job_.costs.max_score;
        int64_t unpruned = n_columns;
        if (job_.pruning.is_enabled && best > 0 && highest > 0) {
            unpruned = std::max<int64_t>(0, job_.pruning.columns_left - (best - 1) / highest);
            if (highest * (job_.pruning.rows_left - int64_t(strip) * strip_rows_) < best) unpruned = 0;
            unpruned = unpruned < block_columns() ? 0 : kernels_.padded(unpruned);
            if (n_columns - unpruned < block_columns()) unpruned = n_columns;
        }
        int64_t above = n_columns;
        while (strip > 0 && (above = unpruned_until_[strip - 1].load()) == UNDECIDED && !progress_.cancelled)
            std::this_thread::yield();
        unpruned = std::min(unpruned, above);
        unpruned_until_[strip] = unpruned;
        return unpruned;
    }

    // Lanes start and end one step after the other, so a block is many steps long.
    int64_t block_columns() const { return int64_t(BLOCK_STEPS) * kernels_.lanes * kernels_.columns; }

    void run_or_skip(StripWorker& worker, StripArgs& args, int64_t first_row, const ColumnRange& block) {
        const Side top = boundary_.top.from(block.first), left{args.left_H, args.left_E};
        const int64_t highest = std::max({top.highest(block.n()), left.highest(args.n_rows), args.corner});
        const int64_t gain = job_.costs.max_score * std::min(job_.pruning.rows_left - first_row,
                                                             job_.pruning.columns_left - block.first);
        if (highest + gain < best_score_.load(std::memory_order_relaxed)) {
            skip(worker, args, block);
            return;
        }
        Boundary::smooth(job_.costs, top, kernels_.padded(block.n()), left, args.n_rows, args.corner);
        StripArgs own = args;
        StripProgress done;
        own.above = nullptr, own.done = &done;
        run_columns(worker, own, first_row, block);
        args.corner = own.corner;
    }

    void skip(StripWorker& worker, StripArgs& args, const ColumnRange& block) {
        const int32_t gap_first = job_.costs.gap_first;
        args.corner = score_at(boundary_.top.H, block.end - 1);
        boundary_.top.reset(block.first, kernels_.padded(block.end), gap_first);
        Side{args.left_H, args.left_E}.reset(0, args.n_rows, gap_first);
        for (const CheckpointRow& row : worker.checkpoint_rows)
            Side{row.H, row.F}.reset(block.first, block.end, gap_first);
        for (const CheckpointColumn& column : worker.checkpoint_columns)
            if (column.column > block.first && column.column <= block.end)
                Side{column.H, column.E}.reset(0, args.n_rows, gap_first);
        pruned_ += block.n() * args.n_rows;
        progress_.cells += block.n() * args.n_rows;
    }

    // Computes some columns of a strip. On return args.left_H, left_E and corner are those of the next ones.
    void run_columns(StripWorker& worker, StripArgs& args, int64_t first_row, const ColumnRange& columns) {
        StripArgs own = args;
        letters_.move_to(columns, own);
        own.border_H = scores_from(boundary_.top.H, columns.first);
        own.border_F = scores_from(boundary_.top.gap, columns.first);
        worker.rows_in_range.clear(), worker.columns_in_range.clear();
        for (const CheckpointRow& row : worker.checkpoint_rows)
            worker.rows_in_range.push_back(
                {row.stop, row.lane, scores_from(row.H, columns.first), scores_from(row.F, columns.first)});
        for (const CheckpointColumn& column : worker.checkpoint_columns)
            if (column.column > columns.first && column.column <= columns.end)
                worker.columns_in_range.push_back({column.column - columns.first, column.H, column.E});
        if (columns.end < job_.region.n_columns)
            worker.columns_in_range.push_back({columns.n(), args.left_H, args.left_E});
        own.checkpoint_rows = worker.rows_in_range.data(),
        own.n_checkpoint_rows = int64_t(worker.rows_in_range.size());
        own.checkpoint_columns = worker.columns_in_range.data();
        own.n_checkpoint_columns = int64_t(worker.columns_in_range.size());
        own.above_last = &args.corner;
        EndCell end = worker.end;  // in letters of the region; the kernel counts in its strip
        end.row -= first_row, end.column -= columns.first;
        own.end = job_.finds_end ? &end : nullptr;
        kernels_.run_strip(own);
        worker.end = {end.score, end.row + first_row, end.column + columns.first};
    }

    void set_checkpoints(StripWorker& worker, int64_t first_row, StripArgs& args) const {
        worker.stops.clear(), worker.checkpoint_rows.clear(), worker.checkpoint_columns.clear();
        const auto before = [](const CheckpointLine& line, int64_t row) { return line.position <= row; };
        const auto begin = std::lower_bound(job_.rows.begin(), job_.rows.end(), first_row, before);
        const auto end = std::lower_bound(begin, job_.rows.end(), first_row + args.n_rows, before);
        worker.stops.push_back(lane_rows_);
        for (auto line = begin; line != end; ++line)
            worker.stops.push_back((line->position - first_row - 1) % lane_rows_ + 1);
        std::sort(worker.stops.begin(), worker.stops.end());
        worker.stops.erase(std::unique(worker.stops.begin(), worker.stops.end()), worker.stops.end());
        for (auto line = begin; line != end; ++line) {
            const int64_t row = line->position - first_row - 1;
            const auto stop =
                std::lower_bound(worker.stops.begin(), worker.stops.end(), row % lane_rows_ + 1);
            worker.checkpoint_rows.push_back(
                {int32_t(stop - worker.stops.begin()), int32_t(row / lane_rows_), line->H, line->gap});
        }
        for (const CheckpointLine& line : job_.columns)
            worker.checkpoint_columns.push_back(
                {line.position, scores_from(line.H, first_row), scores_from(line.gap, first_row)});
        worker.runs = make_runs(worker.stops, worker.letters.mixed_rows);
        args.runs = worker.runs.data(), args.n_runs = int64_t(worker.runs.size());
        args.n_stops = int64_t(worker.stops.size());
    }

    const RegionJob& job_;
    const WidthKernels& kernels_;
    Progress& progress_;
    const int64_t lane_rows_, strip_rows_;
    RegionLetters letters_;
    Boundary boundary_;
    const size_t n_strips_;
    std::unique_ptr<StripProgress[]> done_;
    std::unique_ptr<std::atomic<int64_t>[]> unpruned_until_;  // for each strip: a column
    std::vector<int64_t> corners_;                            // for each strip: H above and to the left
    std::atomic<int64_t> best_score_, pruned_{0};
};

}  // namespace

RegionResult fill_region(const RegionJob& job, Progress& progress) {
    if (job.region.n_rows == 0 || job.region.n_columns == 0) return {{0, 0, 0}, 0};
    const WidthKernels* kernels = kernels_for(job.isa, job.costs, job.region.n_rows, MIN_LANE_ROWS);
    if (!kernels) throw std::invalid_argument("scores or gap costs are too large");
    return RegionFill(job, *kernels, progress).run();
}

}  // namespace exaln
