// Runs a single kernel in a workspace full of garbage, for tests.
#include "scan/single_kernel.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "recurrence/ranges.hpp"
#include "scan/kernel_args.hpp"
#include "simd/interleave.hpp"
#include "threads/scratch.hpp"

namespace exaln {
namespace {

const std::atomic<bool> never_cancelled{false};

// Memory filled with garbage, like a workspace that was used before, to expose kernels that read what they
// did not write.
void* poisoned_workspace(Scratch& scratch, size_t bytes) {
    void* const memory = scratch.reserve(bytes);
    if (bytes > 0) memset(memory, 0x7d, bytes);
    return memory;
}

// Scores up to `lanes` targets from `first` on. `scores` has room for all lanes.
void score_one_group(const WidthKernels& kernels, GroupArgs args, const Sequences& targets, int64_t first,
                     int32_t* scores) {
    const int n = int(std::min<int64_t>(kernels.lanes, targets.n - first));
    std::vector<const uint8_t*> rows;
    std::vector<int64_t> lengths;
    for (int64_t target = first; target < first + n; ++target) {
        rows.push_back(targets.at(target));
        lengths.push_back(targets.length(target));
    }
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    args.n_columns = kernels.padded(longest);
    std::vector<uint8_t> letters(size_t(args.n_columns) * size_t(kernels.lanes));
    interleave(rows.data(), lengths.data(), n, kernels.lanes, kernels.lanes, args.n_columns,
               uint8_t(args.costs->pad), letters.data());
    Scratch workspace;
    args.workspace = poisoned_workspace(workspace, kernels.group_workspace(args.n_columns));
    args.letters = letters.data(), args.scores = scores;
    kernels.score_group(args);
}

std::vector<int32_t> score_groups(const WidthKernels& kernels, GroupArgs args, const Sequences& targets) {
    Scratch rows;
    void* const score_rows = rows.reserve(kernels.score_rows_bytes);
    kernels.make_score_rows(*args.costs, score_rows);
    args.score_rows = score_rows;
    std::vector<int32_t> scores(size_t(targets.n + kernels.lanes));
    for (int64_t first = 0; first < targets.n; first += kernels.lanes)
        score_one_group(kernels, args, targets, first, scores.data() + first);
    scores.resize(size_t(targets.n));
    return scores;
}

std::vector<int32_t> score_each(const WidthKernels& kernels, StripedArgs args, const Sequences& targets) {
    Scratch workspace;
    uint32_t built = 0;
    args.workspace = poisoned_workspace(workspace, kernels.striped_workspace(args.n_rows)),
    args.built = &built;
    std::vector<int32_t> scores;
    for (int64_t target = 0; target < targets.n; ++target) {
        args.target = targets.at(target), args.n_columns = targets.length(target);
        scores.push_back(args.n_rows == 0 ? 0 : int32_t(kernels.score_striped(args)));
    }
    return scores;
}

}  // namespace

Family family_of(const std::string& name) {
    if (name == "group") return Family::group;
    if (name == "striped") return Family::striped;
    throw std::invalid_argument("family must be group or striped");
}

const WidthKernels& kernels_of(const Isa& isa, int bits) {
    for (const WidthKernels& kernels : isa.widths)
        if (kernels.bits == bits) return kernels;
    throw std::invalid_argument("bits must be 8, 16 or 32");
}

std::vector<int32_t> score_with_kernel(const WidthKernels& kernels, Family family, const uint8_t* query,
                                       int64_t n_rows, const Sequences& targets, const Costs& costs) {
    if (!Range::of(costs, kernels.bits).usable)
        throw std::invalid_argument("these costs leave no room at this width");
    if (family == Family::striped) {
        StripedArgs args{};
        args.query = query, args.n_rows = n_rows, args.costs = &costs, args.cancelled = &never_cancelled;
        return score_each(kernels, args, targets);
    }
    GroupArgs args{};
    args.query = query, args.n_rows = n_rows, args.costs = &costs, args.cancelled = &never_cancelled;
    return score_groups(kernels, args, targets);
}

}  // namespace exaln
