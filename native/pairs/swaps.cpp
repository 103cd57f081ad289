// Swaps query and target of pairs that share their target rather than their query, because a group can share
// queries only. Scores are the same; paths are not, because ties are broken differently.
#include <algorithm>

#include "pairs/plan.hpp"

namespace exaln {
namespace {

constexpr int64_t MIN_SHARED_PAIRS = 16;  // pairs with the same target

// Local scores relative to bases are limited in rows, and wider lanes would cost more than sharing saves.
bool may_swap(const PairJob& job, const Pair& pair) {
    return !job.mode.is_local || job.targets.length(pair.target) <= MAX_BASED_ROWS;
}

// For each pair, true if more pairs share its target than its query. Empty if paths or ends are needed.
std::vector<bool> which_to_swap(const PairJob& job, Output output) {
    if (output != Output::SCORES) return {};
    std::vector<int64_t> n_with_query(size_t(job.queries.n), 0), n_with_target(size_t(job.targets.n), 0);
    for (const Pair& pair : job.pairs)
        ++n_with_query[size_t(pair.query)], ++n_with_target[size_t(pair.target)];
    std::vector<bool> are_swapped;
    for (const Pair& pair : job.pairs) {
        const int64_t n = n_with_target[size_t(pair.target)];
        are_swapped.push_back(n >= MIN_SHARED_PAIRS && n > n_with_query[size_t(pair.query)] &&
                              may_swap(job, pair));
    }
    return are_swapped;
}

}  // namespace

PairResults run_whole_pairs(const PairJob& job, Output output, Progress& progress) {
    const std::vector<bool> are_swapped = which_to_swap(job, output);
    if (std::find(are_swapped.begin(), are_swapped.end(), true) == are_swapped.end())
        return run_pairs_as_given(job, output, progress);
    const Costs swapped_costs = transposed(job.costs);
    PairResults results(job.pairs.size(), output);
    for (const bool is_swapped : {false, true}) {
        std::vector<Pair> pairs;
        for (size_t i = 0; i < job.pairs.size(); ++i)
            if (are_swapped[i] == is_swapped)
                pairs.push_back(is_swapped ? Pair{job.pairs[i].target, job.pairs[i].query} : job.pairs[i]);
        if (pairs.empty()) continue;
        const PairJob part{job.isas,
                           is_swapped ? job.targets : job.queries,
                           is_swapped ? job.queries : job.targets,
                           std::move(pairs),
                           is_swapped ? swapped_costs : job.costs,
                           is_swapped ? transposed(job.mode) : job.mode,
                           job.threads,
                           job.max_bytes,
                           {}};
        const PairResults found = run_pairs_as_given(part, output, progress);
        if (progress.cancelled) break;
        size_t next = 0;
        for (size_t i = 0; i < job.pairs.size(); ++i)
            if (are_swapped[i] == is_swapped) results.scores[i] = found.scores[next++];
    }
    return results;
}

}  // namespace exaln
