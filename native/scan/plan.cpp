// Divides targets between the group kernel and the striped kernel by measured costs.
#include "scan/plan.hpp"

#include <algorithm>
#include <cmath>

namespace exaln {
namespace {

// The cost of a column of a striped target in register updates of the group kernel: its set-up with the
// carried gaps at its end, and each of its registers. Measured on queries of 144 to 34,350 residues, 32 and
// 64 lanes.
constexpr double STRIPED_COLUMN = 42, STRIPED_REGISTER = 1.45;
// The cost of a row of the profile of a swapped target, which is made anew for every pair.
constexpr double STRIPED_PROFILE_ROW = 16;
constexpr int64_t LONGEST_PROFILE = int64_t(1) << 24;  // the profile takes half a gigabyte at 8 bits
// A longer group would need more than 128 MiB for its border; its targets are striped instead.
constexpr int64_t LONGEST_IN_GROUP = int64_t(1) << 20;
// Tasks per thread: enough that the last ones, which are the shortest, balance the threads.
constexpr double TASKS_PER_THREAD = 16;

}  // namespace

StripedCost striped_cost(double query_length, double target_length, int lanes) {
    auto cost = [&](double rows, double columns) {
        return (columns + 1) * (STRIPED_COLUMN + STRIPED_REGISTER * (rows / lanes + 0.5));
    };
    const double as_given = cost(query_length, target_length);
    const double swapped = cost(target_length, query_length) + STRIPED_PROFILE_ROW * target_length;
    const bool swap = swapped < as_given && target_length <= double(LONGEST_PROFILE);
    return {swap ? swapped : as_given, swap};
}

double Planner::striped_cost(const Queries& queries, int64_t length) const {
    const double mean_length = queries.rows / double(queries.n);
    return double(queries.n) * exaln::striped_cost(mean_length, double(length), lanes_).cost;
}

double Planner::group_cost(const Queries& queries, int64_t longest) {
    return double(longest) * queries.rows;
}

// The estimated time if the n_striped longest targets are striped and the others run in groups. A task can be
// split by queries, but no further.
double Planner::makespan(const Queries& queries, const std::vector<int64_t>& places, size_t n_striped) const {
    double total = 0, longest = 0;
    for (size_t i = 0; i < n_striped; ++i) {
        const double cost = striped_cost(queries, length(places[places.size() - 1 - i]));
        total += cost, longest = std::max(longest, cost);
    }
    for (size_t end = places.size() - n_striped; end > 0; end -= std::min(end, size_t(lanes_))) {
        const double cost = group_cost(queries, length(places[end - 1]));
        total += cost, longest = std::max(longest, cost);
    }
    return std::max(total / threads_, longest / double(queries.n));
}

// The number of longest targets to be striped, chosen to minimize the total time. Groups of targets with very
// different lengths leave lanes idle, and few groups leave threads idle.
size_t Planner::choose_striped(const Queries& queries, const std::vector<int64_t>& places) const {
    std::vector<size_t> candidates = {0, places.size()};
    for (size_t n = 1; n < places.size(); n += 1 + n / 4) candidates.push_back(n);
    size_t too_long = 0;
    while (too_long < places.size() && length(places[places.size() - 1 - too_long]) > LONGEST_IN_GROUP)
        ++too_long;
    size_t chosen = places.size();
    double best = makespan(queries, places, chosen);
    for (const size_t n : candidates) {
        const size_t n_striped = std::max(n, too_long);
        if (n_striped > 64 * size_t(lanes_) && n_striped != too_long) continue;
        const double time = makespan(queries, places, n_striped);
        if (time < best) best = time, chosen = n_striped;
    }
    return chosen;
}

void Planner::add_tasks(int64_t first_query, int64_t end_query, const std::vector<int64_t>& places,
                        std::vector<Task>& tasks) const {
    if (first_query == end_query || places.empty()) return;
    const Queries queries{end_query - first_query,
                          double(queries_.offsets[end_query] - queries_.offsets[first_query])};
    const size_t n_striped = choose_striped(queries, places);
    const double share = makespan(queries, places, n_striped) / TASKS_PER_THREAD;

    auto add = [&](bool striped, std::vector<int64_t> members, double cost) {
        const int64_t pieces =
            std::clamp<int64_t>(int64_t(std::ceil(cost / std::max(share, 1.0))), 1, queries.n);
        for (int64_t piece = 0; piece < pieces; ++piece) {
            const int64_t first = first_query + queries.n * piece / pieces;
            const int64_t end = first_query + queries.n * (piece + 1) / pieces;
            const double rows = double(queries_.offsets[end] - queries_.offsets[first]);
            tasks.push_back({striped, first, end, members, cost * rows / std::max(queries.rows, 1.0)});
        }
    };
    const size_t n_grouped = places.size() - n_striped;
    for (size_t end = n_grouped; end > 0;) {
        const size_t begin = end - std::min(end, size_t(lanes_));
        add(false, {places.begin() + std::ptrdiff_t(begin), places.begin() + std::ptrdiff_t(end)},
            group_cost(queries, length(places[end - 1])));
        end = begin;
    }
    std::vector<int64_t> members;
    double cost = 0;
    for (size_t i = n_grouped; i < places.size(); ++i) {
        members.push_back(places[i]);
        cost += striped_cost(queries, length(places[i]));
        if (cost >= share || i + 1 == places.size()) {
            add(true, members, cost);
            members.clear(), cost = 0;
        }
    }
}

void sort_longest_first(std::vector<Task>& tasks) {
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const Task& a, const Task& b) { return a.cost > b.cost; });
}

}  // namespace exaln
