#include "region.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <thread>

#include "pair_plan.hpp"
#include "tasks.hpp"

namespace exaln {
namespace {

constexpr int64_t MAX_LANE_ROWS = 256;  // with more, little is gained and fewer threads have work
constexpr int64_t MIN_LANE_ROWS = 16;   // with fewer, what a step begins and ends with takes too long
constexpr int64_t BLOCK_STEPS = 16;     // of a block of columns that may be pruned, for each lane
constexpr int64_t NOT_KNOWN = -1;

// The kernels of the narrowest lanes that hold a strip of so many rows per lane; null if none do.
const WidthKernels* kernels_for(const Isa& isa, const Costs& costs, int64_t n_rows, int64_t max_lane_rows) {
    for (const WidthKernels& kernels : isa.widths) {
        const int64_t lane_rows = std::min(max_lane_rows, (n_rows + kernels.lanes - 1) / kernels.lanes);
        if (kernels.bits > 8 && StripRange::of(costs, kernels.bits, lane_rows, kernels.columns).usable)
            return &kernels;
    }
    return nullptr;
}

// Letters that match or do not, in so few classes that the kernels can take them: their scores, and the class
// of each.
struct PlainLetters {
    uint32_t codes = 0;  // bit a for each letter a that is plain
    int32_t match = 0, mismatch = 0;
    uint8_t of_query[MAX_CODES] = {}, of_target[MAX_CODES] = {};

    static PlainLetters of(const Costs& costs, uint32_t codes, bool is_local, int most_classes) {
        PlainLetters plain;
        const LetterClasses found = LetterClasses::of(costs, codes, is_local);
        uint8_t numbers[MAX_CODES] = {};
        int n_classes = 0;
        const auto number = [&](uint8_t letter_class) {
            if (numbers[letter_class] == 0) numbers[letter_class] = uint8_t(++n_classes);
            return uint8_t(numbers[letter_class] - 1);
        };
        for (int code = 0; found.exist && code < costs.n_codes; ++code) {
            if ((codes >> code & 1) == 0) continue;
            plain.of_query[code] = number(found.of_query[code]);
            plain.of_target[code] = number(found.of_target[code]);
        }
        plain.match = found.match, plain.mismatch = found.mismatch;
        plain.codes = found.exist && n_classes <= most_classes ? codes : 0;
        return plain;
    }

    // All letters of a region if they are, or else those that score as much against themselves as any does,
    // if most are.
    static PlainLetters of(const Costs& costs, const Region& region, bool is_local, int most_classes) {
        int64_t counts[MAX_CODES] = {};
        for (int64_t i = 0; i < region.n_rows; ++i) ++counts[region.query[i]];
        for (int64_t j = 0; j < region.n_columns; ++j) ++counts[region.target[j]];
        uint32_t present = 0, best = 0;
        int32_t match = INT32_MIN;
        for (int code = 0; code < costs.n_codes; ++code)
            if (counts[code] > 0)
                present |= uint32_t(1) << code, match = std::max(match, costs.scores[code][code]);
        const PlainLetters all = of(costs, present, is_local, most_classes);
        if (all.codes != 0) return all;
        int64_t n_best = 0;
        for (int code = 0; code < costs.n_codes; ++code)
            if (counts[code] > 0 && costs.scores[code][code] == match)
                best |= uint32_t(1) << code, n_best += counts[code];
        return 2 * n_best > region.n_rows + region.n_columns ? of(costs, best, is_local, most_classes)
                                                             : PlainLetters();
    }
};

// Columns [first, end) of a strip.
struct Columns {
    int64_t first, end;
    int64_t n() const { return end - first; }
};

// The target as planes, one for each column of a tile: a byte for each tile, the last tile first, so that the
// letters of neighbouring lanes, which are at neighbouring tiles, lie side by side. 0 beyond both ends.
struct TargetPlanes {
    int64_t columns, lanes, n_tiles, bytes;
    std::vector<uint8_t> codes, classes, odd_tiles;

    TargetPlanes(const WidthKernels& kernels, int64_t n_columns)
        : columns(kernels.columns),
          lanes(kernels.lanes),
          n_tiles(kernels.padded(n_columns) / columns),
          bytes(n_tiles + 2 * (lanes - 1)),
          codes(size_t(bytes * columns)),
          classes(codes.size()),
          odd_tiles(size_t(bytes)) {}

    void set(int64_t column, uint8_t code, uint8_t letter_class, bool is_plain) {
        const int64_t tile = n_tiles - 1 - column / columns + lanes - 1;
        const auto place = size_t(column % columns * bytes + tile);
        codes[place] = code, classes[place] = letter_class, odd_tiles[size_t(tile)] |= !is_plain;
    }
};

// The query's letters of one strip, [lane_rows][lanes], and which rows have others than plain ones in some
// lane.
struct StripLetters {
    std::vector<uint8_t> codes, classes, odd_rows;
};

// The letters of a region as the kernels take them.
class RegionLetters {
  public:
    RegionLetters(const WidthKernels& kernels, const Region& region, const Costs& costs, bool is_local)
        : lanes_(kernels.lanes),
          region_(region),
          plain_(PlainLetters::of(costs, region, is_local, 16 * 8 / kernels.bits)),
          planes_(kernels, region.n_columns) {
        kernels.make_score_rows(costs, score_rows_.reserve(kernels.score_rows_bytes));
        for (int64_t j = 0; j < region.n_columns; ++j) {
            const uint8_t code = region.target[j];
            planes_.set(j, code, plain_.of_target[code], is_plain(code));
        }
    }

    // Of a strip of so many rows of each lane, from a row on; any letters beyond the region.
    void set(int64_t first_row, int64_t lane_rows, StripLetters& strip, StripArgs& args) {
        strip.codes.assign(size_t(lane_rows * lanes_), region_.query[first_row]);
        strip.classes.resize(strip.codes.size());
        strip.odd_rows.assign(size_t(lane_rows), 0);
        for (int64_t row = 0; row < lane_rows; ++row)
            for (int64_t lane = 0; lane < lanes_; ++lane) {
                const int64_t from = first_row + lane * lane_rows + row;
                uint8_t& code = strip.codes[size_t(row * lanes_ + lane)];
                if (from < region_.n_rows) code = region_.query[from];
                strip.classes[size_t(row * lanes_ + lane)] = plain_.of_query[code];
                strip.odd_rows[size_t(row)] |= !is_plain(code);
            }
        args.query_codes = strip.codes.data(), args.query_classes = strip.classes.data();
        args.target_codes = planes_.codes.data(), args.target_classes = planes_.classes.data();
        args.odd_tiles = planes_.odd_tiles.data(), args.plane_bytes = planes_.bytes;
        args.n_columns = region_.n_columns, args.lane_rows = lane_rows;
        args.n_rows = std::min(lane_rows * lanes_, region_.n_rows - first_row);
        args.score_rows = score_rows_.reserve(0);
        args.match = plain_.match, args.mismatch = plain_.mismatch;
    }

    // Some columns of the strip, from a whole tile on.
    void move_to(const Columns& columns, StripArgs& args) const {
        const int64_t tiles = (columns.end + planes_.columns - 1) / planes_.columns;
        args.target_codes += planes_.n_tiles - tiles, args.target_classes += planes_.n_tiles - tiles;
        args.odd_tiles += planes_.n_tiles - tiles;
        args.n_columns = columns.n();
    }

  private:
    bool is_plain(uint8_t code) const { return plain_.codes >> code & 1; }

    const int64_t lanes_;
    const Region region_;
    const PlainLetters plain_;
    Scratch score_rows_;
    TargetPlanes planes_;
};

// Rows of a lane as runs: cut at each stop (ascending, the last at the end), and where plain rows meet
// others.
std::vector<RowRun> make_runs(const std::vector<int64_t>& stops, const std::vector<uint8_t>& odd_rows) {
    std::vector<RowRun> runs;
    int32_t stop = 0;
    for (size_t row = 0; row < odd_rows.size(); ++row) {
        const bool is_plain = odd_rows[row] == 0, is_stop = int64_t(row) + 1 == stops[size_t(stop)];
        if (runs.empty() || runs.back().stop >= 0 || runs.back().are_plain != is_plain)
            runs.push_back({0, is_plain, -1});
        runs.back().end = int64_t(row) + 1;
        if (is_stop) runs.back().stop = stop++;
    }
    return runs;
}

// H and a gap's score along one side of a region.
struct Side {
    ScoreArray H, gap;

    Side from(int64_t first) const { return {scores_from(H, first), scores_from(gap, first)}; }

    void raise(int64_t i, int64_t least, int64_t gap_first) const {
        if (score_at(H, i) >= least) return;
        set_score(H, i, least);
        set_score(gap, i, std::max(score_at(gap, i), least - gap_first));
    }

    // From the cell before the first one on, by no more than a gap costs.
    void let_fall(int64_t before, int64_t n, const Costs& costs) const {
        int64_t least = before - costs.gap_first;
        for (int64_t i = 0; i < n; ++i) {
            raise(i, least, costs.gap_first);
            least = std::max(least - costs.gap_extend, score_at(H, i) - costs.gap_first);
        }
    }

    // As if an alignment began in each cell.
    void forget(int64_t first, int64_t end, int64_t gap_first) const {
        for (int64_t i = first; i < end; ++i) set_score(H, i, 0), set_score(gap, i, -gap_first);
    }

    int64_t highest(int64_t n) const {
        int64_t found = 0;
        for (int64_t i = 0; i < n; ++i) found = std::max(found, score_at(H, i));
        return found;
    }
};

// What surrounds a region, or a part of one, copied: the row between two strips, first the one above the
// region; the column left of what is computed next, first the one left of the region; H between them.
//
// Numbers beside pruned cells are lower than the true ones, and may be so by more than two neighbours of a
// table can differ, which StripRange relies on. `smooth` raises them: from a cell to those right of it or
// below it H falls by at most what a gap costs, and from a cell to the next it rises by at most max_score +
// gap_first. So what is raised is still not above the true number, and inside of such borders H keeps to the
// same limits. Nothing changes where no cell was pruned.
struct Surroundings {
    Side top, left;
    int64_t corner;

    Surroundings(const Region& region, int64_t padded_columns) : corner(region.corner) {
        top = copied(region.top_H, region.top_F, region.n_columns, padded_columns, memory_);
        left = copied(region.left_H, region.left_E, region.n_rows, region.n_rows, memory_ + 2);
    }

    static void smooth(const Costs& costs, const Side& top, int64_t n_columns, const Side& left,
                       int64_t n_rows, int64_t& corner) {
        const int64_t rises = costs.gap_first + std::max(costs.max_score, 0);
        for (int64_t i = n_rows - 1; i > 0; --i)
            left.raise(i - 1, score_at(left.H, i) - rises, costs.gap_first);
        if (n_rows > 0) corner = std::max(corner, score_at(left.H, 0) - rises);
        top.let_fall(corner, n_columns, costs);
        for (int64_t j = n_columns - 1; j > 0; --j)
            top.raise(j - 1, score_at(top.H, j) - rises, costs.gap_first);
        if (n_columns > 0) corner = std::max(corner, score_at(top.H, 0) - rises);
        left.let_fall(corner, n_rows, costs);
    }

  private:
    static Side copied(const ScoreArray& H, const ScoreArray& gap, int64_t n, int64_t padded,
                       Scratch* memory) {
        const size_t bytes = size_t(padded) * (H.is_wide ? sizeof(int64_t) : sizeof(int32_t));
        const Side side{{memory[0].reserve(bytes), H.is_wide}, {memory[1].reserve(bytes), H.is_wide}};
        for (int64_t i = 0; i < padded; ++i) {
            const int64_t from = std::min(i, n - 1);
            set_score(side.H, i, score_at(H, from)), set_score(side.gap, i, score_at(gap, from));
        }
        return side;
    }

    Scratch memory_[4];
};

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

std::vector<uint8_t> walk_block(const Isa& isa, const Region& region, const Costs& costs, bool is_local,
                                PathState& path) {
    if (path.row < 0 || path.row >= region.n_rows || path.column < 0 || path.column >= region.n_columns)
        throw std::invalid_argument("the path is not inside the region");
    Region walked = region;  // nothing below or right of the path matters
    walked.n_rows = path.row + 1, walked.n_columns = path.column + 1;
    const WidthKernels* kernels = kernels_for(isa, costs, walked.n_rows, INT64_MAX);
    if (!kernels) throw std::invalid_argument("the region is too large for walking");
    RegionLetters letters(*kernels, walked, costs, is_local);
    Surroundings around(walked, kernels->padded(walked.n_columns));
    if (is_local)
        Surroundings::smooth(costs, around.top, kernels->padded(walked.n_columns), around.left, walked.n_rows,
                             around.corner);
    const int64_t lane_rows = (walked.n_rows + kernels->lanes - 1) / kernels->lanes;
    StripArgs args{};
    StripLetters strip;
    letters.set(0, lane_rows, strip, args);
    args.border_H = around.top.H, args.border_F = around.top.gap;
    const std::vector<RowRun> runs = make_runs({lane_rows}, strip.odd_rows);
    args.runs = runs.data(), args.n_runs = int64_t(runs.size()), args.n_stops = 1;
    args.costs = &costs, args.is_local = is_local;
    args.left_H = around.left.H, args.left_E = around.left.gap, args.corner = around.corner;
    Scratch workspace, directions;
    args.workspace = workspace.reserve(kernels->strip_workspace(lane_rows, 1));
    args.directions =
        static_cast<uint8_t*>(directions.reserve(kernels->strip_directions(lane_rows, walked.n_columns)));
    Progress progress;
    StripDone done;
    args.cells = &progress.cells, args.cancelled = &progress.cancelled, args.done = &done;
    kernels->run_strip(args);
    std::vector<uint8_t> steps(size_t(walked.n_rows + walked.n_columns));
    steps.resize(
        size_t(kernels->walk_strip(args, walked.query, walked.target, path, steps.data()) - steps.data()));
    return steps;
}

}  // namespace exaln
