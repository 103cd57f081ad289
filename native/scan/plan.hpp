// Decides which kernel family scores which targets, and divides the work into tasks of similar cost. It uses
// only lengths and measured costs, never the sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "sequences/codes.hpp"

namespace exaln {

// A range of queries against some targets: a group of at most `lanes` targets side by side, or each target on
// its own (striped).
struct Task {
    bool striped;
    int64_t first_query, end_query;
    std::vector<int64_t> places;  // of the targets in the list ordered by length
    double cost;                  // in register updates of the group kernel
};

// The cost of a striped pair in register updates of the group kernel, and whether query and target should be
// swapped: columns cost more than rows, so the shorter sequence should be the columns.
struct StripedCost {
    double cost;
    bool swapped;
};
StripedCost striped_cost(double query_length, double target_length, int lanes);

class Planner {
  public:
    Planner(int lanes, int threads, const Sequences& queries, const Sequences& targets,
            const std::vector<int64_t>& order)
        : lanes_(lanes), threads_(threads), queries_(queries), targets_(targets), order_(order) {}

    // Adds tasks for all pairs of the queries [first_query, end_query) and the targets at `places`, which are
    // sorted by length.
    void add_tasks(int64_t first_query, int64_t end_query, const std::vector<int64_t>& places,
                   std::vector<Task>& tasks) const;

  private:
    struct Queries {
        int64_t n;
        double rows;  // of all queries
    };

    int64_t length(int64_t place) const { return targets_.length(order_[size_t(place)]); }
    double striped_cost(const Queries& queries, int64_t length) const;
    static double group_cost(const Queries& queries, int64_t longest);
    double makespan(const Queries& queries, const std::vector<int64_t>& places, size_t n_striped) const;
    size_t choose_striped(const Queries& queries, const std::vector<int64_t>& places) const;

    int lanes_, threads_;
    const Sequences& queries_;
    const Sequences& targets_;
    const std::vector<int64_t>& order_;
};

void sort_longest_first(std::vector<Task>& tasks);

}  // namespace exaln
