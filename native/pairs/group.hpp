// Computes a group of pairs side by side. Each lane has a stream of pairs and begins the next one where the
// last one ends, so that lanes do not wait for the longest pair.
//
// clang-format off
//   lane 0   |--- pair 0 ---|------- pair 3 -------|--- pair 6 ---|      first columns and lanes are planned
//   lane 1   |-- pair 1 --|----- pair 4 -----|-------- pair 7 --------|  (Place); pairs come by falling number
//   lane 2   |----- pair 2 -----|---- pair 5 ----|                       of rows, so that rows are alike
// clang-format on
//
// The kernel runs from one column in which a pair begins or ends to the next. Letters of the targets, and
// directions, are in rings as long as the longest target, since no pair needs more.
//
// Groups with several strips of rows have one pair per lane.
#pragma once

#include <functional>
#include <vector>

#include "pairs/path.hpp"
#include "pairs/plan.hpp"

namespace exaln {

// Memory that a thread reuses for every group.
struct GroupMemory {
    Scratch workspace, queries, targets, directions, borders, best, last_row, last_column;
};

class Group {
  public:
    // steps: from end to start; empty without Output::PATHS.
    using Finished = std::function<void(size_t pair, const EndCell& end, const std::vector<uint8_t>& steps)>;

    Group(const PairJob& job, const PairPlanner& planner, const PairTask& task, Output output,
          GroupMemory& memory, Progress& progress);

    // Calls `finished` for all pairs but those that it returns: they overflowed, or were not tried after most
    // others had. Results are incomplete once the progress is cancelled.
    std::vector<size_t> run(const Finished& finished);

  private:
    // How the rows are divided.
    struct Strips {
        int64_t n_rows, strip_rows;

        int64_t count() const { return (n_rows + strip_rows - 1) / strip_rows; }
        int64_t first_row(int64_t strip) const { return n_rows * strip / count(); }
    };
    static constexpr int MAX_LANES = 64,
                         BLOCK = 8;  // BLOCK: lanes whose letters are put side by side together
    static constexpr size_t NONE = SIZE_MAX;

    struct Lane {
        size_t pair = NONE;
        int64_t end_column = 0;
    };

    bool is_cancelled() const { return progress_.cancelled.load(std::memory_order_relaxed); }
    bool is_stream() const { return task_.places.back().first_column > 0; }
    bool knows_scores() const { return !job_.known_scores.empty(); }
    bool is_traced() const { return output_ == Output::PATHS; }
    size_t lane_bytes() const { return size_t(kernels_.bits) / 8; }
    void set_scores(const PairPlanner& planner);
    void reserve();

    void run_stream();
    void begin_pairs();
    void begin_pair(const Place& place);
    void store_best(int lane, int64_t score);
    // The best score of a lane without a pair: it counts as overflowed, and no cell is better.
    int64_t idle_best() const { return args_.have_bases ? args_.range.limit + 1 : INT64_MAX; }
    int64_t best_on_entry(size_t pair) const;
    void put_queries(int first_lane);
    void put_targets(int first_lane);
    void put_shared_queries();
    void put_letters(const uint8_t* const* rows, const int64_t* lengths, int64_t n, bool are_queries,
                     int first_lane, uint8_t* out) const;
    int64_t next_column() const;
    void run_kernel();
    void run_columns(int64_t end);
    bool end_pairs();
    void end_pair(int lane);
    bool mostly_overflows() const;

    void score_strips();
    void trace_strips();
    void borders_of_strips();
    void set_rows(int64_t strip);
    void set_strip(int64_t strip);
    LastCell border_cell(int64_t k, bool is_free) const;
    void search_last_cells();
    void search_last_columns(const bool* ending);
    EndCell end_of(int lane) const;
    bool overflowed(const EndCell& end) const {
        return job_.mode.is_local && end.score + args_.range.floor > args_.range.limit;
    }
    void find_end(int lane);
    bool any_in_strip() const;
    int64_t last_path_column() const;
    void trace_lane(int lane);
    void finish_path(int lane);

    const PairJob& job_;
    const LetterClasses& classes_;
    const PairTask& task_;
    const WidthKernels& kernels_;
    const Output output_;
    GroupMemory& memory_;
    Progress& progress_;
    const Finished* finished_ = nullptr;
    const Strips strips_;
    const int n_lanes_;
    const bool maps_letters_;
    PairArgs args_{};
    int64_t column_ = 0;  // columns of the stream that are done
    size_t n_begun_ = 0, n_ended_ = 0;
    std::vector<int64_t> rows_left_;  // the most rows of the places from each one on
    std::vector<size_t> overflows_;

    Lane lanes_[MAX_LANES];
    const uint8_t *queries_[MAX_LANES] = {}, *targets_[MAX_LANES] = {};
    int64_t query_lengths_[MAX_LANES] = {}, target_lengths_[MAX_LANES] = {}, columns_before_[MAX_LANES] = {},
            end_rows_[MAX_LANES] = {}, end_columns_[MAX_LANES] = {};
    LastCell in_row_[MAX_LANES] = {}, in_column_[MAX_LANES] = {};
    EndCell ends_[MAX_LANES];
    PathState paths_[MAX_LANES];
    std::vector<uint8_t> steps_[MAX_LANES];
};

}  // namespace exaln
