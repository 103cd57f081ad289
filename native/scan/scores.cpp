// Scores all queries against all targets in rounds of growing width until no pair overflows.
#include "scan/scores.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "recurrence/ranges.hpp"
#include "scan/kernel_args.hpp"
#include "scan/pieces.hpp"
#include "scan/plan.hpp"
#include "simd/interleave.hpp"
#include "threads/scratch.hpp"
#include "threads/tasks.hpp"

namespace exaln {
namespace {

// A pair whose score did not fit the lanes. `place` is the target's position in Round::order, or that of a
// piece.
struct Overflow {
    int64_t query, place;
    bool operator<(const Overflow& other) const {
        return query != other.query ? query < other.query : place < other.place;
    }
};

// One round: all pairs without a score yet, at one width. With blocks, those of later rounds are pieces of
// targets.
struct Round {
    const WidthKernels& kernels;
    const Sequences& queries;
    const Sequences& targets;
    const Costs& costs;
    const Costs& transposed;            // with query and target exchanged
    const std::vector<int64_t>& order;  // targets in ascending order of length
    const void* score_rows;
    Progress& progress;
    bool counts_cells;  // true only in the first round, so that each cell counts once
    int32_t* scores;
    const ColumnBlocks* blocks;         // null for a score per target
    const std::vector<int64_t>& spans;  // with blocks, the alignment_span of each query
    const Pieces* pieces;               // what places stand for; null if they are whole targets
};

class Worker {
  public:
    explicit Worker(const Round& round) : round_(round), lane_scores_(size_t(round.kernels.lanes)) {}

    void run(const Task& task) {
        if (task.striped) {
            for (int64_t query = task.first_query; query < task.end_query; ++query) run_striped(task, query);
        } else {
            interleave_targets(task);
            for (int64_t query = task.first_query; query < task.end_query; ++query) run_group(task, query);
        }
    }

    std::vector<Overflow> overflows;
    std::vector<Piece> wrong;  // with blocks, in place of overflows

  private:
    bool cancelled() const { return round_.progress.cancelled.load(std::memory_order_relaxed); }

    // The piece of a target that a place stands for, if there are blocks; it may be all of it.
    Piece piece(int64_t query, int64_t place) const {
        if (round_.pieces) return round_.pieces->sorted[size_t(place)];
        const int64_t target = round_.order[size_t(place)];
        const int64_t* const first = &round_.blocks->first[size_t(target)];
        return {query, target, 0, round_.targets.length(target), 0, first[1] - first[0]};
    }

    int64_t length(int64_t place) const {
        return round_.pieces ? round_.pieces->sorted[size_t(place)].n_columns
                             : round_.targets.length(round_.order[size_t(place)]);
    }

    const uint8_t* codes(int64_t place) const {
        if (!round_.pieces) return round_.targets.at(round_.order[size_t(place)]);
        const Piece& piece = round_.pieces->sorted[size_t(place)];
        return round_.targets.at(piece.target) + piece.first_column;
    }

    void store(int64_t query, int64_t place, int64_t score) {
        if (score == OVERFLOWED)
            overflows.push_back({query, place});
        else
            round_.scores[query * round_.targets.n + round_.order[size_t(place)]] = int32_t(score);
    }

    // block_scores, stride: of the place. is_complete: whether they are exact but for what overflowed.
    void store_blocks(int64_t query, int64_t place, int64_t score, const int32_t* block_scores,
                      int64_t stride, bool is_complete) {
        const Piece own = piece(query, place);
        if (score == OVERFLOWED) {
            if (round_.pieces || !is_complete) return wrong.push_back(own);
            add_wrong_pieces(own, block_scores, stride, block_columns(), round_.spans[size_t(query)], wrong);
        }
        int32_t* const out =
            round_.scores + query * round_.blocks->n() + round_.blocks->first[size_t(own.target)];
        const int64_t first = own.first_column / block_columns();
        for (int64_t block = own.first_block; block < own.end_block; ++block)
            out[block] = block_scores[(block - first) * stride];
    }

    int64_t block_columns() const { return round_.blocks ? round_.blocks->columns : 0; }

    // Room for the scores of the blocks of `lanes` targets with at most n_columns columns.
    int32_t* block_scores(int64_t n_columns, int lanes) {
        if (round_.blocks == nullptr) return nullptr;
        const size_t n = size_t((n_columns + block_columns() - 1) / block_columns()) * size_t(lanes);
        block_best_.reserve(std::max<size_t>(n, 1) * sizeof(int32_t));
        return static_cast<int32_t*>(block_scores_.reserve(std::max<size_t>(n, 1) * sizeof(int32_t)));
    }

    std::atomic<int64_t>* cells() const { return round_.counts_cells ? &round_.progress.cells : nullptr; }

    void interleave_targets(const Task& task) {
        const int lanes = round_.kernels.lanes;
        rows_.clear(), lengths_.clear();
        for (const int64_t place : task.places) {
            rows_.push_back(codes(place));
            lengths_.push_back(length(place));
        }
        const int64_t longest = *std::max_element(lengths_.begin(), lengths_.end());
        n_columns_ = round_.kernels.padded(longest);
        letters_ = static_cast<uint8_t*>(letters_scratch_.reserve(size_t(n_columns_) * size_t(lanes)));
        interleave(rows_.data(), lengths_.data(), int(rows_.size()), lanes, lanes, n_columns_,
                   uint8_t(round_.costs.pad), letters_);
    }

    void run_group(const Task& task, int64_t query) {
        if (cancelled()) return;
        GroupArgs args{};
        args.query = round_.queries.at(query), args.n_rows = round_.queries.length(query);
        args.letters = letters_, args.n_columns = n_columns_;
        args.score_rows = round_.score_rows, args.costs = &round_.costs;
        args.workspace = workspace_.reserve(round_.kernels.group_workspace(n_columns_));
        args.cancelled = &round_.progress.cancelled, args.cells = cells();
        args.n_residues = std::accumulate(lengths_.begin(), lengths_.end(), int64_t(0));
        args.scores = lane_scores_.data();
        args.block_columns = block_columns();
        args.block_scores = block_scores(n_columns_, round_.kernels.lanes);
        args.block_best = block_best_.reserve(0);
        round_.kernels.score_group(args);
        for (size_t lane = 0; lane < task.places.size(); ++lane) {
            const int64_t place = task.places[lane], score = lane_scores_[lane];
            if (round_.blocks)
                store_blocks(query, place, score, args.block_scores + lane, round_.kernels.lanes, true);
            else
                store(query, place, score);
        }
    }

    void run_striped(const Task& task, int64_t query) {
        uint32_t built = 0;
        for (const int64_t place : task.places) {
            require_codes(codes(place), length(place));
            if (cancelled()) return;
            const int64_t score = score_striped(query, place, built);
            if (score == CANCELLED) return;
            if (round_.blocks)
                store_blocks(query, place, score, static_cast<const int32_t*>(block_scores_.data()), 1,
                             false);
            else
                store(query, place, score);
        }
    }

    // `built` has a bit for each letter whose profile of this query is in the workspace.
    int64_t score_striped(int64_t query, int64_t place, uint32_t& built) {
        StripedArgs args{};
        args.query = round_.queries.at(query), args.n_rows = round_.queries.length(query);
        args.target = codes(place), args.n_columns = length(place);
        args.costs = &round_.costs, args.cancelled = &round_.progress.cancelled, args.cells = cells();
        args.block_columns = block_columns(), args.block_scores = block_scores(args.n_columns, 1);
        if (args.n_rows == 0 && args.block_scores)
            std::fill_n(args.block_scores, (args.n_columns + block_columns() - 1) / block_columns(), 0);
        if (args.n_rows == 0 || args.n_columns == 0) return 0;
        const double rows = double(args.n_rows), columns = double(args.n_columns);
        if (!round_.blocks && striped_cost(rows, columns, round_.kernels.lanes).swapped) {
            std::swap(args.query, args.target), std::swap(args.n_rows, args.n_columns);
            args.costs = &round_.transposed;
            built = 0;
        }
        args.workspace = workspace_.reserve(round_.kernels.striped_workspace(args.n_rows));
        args.built = &built;
        const int64_t score = round_.kernels.score_striped(args);
        if (args.costs == &round_.transposed) built = 0;
        return score;
    }

    const Round& round_;
    Scratch workspace_, letters_scratch_, block_best_, block_scores_;
    uint8_t* letters_ = nullptr;
    int64_t n_columns_ = 0;
    std::vector<const uint8_t*> rows_;
    std::vector<int64_t> lengths_;
    std::vector<int32_t> lane_scores_;
};

// What has to be scored again in wider lanes; with blocks, `wrong` has the pieces that the places stand for.
std::vector<Overflow> run_round(const Round& round, const std::vector<Task>& tasks, int threads,
                                Pieces& wrong) {
    std::vector<Overflow> overflows;
    std::vector<Piece> pieces;
    run_tasks(
        tasks.size(), threads, [&] { return std::make_unique<Worker>(round); },
        [&](Worker& worker, size_t i) { worker.run(tasks[i]); },
        [&](Worker& worker) {
            overflows.insert(overflows.end(), worker.overflows.begin(), worker.overflows.end());
            pieces.insert(pieces.end(), worker.wrong.begin(), worker.wrong.end());
        });
    wrong = Pieces(std::move(pieces));
    for (const int64_t place : wrong.order) overflows.push_back({wrong.sorted[size_t(place)].query, place});
    std::sort(overflows.begin(), overflows.end());
    return overflows;
}

std::vector<int64_t> places_by_length(const Sequences& targets) {
    std::vector<int64_t> order(size_t(targets.n));
    std::iota(order.begin(), order.end(), int64_t(0));
    auto shorter = [&](int64_t a, int64_t b) { return targets.length(a) < targets.length(b); };
    if (!std::is_sorted(order.begin(), order.end(), shorter))
        std::stable_sort(order.begin(), order.end(), shorter);
    return order;
}

// Tasks for the pairs that overflowed. They are few and differ between queries, so each has its own plan.
std::vector<Task> plan_overflows(const Planner& planner, const std::vector<Overflow>& overflows) {
    std::vector<Task> tasks;
    for (size_t begin = 0, end = 0; begin < overflows.size(); begin = end) {
        std::vector<int64_t> places;
        for (end = begin; end < overflows.size() && overflows[end].query == overflows[begin].query; ++end)
            places.push_back(overflows[end].place);
        planner.add_tasks(overflows[begin].query, overflows[begin].query + 1, places, tasks);
    }
    return tasks;
}

}  // namespace

ColumnBlocks::ColumnBlocks(const Sequences& targets, int64_t columns)
    : columns(columns), first(size_t(targets.n) + 1, 0) {
    if (columns < BLOCK_UNIT || columns % BLOCK_UNIT)
        throw std::invalid_argument("a block has a multiple of 64 columns");
    for (int64_t target = 0; target < targets.n; ++target)
        first[size_t(target) + 1] = first[size_t(target)] + (targets.length(target) + columns - 1) / columns;
}

void score_all(const Isa& isa, const Sequences& queries, const Sequences& targets, const Costs& costs,
               int threads, Progress& progress, int32_t* scores, const ColumnBlocks* blocks) {
    const std::vector<int64_t> order = places_by_length(targets);
    const Costs transposed_costs = transposed(costs);
    std::vector<int64_t> spans;
    for (int64_t query = 0; blocks && query < queries.n; ++query)
        spans.push_back(alignment_span(queries.at(query), queries.length(query), costs));
    std::vector<Overflow> pending;
    Pieces pieces, wrong;
    bool first = true;
    for (const WidthKernels& kernels : isa.widths) {
        if (!Range::of(costs, kernels.bits).usable) continue;
        if (!first && pending.empty()) return;
        Scratch row_memory;
        void* score_rows = row_memory.reserve(kernels.score_rows_bytes);
        kernels.make_score_rows(costs, score_rows);
        const bool has_pieces = blocks && !first;
        const Sequences lengths = has_pieces ? pieces.lengths() : targets;
        const Planner planner(kernels.lanes, threads, queries, lengths, has_pieces ? pieces.order : order);
        std::vector<Task> tasks;
        if (first) {
            std::vector<int64_t> places(order.size());
            std::iota(places.begin(), places.end(), int64_t(0));
            planner.add_tasks(0, queries.n, places, tasks);
        } else {
            tasks = plan_overflows(planner, pending);
        }
        sort_longest_first(tasks);
        pending = run_round({kernels, queries, targets, costs, transposed_costs, order, score_rows, progress,
                             first, scores, blocks, spans, has_pieces ? &pieces : nullptr},
                            tasks, threads, wrong);
        std::swap(pieces, wrong);
        if (progress.cancelled) return;
        first = false;
    }
    if (first || !pending.empty()) throw std::overflow_error("a score does not fit 31 bits");
}

}  // namespace exaln
