// First alignments of all pairs side by side, then the others of each pair in the grid of its table.
//
// Most pairs have no other alignment, which one fill of the grid shows, with the first alignment's pairs
// forbidden. Its values are often small, so 8 bits are tried first. Where a batch would be slow, the first
// alignment, too, is found in the grid.
#include "pairs/several.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>

#include "pairs/grid.hpp"
#include "threads/tasks.hpp"

namespace exaln {
namespace {

constexpr double MOST_KEPT_BYTES = 256 << 20;   // of tiles that are kept whole
constexpr double LEAST_SHARED_CELLS = 1 << 24;  // below, threads on one table would wait for one another

// Pairs whose first alignment is found in the grid, as measured: those of a batch with few pairs, which
// leaves most lanes empty; wide tables, of which a batch computes parts again for the path; and those that
// are too large for the directions of a batch.
constexpr size_t FEW_PAIRS = 8;
constexpr double WIDE_TABLE_CELLS = 1 << 20, WIDE_TABLE_RATIO = 4, LARGE_TABLE_CELLS = 1 << 27;

class SeveralRun {
  public:
    SeveralRun(const SeveralJob& job, Progress& progress)
        : job_(job),
          pairs_(job.pairs),
          progress_(progress),
          found_(pairs_.pairs.size()),
          is_certain_(found_.size(), 1) {}

    SeveralFound run() {
        find_first();
        find_all_others();
        return {std::move(found_), std::move(is_certain_)};
    }

    SeveralFound run(GridMemory& memory) {
        find_first();
        for (const size_t pair : pending_) find_others(pair, memory, nullptr);
        return {std::move(found_), std::move(is_certain_)};
    }

  private:
    void find_all_others() {
        const double all = std::accumulate(pending_.begin(), pending_.end(), 0.0,
                                           [&](double sum, size_t pair) { return sum + cells(pair); });
        std::vector<size_t> alone, shared;
        for (const size_t pair : pending_) (is_shared(pair, all) ? shared : alone).push_back(pair);
        std::stable_sort(alone.begin(), alone.end(), [&](size_t a, size_t b) { return cells(a) > cells(b); });
        run_tasks(
            alone.size(), pairs_.threads, [] { return std::make_unique<GridMemory>(); },
            [&](GridMemory& memory, size_t i) { find_others(alone[i], memory, nullptr); },
            [](GridMemory&) {});
        if (!shared.empty() && !progress_.cancelled) {
            GridMemory memory;
            ThreadPool pool(pairs_.threads);
            for (const size_t pair : shared) find_others(pair, memory, &pool);
        }
    }

    const SeveralJob& job_;
    const PairJob& pairs_;
    Progress& progress_;
    std::vector<std::vector<FoundAlignment>> found_;
    std::vector<uint8_t> is_certain_;
    std::vector<size_t> pending_;  // pairs that may have more alignments than were found

    int64_t rows(size_t pair) const { return pairs_.queries.length(pairs_.pairs[pair].query); }
    int64_t columns(size_t pair) const { return pairs_.targets.length(pairs_.pairs[pair].target); }
    double cells(size_t pair) const { return double(rows(pair)) * double(columns(pair)); }
    int64_t upper(size_t pair) const { return job_.upper ? job_.upper[pair] : 0; }
    TableSize size_of(size_t pair, int value_bytes, int threads) const {
        return {rows(pair), columns(pair), value_bytes, pairs_.costs.n_codes, threads};
    }

    bool begins_with_grid(size_t pair) const {
        const double shorter = double(std::min(rows(pair), columns(pair))),
                     longer = double(std::max(rows(pair), columns(pair)));
        const bool is_wide = longer >= WIDE_TABLE_RATIO * shorter && shorter * longer >= WIDE_TABLE_CELLS;
        return job_.shape.rows > 0 || upper(pair) > 0 || is_wide || shorter * longer >= LARGE_TABLE_CELLS ||
               found_.size() <= FEW_PAIRS;
    }

    // Finds the first alignments of pairs that do not begin with the grid.
    void find_first() {
        PairJob first{pairs_.isas, pairs_.queries, pairs_.targets,   {}, pairs_.costs,
                      pairs_.mode, pairs_.threads, pairs_.max_bytes, {}};
        std::vector<size_t> numbers;
        for (size_t pair = 0; pair < found_.size(); ++pair) {
            const bool is_known = !pairs_.known_scores.empty();
            if (is_known && pairs_.known_scores[pair] < job_.least[pair]) continue;
            if (cells(pair) == 0) continue;
            if (begins_with_grid(pair)) {
                pending_.push_back(pair);
                continue;
            }
            numbers.push_back(pair);
            first.pairs.push_back(pairs_.pairs[pair]);
            if (is_known) first.known_scores.push_back(pairs_.known_scores[pair]);
        }
        PairResults results = run_pairs(first, Output::PATHS, progress_);
        for (size_t i = 0; i < numbers.size(); ++i) {
            if (results.scores[i] < job_.least[numbers[i]]) continue;
            found_[numbers[i]].push_back({results.scores[i], std::move(results.alignments[i])});
            if (job_.most > 1) pending_.push_back(numbers[i]);
        }
    }

    // Whether all threads work on the table of a pair: it is much of the work, or takes all the memory.
    // all: cells of all pairs.
    bool is_shared(size_t pair, double all) const {
        if (pairs_.threads == 1) return false;
        const bool is_large = cells(pair) >= LEAST_SHARED_CELLS && 2 * pairs_.threads * cells(pair) > all;
        return is_large || TileShape::of(size_of(pair, 4, 1), job_.max_bytes / pairs_.threads).rows == 0;
    }

    void find_others(size_t pair, GridMemory& memory, ThreadPool* pool) {
        for (const WidthKernels& kernels : pairs_.isas[0]->widths) {
            if (progress_.cancelled) return;
            if (kernels.bits < job_.least_bits || !may_fit(pair, kernels.bits)) continue;
            const auto find = kernels.bits == 8    ? &SeveralRun::find_with<int8_t>
                              : kernels.bits == 16 ? &SeveralRun::find_with<int16_t>
                                                   : &SeveralRun::find_with<int32_t>;
            if ((this->*find)(pair, kernels, memory, pool)) return;
        }
        throw std::overflow_error("a score does not fit the table");
    }

    // Whether the values of a table may fit lanes of `bits`. Without the pairs of the first alignment they
    // are often small.
    bool may_fit(size_t pair, int bits) const {
        const TileRange range = TileRange::of(pairs_.costs, bits);
        const bool is_known = found_[pair].empty() && !pairs_.known_scores.empty();
        return range.usable &&
               (is_known ? pairs_.known_scores[pair] <= range.limit : bits > 8 || !found_[pair].empty());
    }

    // False if the width is too narrow.
    template <class Lane>
    bool find_with(size_t pair, const WidthKernels& kernels, GridMemory& memory, ThreadPool* pool) {
        const auto [query, target] = pairs_.pairs[pair];
        const TableSize size = size_of(pair, int(sizeof(Lane)), pool ? pairs_.threads : 1);
        const double max_bytes = pool ? job_.max_bytes : job_.max_bytes / pairs_.threads;
        const TileShape shape = job_.shape.rows > 0 ? job_.shape : TileShape::of(size, max_bytes);
        if (shape.rows == 0) throw std::bad_alloc();
        Grid<Lane> grid({pairs_.queries.at(query), pairs_.targets.at(target), size.n_rows, size.n_columns,
                         pairs_.costs, kernels},
                        shape, kept_tiles(shape, size, max_bytes), memory, pool, progress_);
        std::vector<FoundAlignment>& found = found_[pair];
        for (const FoundAlignment& one : found) grid.forbid(one.alignment);
        if (!grid.settle()) return false;
        const int64_t certain = grid.certain_from(upper(pair));
        if (certain < 0) return false;
        if (upper(pair) > 0 && certain > job_.margin[pair]) return give_up(pair);
        while (!progress_.cancelled && int64_t(found.size()) < job_.most) {
            const int64_t score = grid.best(job_.least[pair]);
            if (score < job_.least[pair] || progress_.cancelled) break;
            found.push_back({score, grid.trace(score)});
            if (upper(pair) > 0 && found.back().alignment.target_start <= certain) return give_up(pair);
            grid.forbid(found.back().alignment);
        }
        if (!progress_.cancelled) require_known_score(pair);
        return true;
    }

    // For pairs whose target would have to be longer.
    bool give_up(size_t pair) {
        found_[pair].clear(), is_certain_[pair] = 0;
        return true;
    }

    static int64_t kept_tiles(const TileShape& shape, const TableSize& size, double max_bytes) {
        const double tile = double(shape.tile_bytes(size.value_bytes));
        const double others = shape.bytes(size) - TileShape::KEPT_TILES * tile;
        const double room = std::min(MOST_KEPT_BYTES, max_bytes - others);
        return std::max(TileShape::KEPT_TILES, int64_t(room / tile));
    }

    void require_known_score(size_t pair) const {
        if (!pairs_.known_scores.empty() &&
            (found_[pair].empty() || found_[pair][0].score != pairs_.known_scores[pair]))
            throw std::logic_error("no path has the score of its pair");
    }
};

}  // namespace

SeveralFound align_several(const SeveralJob& job, Progress& progress) {
    return SeveralRun(job, progress).run();
}

SeveralFound align_several(const SeveralJob& job, GridMemory& memory, Progress& progress) {
    return SeveralRun(job, progress).run(memory);
}

double several_bytes(int64_t n_rows, int64_t n_columns, const Costs& costs) {
    const bool is_narrow =
        double(std::min(n_rows, n_columns)) * costs.max_score < double(TileRange::of(costs, 16).limit);
    return TileShape::least_bytes({n_rows, n_columns, is_narrow ? 2 : 4, costs.n_codes, 1});
}

}  // namespace exaln
