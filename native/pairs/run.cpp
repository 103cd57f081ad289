// Runs groups of pairs on threads, and repeats pairs that overflowed with the next number type.
#include "pairs/run.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "pairs/group.hpp"
#include "pairs/scalar.hpp"
#include "scan/kernel_args.hpp"
#include "threads/tasks.hpp"

namespace exaln {
namespace {

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
            for (const Place& place : task.places) overflows.push_back(place.pair);
            return;
        }
        const size_t n_before = overflows.size();
        PairTimes::add(pair_times.tasks, [&] { run_task(task); });
        history_.record(task.places.size(), overflows.size() - n_before);
    }

    std::vector<size_t> overflows;  // pairs that need the next number type

  private:
    void run_task(const PairTask& task) {
        if (task.method == PairTask::Method::GROUP) {
            run_group(task);
        } else if (task.method == PairTask::Method::STRIPED) {
            run_striped(task.places[0].pair, *task.kernels);
        } else {
            run_scalar(task.places[0].pair);
        }
    }

    void store_end(size_t pair, const EndCell& end) {
        results_.scores[pair] = end.score;
        if (output_ != Output::SCORES) results_.ends[pair] = end;
    }

    void run_group(const PairTask& task) {
        Group group(job_, planner_, task, output_, memory_, progress_);
        const auto finished = [&](size_t pair, const EndCell& end, const std::vector<uint8_t>& steps) {
            store_end(pair, end);
            if (output_ == Output::PATHS)
                results_.alignments[pair] = make_alignment(job_.queries.at(job_.pairs[pair].query),
                                                           job_.targets.at(job_.pairs[pair].target),
                                                           job_.costs, end.score, end.row, end.column, steps);
        };
        const std::vector<size_t> rest = group.run(finished);
        overflows.insert(overflows.end(), rest.begin(), rest.end());
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

PairTimes pair_times;

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
