// Chooses the number type of a short pair, follows its path, and handles the strands of nucleotides.
#include "pairs/short_pair.hpp"

#include <algorithm>
#include <stdexcept>

#include "pairs/column_args.hpp"
#include "pairs/scalar.hpp"
#include "pairs/traceback.hpp"

namespace exaln {
namespace {

// Memory of a pair. A thread keeps it for the next pair, unless it is large.
struct ShortMemory {
    Scratch workspace, directions;
};

constexpr int64_t MAX_KEPT_CELLS = int64_t(1) << 19;  // at most 1 MB, with registers of 16 bytes or more

thread_local ShortMemory kept_memory;

std::vector<uint8_t> steps_of(const WidthKernels& kernels, const ColumnArgs& args, const EndCell& end) {
    PathState path{end.row - 1, end.column - 1, end.score};
    std::vector<uint8_t> steps(size_t(end.row + end.column));
    uint8_t* next = kernels.trace_columns(args, path, steps.data());
    if (!path.is_complete(args.mode.is_local)) throw std::logic_error("no path has the score of its pair");
    next = trace_border(args.mode, path, next);
    steps.resize(size_t(next - steps.data()));
    return steps;
}

// A pair of which one sequence is empty.
ScoredAlignment align_nothing(const std::vector<uint8_t>& query, const std::vector<uint8_t>& target,
                              const Costs& costs, const Mode& mode) {
    ScoredAlignment found{};
    Progress progress;
    found.score = align_scalar(query.data(), int64_t(query.size()), target.data(), int64_t(target.size()),
                               costs, mode, progress, &found.alignment);
    return found;
}

}  // namespace

ShortPairs::ShortPairs(const Costs& costs, Codes complements, const Isa& isa)
    : costs_(costs), complements_(std::move(complements)), isa_(isa) {
    const Costs by_target = transposed(costs);
    for (int width = 0; width < N_WIDTHS; ++width) {
        const WidthKernels& kernels = isa.widths[1 + width];
        kernels.make_score_rows(by_target, score_rows_[width].reserve(kernels.score_rows_bytes));
    }
}

std::optional<ShortPairs::Traced> ShortPairs::trace(const Codes& query, const Codes& target, const Mode& mode,
                                                    bool has_directions) const {
    ShortMemory large;
    ShortMemory& memory = int64_t(query.size() * target.size()) <= MAX_KEPT_CELLS ? kept_memory : large;
    ColumnArgs args{};
    args.query = query.data(), args.n_rows = int64_t(query.size());
    args.target = target.data(), args.n_columns = int64_t(target.size());
    args.costs = &costs_, args.mode = mode;
    for (int width = 0; width < N_WIDTHS; ++width) {
        const WidthKernels& kernels = isa_.widths[1 + width];
        args.range = Range::of_columns(costs_, kernels.bits, kernels.column_rows(args.n_rows), args.n_columns,
                                       mode.is_local);
        if (!args.range.usable) continue;
        args.score_rows = score_rows_[width].data();
        args.workspace = memory.workspace.reserve(kernels.column_workspace(args.n_rows, args.n_columns));
        if (has_directions)
            args.directions = static_cast<uint8_t*>(
                memory.directions.reserve(kernels.column_directions(args.n_rows, args.n_columns)));
        Traced found;
        kernels.run_columns(args, found.end);
        if (mode.is_local && found.end.score == OVERFLOWED) continue;
        if (has_directions) found.steps = steps_of(kernels, args, found.end);
        return found;
    }
    return std::nullopt;
}

std::optional<int64_t> ShortPairs::score(const Codes& query, const Codes& target, const Mode& mode) const {
    if (query.empty() || target.empty()) return align_nothing(query, target, costs_, mode).score;
    const auto found = trace(query, target, mode, false);
    return found ? std::optional(found->end.score) : std::nullopt;
}

std::optional<ScoredAlignment> ShortPairs::align(const Codes& query, const Codes& target, const Mode& mode,
                                                 Strand strand) const {
    if (strand == Strand::PLUS) return align_plus(query, target, mode);
    const Codes reversed = reverse_complement(query);
    if (strand == Strand::MINUS) return align_minus(reversed, target, mode);
    const std::optional<int64_t> on_minus = score(reversed, target, mode);
    std::optional<ScoredAlignment> on_plus = align_plus(query, target, mode);
    if (!on_minus || !on_plus) return std::nullopt;
    return *on_minus > on_plus->score ? align_minus(reversed, target, mode) : on_plus;
}

std::optional<ScoredAlignment> ShortPairs::align_plus(const Codes& query, const Codes& target,
                                                      const Mode& mode) const {
    if (query.empty() || target.empty()) return align_nothing(query, target, costs_, mode);
    const auto found = trace(query, target, mode, true);
    if (!found) return std::nullopt;
    const EndCell& end = found->end;
    return ScoredAlignment{
        end.score, false,
        make_alignment(query.data(), target.data(), costs_, end.score, end.row, end.column, found->steps)};
}

std::optional<ScoredAlignment> ShortPairs::align_minus(const Codes& reversed, const Codes& target,
                                                       const Mode& mode) const {
    std::optional<ScoredAlignment> found = align_plus(reversed, target, mode);
    if (!found) return found;
    Alignment& alignment = found->alignment;
    const int64_t length = int64_t(reversed.size()), start = alignment.query_start;
    alignment.query_start = length - alignment.query_end, alignment.query_end = length - start;
    std::reverse(alignment.operations.begin(), alignment.operations.end());
    found->is_minus = true;
    return found;
}

ShortPairs::Codes ShortPairs::reverse_complement(const Codes& codes) const {
    Codes reversed(codes.size());
    std::transform(codes.rbegin(), codes.rend(), reversed.begin(),
                   [&](uint8_t code) { return complements_.at(code); });
    return reversed;
}

}  // namespace exaln
