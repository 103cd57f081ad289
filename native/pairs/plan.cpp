// Groups pairs by query, length and letters, and chooses a kernel and a score source for each group.
#include "pairs/plan.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "pairs/letters.hpp"
#include "scan/kernel_args.hpp"
#include "scan/plan.hpp"

namespace exaln {
namespace {

constexpr int64_t MIN_STRIP_ROWS = 16;
constexpr int64_t MAX_PADDING = 8;          // columns of a group beyond its longest target
constexpr int FULL_SPEED_BYTES = 32;        // registers up to this width cost the same (measured),
constexpr double WIDE_REGISTER = 1.8;       // wider ones cost this much more,
constexpr double WIDE_DIRECTIONS = 1.5;     // or this much with directions
constexpr int64_t MAX_BASED_SCORE = 32000;  // relative to a base: 16 bits minus the range above a base
constexpr int64_t MAX_TILE_COLUMNS = 8;
constexpr double SCALAR_CELL = 64.0;  // cost of a cell of align_scalar, in register updates

// The cost of a register update.
double register_rate(const WidthKernels& kernels, bool has_directions) {
    if (kernels.lanes * kernels.bits / 8 <= FULL_SPEED_BYTES) return 1;
    return has_directions ? WIDE_DIRECTIONS : WIDE_REGISTER;
}

// The cost of a cell by the source of its score, measured without paths in 8-bit lanes.
double score_rate(const WidthKernels& kernels, ScoreSource source, int n_queries) {
    if (source == ScoreSource::SHARED) return 1 + 0.12 * (n_queries - 1);
    return source == ScoreSource::EQUAL ? 1.2 : kernels.has_byte_tables ? 1.6 : 2.1;
}

// Rounds a length up to steps of at most an eighth of it. Pairs sorted by this need little padding.
int64_t length_class(int64_t length) {
    int64_t step = 8;
    while (length > 16 * step) step *= 2;
    return (length + step - 1) / step * step;
}

}  // namespace

PairPlanner::PairPlanner(const PairJob& job, Output output)
    : job_(job), output_(output), with_paths_(output == Output::PATHS) {
    Costs shifted = job.costs;
    if (Range::of_differences(job.costs, 8).usable)
        for (auto& row : shifted.scores)
            for (int32_t& score : row) score += 2 * job.costs.gap_extend;
    for (int number_type = BITS_8; number_type < SCALAR; ++number_type) {
        Width& width = widths_[number_type];
        for (const Isa* isa : job.isas) {
            const WidthKernels& kernels = isa->widths[bits_of(number_type) / 16];
            width.score_rows.push_back(std::make_unique<Scratch>());
            kernels.make_score_rows(number_type == RELATIVE && !have_bases(number_type) ? shifted : job.costs,
                                    width.score_rows.back()->reserve(kernels.score_rows_bytes));
            width.kernels.push_back(&kernels);
            width.widest = std::max(width.widest, kernels.lanes);
        }
    }
    std::vector<bool> used_queries(size_t(job.queries.n)), used_targets(size_t(job.targets.n));
    for (const Pair& pair : job.pairs)
        used_queries[size_t(pair.query)] = used_targets[size_t(pair.target)] = true;
    query_letters_ = letters_of_each(job.queries, used_queries, job.costs, job.threads);
    target_letters_ = letters_of_each(job.targets, used_targets, job.costs, job.threads);
    // Classes of all letters in use or, if they have none, of the first four codes (DNA without ambiguities).
    // Pairs with other letters use the matrix.
    uint32_t letters = 0;
    for (const uint32_t some : query_letters_) letters |= some;
    for (const uint32_t some : target_letters_) letters |= some;
    classes_ = LetterClasses::of(job.costs, letters, job.mode.is_local);
    if (!classes_.exist || !classes_.are_few) {
        letters &= 15;
        classes_ = LetterClasses::of(job.costs, letters, job.mode.is_local);
        classes_.exist &= classes_.are_few;
    }
    plain_letters_ = classes_.exist ? letters : 0;
}

double PairPlanner::cost_of(const std::vector<PairTask>& tasks) {
    return std::accumulate(tasks.begin(), tasks.end(), 0.0,
                           [](double sum, const PairTask& task) { return sum + task.cost; });
}

PairPlanner::Size PairPlanner::size(size_t pair) const {
    return {job_.queries.length(job_.pairs[pair].query), job_.targets.length(job_.pairs[pair].target)};
}

bool PairPlanner::is_plain(size_t pair) const {
    return ((letters_of_query(pair) | letters_of_target(pair)) & ~plain_letters_) == 0;
}

bool PairPlanner::fits(int number_type, int64_t rows, int64_t columns) const {
    return range(number_type, rows, columns + MAX_PADDING).usable;
}

Range PairPlanner::range(int number_type, int64_t rows, int64_t columns) const {
    const int bits = bits_of(number_type);
    if (have_bases(number_type)) {
        const bool has_room = std::min(rows, columns) * job_.costs.max_score < MAX_BASED_SCORE;
        return {0, MAX_BASED_SCORE,
                has_room && BlockRange::of(job_.costs, bits, MAX_TILE_COLUMNS).usable &&
                    fit_without_strips(rows, columns)};
    }
    if (job_.mode.is_local) return Range::of(job_.costs, bits);
    return number_type == RELATIVE ? Range::of_differences(job_.costs, bits)
                                   : Range::of(job_.costs, bits, rows, columns);
}

bool PairPlanner::fit_without_strips(int64_t rows, int64_t columns) const {
    if (!with_paths_) return rows <= MAX_BASED_ROWS;
    const auto& kernels = widths_[RELATIVE].kernels;
    return std::any_of(kernels.begin(), kernels.end(), [&](const WidthKernels* some) {
        return some->pair_directions(rows, some->padded(columns)) <= job_.max_bytes / 4;
    });
}

int PairPlanner::narrowest(size_t pair, int number_type) const {
    const auto [rows, columns] = size(pair);
    if (rows == 0 || columns == 0) return SCALAR;
    for (; number_type < SCALAR; ++number_type) {
        if (!fits(number_type, rows, columns)) continue;
        const Range range = this->range(number_type, rows, columns);
        const bool is_known = !job_.known_scores.empty();
        if (!is_known || job_.known_scores[pair] + range.floor <= range.limit) return number_type;
    }
    return SCALAR;
}

// True if a group may have several queries, each with some of its lanes.
bool PairPlanner::blends_queries(int number_type) const {
    return output_ == Output::SCORES && bits_of(number_type) == 8;
}

// The number of lanes of a group of pairs like this one. Pairs with too many directions for the widest
// registers run in the narrowest.
size_t PairPlanner::usual_lanes(int number_type, size_t pair) const {
    const Width& width = widths_[number_type];
    const auto [rows, columns] = size(pair);
    const bool is_large =
        with_paths_ && width.kernels[0]->pair_directions(rows, columns) > job_.max_bytes / 4;
    return size_t(is_large ? width.kernels.back()->lanes : width.widest);
}

// The number of pairs with the same query from which they are grouped by query. Fewer would leave lanes
// empty, or need so many queries in a group that a shared profile saves nothing.
size_t PairPlanner::min_to_share(int number_type, size_t pair) const {
    const int max_queries = blends_queries(number_type) && !is_plain(pair) ? MAX_SHARED_QUERIES : 2;
    return usual_lanes(number_type, pair) / size_t(max_queries);
}

std::vector<PairTask> PairPlanner::plan(int number_type, const std::vector<size_t>& members) const {
    std::vector<PairTask> tasks;
    if (number_type == SCALAR) {
        for (const size_t pair : members) add_scalar(pair, tasks);
    } else {
        const std::vector<size_t> rest = add_shared(number_type, members, tasks);
        add_by_size(number_type, rest, tasks);
        if (blends_queries(number_type) && rest.size() < members.size()) {
            std::vector<PairTask> by_size;
            add_by_size(number_type, members, by_size);
            if (cost_of(by_size) < cost_of(tasks)) tasks = std::move(by_size);
        }
    }
    std::stable_sort(tasks.begin(), tasks.end(), [](auto& a, auto& b) { return a.cost > b.cost; });
    return tasks;
}

// The pairs that share their query with enough others, or with all: ordered by query, the longest first, then
// by size. The others are appended to `rest`.
std::vector<size_t> PairPlanner::by_query(int number_type, const std::vector<size_t>& members,
                                          std::vector<size_t>& rest) const {
    std::vector<size_t> n_with_query(size_t(job_.queries.n), 0);
    for (const size_t pair : members) ++n_with_query[size_t(job_.pairs[pair].query)];
    std::vector<std::tuple<int64_t, int64_t, int64_t, size_t>> places;
    for (const size_t pair : members) {
        const int64_t query = job_.pairs[pair].query;
        const size_t n = n_with_query[size_t(query)];
        if (n == members.size() || n >= min_to_share(number_type, pair)) {
            places.emplace_back(-size(pair).rows, query, -size(pair).columns, pair);
        } else {
            rest.push_back(pair);
        }
    }
    std::sort(places.begin(), places.end());
    std::vector<size_t> sharing;
    for (const auto& place : places) sharing.push_back(std::get<size_t>(place));
    return sharing;
}

// Adds groups of pairs that share a query, as many full groups as a query has pairs for. The remaining pairs
// of a query get a group of their own if they almost fill it (or are enough for one where queries cannot be
// blended), or if there is no other query. Otherwise they are blended with the rest of other queries if they
// are enough for that, and returned if not.
std::vector<size_t> PairPlanner::add_shared(int number_type, const std::vector<size_t>& members,
                                            std::vector<PairTask>& tasks) const {
    std::vector<size_t> blended, rest, sharing = by_query(number_type, members, rest);
    bool is_ascending = false;
    for (auto begin = sharing.begin(), end = begin; begin != sharing.end(); begin = end) {
        const int64_t query = job_.pairs[*begin].query;
        end =
            std::find_if(begin, sharing.end(), [&](size_t pair) { return job_.pairs[pair].query != query; });
        const size_t lanes = usual_lanes(number_type, *begin), enough = min_to_share(number_type, *begin);
        const size_t n = size_t(end - begin), n_left = n % lanes;
        const bool is_group =
            n == members.size() || n_left >= (blends_queries(number_type) ? lanes - lanes / 8 : enough);
        const auto full_end = end - std::ptrdiff_t(is_group ? 0 : n_left);
        add_groups(number_type, {begin, full_end}, ScoreSource::SHARED, tasks);
        const bool is_blended = !is_group && n_left >= enough;
        // Every other query has its targets in ascending order, so that neighbours are similar in length.
        if (is_blended && is_ascending) std::reverse(full_end, end);
        is_ascending ^= is_blended;
        std::vector<size_t>& left_over = is_blended ? blended : rest;
        left_over.insert(left_over.end(), full_end, end);
    }
    add_groups(number_type, blended, ScoreSource::SHARED, tasks);
    return rest;
}

// Adds groups of pairs of similar size, whatever their queries.
void PairPlanner::add_by_size(int number_type, const std::vector<size_t>& members,
                              std::vector<PairTask>& tasks) const {
    using Place = std::tuple<int64_t, int64_t, int64_t, size_t>;
    std::vector<Place> plain, others;
    for (const size_t pair : members) {
        const auto [rows, columns] = size(pair);
        (is_plain(pair) ? plain : others).emplace_back(-length_class(rows), -columns, -rows, pair);
    }
    for (auto* places : {&plain, &others}) {
        if (!std::is_sorted(places->begin(), places->end())) std::sort(places->begin(), places->end());
        std::vector<size_t> order;
        for (const Place& place : *places) order.push_back(std::get<size_t>(place));
        add_mixed(number_type, order, places == &plain ? ScoreSource::EQUAL : ScoreSource::ANY, tasks);
    }
}

void PairPlanner::add_scalar(size_t pair, std::vector<PairTask>& tasks) const {
    const auto [rows, columns] = size(pair);
    const double cost = SCALAR_CELL * double(rows) * double(columns);
    tasks.push_back({PairTask::Method::SCALAR,
                     SCALAR,
                     nullptr,
                     nullptr,
                     ScoreSource::ANY,
                     0,
                     rows,
                     columns,
                     {{pair, 0, 0}},
                     cost});
}

// Adds striped tasks instead of a group if they are cheaper, for local scores alone. False if not.
bool PairPlanner::add_striped(int number_type, const std::vector<size_t>& members, double group_updates,
                              std::vector<PairTask>& tasks) const {
    if (output_ != Output::SCORES || !job_.mode.is_local) return false;
    const WidthKernels& kernels = *widths_[have_bases(number_type) ? BITS_16 : number_type].kernels[0];
    double total = 0;
    for (const size_t pair : members)
        total += striped_cost(double(size(pair).rows), double(size(pair).columns), kernels.lanes).cost;
    if (total >= group_updates) return false;
    for (const size_t pair : members) {
        const auto [rows, columns] = size(pair);
        const double n_updates = striped_cost(double(rows), double(columns), kernels.lanes).cost;
        tasks.push_back({PairTask::Method::STRIPED,
                         number_type,
                         &kernels,
                         nullptr,
                         ScoreSource::ANY,
                         0,
                         rows,
                         columns,
                         {{pair, 0, 0}},
                         n_updates * register_rate(kernels, false)});
    }
    return true;
}

// The cost of a register of cells. With directions the source of the scores hardly matters.
double PairPlanner::rate(const WidthKernels& kernels, ScoreSource source, int n_queries) const {
    const double scores = with_paths_ ? 1 : score_rate(kernels, source, n_queries);
    return register_rate(kernels, with_paths_) * scores;
}

// True if pairs[i] has another query than pairs[i - 1]. Pairs with the same query are neighbours.
bool PairPlanner::is_new_query(const size_t* pairs, size_t i) const {
    return i == 0 || job_.pairs[pairs[i]].query != job_.pairs[pairs[i - 1]].query;
}

// Adds groups of neighbouring pairs, which are similar in size and have the same score source.
void PairPlanner::add_groups(int number_type, const std::vector<size_t>& members, ScoreSource source,
                             std::vector<PairTask>& tasks) const {
    const Width& width = widths_[number_type];
    for (size_t begin = 0; begin < members.size();) {
        const size_t* const pairs = members.data() + begin;
        std::vector<Size> sizes;
        Size largest{0, 0};
        int n_queries = 0;
        for (size_t i = 0; i < std::min(members.size() - begin, size_t(width.widest)); ++i) {
            const Size own = size(pairs[i]);
            const Size both{std::max(largest.rows, own.rows), std::max(largest.columns, own.columns)};
            if (i > 0 && !fits(number_type, both.rows, both.columns)) break;
            n_queries += is_new_query(pairs, i);
            if (source == ScoreSource::SHARED && n_queries > MAX_SHARED_QUERIES) break;
            sizes.push_back(own), largest = both;
        }
        // Directions that stay in the cache are worth a second pass; few pairs need the full limit.
        Choice choice = choose(number_type, sizes, source, job_.max_bytes / 4);
        if (choice.kernels < 0) choice = choose(number_type, sizes, source, job_.max_bytes);
        if (choice.kernels < 0) {
            add_scalar(members[begin++], tasks);
            continue;
        }
        sizes.resize(std::min(sizes.size(), size_t(width.kernels[size_t(choice.kernels)]->lanes)));
        add_group(number_type, pairs, sizes, choice, source, tasks);
        begin += sizes.size();
    }
}

void PairPlanner::add_group(int number_type, const size_t* pairs, const std::vector<Size>& sizes,
                            const Choice& choice, ScoreSource source, std::vector<PairTask>& tasks) const {
    const Width& width = widths_[number_type];
    const WidthKernels& kernels = *width.kernels[size_t(choice.kernels)];
    int n_queries = 0;
    for (size_t i = 0; i < sizes.size(); ++i) n_queries += is_new_query(pairs, i);
    PairTask task{PairTask::Method::GROUP,
                  number_type,
                  &kernels,
                  width.score_rows[size_t(choice.kernels)]->reserve(0),
                  n_queries == 1 ? ScoreSource::SHARED : source,
                  choice.strip_rows,
                  0,
                  0,
                  {},
                  0};
    for (size_t i = 0; i < sizes.size(); ++i) task.places.push_back({pairs[i], int(i), 0});
    for (const Size& own : sizes)
        task.n_rows = std::max(task.n_rows, own.rows), task.n_columns = std::max(task.n_columns, own.columns);
    const double n_updates = double(task.n_rows) * double(task.n_columns);
    if (add_striped(number_type, {pairs, pairs + sizes.size()}, n_updates, tasks)) return;
    task.cost = n_updates * rate(kernels, task.source, n_queries);
    task.n_columns = kernels.padded(task.n_columns);
    tasks.push_back(std::move(task));
}

// The cheapest kernels for pairs of these sizes whose borders and directions fit max_bytes. Narrow registers
// need more groups but less padding, since the longest pair of a group determines its cost.
PairPlanner::Choice PairPlanner::choose(int number_type, const std::vector<Size>& sizes, ScoreSource source,
                                        size_t max_bytes) const {
    const Width& width = widths_[number_type];
    Choice best;
    for (size_t i = 0; i < width.kernels.size(); ++i) {
        const WidthKernels& kernels = *width.kernels[i];
        const double rate = this->rate(kernels, source, 1);
        double cost = 0;
        int64_t strip_rows = 0;
        for (size_t first = 0; first < sizes.size(); first += size_t(kernels.lanes)) {
            Size largest{0, 0};
            for (size_t k = first; k < std::min(sizes.size(), first + size_t(kernels.lanes)); ++k)
                largest = {std::max(largest.rows, sizes[k].rows),
                           std::max(largest.columns, sizes[k].columns)};
            if (first == 0)
                strip_rows = rows_that_fit(kernels, number_type,
                                           {largest.rows, kernels.padded(largest.columns)}, max_bytes);
            const bool is_done_twice = with_paths_ && strip_rows < largest.rows;
            cost += rate * (is_done_twice ? 2 : 1) * double(largest.rows) * double(largest.columns);
        }
        if (strip_rows > 0 && (best.kernels < 0 || cost < best.cost)) best = {int(i), strip_rows, cost};
    }
    return best;
}

// The number of rows per strip: all rows, or as many as leave room for the borders between strips; 0 if none.
int64_t PairPlanner::rows_that_fit(const WidthKernels& kernels, int number_type, Size size,
                                   size_t max_bytes) const {
    if (!with_paths_) return have_bases(number_type) ? size.rows : STRIP_ROWS;
    const size_t row_bytes = kernels.pair_directions(1, size.columns),
                 border_bytes = kernels.pair_border(size.columns);
    if (row_bytes * size_t(size.rows) <= max_bytes) return size.rows;
    if (have_bases(number_type)) return 0;
    const int64_t strip_rows = int64_t(max_bytes / 2 / row_bytes);
    if (strip_rows < MIN_STRIP_ROWS) return 0;
    const int64_t n_borders = (size.rows - 1) / strip_rows;
    return size_t(n_borders) * border_bytes <= max_bytes / 2 ? strip_rows : 0;
}

}  // namespace exaln
