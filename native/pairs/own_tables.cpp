// Runs pairs with a table each, the largest first.
#include "pairs/own_tables.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "pairs/grid.hpp"
#include "pairs/scalar.hpp"
#include "scan/kernel_args.hpp"
#include "threads/scratch.hpp"
#include "threads/tasks.hpp"

namespace exaln {
namespace {

std::vector<size_t> largest_first(const OwnTablesJob& job) {
    std::vector<size_t> order(job.pairs.size());
    std::iota(order.begin(), order.end(), size_t(0));
    const auto cells = [&](size_t pair) {
        return double(job.queries.length(job.pairs[pair].query)) *
               double(job.targets.length(job.pairs[pair].target));
    };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cells(a) > cells(b); });
    return order;
}

// 8 bits are too few for scores with a resolution that is worth a table for each pair.
constexpr int LEAST_BITS = 16;

int64_t score_of(const OwnTablesJob& job, size_t pair, Scratch& memory, Progress& progress) {
    Costs costs = job.costs(pair);
    StripedArgs args{};
    args.query = job.queries.at(job.pairs[pair].query),
    args.n_rows = job.queries.length(job.pairs[pair].query);
    args.target = job.targets.at(job.pairs[pair].target),
    args.n_columns = job.targets.length(job.pairs[pair].target);
    if (args.n_rows == 0 || args.n_columns == 0) return 0;
    if (args.n_columns > args.n_rows) {  // a column takes much longer than a register of rows
        std::swap(args.query, args.target), std::swap(args.n_rows, args.n_columns);
        costs = transposed(costs);
    }
    args.costs = &costs, args.cancelled = &progress.cancelled;
    for (const WidthKernels& kernels : job.isas[0]->widths) {
        if (kernels.bits < LEAST_BITS || !Range::of(costs, kernels.bits).usable) continue;
        uint32_t built = 0;
        args.built = &built;
        args.workspace = memory.reserve(kernels.striped_workspace(args.n_rows));
        const int64_t score = kernels.score_striped(args);
        if (score != OVERFLOWED) return score;
    }
    return align_scalar(args.query, args.n_rows, args.target, args.n_columns, costs, LOCAL, progress,
                        nullptr);
}

}  // namespace

std::vector<int64_t> score_with_own_tables(const OwnTablesJob& job, Progress& progress) {
    std::vector<int64_t> scores(job.pairs.size());
    const std::vector<size_t> order = largest_first(job);
    run_tasks(
        order.size(), job.threads, [] { return std::make_unique<Scratch>(); },
        [&](Scratch& memory, size_t i) {
            if (!progress.cancelled) scores[order[i]] = score_of(job, order[i], memory, progress);
        },
        [](Scratch&) {});
    return scores;
}

SeveralFound align_with_own_tables(const OwnTablesJob& job, int64_t most, const int64_t* least,
                                   const int32_t* known, double max_bytes, Progress& progress) {
    const size_t n = job.pairs.size();
    SeveralFound found{std::vector<std::vector<FoundAlignment>>(n), std::vector<uint8_t>(n, 1)};
    const std::vector<size_t> order = largest_first(job);
    run_tasks(
        n, job.threads, [] { return std::make_unique<GridMemory>(); },
        [&](GridMemory& memory, size_t i) {
            if (progress.cancelled) return;
            const size_t pair = order[i];
            const Costs costs = job.costs(pair);
            PairJob one{job.isas, job.queries, job.targets, {job.pairs[pair]}, costs, LOCAL, 1, 0, {}};
            if (known) one.known_scores = {known[pair]};
            const SeveralJob several{one, most, least + pair, max_bytes / job.threads};
            found.alignments[pair] = std::move(align_several(several, memory, progress).alignments[0]);
        },
        [](GridMemory&) {});
    return found;
}

}  // namespace exaln
