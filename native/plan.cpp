#include "plan.hpp"

#include <algorithm>
#include <cmath>

namespace exaln {
namespace {

// Cells per register update of the striped kernel, relative to the group kernel: it carries gaps across lanes
// and loads its scores.
constexpr double STRIPED_EFFICIENCY = 0.4;
// What starting a striped target costs, in register updates: setting up its column, carrying the gaps at its
// end.
constexpr double STRIPED_OVERHEAD_COLUMNS = 4;
// A group this long would need more than 128 MiB for its border; its targets are striped instead.
constexpr int64_t LONGEST_IN_GROUP = int64_t(1) << 20;
// Tasks per thread: enough that the last ones, the shortest, even out the threads.
constexpr double TASKS_PER_THREAD = 16;

}  // namespace

double Planner::striped_cost(int64_t length) const {
    return (double(length) / lanes_ + STRIPED_OVERHEAD_COLUMNS) / STRIPED_EFFICIENCY;
}

// Time, per query row, when the n_striped longest targets are striped and the others run in groups.
double Planner::makespan(const std::vector<int64_t>& places, size_t n_striped, int64_t n_queries) const {
    double total = 0, longest = 0;
    for (size_t i = 0; i < n_striped; ++i) {
        const double cost = striped_cost(length(places[places.size() - 1 - i]));
        total += cost, longest = std::max(longest, cost);
    }
    for (size_t end = places.size() - n_striped; end > 0; end -= std::min(end, size_t(lanes_))) {
        const double cost = double(length(places[end - 1]));
        total += cost, longest = std::max(longest, cost);
    }
    return std::max(total * double(n_queries) / threads_, longest);
}

// The longest targets are striped as far as that shortens the whole: alone in their length they would leave
// most lanes of a group idle, and with few targets they would leave threads idle.
size_t Planner::choose_striped(const std::vector<int64_t>& places, int64_t n_queries) const {
    std::vector<size_t> candidates = {0, places.size()};
    for (size_t n = 1; n < places.size(); n += 1 + n / 4) candidates.push_back(n);
    size_t too_long = 0;
    while (too_long < places.size() && length(places[places.size() - 1 - too_long]) > LONGEST_IN_GROUP)
        ++too_long;
    size_t chosen = places.size();
    double best = makespan(places, chosen, n_queries);
    for (const size_t n : candidates) {
        const size_t n_striped = std::max(n, too_long);
        if (n_striped > 64 * size_t(lanes_) && n_striped != too_long) continue;
        const double time = makespan(places, n_striped, n_queries);
        if (time < best) best = time, chosen = n_striped;
    }
    return chosen;
}

void Planner::add_tasks(int64_t first_query, int64_t end_query, const std::vector<int64_t>& places,
                        std::vector<Task>& tasks) const {
    if (first_query == end_query || places.empty()) return;
    const int64_t n_queries = end_query - first_query;
    const size_t n_striped = choose_striped(places, n_queries);
    const double rows = double(queries_.offsets[end_query] - queries_.offsets[first_query]);
    const double share = makespan(places, n_striped, n_queries) * rows / double(n_queries) / TASKS_PER_THREAD;

    auto add = [&](bool striped, std::vector<int64_t> members, double columns) {
        const int64_t pieces =
            std::clamp<int64_t>(int64_t(std::ceil(columns * rows / std::max(share, 1.0))), 1, n_queries);
        for (int64_t piece = 0; piece < pieces; ++piece) {
            const int64_t first = first_query + n_queries * piece / pieces;
            const int64_t end = first_query + n_queries * (piece + 1) / pieces;
            const double piece_rows = double(queries_.offsets[end] - queries_.offsets[first]);
            tasks.push_back({striped, first, end, members, columns * piece_rows});
        }
    };
    const size_t n_grouped = places.size() - n_striped;
    for (size_t end = n_grouped; end > 0;) {
        const size_t begin = end - std::min(end, size_t(lanes_));
        add(false, {places.begin() + std::ptrdiff_t(begin), places.begin() + std::ptrdiff_t(end)},
            double(length(places[end - 1])));
        end = begin;
    }
    std::vector<int64_t> members;
    double columns = 0;
    for (size_t i = n_grouped; i < places.size(); ++i) {
        members.push_back(places[i]);
        columns += striped_cost(length(places[i]));
        if (columns * rows >= share || i + 1 == places.size()) {
            add(true, members, columns);
            members.clear(), columns = 0;
        }
    }
}

void sort_longest_first(std::vector<Task>& tasks) {
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const Task& a, const Task& b) { return a.cost > b.cost; });
}

}  // namespace exaln
