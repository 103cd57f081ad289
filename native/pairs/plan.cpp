// Groups pairs by length and letters, and chooses a kernel and a source of scores for each group.
#include "pairs/plan.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "scan/plan.hpp"

namespace exaln {
namespace {

constexpr int64_t LEAST_STRIP_ROWS = 16;
constexpr int64_t MOST_PADDING = 8;          // columns that a group may have more than its longest target
constexpr int FULL_SPEED_BYTES = 32;         // registers up to this width cost the same, measured,
constexpr double WIDE_REGISTER = 1.8;        // and wider ones so much more,
constexpr double WIDE_DIRECTIONS = 1.5;      // or so much with directions
constexpr int64_t MOST_BASED_SCORE = 32000;  // with a base: what 16 bits hold, less what is above a base
constexpr int64_t MOST_TILE_COLUMNS = 8;
constexpr double ONE_CELL = 64.0;  // what trace_long needs for a cell, in updates of a register

// Bit a for each letter a of a sequence. One that has only the first four codes, as DNA, counts as having all
// of them, and so does a protein of the first twenty: this is seen at once. Else four at a time, for they
// need not wait for each other.
uint32_t letters_of(const Sequences& sequences, int64_t i, int n_codes) {
    constexpr int n_bases = 4, n_residues = 20;
    const uint8_t* codes = sequences.at(i);
    const int64_t length = sequences.length(i);
    uint8_t last = 0;
    for (int64_t k = 0; k < length; ++k) last = std::max(last, codes[k]);
    if (last < n_bases) return (uint32_t(1) << n_bases) - 1;
    if (last < n_residues && n_codes >= n_residues) return (uint32_t(1) << n_residues) - 1;
    uint32_t letters[4] = {};
    int64_t k = 0;
    for (; k + 4 <= length; k += 4)
        for (int part = 0; part < 4; ++part) letters[part] |= uint32_t(1) << codes[k + part];
    for (; k < length; ++k) letters[0] |= uint32_t(1) << codes[k];
    return letters[0] | letters[1] | letters[2] | letters[3];
}

// What the update of a register costs.
double register_rate(const WidthKernels& kernels, bool has_directions) {
    if (kernels.lanes * kernels.bits / 8 <= FULL_SPEED_BYTES) return 1;
    return has_directions ? WIDE_DIRECTIONS : WIDE_REGISTER;
}

// What a cell costs by where its score comes from, measured for scores alone in lanes of 8 bits.
double score_rate(const WidthKernels& kernels, Letters letters, int n_queries) {
    if (letters == Letters::SHARED) return 1 + 0.12 * (n_queries - 1);
    return letters == Letters::EQUAL ? 1.2 : kernels.has_byte_tables ? 1.6 : 2.1;
}

double cost_of(const std::vector<PairTask>& tasks) {
    return std::accumulate(tasks.begin(), tasks.end(), 0.0,
                           [](double sum, const PairTask& task) { return sum + task.cost; });
}

// Lengths that are alike, in steps of an eighth: pairs that are sorted by them need little padding.
int64_t length_class(int64_t length) {
    int64_t step = 8;
    while (length > 16 * step) step *= 2;
    return (length + step - 1) / step * step;
}

}  // namespace

LetterClasses LetterClasses::of(const Costs& costs, uint32_t letters, bool is_local) {
    LetterClasses classes;
    const int n = costs.n_codes;
    const auto used = [&](int code) { return letters >> code & 1; };
    if (n + 1 >= MAX_CODES) return classes;  // two more are for letters that match none
    classes.match = INT32_MIN, classes.mismatch = INT32_MAX;
    for (int q = 0; q < n; ++q)
        for (int t = 0; t < n; ++t)
            if (used(q) && used(t)) {
                classes.match = std::max(classes.match, costs.scores[q][t]);
                classes.mismatch = std::min(classes.mismatch, costs.scores[q][t]);
            }
    std::fill_n(classes.of_query, MAX_CODES, n), std::fill_n(classes.of_target, MAX_CODES, n + 1);
    for (int q = n - 1; q >= 0; --q)
        for (int t = n - 1; t >= 0; --t)
            if (used(q) && used(t) && costs.scores[q][t] == classes.match)
                classes.of_query[q] = uint8_t(t), classes.of_target[t] = classes.of_query[q];
    for (int t = 0; t < n; ++t)  // of letters that match the same ones, one stands for all
        for (int q = 0; q < n; ++q)
            if (used(q) && used(t) && costs.scores[q][t] == classes.match)
                classes.of_target[t] = classes.of_query[q];
    classes.exist = letters != 0 && !(is_local && classes.mismatch > 0);
    for (int q = 0; q < n; ++q)
        for (int t = 0; t < n; ++t)
            if (used(q) && used(t)) {
                const bool is_same = classes.of_query[q] == classes.of_target[t];
                classes.exist &= costs.scores[q][t] == (is_same ? classes.match : classes.mismatch);
            }
    for (int code = 0; code < n; ++code)
        if (used(code)) {
            classes.are_codes &= classes.of_query[code] == code && classes.of_target[code] == code;
            classes.are_few &= classes.of_query[code] < MOST && classes.of_target[code] < MOST;
        }
    return classes;
}

PairPlanner::PairPlanner(const PairJob& job, Wants wants)
    : job_(job), wants_(wants), wants_paths_(wants == Wants::PATHS) {
    Costs shifted = job.costs;
    if (Range::of_differences(job.costs, 8).usable)
        for (auto& row : shifted.scores)
            for (int32_t& score : row) score += 2 * job.costs.gap_extend;
    for (int numbers = BITS_8; numbers < ONE_BY_ONE; ++numbers) {
        Width& width = widths_[numbers];
        for (const Isa* isa : job.isas) {
            const WidthKernels& kernels = isa->widths[bits_of(numbers) / 16];
            width.score_rows.push_back(std::make_unique<Scratch>());
            kernels.make_score_rows(numbers == RELATIVE && !have_bases(numbers) ? shifted : job.costs,
                                    width.score_rows.back()->reserve(kernels.score_rows_bytes));
            width.kernels.push_back(&kernels);
            width.widest = std::max(width.widest, kernels.lanes);
        }
    }
    query_letters_.resize(size_t(job.queries.n)), target_letters_.resize(size_t(job.targets.n));
    for (const Pair& pair : job.pairs) {
        auto& query = query_letters_[size_t(pair.query)];
        auto& target = target_letters_[size_t(pair.target)];
        if (query == 0) query = letters_of(job.queries, pair.query, job.costs.n_codes);
        if (target == 0) target = letters_of(job.targets, pair.target, job.costs.n_codes);
    }
    // Classes of the letters that are common: all in use, or else those of the first four codes, DNA without
    // ambiguities. Pairs with others take the matrix.
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

PairPlanner::Size PairPlanner::size(size_t pair) const {
    return {job_.queries.length(job_.pairs[pair].query), job_.targets.length(job_.pairs[pair].target)};
}

bool PairPlanner::is_plain(size_t pair) const {
    return ((letters_of_query(pair) | letters_of_target(pair)) & ~plain_letters_) == 0;
}

bool PairPlanner::fits(int numbers, int64_t rows, int64_t columns) const {
    return range(numbers, rows, columns + MOST_PADDING).usable;
}

Range PairPlanner::range(int numbers, int64_t rows, int64_t columns) const {
    const int bits = bits_of(numbers);
    if (have_bases(numbers)) {
        const bool has_room = std::min(rows, columns) * job_.costs.max_score < MOST_BASED_SCORE;
        return {0, MOST_BASED_SCORE,
                has_room && BlockRange::of(job_.costs, bits, MOST_TILE_COLUMNS).usable &&
                    fit_without_strips(rows, columns)};
    }
    if (job_.mode.is_local) return Range::of(job_.costs, bits);
    return numbers == RELATIVE ? Range::of_differences(job_.costs, bits)
                               : Range::of(job_.costs, bits, rows, columns);
}

bool PairPlanner::fit_without_strips(int64_t rows, int64_t columns) const {
    if (!wants_paths_) return rows <= MOST_BASED_ROWS;
    const auto& kernels = widths_[RELATIVE].kernels;
    return std::any_of(kernels.begin(), kernels.end(), [&](const WidthKernels* some) {
        return some->pair_directions(rows, some->padded(columns)) <= job_.max_bytes / 4;
    });
}

int PairPlanner::narrowest(size_t pair, int numbers) const {
    const auto [rows, columns] = size(pair);
    if (rows == 0 || columns == 0) return ONE_BY_ONE;
    for (; numbers < ONE_BY_ONE; ++numbers) {
        if (!fits(numbers, rows, columns)) continue;
        const Range range = this->range(numbers, rows, columns);
        const bool is_known = !job_.known_scores.empty();
        if (!is_known || job_.known_scores[pair] + range.floor <= range.limit) return numbers;
    }
    return ONE_BY_ONE;
}

// Whether a group may have several queries, each with some of its lanes.
bool PairPlanner::blends_queries(int numbers) const {
    return wants_ == Wants::SCORES && bits_of(numbers) == 8;
}

// Lanes of a group of such pairs: those whose directions are too many for the widest registers run in the
// narrowest.
size_t PairPlanner::usual_lanes(int numbers, size_t pair) const {
    const Width& width = widths_[numbers];
    const auto [rows, columns] = size(pair);
    const bool is_large =
        wants_paths_ && width.kernels[0]->pair_directions(rows, columns) > job_.max_bytes / 4;
    return size_t(is_large ? width.kernels.back()->lanes : width.widest);
}

// So many pairs go by their query. Fewer would leave lanes empty, or have so many queries in a group that
// scores cost as much as those of different ones.
size_t PairPlanner::enough_to_share(int numbers, size_t pair) const {
    const int most_queries = blends_queries(numbers) && !is_plain(pair) ? MOST_SHARED : 2;
    return usual_lanes(numbers, pair) / size_t(most_queries);
}

std::vector<PairTask> PairPlanner::plan(int numbers, const std::vector<size_t>& members) const {
    std::vector<PairTask> tasks;
    if (numbers == ONE_BY_ONE) {
        for (const size_t pair : members) add_alone(pair, tasks);
    } else {
        const std::vector<size_t> rest = add_sharing(numbers, members, tasks);
        add_apart(numbers, rest, tasks);
        if (blends_queries(numbers) && rest.size() < members.size()) {
            std::vector<PairTask> apart;
            add_apart(numbers, members, apart);
            if (cost_of(apart) < cost_of(tasks)) tasks = std::move(apart);
        }
    }
    std::stable_sort(tasks.begin(), tasks.end(), [](auto& a, auto& b) { return a.cost > b.cost; });
    return tasks;
}

// Pairs whose query enough of them have, or all: by query, the longest first, and by size. The others are
// added to `rest`.
std::vector<size_t> PairPlanner::by_query(int numbers, const std::vector<size_t>& members,
                                          std::vector<size_t>& rest) const {
    std::vector<size_t> n_with_query(size_t(job_.queries.n), 0);
    for (const size_t pair : members) ++n_with_query[size_t(job_.pairs[pair].query)];
    std::vector<std::tuple<int64_t, int64_t, int64_t, size_t>> places;
    for (const size_t pair : members) {
        const int64_t query = job_.pairs[pair].query;
        const size_t n = n_with_query[size_t(query)];
        if (n == members.size() || n >= enough_to_share(numbers, pair)) {
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

// Groups of pairs that have a query in common, as many full ones as it has pairs for. What is left over has a
// group of its own if it almost fills it, or, where several queries cannot share one, if it is enough for
// that, or if there is no other query; it shares groups with what is left of others if it is enough for that;
// otherwise it is returned.
std::vector<size_t> PairPlanner::add_sharing(int numbers, const std::vector<size_t>& members,
                                             std::vector<PairTask>& tasks) const {
    std::vector<size_t> blended, rest, sharing = by_query(numbers, members, rest);
    bool is_ascending = false;
    for (auto begin = sharing.begin(), end = begin; begin != sharing.end(); begin = end) {
        const int64_t query = job_.pairs[*begin].query;
        end =
            std::find_if(begin, sharing.end(), [&](size_t pair) { return job_.pairs[pair].query != query; });
        const size_t lanes = usual_lanes(numbers, *begin), enough = enough_to_share(numbers, *begin);
        const size_t n = size_t(end - begin), n_left = n % lanes;
        const bool is_group =
            n == members.size() || n_left >= (blends_queries(numbers) ? lanes - lanes / 8 : enough);
        const auto full_end = end - std::ptrdiff_t(is_group ? 0 : n_left);
        add_groups(numbers, {begin, full_end}, Letters::SHARED, tasks);
        const bool is_blended = !is_group && n_left >= enough;
        // The targets of every other query in ascending order, so that neighbours are alike.
        if (is_blended && is_ascending) std::reverse(full_end, end);
        is_ascending ^= is_blended;
        std::vector<size_t>& left_over = is_blended ? blended : rest;
        left_over.insert(left_over.end(), full_end, end);
    }
    add_groups(numbers, blended, Letters::SHARED, tasks);
    return rest;
}

// Groups of pairs whatever their queries, by size.
void PairPlanner::add_apart(int numbers, const std::vector<size_t>& members,
                            std::vector<PairTask>& tasks) const {
    using Place = std::tuple<int64_t, int64_t, int64_t, size_t>;
    std::vector<Place> plain, others;
    for (const size_t pair : members) {
        const auto [rows, columns] = size(pair);
        (is_plain(pair) ? plain : others).emplace_back(-length_class(rows), -columns, -rows, pair);
    }
    for (auto* places : {&plain, &others}) {
        std::sort(places->begin(), places->end());
        std::vector<size_t> order;
        for (const Place& place : *places) order.push_back(std::get<size_t>(place));
        add_groups(numbers, order, places == &plain ? Letters::EQUAL : Letters::ANY, tasks);
    }
}

void PairPlanner::add_alone(size_t pair, std::vector<PairTask>& tasks) const {
    const auto [rows, columns] = size(pair);
    const double cost = ONE_CELL * double(rows) * double(columns);
    tasks.push_back(
        {PairTask::How::ALONE, ONE_BY_ONE, nullptr, nullptr, Letters::ANY, 0, rows, columns, {pair}, cost});
}

// Local scores of pairs that would leave most of a group empty.
bool PairPlanner::add_striped(int numbers, const std::vector<size_t>& members, double group_updates,
                              std::vector<PairTask>& tasks) const {
    if (wants_ != Wants::SCORES || !job_.mode.is_local) return false;
    const WidthKernels& kernels = *widths_[have_bases(numbers) ? BITS_16 : numbers].kernels[0];
    double total = 0;
    for (const size_t pair : members)
        total += striped_cost(double(size(pair).rows), double(size(pair).columns), kernels.lanes).cost;
    if (total >= group_updates) return false;
    for (const size_t pair : members) {
        const auto [rows, columns] = size(pair);
        const double n_updates = striped_cost(double(rows), double(columns), kernels.lanes).cost;
        tasks.push_back({PairTask::How::STRIPED,
                         numbers,
                         &kernels,
                         nullptr,
                         Letters::ANY,
                         0,
                         rows,
                         columns,
                         {pair},
                         n_updates * register_rate(kernels, false)});
    }
    return true;
}

// What the cells of a register cost. Beside directions it matters little where scores come from.
double PairPlanner::rate(const WidthKernels& kernels, Letters letters, int n_queries) const {
    const double scores = wants_paths_ ? 1 : score_rate(kernels, letters, n_queries);
    return register_rate(kernels, wants_paths_) * scores;
}

// Whether the i-th of some pairs, of which those with the same query are neighbours, has one more.
bool PairPlanner::is_new_query(const size_t* pairs, size_t i) const {
    return i == 0 || job_.pairs[pairs[i]].query != job_.pairs[pairs[i - 1]].query;
}

// Pairs alike in letters, and neighbours alike in size.
void PairPlanner::add_groups(int numbers, const std::vector<size_t>& members, Letters letters,
                             std::vector<PairTask>& tasks) const {
    const Width& width = widths_[numbers];
    for (size_t begin = 0; begin < members.size();) {
        const size_t* const pairs = members.data() + begin;
        std::vector<Size> sizes;
        Size most{0, 0};
        int n_queries = 0;
        for (size_t i = 0; i < std::min(members.size() - begin, size_t(width.widest)); ++i) {
            const Size own = size(pairs[i]);
            const Size both{std::max(most.rows, own.rows), std::max(most.columns, own.columns)};
            if (i > 0 && !fits(numbers, both.rows, both.columns)) break;
            n_queries += is_new_query(pairs, i);
            if (letters == Letters::SHARED && n_queries > MOST_SHARED) break;
            sizes.push_back(own), most = both;
        }
        // Directions that stay in the cache are worth a second pass; the bound is for pairs that need more.
        Choice choice = choose(numbers, sizes, letters, job_.max_bytes / 4);
        if (choice.kernels < 0) choice = choose(numbers, sizes, letters, job_.max_bytes);
        if (choice.kernels < 0) {
            add_alone(members[begin++], tasks);
            continue;
        }
        sizes.resize(std::min(sizes.size(), size_t(width.kernels[size_t(choice.kernels)]->lanes)));
        add_group(numbers, pairs, sizes, choice, letters, tasks);
        begin += sizes.size();
    }
}

void PairPlanner::add_group(int numbers, const size_t* pairs, const std::vector<Size>& sizes,
                            const Choice& choice, Letters letters, std::vector<PairTask>& tasks) const {
    const Width& width = widths_[numbers];
    const WidthKernels& kernels = *width.kernels[size_t(choice.kernels)];
    int n_queries = 0;
    for (size_t i = 0; i < sizes.size(); ++i) n_queries += is_new_query(pairs, i);
    PairTask task{PairTask::How::GROUP,
                  numbers,
                  &kernels,
                  width.score_rows[size_t(choice.kernels)]->reserve(0),
                  n_queries == 1 ? Letters::SHARED : letters,
                  choice.strip_rows,
                  0,
                  0,
                  {pairs, pairs + sizes.size()},
                  0};
    for (const Size& own : sizes)
        task.n_rows = std::max(task.n_rows, own.rows), task.n_columns = std::max(task.n_columns, own.columns);
    const double n_updates = double(task.n_rows) * double(task.n_columns);
    if (add_striped(numbers, task.members, n_updates, tasks)) return;
    task.cost = n_updates * rate(kernels, task.letters, n_queries);
    task.n_columns = kernels.padded(task.n_columns);
    tasks.push_back(std::move(task));
}

// The cheapest kernels for pairs of these sizes that keep borders and directions within bounds. Narrow groups
// need more of them but less padding: only the longest of a group counts.
PairPlanner::Choice PairPlanner::choose(int numbers, const std::vector<Size>& sizes, Letters letters,
                                        size_t max_bytes) const {
    const Width& width = widths_[numbers];
    Choice best;
    for (size_t i = 0; i < width.kernels.size(); ++i) {
        const WidthKernels& kernels = *width.kernels[i];
        const double rate = this->rate(kernels, letters, 1);
        double cost = 0;
        int64_t strip_rows = 0;
        for (size_t first = 0; first < sizes.size(); first += size_t(kernels.lanes)) {
            Size most{0, 0};
            for (size_t k = first; k < std::min(sizes.size(), first + size_t(kernels.lanes)); ++k)
                most = {std::max(most.rows, sizes[k].rows), std::max(most.columns, sizes[k].columns)};
            if (first == 0)
                strip_rows =
                    rows_that_fit(kernels, numbers, {most.rows, kernels.padded(most.columns)}, max_bytes);
            const bool is_done_twice = wants_paths_ && strip_rows < most.rows;
            cost += rate * (is_done_twice ? 2 : 1) * double(most.rows) * double(most.columns);
        }
        if (strip_rows > 0 && (best.kernels < 0 || cost < best.cost)) best = {int(i), strip_rows, cost};
    }
    return best;
}

// All rows, or as many as leave room for the borders between strips; 0 if that cannot be.
int64_t PairPlanner::rows_that_fit(const WidthKernels& kernels, int numbers, Size size,
                                   size_t max_bytes) const {
    if (!wants_paths_) return have_bases(numbers) ? size.rows : STRIP_ROWS;
    const size_t row_bytes = kernels.pair_directions(1, size.columns),
                 border_bytes = kernels.pair_border(size.columns);
    if (row_bytes * size_t(size.rows) <= max_bytes) return size.rows;
    if (have_bases(numbers)) return 0;
    const int64_t strip_rows = int64_t(max_bytes / 2 / row_bytes);
    if (strip_rows < LEAST_STRIP_ROWS) return 0;
    const int64_t n_borders = (size.rows - 1) / strip_rows;
    return size_t(n_borders) * border_bytes <= max_bytes / 2 ? strip_rows : 0;
}

}  // namespace exaln
