// Runs groups of pairs on threads, and repeats pairs that overflowed with the next number type.
#include "pairs/run.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "pairs/plan.hpp"
#include "pairs/scalar.hpp"
#include "pairs/traceback.hpp"
#include "scan/kernel_args.hpp"
#include "simd/interleave.hpp"
#include "threads/scratch.hpp"
#include "threads/tasks.hpp"

namespace exaln {
namespace {

// How the rows of a group are divided into strips.
struct Strips {
    int64_t n_rows, strip_rows;

    int64_t count() const { return (n_rows + strip_rows - 1) / strip_rows; }
    int64_t first_row(int64_t strip) const { return n_rows * strip / count(); }
};

// Memory that a thread reuses for every group.
struct GroupMemory {
    Scratch workspace, queries, targets, directions, borders, best, last_row, last_column;
};

// One group of pairs side by side.
class Group {
  public:
    Group(const PairJob& job, const PairPlanner& planner, const PairTask& task, GroupMemory& memory,
          Progress& progress)
        : job_(job),
          task_(task),
          kernels_(*task.kernels),
          memory_(memory),
          progress_(progress),
          strips_{task.n_rows, task.strip_rows},
          n_lanes_(size_t(kernels_.lanes)),
          query_lengths_(n_lanes_),
          target_lengths_(n_lanes_),
          end_rows_(n_lanes_),
          end_columns_(n_lanes_) {
        args_.source = task.source, args_.n_columns = task.n_columns, args_.score_rows = task.score_rows;
        args_.are_differences = task.number_type == RELATIVE && !job.mode.is_local;
        args_.have_bases = task.number_type == RELATIVE && job.mode.is_local;
        const int32_t added = args_.are_differences ? 2 * job.costs.gap_extend : 0;
        args_.match = planner.classes().match + added, args_.mismatch = planner.classes().mismatch + added;
        args_.costs = &job.costs, args_.mode = job.mode,
        args_.range = planner.range(task.number_type, task.n_rows, task.n_columns);
        args_.workspace =
            memory.workspace.reserve(kernels_.pair_workspace(std::min(task.strip_rows, task.n_rows)));
        args_.cancelled = &progress.cancelled;
        interleave_letters(planner.classes());
        args_.query_letters = args_.target_letters = uint32_t(1) << job.costs.pad;
        for (const size_t member : task.members)
            args_.query_letters |= planner.letters_of_query(member),
                args_.target_letters |= planner.letters_of_target(member);
        prepare_ends();
    }

    // Computes scores and, if requested, ends.
    void score(bool finds_ends) {
        const size_t border_bytes = strips_.count() > 1 ? kernels_.pair_border(args_.n_columns) : 0;
        void* const border = memory_.borders.reserve(border_bytes);
        if (!finds_ends) args_.end_rows = args_.end_columns = nullptr;
        for (int64_t strip = 0; strip < strips_.count() && !is_cancelled(); ++strip) {
            set_rows(strip);
            args_.border_above = strip > 0 ? border : nullptr;
            args_.border_below = strip + 1 < strips_.count() ? border : nullptr;
            kernels_.run_pairs(args_);
        }
        find_ends();
    }

    // Computes ends, and the steps of all paths from end to start.
    void trace() {
        const bool is_cut = strips_.count() > 1;
        if (is_cut) {
            borders_of_strips();
            start_at_ends();
        }
        const int64_t n_columns = args_.n_columns;
        for (int64_t strip = strips_.count() - 1; strip >= 0 && !is_cancelled(); --strip) {
            args_.n_columns = n_columns;
            set_strip(strip);
            if (is_cut) {
                if (!any_in_strip()) continue;
                args_.n_columns = kernels_.padded(last_column() + 1);
            }
            const size_t bytes = kernels_.pair_directions(args_.n_rows, args_.n_columns);
            args_.directions = static_cast<uint8_t*>(memory_.directions.reserve(bytes));
            args_.border_below = nullptr;
            kernels_.run_pairs(args_);
            if (is_cancelled()) return;
            if (!is_cut) start_at_ends();
            for (size_t lane = 0; lane < paths_.size(); ++lane) trace_lane(int(lane));
        }
        for (size_t lane = 0; lane < paths_.size(); ++lane) finish(int(lane));
    }

    const EndCell& end(size_t lane) const { return ends_[lane]; }
    bool overflowed(const EndCell& end) const {
        return job_.mode.is_local && end.score + args_.range.floor > args_.range.limit;
    }
    const std::vector<uint8_t>& steps(size_t lane) const { return steps_[lane]; }
    bool is_cancelled() const { return progress_.cancelled.load(std::memory_order_relaxed); }

  private:
    const Pair& pair(size_t lane) const { return job_.pairs[task_.members[lane]]; }

    void interleave_letters(const LetterClasses& classes) {
        for (size_t lane = 0; lane < task_.members.size(); ++lane) {
            queries_.push_back(job_.queries.at(pair(lane).query));
            targets_.push_back(job_.targets.at(pair(lane).target));
            query_lengths_[lane] = job_.queries.length(pair(lane).query);
            target_lengths_[lane] = job_.targets.length(pair(lane).target);
        }
        const bool has_classes = task_.source == ScoreSource::EQUAL;
        const auto put = [&](const std::vector<const uint8_t*>& rows, const std::vector<int64_t>& lengths,
                             int64_t n, uint8_t class_pad, const uint8_t* of_code, Scratch& memory) {
            auto* letters = static_cast<uint8_t*>(memory.reserve(size_t(n) * n_lanes_));
            const uint8_t pad = has_classes ? class_pad : uint8_t(job_.costs.pad);
            interleave(rows.data(), lengths.data(), int(rows.size()), int(n_lanes_), n, pad, letters);
            if (has_classes && !classes.are_codes)
                for (size_t i = 0; i < size_t(n) * n_lanes_; ++i) letters[i] = of_code[letters[i]];
            return letters;
        };
        args_.all_rows = task_.n_rows;
        args_.query = task_.source == ScoreSource::SHARED
                          ? put_shared_queries()
                          : put(queries_, query_lengths_, task_.n_rows, LetterClasses::QUERY_PAD,
                                classes.of_query, memory_.queries);
        args_.letters = put(targets_, target_lengths_, task_.n_columns, LetterClasses::TARGET_PAD,
                            classes.of_target, memory_.targets);
    }

    // The distinct queries one after the other, each padded to the length of the longest.
    const uint8_t* put_shared_queries() {
        for (size_t lane = 0; lane < queries_.size(); ++lane)
            if (lane == 0 || pair(lane).query != pair(lane - 1).query)
                args_.first_lanes[args_.n_queries++] = int(lane);
        if (args_.n_queries == 1) return queries_[0];
        const auto rows = size_t(task_.n_rows);
        auto* letters = static_cast<uint8_t*>(memory_.queries.reserve(size_t(args_.n_queries) * rows));
        memset(letters, job_.costs.pad, size_t(args_.n_queries) * rows);
        for (int i = 0; i < args_.n_queries; ++i) {
            const auto lane = size_t(args_.first_lanes[i]);
            memcpy(letters + size_t(i) * rows, queries_[lane], size_t(query_lengths_[lane]));
        }
        return letters;
    }

    void prepare_ends() {
        const size_t lane_bytes = size_t(kernels_.bits) / 8;
        args_.queries = queries_.data(), args_.targets = targets_.data();
        args_.query_lengths = query_lengths_.data(), args_.target_lengths = target_lengths_.data();
        args_.end_rows = end_rows_.data(), args_.end_columns = end_columns_.data();
        args_.stops_at_ends = !job_.known_scores.empty();
        if (job_.mode.is_local) {
            const size_t best_bytes = args_.have_bases ? sizeof(int16_t) : lane_bytes;
            args_.best = memory_.best.reserve(n_lanes_ * best_bytes);
            for (size_t lane = 0; lane < n_lanes_; ++lane)
                store_lane(args_.best, best_bytes, lane, best_on_entry(lane, best_bytes));
        } else {
            args_.last_row = memory_.last_row.reserve(size_t(task_.n_columns) * n_lanes_ * lane_bytes);
            if (job_.mode.query_end)
                args_.last_column = memory_.last_column.reserve(size_t(task_.n_rows) * n_lanes_ * lane_bytes);
        }
    }

    // The initial best score as stored. An unused lane counts as overflowed.
    int64_t best_on_entry(size_t lane, size_t lane_bytes) const {
        const int64_t largest = (int64_t(1) << (8 * lane_bytes - 1)) - 1;
        if (lane >= task_.members.size()) return std::min(args_.range.limit + 1, largest);
        const int64_t known = args_.stops_at_ends ? job_.known_scores[task_.members[lane]] : 1;
        return std::max<int64_t>(known, 1) - 1 + args_.range.floor;
    }

    static void store_lane(void* lanes, size_t lane_bytes, size_t lane, int64_t value) {
        if (lane_bytes == 1) {
            static_cast<int8_t*>(lanes)[lane] = int8_t(value);
        } else if (lane_bytes == 2) {
            static_cast<int16_t*>(lanes)[lane] = int16_t(value);
        } else {
            static_cast<int32_t*>(lanes)[lane] = int32_t(value);
        }
    }

    void set_rows(int64_t strip) {
        args_.first_row = strips_.first_row(strip),
        args_.n_rows = strips_.first_row(strip + 1) - args_.first_row;
    }

    void set_strip(int64_t strip) {
        const size_t bytes = kernels_.pair_border(task_.n_columns);
        auto* borders = static_cast<uint8_t*>(memory_.borders.reserve(0));
        set_rows(strip);
        args_.border_above = strip > 0 ? borders + size_t(strip - 1) * bytes : nullptr;
        args_.border_below = strip + 1 < strips_.count() ? borders + size_t(strip) * bytes : nullptr;
    }

    // The first pass over several strips: stores the borders between them, and finds the ends of the paths.
    void borders_of_strips() {
        memory_.borders.reserve(size_t(strips_.count() - 1) * kernels_.pair_border(args_.n_columns));
        for (int64_t strip = 0; strip < strips_.count() && !is_cancelled(); ++strip) {
            set_strip(strip);
            kernels_.run_pairs(args_);
        }
    }

    void find_ends() {
        ends_.resize(n_lanes_);
        kernels_.pair_ends(args_, ends_.data());
    }

    void start_at_ends() {
        find_ends();
        for (size_t lane = 0; lane < task_.members.size(); ++lane) {
            const EndCell& end = ends_[lane];
            paths_.push_back({end.row - 1, end.column - 1, end.score});
            if (overflowed(end)) paths_.back() = {-1, -1, 0};
            if (args_.stops_at_ends && end.score != job_.known_scores[task_.members[lane]])
                throw std::logic_error("no path has the score of its pair");
        }
        steps_.resize(paths_.size());
        args_.best = args_.last_row = args_.last_column = nullptr;
        args_.end_rows = args_.end_columns = nullptr;
    }

    bool any_in_strip() const {
        return std::any_of(paths_.begin(), paths_.end(), [&](const PathState& path) {
            return !path.is_complete(job_.mode.is_local) && path.row >= args_.first_row;
        });
    }

    // No path continues to the right of this column.
    int64_t last_column() const {
        int64_t last = 0;
        for (const PathState& path : paths_)
            if (!path.is_complete(job_.mode.is_local)) last = std::max(last, path.column);
        return last;
    }

    // Follows the part of a path that lies in the strip, if any.
    void trace_lane(int lane) {
        PathState& path = paths_[size_t(lane)];
        std::vector<uint8_t>& steps = steps_[size_t(lane)];
        if (path.is_complete(job_.mode.is_local) || path.row < args_.first_row) return;
        const size_t before = steps.size();
        steps.resize(before + size_t(args_.n_rows + path.column + 1));
        const uint8_t* end = kernels_.trace_pair(args_, lane, path, steps.data() + before);
        steps.resize(size_t(end - steps.data()));
    }

    void finish(int lane) {
        PathState& path = paths_[size_t(lane)];
        std::vector<uint8_t>& steps = steps_[size_t(lane)];
        if (!path.is_complete(job_.mode.is_local))
            throw std::logic_error("no path has the score of its pair");
        const size_t before = steps.size();
        steps.resize(before + size_t(path.row + path.column + 2));
        const uint8_t* end = trace_border(job_.mode, path, steps.data() + before);
        steps.resize(size_t(end - steps.data()));
    }

    const PairJob& job_;
    const PairTask& task_;
    const WidthKernels& kernels_;
    GroupMemory& memory_;
    Progress& progress_;
    Strips strips_;
    size_t n_lanes_;
    std::vector<const uint8_t*> queries_, targets_;
    std::vector<int64_t> query_lengths_, target_lengths_, end_rows_, end_columns_;
    PairArgs args_{};
    std::vector<EndCell> ends_;
    std::vector<PathState> paths_;
    std::vector<std::vector<uint8_t>> steps_;
};

// Decides whether a number type is worth trying: after a group of which most pairs overflowed, the next
// groups are passed on to the next type untried. Tasks are ordered by cost, so those that follow are similar.
class OverflowHistory {
  public:
    bool should_try() { return n_to_skip_.fetch_sub(1, std::memory_order_relaxed) <= 0; }
    void record(size_t n_pairs, size_t n_overflows) {
        n_to_skip_.store(2 * n_overflows > n_pairs ? 16 : 0, std::memory_order_relaxed);
    }

  private:
    std::atomic<int64_t> n_to_skip_{0};
};

class Worker {
  public:
    Worker(const PairJob& job, const PairPlanner& planner, Output output, Progress& progress,
           OverflowHistory& history, PairResults& results)
        : job_(job),
          planner_(planner),
          output_(output),
          progress_(progress),
          history_(history),
          results_(results) {}

    void run(const PairTask& task) {
        if (progress_.cancelled.load(std::memory_order_relaxed)) return;
        if (task.method != PairTask::Method::SCALAR && !history_.should_try()) {
            overflows.insert(overflows.end(), task.members.begin(), task.members.end());
            return;
        }
        const size_t n_before = overflows.size();
        run_task(task);
        history_.record(task.members.size(), overflows.size() - n_before);
    }

    std::vector<size_t> overflows;  // pairs that need the next number type

  private:
    void run_task(const PairTask& task) {
        if (task.method == PairTask::Method::GROUP) {
            run_group(task);
        } else if (task.method == PairTask::Method::STRIPED) {
            run_striped(task.members[0], *task.kernels);
        } else {
            run_scalar(task.members[0]);
        }
    }

    void store_end(size_t pair, const EndCell& end) {
        results_.scores[pair] = end.score;
        if (output_ != Output::SCORES) results_.ends[pair] = end;
    }

    void run_group(const PairTask& task) {
        Group group(job_, planner_, task, memory_, progress_);
        output_ == Output::PATHS ? group.trace() : group.score(output_ == Output::ENDS);
        if (group.is_cancelled()) return;
        for (size_t lane = 0; lane < task.members.size(); ++lane) {
            const size_t member = task.members[lane];
            const EndCell end = group.end(lane);
            if (group.overflowed(end)) {
                overflows.push_back(member);
                continue;
            }
            store_end(member, end);
            if (output_ == Output::PATHS)
                results_.alignments[member] = make_alignment(
                    job_.queries.at(job_.pairs[member].query), job_.targets.at(job_.pairs[member].target),
                    job_.costs, end.score, end.row, end.column, group.steps(lane));
        }
    }

    void run_scalar(size_t member) {
        const Pair& pair = job_.pairs[member];
        Alignment alignment;
        const int64_t score =
            align_scalar(job_.queries.at(pair.query), job_.queries.length(pair.query),
                         job_.targets.at(pair.target), job_.targets.length(pair.target), job_.costs,
                         job_.mode, progress_, output_ == Output::SCORES ? nullptr : &alignment);
        if (progress_.cancelled) return;
        if (!job_.known_scores.empty() && score != job_.known_scores[member])
            throw std::logic_error("no path has the score of its pair");
        store_end(member, {score, alignment.query_end, alignment.target_end});
        if (output_ == Output::PATHS) results_.alignments[member] = std::move(alignment);
    }

    void run_striped(size_t member, const WidthKernels& kernels) {
        const Pair& pair = job_.pairs[member];
        StripedArgs args{};
        uint32_t built = 0;
        args.query = job_.queries.at(pair.query), args.n_rows = job_.queries.length(pair.query);
        args.target = job_.targets.at(pair.target), args.n_columns = job_.targets.length(pair.target);
        args.costs = &job_.costs, args.cancelled = &progress_.cancelled, args.built = &built;
        args.workspace = memory_.workspace.reserve(kernels.striped_workspace(args.n_rows));
        const int64_t score = kernels.score_striped(args);
        if (score == CANCELLED) return;
        if (score == OVERFLOWED) {
            overflows.push_back(member);
        } else {
            store_end(member, {score, 0, 0});
        }
    }

    const PairJob& job_;
    const PairPlanner& planner_;
    const Output output_;
    Progress& progress_;
    OverflowHistory& history_;
    PairResults& results_;
    GroupMemory memory_;
};

}  // namespace

PairResults run_pairs_as_given(const PairJob& job, Output output, Progress& progress) {
    const PairPlanner planner(job, output);
    PairResults results(job.pairs.size(), output);
    std::vector<size_t> pending[SCALAR + 1];
    for (size_t pair = 0; pair < job.pairs.size(); ++pair)
        pending[planner.narrowest(pair, BITS_8)].push_back(pair);
    for (int number_type = BITS_8; number_type <= SCALAR; ++number_type) {
        const std::vector<PairTask> tasks = planner.plan(number_type, pending[number_type]);
        OverflowHistory history;
        run_tasks(
            tasks.size(), job.threads,
            [&] { return std::make_unique<Worker>(job, planner, output, progress, history, results); },
            [&](Worker& worker, size_t i) { worker.run(tasks[i]); },
            [&](Worker& worker) {
                for (const size_t pair : worker.overflows)
                    pending[planner.narrowest(pair, number_type + 1)].push_back(pair);
            });
        if (progress.cancelled) break;
    }
    return results;
}

}  // namespace exaln
