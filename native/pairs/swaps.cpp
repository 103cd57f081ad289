// Scores of pairs many of which have a target in common: a group shares queries, so both sides of such pairs
// change places, and the scores are the same. Paths are not, for ties fall otherwise.
#include <algorithm>

#include "pairs/plan.hpp"

namespace exaln {
namespace {

constexpr int64_t ENOUGH_TO_SHARE = 16;  // pairs that have a target in common

// Local scores above bases have only so many rows, and wider lanes would cost more than sharing saves.
bool may_swap(const PairJob& job, const Pair& pair) {
    return !job.mode.is_local || job.targets.length(pair.target) <= MOST_BASED_ROWS;
}

// Pairs whose target more pairs have than their query.
std::vector<bool> which_to_swap(const PairJob& job, Wants wants) {
    if (wants != Wants::SCORES) return {};
    std::vector<int64_t> n_with_query(size_t(job.queries.n), 0), n_with_target(size_t(job.targets.n), 0);
    for (const Pair& pair : job.pairs)
        ++n_with_query[size_t(pair.query)], ++n_with_target[size_t(pair.target)];
    std::vector<bool> are_swapped;
    for (const Pair& pair : job.pairs) {
        const int64_t n = n_with_target[size_t(pair.target)];
        are_swapped.push_back(n >= ENOUGH_TO_SHARE && n > n_with_query[size_t(pair.query)] &&
                              may_swap(job, pair));
    }
    return are_swapped;
}

Costs swapped(const Costs& costs) {
    Costs result = costs;
    for (int q = 0; q < MAX_CODES; ++q)
        for (int t = 0; t < MAX_CODES; ++t) result.scores[q][t] = costs.scores[t][q];
    return result;
}

Mode swapped(const Mode& mode) {
    return {mode.is_local, mode.target_start, mode.target_end, mode.query_start, mode.query_end};
}

}  // namespace

PairResults run_whole_pairs(const PairJob& job, Wants wants, Progress& progress) {
    const std::vector<bool> are_swapped = which_to_swap(job, wants);
    if (std::find(are_swapped.begin(), are_swapped.end(), true) == are_swapped.end())
        return run_pairs_as_given(job, wants, progress);
    const Costs swapped_costs = swapped(job.costs);
    PairResults results(job.pairs.size(), wants);
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
                           is_swapped ? swapped(job.mode) : job.mode,
                           job.threads,
                           job.max_bytes,
                           {}};
        const PairResults found = run_pairs_as_given(part, wants, progress);
        if (progress.cancelled) break;
        size_t next = 0;
        for (size_t i = 0; i < job.pairs.size(); ++i)
            if (are_swapped[i] == is_swapped) results.scores[i] = found.scores[next++];
    }
    return results;
}

}  // namespace exaln
