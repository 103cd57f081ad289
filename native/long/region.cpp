// Fills a region of one table strip by strip on several threads, and prunes parts of local tables.
#include "long/region.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <thread>

#include "long/boundary.hpp"
#include "long/strips.hpp"

namespace exaln {
namespace {

constexpr int64_t MAX_LANE_ROWS = 256;  // with more, little is gained and fewer threads have work
constexpr int64_t MIN_LANE_ROWS = 16;   // with fewer, what a step begins and ends with takes too long
constexpr int64_t BLOCK_STEPS = 16;     // of a block of columns that may be pruned, for each lane
constexpr int64_t NOT_KNOWN = -1;

bool wait_for_columns(const StripArgs& args, int64_t n_columns) {
    for (int spins = 0; args.above->columns.load(std::memory_order_acquire) < n_columns; ++spins) {
        if (args.cancelled->load(std::memory_order_relaxed)) return false;
        if (spins > 64) std::this_thread::yield();
    }
    return true;
}

// One strip at a time.
struct StripWorker {
    Scratch workspace;
    StripLetters letters;
    std::vector<int64_t> stops;
    std::vector<RowRun> runs;
    std::vector<KeptRow> kept_rows;
    std::vector<KeptColumn> kept_columns;
    std::vector<KeptRow> some_rows;  // as far as they lie in the columns at hand
    std::vector<KeptColumn> some_columns;
    EndCell end{0, 0, 0};
};

// Strips, each from left to right; of a local table some of their columns are pruned.
//
// An alignment that runs through such columns of a strip has at most the highest H of the row above and of
// the column left of them when it comes in, or 0 if it begins there, and gains at most max_score for each row
// and each column that is left from the first ones on. If that is below what some alignment has, none that is
// optimal has a cell there. They are skipped: H = 0 and E = F = -gap_first, an alignment that begins there,
// are what is handed on and kept. kernels/long_pruning.cuh of the cuda engine, which does the same, has the
// proof that neither score nor end nor path changes.
//
// A strip runs without a stop as far as nothing can be pruned whatever comes from above: of unrelated
// sequences all the way. From there on it is looked at block by block of columns, once what is above a block
// is known.
class RegionFill {
  public:
    RegionFill(const RegionJob& job, const WidthKernels& kernels, Progress& progress)
        : job_(job),
          kernels_(kernels),
          progress_(progress),
          lane_rows_(choose_lane_rows()),
          strip_rows_(lane_rows_ * kernels.lanes),
          letters_(kernels, job.region, job.costs, job.is_local),
          around_(job.region, kernels.padded(job.region.n_columns)),
          n_strips_(size_t((job.region.n_rows + strip_rows_ - 1) / strip_rows_)),
          done_(new StripDone[n_strips_]),
          whole_until_(new std::atomic<int64_t>[n_strips_]),
          best_score_(job.pruning.is_wanted ? job.pruning.best : 0) {
        const Region& region = job.region;
        if (job.is_local)
            Surroundings::smooth(job.costs, around_.top, kernels.padded(region.n_columns), around_.left,
                                 region.n_rows, around_.corner);
        for (size_t strip = 0; strip < n_strips_; ++strip) {
            whole_until_[strip] = NOT_KNOWN;
            const int64_t first_row = int64_t(strip) * strip_rows_;
            corners_.push_back(strip == 0 ? around_.corner : score_at(around_.left.H, first_row - 1));
        }
    }

    RegionResult run() {
        EndCell best{0, 0, 0};
        run_tasks(
            n_strips_, job_.threads, [] { return std::make_unique<StripWorker>(); },
            [&](StripWorker& worker, size_t strip) { run_or_cancel(worker, strip); },
            [&](StripWorker& worker) { best.see(worker.end.score, worker.end.row, worker.end.column); });
        return {best, pruned_.load()};
    }

  private:
    // As many as may be, but so that all threads have equally many strips, if that does not make them too
    // small. Kept rows are mostly a power of 2 apart: then they end the rows of a lane.
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

    // Whoever waits for a strip that failed must not wait for ever.
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
        args.left_H = scores_from(around_.left.H, first_row);
        args.left_E = scores_from(around_.left.gap, first_row);
        args.corner = corners_[strip];
        keep_lines(worker, first_row, args);
        args.workspace = worker.workspace.reserve(kernels_.strip_workspace(lane_rows_, args.n_stops));
        args.best_score = &best_score_;
        args.cells = &progress_.cells, args.cancelled = &progress_.cancelled;
        args.above = strip == 0 ? nullptr : &done_[strip - 1], args.done = &done_[strip];
        args.wait = wait_for_columns;
        const int64_t whole = decide_whole(strip);
        if (whole > 0) run_columns(worker, args, first_row, {0, whole});
        for (int64_t first = whole; first < n_columns && !progress_.cancelled; first += block_columns()) {
            const Columns block{first, std::min(n_columns, first + block_columns())};
            if (args.above && !wait_for_columns(args, block.end)) return;
            run_or_skip(worker, args, first_row, block);
            args.done->columns.store(block.end, std::memory_order_release);
        }
    }

    // Up to which column nothing can be pruned. Not further than in the strip above: what is handed on from
    // there on may have to be smoothed.
    int64_t decide_whole(size_t strip) {
        const int64_t n_columns = job_.region.n_columns, best = best_score_.load(std::memory_order_relaxed);
        const int64_t highest = job_.costs.max_score;
        int64_t whole = n_columns;
        if (job_.pruning.is_wanted && best > 0 && highest > 0) {
            whole = std::max<int64_t>(0, job_.pruning.columns_left - (best - 1) / highest);
            if (highest * (job_.pruning.rows_left - int64_t(strip) * strip_rows_) < best) whole = 0;
            whole = whole < block_columns() ? 0 : kernels_.padded(whole);
            if (n_columns - whole < block_columns()) whole = n_columns;
        }
        int64_t above = n_columns;
        while (strip > 0 && (above = whole_until_[strip - 1].load()) == NOT_KNOWN && !progress_.cancelled)
            std::this_thread::yield();
        whole = std::min(whole, above);
        whole_until_[strip] = whole;
        return whole;
    }

    // Lanes begin and end one after the other: that should not be much of a block.
    int64_t block_columns() const { return int64_t(BLOCK_STEPS) * kernels_.lanes * kernels_.columns; }

    void run_or_skip(StripWorker& worker, StripArgs& args, int64_t first_row, const Columns& block) {
        const Side top = around_.top.from(block.first), left{args.left_H, args.left_E};
        const int64_t highest = std::max({top.highest(block.n()), left.highest(args.n_rows), args.corner});
        const int64_t gain = job_.costs.max_score * std::min(job_.pruning.rows_left - first_row,
                                                             job_.pruning.columns_left - block.first);
        if (highest + gain < best_score_.load(std::memory_order_relaxed)) {
            skip(worker, args, block);
            return;
        }
        Surroundings::smooth(job_.costs, top, kernels_.padded(block.n()), left, args.n_rows, args.corner);
        StripArgs own = args;
        StripDone done;
        own.above = nullptr, own.done = &done;
        run_columns(worker, own, first_row, block);
        args.corner = own.corner;
    }

    void skip(StripWorker& worker, StripArgs& args, const Columns& block) {
        const int32_t gap_first = job_.costs.gap_first;
        args.corner = score_at(around_.top.H, block.end - 1);
        around_.top.forget(block.first, kernels_.padded(block.end), gap_first);
        Side{args.left_H, args.left_E}.forget(0, args.n_rows, gap_first);
        for (const KeptRow& row : worker.kept_rows)
            Side{row.H, row.F}.forget(block.first, block.end, gap_first);
        for (const KeptColumn& column : worker.kept_columns)
            if (column.column > block.first && column.column <= block.end)
                Side{column.H, column.E}.forget(0, args.n_rows, gap_first);
        pruned_ += block.n() * args.n_rows;
        progress_.cells += block.n() * args.n_rows;
    }

    // Some columns of a strip; args.left_H, left_E and corner are then those of the next ones.
    void run_columns(StripWorker& worker, StripArgs& args, int64_t first_row, const Columns& columns) {
        StripArgs own = args;
        letters_.move_to(columns, own);
        own.border_H = scores_from(around_.top.H, columns.first);
        own.border_F = scores_from(around_.top.gap, columns.first);
        worker.some_rows.clear(), worker.some_columns.clear();
        for (const KeptRow& row : worker.kept_rows)
            worker.some_rows.push_back(
                {row.stop, row.lane, scores_from(row.H, columns.first), scores_from(row.F, columns.first)});
        for (const KeptColumn& column : worker.kept_columns)
            if (column.column > columns.first && column.column <= columns.end)
                worker.some_columns.push_back({column.column - columns.first, column.H, column.E});
        if (columns.end < job_.region.n_columns)
            worker.some_columns.push_back({columns.n(), args.left_H, args.left_E});
        own.kept_rows = worker.some_rows.data(), own.n_kept_rows = int64_t(worker.some_rows.size());
        own.kept_columns = worker.some_columns.data();
        own.n_kept_columns = int64_t(worker.some_columns.size());
        own.above_last = &args.corner;
        EndCell end = worker.end;  // in letters of the region; a strip counts its own rows and columns
        end.row -= first_row, end.column -= columns.first;
        own.end = job_.wants_end ? &end : nullptr;
        kernels_.run_strip(own);
        worker.end = {end.score, end.row + first_row, end.column + columns.first};
    }

    void keep_lines(StripWorker& worker, int64_t first_row, StripArgs& args) const {
        worker.stops.clear(), worker.kept_rows.clear(), worker.kept_columns.clear();
        const auto before = [](const KeptLine& line, int64_t place) { return line.place <= place; };
        const auto begin = std::lower_bound(job_.rows.begin(), job_.rows.end(), first_row, before);
        const auto end = std::lower_bound(begin, job_.rows.end(), first_row + args.n_rows, before);
        worker.stops.push_back(lane_rows_);
        for (auto line = begin; line != end; ++line)
            worker.stops.push_back((line->place - first_row - 1) % lane_rows_ + 1);
        std::sort(worker.stops.begin(), worker.stops.end());
        worker.stops.erase(std::unique(worker.stops.begin(), worker.stops.end()), worker.stops.end());
        for (auto line = begin; line != end; ++line) {
            const int64_t row = line->place - first_row - 1;
            const auto stop =
                std::lower_bound(worker.stops.begin(), worker.stops.end(), row % lane_rows_ + 1);
            worker.kept_rows.push_back(
                {int32_t(stop - worker.stops.begin()), int32_t(row / lane_rows_), line->H, line->gap});
        }
        for (const KeptLine& line : job_.columns)
            worker.kept_columns.push_back(
                {line.place, scores_from(line.H, first_row), scores_from(line.gap, first_row)});
        worker.runs = make_runs(worker.stops, worker.letters.odd_rows);
        args.runs = worker.runs.data(), args.n_runs = int64_t(worker.runs.size());
        args.n_stops = int64_t(worker.stops.size());
    }

    const RegionJob& job_;
    const WidthKernels& kernels_;
    Progress& progress_;
    const int64_t lane_rows_, strip_rows_;
    RegionLetters letters_;
    Surroundings around_;
    const size_t n_strips_;
    std::unique_ptr<StripDone[]> done_;
    std::unique_ptr<std::atomic<int64_t>[]>
        whole_until_;               // of each strip: columns that are not looked at for pruning
    std::vector<int64_t> corners_;  // of each strip: H above and left of it
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
