// Plans groups of pairs of mixed lengths: lanes that compute one pair after another.
//
// clang-format off
//   pairs by falling number of rows:  |---- window ----|---- window ----| ...   as many rows as the longest
//   a window by falling number of columns:  |block|block|block| ...             as many columns as the longest
// clang-format on
//
// The pairs of a block begin in neighbouring lanes and in the same column, where the lanes are free first. So
// fewer pairs per block waste fewer columns, but letters and state of the lanes are set more often. Windows
// are as large as makes rows and columns lose about the same.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "pairs/plan.hpp"

namespace exaln {
namespace {

constexpr size_t MAX_BLOCK = 8;         // lanes whose letters are put side by side together
constexpr size_t BLOCKS_PER_LANES = 4;  // at least; blocks are smaller if there are fewer
constexpr size_t PAIRS_PER_LANE = 8;    // from which on the lanes that are idle at the end matter little
constexpr int TASKS_PER_THREAD = 4;
constexpr int64_t MAX_STREAM_ROWS = 4096;  // the state of the rows stays in the second-level cache
// Streams must cost less than this share of groups. With paths the directions of a stream fill its whole ring
// where those of a group stay in the cache (measured).
constexpr double MOST_COST = 0.97, MOST_COST_TRACED = 0.75;

// The largest power of two that is at most MAX_BLOCK and leaves several blocks for each lane.
size_t block_size(size_t n_pairs, size_t lanes) {
    size_t size = MAX_BLOCK;
    while (size > 1 && size * lanes * BLOCKS_PER_LANES > n_pairs * MAX_BLOCK / 2) size /= 2;
    return size;
}

}  // namespace

// Adds streams, or groups where those are cheaper. order: the pairs as groups take them.
void PairPlanner::add_mixed(int number_type, const std::vector<size_t>& order, ScoreSource source,
                            std::vector<PairTask>& tasks) const {
    std::vector<PairTask> groups, streams;
    add_groups(number_type, order, source, groups);
    const double most = (with_paths_ ? MOST_COST_TRACED : MOST_COST) * cost_of(groups);
    if (least_cost(number_type, order, source) < most) {
        add_streams(number_type, order, source, streams);
        if (cost_of(streams) < most) groups.swap(streams);
    }
    for (PairTask& task : groups) tasks.push_back(std::move(task));
}

// The cost if no lane were ever idle.
double PairPlanner::least_cost(int number_type, const std::vector<size_t>& pairs, ScoreSource source) const {
    double fastest = 0;
    for (const WidthKernels* kernels : widths_[number_type].kernels)
        fastest = std::max(fastest, speed(*kernels, source));
    return cells_of(pairs) / fastest;
}

double PairPlanner::cells_of(const std::vector<size_t>& pairs) const {
    return std::accumulate(pairs.begin(), pairs.end(), 0.0, [&](double sum, size_t pair) {
        return sum + double(size(pair).rows) * double(size(pair).columns);
    });
}

// Cells per register update.
double PairPlanner::speed(const WidthKernels& kernels, ScoreSource source) const {
    return kernels.lanes / rate(kernels, source, 1);
}

// The fastest kernels for streams of pairs up to this size; -1 if there are none.
int PairPlanner::stream_kernels(int number_type, Size largest, ScoreSource source) const {
    int chosen = -1;
    const std::vector<const WidthKernels*>& all = widths_[number_type].kernels;
    for (size_t i = 0; i < all.size() && largest.rows <= MAX_STREAM_ROWS; ++i) {
        if (with_paths_ &&
            all[i]->pair_directions(largest.rows, all[i]->padded(largest.columns)) > job_.max_bytes / 4)
            continue;
        if (chosen < 0 || speed(*all[i], source) > speed(*all[size_t(chosen)], source)) chosen = int(i);
    }
    return chosen;
}

void PairPlanner::add_streams(int number_type, std::vector<size_t> pairs, ScoreSource source,
                              std::vector<PairTask>& tasks) const {
    std::stable_sort(pairs.begin(), pairs.end(), [&](size_t a, size_t b) {
        const Size one = size(a), other = size(b);
        return one.rows != other.rows ? one.rows > other.rows : one.columns > other.columns;
    });
    const size_t lanes = size_t(widths_[number_type].widest), n = pairs.size();
    const size_t n_tasks =
        std::max({size_t(1),
                  std::min(n / (PAIRS_PER_LANE * lanes),
                           job_.threads == 1 ? 1 : size_t(job_.threads) * TASKS_PER_THREAD),
                  std::min(n / lanes, size_t(job_.threads))});
    int64_t columns = 0;
    for (const size_t pair : pairs) columns = std::max(columns, size(pair).columns);
    const double cells_of_task = cells_of(pairs) / double(n_tasks);
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
        const int64_t rows = size(pairs[begin]).rows;
        const int kernels = stream_kernels(number_type, {rows, columns}, source);
        int64_t most_columns = 0;
        for (double cells = 0; end < n && (cells < cells_of_task || n - end < lanes); ++end) {
            const Size own = size(pairs[end]);
            if (!fits(number_type, rows, std::max(most_columns, own.columns))) break;
            most_columns = std::max(most_columns, own.columns),
            cells += double(own.rows) * double(own.columns);
        }
        const std::vector<size_t> some(pairs.begin() + std::ptrdiff_t(begin),
                                       pairs.begin() + std::ptrdiff_t(end));
        if (kernels < 0 || some.size() <= size_t(widths_[number_type].kernels[size_t(kernels)]->lanes)) {
            add_groups(number_type, some, source, tasks);
        } else {
            add_stream(number_type, some, source, kernels, {rows, most_columns}, tasks);
        }
    }
}

void PairPlanner::add_stream(int number_type, std::vector<size_t> pairs, ScoreSource source, int chosen,
                             Size largest, std::vector<PairTask>& tasks) const {
    const Width& width = widths_[number_type];
    const WidthKernels& kernels = *width.kernels[size_t(chosen)];
    const size_t lanes = size_t(kernels.lanes), block = std::min(lanes, block_size(pairs.size(), lanes));
    sort_windows(pairs, block);
    PairTask task{PairTask::Method::GROUP,
                  number_type,
                  &kernels,
                  width.score_rows[size_t(chosen)]->reserve(0),
                  source,
                  largest.rows,
                  largest.rows,
                  kernels.padded(largest.columns),
                  {},
                  0};
    task.cost = place_blocks(pairs, block, task) * rate(kernels, source, 1);
    tasks.push_back(std::move(task));
}

// Sorts windows of pairs by falling number of columns.
void PairPlanner::sort_windows(std::vector<size_t>& pairs, size_t block) const {
    const auto wanted = size_t(std::sqrt(double(pairs.size() * block)));
    const size_t window = std::max<size_t>(1, wanted / block) * block;
    for (size_t first = 0; first < pairs.size(); first += window) {
        const auto begin = pairs.begin() + std::ptrdiff_t(first);
        const auto end = begin + std::ptrdiff_t(std::min(window, pairs.size() - first));
        std::stable_sort(begin, end, [&](size_t a, size_t b) { return size(a).columns > size(b).columns; });
    }
}

// Gives each block of pairs the lanes that are free first. Returns the cost, in register updates.
double PairPlanner::place_blocks(const std::vector<size_t>& pairs, size_t block, PairTask& task) const {
    const size_t n_lane_blocks = size_t(task.kernels->lanes) / block;
    std::vector<int64_t> rows_left(pairs.size() + 1, 0), ends(n_lane_blocks, 0);
    for (size_t i = pairs.size(); i-- > 0;) rows_left[i] = std::max(rows_left[i + 1], size(pairs[i]).rows);
    double cost = 0;
    int64_t last_column = 0;
    for (size_t first = 0; first < pairs.size(); first += block) {
        int64_t& end = *std::min_element(ends.begin(), ends.end());
        const auto lane = int(size_t(&end - ends.data()) * block);
        cost += double(end - last_column) * double(rows_left[first]);
        last_column = end;
        int64_t columns = 0;
        for (size_t i = first; i < std::min(first + block, pairs.size()); ++i) {
            task.places.push_back({pairs[i], lane + int(i - first), last_column});
            columns = std::max(columns, size(pairs[i]).columns);
        }
        end += task.kernels->padded(columns);
    }
    const int64_t end = *std::max_element(ends.begin(), ends.end());
    return cost +
           double(end - last_column) * double(rows_left[pairs.size() > block ? pairs.size() - block : 0]);
}

}  // namespace exaln
