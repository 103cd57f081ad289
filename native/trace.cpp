#include "trace.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "interleave.hpp"
#include "tasks.hpp"

namespace exaln {
namespace {

constexpr int64_t LEAST_STRIP_ROWS = 16;
constexpr int FULL_SPEED_BYTES = 32;   // registers up to this width cost the same, measured,
constexpr double WIDE_REGISTER = 1.5;  // and wider ones so much more: their masks are cheaper

// Pairs of one query that are traced side by side, or one pair that is too large for that (kernels ==
// nullptr).
struct TraceTask {
    const WidthKernels* kernels;
    const void* score_rows;
    int64_t strip_rows;           // rows whose directions are kept at a time
    std::vector<size_t> members;  // indices of pairs
    double cost;
};

// A way to trace pairs: which kernels of a width, how many rows at a time; strip_rows == 0 if there is none.
struct Choice {
    int kernels = -1;
    int64_t strip_rows = 0;
    double cost = 0;
};

// The kernels of one width, widest first, with their score rows.
class Width {
  public:
    Width(const std::vector<const Isa*>& isas, int which, const Costs& costs) {
        for (const Isa* isa : isas) {
            const WidthKernels& kernels = isa->widths[which];
            score_rows_.push_back(std::make_unique<Scratch>());
            kernels.make_score_rows(costs, score_rows_.back()->reserve(kernels.score_rows_bytes));
            kernels_.push_back(&kernels);
        }
        range_ = Range::of(costs, kernels_[0]->bits);
    }

    bool can_hold(int32_t score) const { return range_.usable && score + range_.floor <= range_.limit; }

    // The cheapest kernels for targets of these lengths, longest first, that keep borders and directions
    // within bounds. Narrow groups need more passes over the query but less padding: only the longest of a
    // group counts.
    Choice choose(const std::vector<int64_t>& lengths, int64_t n_rows, size_t max_bytes) const {
        Choice best;
        for (size_t i = 0; i < kernels_.size(); ++i) {
            const WidthKernels& kernels = *kernels_[i];
            const int64_t strip_rows = rows_that_fit(kernels, n_rows, kernels.padded(lengths[0]), max_bytes);
            const double rate = kernels.lanes * kernels.bits / 8 > FULL_SPEED_BYTES ? WIDE_REGISTER : 1;
            double columns = strip_rows < n_rows ? double(lengths[0]) : 0;  // strips are computed twice
            for (size_t first = 0; first < lengths.size(); first += size_t(kernels.lanes))
                columns += double(lengths[first]);
            const double cost = rate * columns;
            if (strip_rows > 0 && (best.kernels < 0 || cost < best.cost)) best = {int(i), strip_rows, cost};
        }
        return best;
    }

    // Of so many pairs at a time the groups are weighed.
    size_t widest() const {
        int lanes = 0;
        for (const WidthKernels* kernels : kernels_) lanes = std::max(lanes, kernels->lanes);
        return size_t(lanes);
    }

    const WidthKernels& kernels(int i) const { return *kernels_[size_t(i)]; }
    const void* score_rows(int i) const { return score_rows_[size_t(i)]->reserve(0); }

  private:
    // All rows, or as many as leave room for the borders between strips; 0 if that cannot be.
    static int64_t rows_that_fit(const WidthKernels& kernels, int64_t n_rows, int64_t n_columns,
                                 size_t max_bytes) {
        const size_t row_bytes = kernels.trace_directions(1, n_columns),
                     border_bytes = kernels.trace_border(n_columns);
        if (row_bytes * size_t(n_rows) <= max_bytes) return n_rows;
        const int64_t strip_rows = int64_t(max_bytes / 2 / row_bytes);
        if (strip_rows < LEAST_STRIP_ROWS) return 0;
        const int64_t n_borders = (n_rows - 1) / strip_rows;
        return size_t(n_borders) * border_bytes <= max_bytes / 2 ? strip_rows : 0;
    }

    std::vector<const WidthKernels*> kernels_;
    std::vector<std::unique_ptr<Scratch>> score_rows_;
    Range range_{};
};

// How the rows of a query are cut.
struct Strips {
    int64_t n_rows, strip_rows;

    int64_t count() const { return (n_rows + strip_rows - 1) / strip_rows; }
    int64_t first_row(int64_t strip) const { return n_rows * strip / count(); }
};

class Planner {
  public:
    Planner(const std::vector<const Isa*>& isas, const Sequences& queries, const Sequences& targets,
            const std::vector<Pair>& pairs, const Costs& costs, size_t max_bytes)
        : queries_(queries), targets_(targets), pairs_(pairs), max_bytes_(max_bytes) {
        for (int which = 0; which < 3; ++which) widths_.emplace_back(isas, which, costs);
    }

    std::vector<TraceTask> plan() const {
        std::vector<size_t> order(pairs_.size());
        std::iota(order.begin(), order.end(), size_t(0));
        auto key = [&](size_t i) {
            return std::make_tuple(pairs_[i].query, width_of(pairs_[i].score),
                                   -targets_.length(pairs_[i].target));
        };
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
        std::vector<TraceTask> tasks;
        for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
            const auto same = [&](size_t i) {
                return pairs_[order[i]].query == pairs_[order[begin]].query &&
                       width_of(pairs_[order[i]].score) == width_of(pairs_[order[begin]].score);
            };
            for (end = begin + 1; end < order.size() && same(end);) ++end;
            add_groups({order.begin() + std::ptrdiff_t(begin), order.begin() + std::ptrdiff_t(end)}, tasks);
        }
        std::stable_sort(tasks.begin(), tasks.end(), [](auto& a, auto& b) { return a.cost > b.cost; });
        return tasks;
    }

  private:
    int width_of(int32_t score) const {
        for (int which = 0; which < 2; ++which)
            if (widths_[size_t(which)].can_hold(score)) return which;
        return 2;
    }

    // Pairs of one query and width, longest target first.
    void add_groups(const std::vector<size_t>& members, std::vector<TraceTask>& tasks) const {
        const Width& width = widths_[size_t(width_of(pairs_[members[0]].score))];
        const int64_t n_rows = queries_.length(pairs_[members[0]].query);
        for (size_t begin = 0; begin < members.size();) {
            std::vector<int64_t> lengths;
            for (size_t i = begin; i < std::min(members.size(), begin + width.widest()); ++i)
                lengths.push_back(targets_.length(pairs_[members[i]].target));
            const int64_t longest = lengths[0];
            // Directions that stay in the cache are worth a second pass; the bound is for pairs that need
            // more.
            Choice choice = width.choose(lengths, n_rows, max_bytes_ / 4);
            if (choice.kernels < 0) choice = width.choose(lengths, n_rows, max_bytes_);
            size_t n = 1;
            double cost = 64.0 * double(n_rows) * double(longest);  // one cell at a time
            const WidthKernels* kernels = nullptr;
            if (choice.kernels >= 0) {
                kernels = &width.kernels(choice.kernels);
                n = std::min(members.size() - begin, size_t(kernels->lanes));
                cost = double(n_rows) * double(longest);
            }
            const auto first = members.begin() + std::ptrdiff_t(begin);
            const void* score_rows = kernels ? width.score_rows(choice.kernels) : nullptr;
            tasks.push_back(
                {kernels, score_rows, choice.strip_rows, {first, first + std::ptrdiff_t(n)}, cost});
            begin += n;
        }
    }

    const Sequences& queries_;
    const Sequences& targets_;
    const std::vector<Pair>& pairs_;
    size_t max_bytes_;
    std::vector<Width> widths_;
};

class Worker {
  public:
    Worker(const Sequences& queries, const Sequences& targets, const std::vector<Pair>& pairs,
           const Costs& costs, Progress& progress, std::vector<Alignment>& alignments)
        : queries_(queries),
          targets_(targets),
          pairs_(pairs),
          costs_(costs),
          progress_(progress),
          alignments_(alignments) {}

    void run(const TraceTask& task) {
        if (progress_.cancelled.load(std::memory_order_relaxed)) return;
        if (task.kernels) {
            run_group(task);
        } else {
            const Pair& pair = pairs_[task.members[0]];
            alignments_[task.members[0]] =
                trace_long(queries_.at(pair.query), queries_.length(pair.query), targets_.at(pair.target),
                           targets_.length(pair.target), costs_, pair.score, progress_);
        }
    }

  private:
    void run_group(const TraceTask& task) {
        const WidthKernels& kernels = *task.kernels;
        const int64_t query = pairs_[task.members[0]].query, n_rows = queries_.length(query);
        const size_t lanes = size_t(kernels.lanes);
        std::vector<int32_t> scores(lanes, 0);
        std::vector<int64_t> end_rows(lanes, -1), end_columns(lanes, -1);
        for (size_t lane = 0; lane < task.members.size(); ++lane)
            scores[lane] = pairs_[task.members[lane]].score;
        TraceArgs args{};
        args.n_columns = interleave_targets(task);
        args.query = queries_.at(query), args.letters = static_cast<const uint8_t*>(letters_.reserve(0));
        args.score_rows = task.score_rows, args.costs = &costs_, args.scores = scores.data();
        args.workspace = workspace_.reserve(kernels.trace_workspace(task.strip_rows));
        args.end_rows = end_rows.data(), args.end_columns = end_columns.data();
        const Strips strips{n_rows, task.strip_rows};
        std::vector<PathState> paths(task.members.size());
        std::vector<std::vector<uint8_t>> steps(task.members.size());
        auto start_at_ends = [&] {
            for (size_t lane = 0; lane < paths.size(); ++lane)
                paths[lane] = {end_rows[lane], end_columns[lane], scores[lane]};
            args.end_rows = args.end_columns = nullptr;
        };
        if (strips.count() > 1) {
            keep_borders(kernels, args, strips);
            start_at_ends();
        }
        const int64_t n_columns = args.n_columns;
        for (int64_t strip = strips.count() - 1; strip >= 0; --strip) {
            args.n_columns = n_columns;
            set_strip(kernels, args, strips, strip);
            if (strips.count() > 1) {
                if (!any_in_strip(paths, args)) continue;
                args.n_columns = kernels.padded(last_column(paths) + 1);
            }
            const size_t bytes = kernels.trace_directions(args.n_rows, args.n_columns);
            args.directions = static_cast<uint8_t*>(directions_.reserve(bytes)), args.border_below = nullptr;
            kernels.trace_strip(args);
            if (strips.count() == 1) start_at_ends();
            for (size_t lane = 0; lane < paths.size(); ++lane)
                walk(kernels, args, int(lane), paths[lane], steps[lane]);
        }
        for (size_t lane = 0; lane < task.members.size(); ++lane) {
            const Pair& pair = pairs_[task.members[lane]];
            if (end_rows[lane] < 0 || !paths[lane].is_complete())
                throw std::logic_error("no path has the score of its pair");
            alignments_[task.members[lane]] =
                make_alignment(args.query, targets_.at(pair.target), costs_, pair.score, end_rows[lane],
                               end_columns[lane], steps[lane]);
        }
    }

    // The first pass over several strips: the borders between them, and where the paths end.
    void keep_borders(const WidthKernels& kernels, TraceArgs& args, const Strips& strips) {
        borders_.reserve(size_t(strips.count() - 1) * kernels.trace_border(args.n_columns));
        for (int64_t strip = 0; strip < strips.count(); ++strip) {
            if (progress_.cancelled.load(std::memory_order_relaxed)) return;
            set_strip(kernels, args, strips, strip);
            kernels.trace_strip(args);
        }
    }

    void set_strip(const WidthKernels& kernels, TraceArgs& args, const Strips& strips, int64_t strip) {
        const size_t bytes = kernels.trace_border(args.n_columns);
        auto* borders = static_cast<uint8_t*>(borders_.reserve(0));
        args.first_row = strips.first_row(strip), args.n_rows = strips.first_row(strip + 1) - args.first_row;
        args.border_above = strip > 0 ? borders + size_t(strip - 1) * bytes : nullptr;
        args.border_below = strip + 1 < strips.count() ? borders + size_t(strip) * bytes : nullptr;
    }

    static bool any_in_strip(const std::vector<PathState>& paths, const TraceArgs& args) {
        return std::any_of(paths.begin(), paths.end(), [&](const PathState& path) {
            return !path.is_complete() && path.row >= args.first_row;
        });
    }

    // No path goes right of this column any more.
    static int64_t last_column(const std::vector<PathState>& paths) {
        int64_t last = 0;
        for (const PathState& path : paths)
            if (!path.is_complete()) last = std::max(last, path.column);
        return last;
    }

    // The part of a path that lies in the strip, if any does.
    static void walk(const WidthKernels& kernels, const TraceArgs& args, int lane, PathState& path,
                     std::vector<uint8_t>& steps) {
        if (path.is_complete() || path.row < args.first_row || path.column < 0) return;
        const size_t before = steps.size();
        steps.resize(before + size_t(args.n_rows + path.column + 1));
        const uint8_t* end = kernels.walk_back(args, lane, path, steps.data() + before);
        steps.resize(size_t(end - steps.data()));
    }

    int64_t interleave_targets(const TraceTask& task) {
        std::vector<const uint8_t*> rows;
        std::vector<int64_t> lengths;
        for (const size_t member : task.members) {
            rows.push_back(targets_.at(pairs_[member].target));
            lengths.push_back(targets_.length(pairs_[member].target));
        }
        const int lanes = task.kernels->lanes;
        const int64_t n_columns = task.kernels->padded(lengths[0]);
        auto* letters = static_cast<uint8_t*>(letters_.reserve(size_t(n_columns) * size_t(lanes)));
        interleave(rows.data(), lengths.data(), int(rows.size()), lanes, n_columns, uint8_t(costs_.pad),
                   letters);
        return n_columns;
    }

    const Sequences& queries_;
    const Sequences& targets_;
    const std::vector<Pair>& pairs_;
    const Costs& costs_;
    Progress& progress_;
    std::vector<Alignment>& alignments_;
    Scratch workspace_, letters_, directions_, borders_;
};

}  // namespace

Alignment make_alignment(const uint8_t* query, const uint8_t* target, const Costs& costs, int32_t score,
                         int64_t end_row, int64_t end_column, const std::vector<uint8_t>& steps) {
    Alignment alignment;
    alignment.query_end = end_row + 1, alignment.target_end = end_column + 1;
    alignment.columns = int32_t(steps.size());
    const auto n_of = [&](uint8_t step) { return std::count(steps.begin(), steps.end(), step); };
    int64_t row = alignment.query_end - alignment.columns + n_of(STEP_TARGET);
    int64_t column = alignment.target_end - alignment.columns + n_of(STEP_QUERY);
    alignment.query_start = row, alignment.target_start = column;
    int64_t rescored = 0;
    uint8_t previous = STEP_BOTH;
    auto push = [&](uint32_t operation) {
        auto& operations = alignment.operations;
        if (!operations.empty() && (operations.back() & 15) == operation) {
            operations.back() += 16;
        } else {
            operations.push_back(16 | operation);
        }
    };
    for (auto step = steps.rbegin(); step != steps.rend(); previous = *step++) {
        if (*step == STEP_BOTH) {
            const uint8_t q = query[row++], t = target[column++];
            rescored += costs.scores[q][t];
            alignment.identities += q == t, alignment.mismatches += q != t,
                alignment.positives += costs.scores[q][t] > 0;
            push(q == t ? EQUAL : DIFFERENT);
        } else {
            rescored -= *step == previous ? costs.gap_extend : costs.gap_first;
            alignment.gaps += 1, alignment.gap_opens += *step != previous;
            push(*step == STEP_QUERY ? INSERTION : DELETION);
            ++(*step == STEP_QUERY ? row : column);
        }
    }
    if (rescored != score) throw std::logic_error("a path does not re-score to the score of its pair");
    return alignment;
}

void trace_all(const std::vector<const Isa*>& isas, const Sequences& queries, const Sequences& targets,
               const std::vector<Pair>& pairs, const Costs& costs, int threads, size_t max_bytes,
               Progress& progress, std::vector<Alignment>& alignments) {
    const Planner planner(isas, queries, targets, pairs, costs, max_bytes);
    const std::vector<TraceTask> tasks = planner.plan();
    alignments.assign(pairs.size(), {});
    run_tasks(
        tasks.size(), threads,
        [&] { return std::make_unique<Worker>(queries, targets, pairs, costs, progress, alignments); },
        [&](Worker& worker, size_t i) { worker.run(tasks[i]); }, [](Worker&) {});
}

}  // namespace exaln
