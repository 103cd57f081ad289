// Runs a group of pairs: begins and ends pairs in their lanes, and runs the kernel in between.
#include "pairs/group.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "pairs/traceback.hpp"
#include "simd/interleave.hpp"

namespace exaln {

Group::Group(const PairJob& job, const PairPlanner& planner, const PairTask& task, Output output,
             GroupMemory& memory, Progress& progress)
    : job_(job),
      classes_(planner.classes()),
      task_(task),
      kernels_(*task.kernels),
      output_(output),
      memory_(memory),
      progress_(progress),
      strips_{task.n_rows, task.strip_rows},
      n_lanes_(kernels_.lanes),
      maps_letters_(task.source == ScoreSource::EQUAL && !classes_.are_codes) {
    args_.costs = &job.costs, args_.mode = job.mode, args_.cancelled = &progress.cancelled;
    args_.range = planner.range(task.number_type, task.n_rows, task.n_columns);
    args_.all_rows = task.n_rows;
    args_.queries = queries_, args_.targets = targets_;
    args_.query_lengths = query_lengths_, args_.target_lengths = target_lengths_;
    args_.columns_before = columns_before_, args_.in_row = in_row_;
    if (output != Output::SCORES) args_.end_rows = end_rows_, args_.end_columns = end_columns_;
    args_.stops_at_ends = knows_scores() && !is_stream();
    set_scores(planner);
    reserve();
}

void Group::set_scores(const PairPlanner& planner) {
    args_.source = task_.source, args_.score_rows = task_.score_rows;
    args_.are_differences = task_.number_type == RELATIVE && !job_.mode.is_local;
    args_.have_bases = task_.number_type == RELATIVE && job_.mode.is_local;
    const int32_t added = args_.are_differences ? 2 * job_.costs.gap_extend : 0;
    args_.match = classes_.match + added, args_.mismatch = classes_.mismatch + added;
    args_.query_letters = args_.target_letters = uint32_t(1) << job_.costs.pad;
    for (const Place& place : task_.places) {
        args_.query_letters |= planner.letters_of_query(place.pair);
        args_.target_letters |= planner.letters_of_target(place.pair);
        rows_left_.push_back(job_.queries.length(job_.pairs[place.pair].query));
    }
    rows_left_.push_back(0);
    for (size_t i = task_.places.size(); i-- > 0;) rows_left_[i] = std::max(rows_left_[i], rows_left_[i + 1]);
}

void Group::reserve() {
    const auto n_rows = size_t(task_.n_rows), n_columns = size_t(task_.n_columns), lanes = size_t(n_lanes_);
    args_.workspace_rows = std::min(task_.strip_rows, task_.n_rows);
    args_.workspace = memory_.workspace.reserve(kernels_.pair_workspace(args_.workspace_rows));
    memory_.targets.reserve(n_columns * lanes);
    if (task_.source != ScoreSource::SHARED)
        args_.query = static_cast<uint8_t*>(memory_.queries.reserve(n_rows * lanes));
    if (job_.mode.is_local) {
        args_.best = memory_.best.reserve(lanes * std::max(lane_bytes(), sizeof(int16_t)));
        for (int lane = 0; lane < n_lanes_; ++lane) store_best(lane, idle_best());
        return;
    }
    const bool needs_row = job_.mode.target_end, needs_column = !needs_row || job_.mode.query_end;
    if (needs_row) args_.last_row = memory_.last_row.reserve(n_columns * lanes * lane_bytes());
    if (needs_column) args_.last_column = memory_.last_column.reserve(n_rows * lanes * lane_bytes());
}

std::vector<size_t> Group::run(const Finished& finished) {
    finished_ = &finished;
    if (strips_.count() == 1) {
        run_stream();
    } else {
        begin_pairs();
        is_traced() ? trace_strips() : score_strips();
    }
    return std::move(overflows_);
}

void Group::run_stream() {
    if (is_traced()) {
        const size_t bytes = kernels_.pair_directions(task_.n_rows, task_.n_columns);
        args_.directions = static_cast<uint8_t*>(memory_.directions.reserve(bytes));
        args_.direction_rows = task_.n_rows, args_.direction_tiles = task_.n_columns / kernels_.columns;
    }
    do {
        begin_pairs();
        run_columns(next_column());
        if (is_cancelled()) return;
    } while (end_pairs());
}

// Begins the pairs whose place is at this column.
void Group::begin_pairs() {
    bool have_begun[MAX_LANES / BLOCK] = {};
    for (; n_begun_ < task_.places.size() && task_.places[n_begun_].first_column == column_; ++n_begun_) {
        begin_pair(task_.places[n_begun_]);
        have_begun[task_.places[n_begun_].lane / BLOCK] = true;
    }
    args_.n_rows = rows_left_[n_begun_];
    for (int lane = 0; lane < n_lanes_; ++lane) args_.n_rows = std::max(args_.n_rows, query_lengths_[lane]);
    if (task_.source == ScoreSource::SHARED && column_ == 0) put_shared_queries();
    for (int lane = 0; lane < n_lanes_; lane += BLOCK) {
        // Lanes that are never used hold padding.
        if (!have_begun[lane / BLOCK] && column_ > 0) continue;
        if (task_.source != ScoreSource::SHARED) put_queries(lane);
        put_targets(lane);
    }
}

void Group::begin_pair(const Place& place) {
    const Pair& pair = job_.pairs[place.pair];
    const int lane = place.lane;
    queries_[lane] = job_.queries.at(pair.query), targets_[lane] = job_.targets.at(pair.target);
    const int64_t m = query_lengths_[lane] = job_.queries.length(pair.query),
                  n = target_lengths_[lane] = job_.targets.length(pair.target);
    lanes_[lane] = {place.pair, column_ + kernels_.padded(n)};
    columns_before_[lane] = end_rows_[lane] = end_columns_[lane] = 0;
    in_row_[lane] = border_cell(m, job_.mode.query_start);
    if (job_.mode.is_local) store_best(lane, best_on_entry(place.pair));
}

// The first candidate of the last row or column.
LastCell Group::border_cell(int64_t k, bool is_free) const {
    const int64_t score = border_score(k, is_free, job_.costs.gap_first, job_.costs.gap_extend);
    return {score, score, 0};
}

int64_t Group::best_on_entry(size_t pair) const {
    const int64_t known = knows_scores() ? job_.known_scores[pair] : 1;
    return std::max<int64_t>(known, 1) - 1 + args_.range.floor;
}

// Sets the best score of a lane as stored, or the highest value that a lane holds.
void Group::store_best(int lane, int64_t score) {
    if (args_.have_bases || lane_bytes() == 2) {
        static_cast<int16_t*>(args_.best)[lane] = int16_t(std::min<int64_t>(score, INT16_MAX));
    } else if (lane_bytes() == 1) {
        static_cast<int8_t*>(args_.best)[lane] = int8_t(std::min<int64_t>(score, INT8_MAX));
    } else {
        static_cast<int32_t*>(args_.best)[lane] = int32_t(std::min<int64_t>(score, INT32_MAX));
    }
}

// The queries of a block of lanes, including those that have begun before: their letters stay the same.
void Group::put_queries(int first_lane) {
    auto* out = static_cast<uint8_t*>(memory_.queries.reserve(0));
    put_letters(queries_ + first_lane, query_lengths_ + first_lane, args_.n_rows, true, first_lane, out);
}

// What is left of the targets of a block of lanes, in the ring from this column on.
void Group::put_targets(int first_lane) {
    const uint8_t* rows[BLOCK];
    int64_t lengths[BLOCK] = {}, n_left = 0, at = column_ % task_.n_columns;
    for (int i = 0; i < BLOCK && first_lane + i < n_lanes_; ++i) {
        const int lane = first_lane + i;
        const bool is_active = lanes_[lane].pair != NONE;
        rows[i] = is_active ? targets_[lane] + columns_before_[lane] : nullptr;
        lengths[i] = is_active ? std::max<int64_t>(0, target_lengths_[lane] - columns_before_[lane]) : 0;
        if (is_active) n_left = std::max(n_left, lanes_[lane].end_column - column_);
    }
    if (column_ == 0) n_left = task_.n_columns;
    auto* out = static_cast<uint8_t*>(memory_.targets.reserve(0));
    while (n_left > 0) {
        const int64_t n = std::min(n_left, task_.n_columns - at);
        put_letters(rows, lengths, n, false, first_lane, out + at * n_lanes_);
        for (int i = 0; i < BLOCK; ++i)
            if (lengths[i] > 0) rows[i] += std::min(n, lengths[i]), lengths[i] -= std::min(n, lengths[i]);
        n_left -= n, at = 0;
    }
}

void Group::put_letters(const uint8_t* const* rows, const int64_t* lengths, int64_t n, bool are_queries,
                        int first_lane, uint8_t* out) const {
    const bool has_classes = task_.source == ScoreSource::EQUAL && !maps_letters_;
    const uint8_t class_pad = are_queries ? LetterClasses::QUERY_PAD : LetterClasses::TARGET_PAD;
    const uint8_t pad = has_classes ? class_pad : uint8_t(job_.costs.pad);
    const int width = std::min(int(BLOCK), n_lanes_ - first_lane);
    interleave(rows, lengths, width, width, n_lanes_, n, pad, out + first_lane);
    if (!maps_letters_) return;
    const uint8_t* of_code = are_queries ? classes_.of_query : classes_.of_target;
    for (int64_t i = 0; i < n; ++i)
        for (uint8_t* at = out + i * n_lanes_ + first_lane; at < out + i * n_lanes_ + first_lane + width;
             ++at)
            *at = of_code[*at];
}

// The distinct queries one after the other, each padded to the length of the longest.
void Group::put_shared_queries() {
    const auto query = [&](size_t i) { return job_.pairs[task_.places[i].pair].query; };
    for (size_t i = 0; i < task_.places.size(); ++i)
        if (i == 0 || query(i) != query(i - 1)) args_.first_lanes[args_.n_queries++] = task_.places[i].lane;
    args_.query = queries_[0];
    if (args_.n_queries == 1) return;
    const auto rows = size_t(task_.n_rows);
    auto* letters = static_cast<uint8_t*>(memory_.queries.reserve(size_t(args_.n_queries) * rows));
    memset(letters, job_.costs.pad, size_t(args_.n_queries) * rows);
    for (int i = 0; i < args_.n_queries; ++i) {
        const int lane = args_.first_lanes[i];
        memcpy(letters + size_t(i) * rows, queries_[lane], size_t(query_lengths_[lane]));
    }
    args_.query = letters;
}

// The next column in which a pair begins or ends, or the ring does. Without a stream, pairs end together.
int64_t Group::next_column() const {
    if (!is_stream()) return task_.n_columns;
    int64_t next = column_ - column_ % task_.n_columns + task_.n_columns;
    if (n_begun_ < task_.places.size()) next = std::min(next, task_.places[n_begun_].first_column);
    for (int lane = 0; lane < n_lanes_; ++lane)
        if (lanes_[lane].pair != NONE) next = std::min(next, lanes_[lane].end_column);
    return next;
}

void Group::run_kernel() {
    PairTimes::add(pair_times.kernels, [&] { kernels_.run_pairs(args_); });
}

void Group::run_columns(int64_t end) {
    const int64_t at = column_ % task_.n_columns;
    args_.letters = static_cast<uint8_t*>(memory_.targets.reserve(0)) + at * n_lanes_;
    args_.first_tile = at / kernels_.columns;
    args_.n_columns = end - column_;
    run_kernel();
    if (args_.last_row) kernels_.search_last_row(args_);
    column_ = end;
}

// Ends the pairs that end at this column. False if none is left.
bool Group::end_pairs() {
    bool are_ending[MAX_LANES] = {}, any_ends = false, any_goes_on = n_begun_ < task_.places.size();
    for (int lane = 0; lane < n_lanes_; ++lane) {
        are_ending[lane] = lanes_[lane].pair != NONE && lanes_[lane].end_column <= column_;
        any_ends |= are_ending[lane], any_goes_on |= lanes_[lane].pair != NONE && !are_ending[lane];
    }
    if (any_ends && args_.last_column) search_last_columns(are_ending);
    for (int lane = 0; lane < n_lanes_; ++lane)
        if (are_ending[lane]) end_pair(lane);
    for (int64_t& before : columns_before_) before += args_.n_columns;
    if (!mostly_overflows()) return any_goes_on;
    for (const Lane& lane : lanes_)
        if (lane.pair != NONE) overflows_.push_back(lane.pair);
    for (; n_begun_ < task_.places.size(); ++n_begun_) overflows_.push_back(task_.places[n_begun_].pair);
    return false;
}

void Group::end_pair(int lane) {
    const size_t pair = lanes_[lane].pair;
    find_end(lane);
    if (overflowed(ends_[lane])) {
        overflows_.push_back(pair);
    } else {
        if (is_traced()) trace_lane(lane), finish_path(lane);
        (*finished_)(pair, ends_[lane], steps_[lane]);
    }
    lanes_[lane].pair = NONE, query_lengths_[lane] = target_lengths_[lane] = 0;
    if (job_.mode.is_local) store_best(lane, idle_best());
    ++n_ended_;
}

// True if the pairs that follow, which are similar, are better tried with wider numbers at once.
bool Group::mostly_overflows() const {
    return n_ended_ >= size_t(n_lanes_) && 2 * overflows_.size() > n_ended_;
}

void Group::set_rows(int64_t strip) {
    args_.first_row = strips_.first_row(strip);
    args_.n_rows = strips_.first_row(strip + 1) - args_.first_row;
}

void Group::set_strip(int64_t strip) {
    const size_t bytes = kernels_.pair_border(task_.n_columns);
    auto* borders = static_cast<uint8_t*>(memory_.borders.reserve(0));
    set_rows(strip);
    args_.border_above = strip > 0 ? borders + size_t(strip - 1) * bytes : nullptr;
    args_.border_below = strip + 1 < strips_.count() ? borders + size_t(strip) * bytes : nullptr;
}

// Computes all strips, which share one border.
void Group::score_strips() {
    void* const border = memory_.borders.reserve(kernels_.pair_border(task_.n_columns));
    args_.letters = static_cast<uint8_t*>(memory_.targets.reserve(0)), args_.n_columns = task_.n_columns;
    for (int64_t strip = 0; strip < strips_.count() && !is_cancelled(); ++strip) {
        set_rows(strip);
        args_.border_above = strip > 0 ? border : nullptr;
        args_.border_below = strip + 1 < strips_.count() ? border : nullptr;
        run_kernel();
    }
    if (is_cancelled()) return;
    search_last_cells();
    for (int lane = 0; lane < n_lanes_; ++lane)
        if (lanes_[lane].pair != NONE) end_pair(lane);
}

// Computes ends, and then paths strip by strip from the bottom up.
void Group::trace_strips() {
    borders_of_strips();
    if (is_cancelled()) return;
    search_last_cells();
    for (int lane = 0; lane < n_lanes_; ++lane)
        if (lanes_[lane].pair != NONE) find_end(lane);
    args_.best = args_.last_row = args_.last_column = nullptr;
    args_.end_rows = args_.end_columns = nullptr;
    for (int64_t strip = strips_.count() - 1; strip >= 0; --strip) {
        set_strip(strip);
        if (!any_in_strip()) continue;
        args_.n_columns = kernels_.padded(last_path_column() + 1);
        args_.direction_rows = args_.n_rows, args_.direction_tiles = args_.n_columns / kernels_.columns;
        const size_t bytes = kernels_.pair_directions(args_.n_rows, args_.n_columns);
        args_.directions = static_cast<uint8_t*>(memory_.directions.reserve(bytes));
        args_.border_below = nullptr;
        run_kernel();
        if (is_cancelled()) return;
        for (int lane = 0; lane < n_lanes_; ++lane)
            if (lanes_[lane].pair != NONE) trace_lane(lane);
    }
    for (int lane = 0; lane < n_lanes_; ++lane) {
        if (lanes_[lane].pair == NONE) continue;
        if (overflowed(ends_[lane])) {
            overflows_.push_back(lanes_[lane].pair);
        } else {
            finish_path(lane);
            (*finished_)(lanes_[lane].pair, ends_[lane], steps_[lane]);
        }
    }
}

// The first pass over several strips: stores the borders between them, and the last cells or the best ones.
void Group::borders_of_strips() {
    memory_.borders.reserve(size_t(strips_.count() - 1) * kernels_.pair_border(task_.n_columns));
    args_.letters = static_cast<uint8_t*>(memory_.targets.reserve(0)), args_.n_columns = task_.n_columns;
    for (int64_t strip = 0; strip < strips_.count() && !is_cancelled(); ++strip) {
        set_strip(strip);
        run_kernel();
    }
}

void Group::search_last_cells() {
    bool all[MAX_LANES];
    std::fill(std::begin(all), std::end(all), true);
    if (args_.last_row) kernels_.search_last_row(args_);
    if (args_.last_column) search_last_columns(all);
}

void Group::search_last_columns(const bool* ending) {
    for (int lane = 0; lane < n_lanes_; ++lane)
        in_column_[lane] = border_cell(target_lengths_[lane], job_.mode.target_start);
    kernels_.search_last_column(args_, ending, in_column_);
}

EndCell Group::end_of(int lane) const {
    EndCell end;
    if (job_.mode.is_local) {
        const int64_t best = args_.have_bases || lane_bytes() == 2
                                 ? static_cast<const int16_t*>(args_.best)[lane]
                             : lane_bytes() == 1 ? static_cast<const int8_t*>(args_.best)[lane]
                                                 : static_cast<const int32_t*>(args_.best)[lane];
        return {best - args_.range.floor, end_rows_[lane], end_columns_[lane]};
    }
    if (args_.last_row) end.consider(in_row_[lane].score, query_lengths_[lane], in_row_[lane].position);
    if (args_.last_column)
        end.consider(in_column_[lane].score, in_column_[lane].position, target_lengths_[lane]);
    return end;
}

// Finds the end of a lane's pair, where its path begins to be traced.
void Group::find_end(int lane) {
    const EndCell end = ends_[lane] = end_of(lane);
    paths_[lane] = overflowed(end) ? PathState{-1, -1, 0} : PathState{end.row - 1, end.column - 1, end.score};
    steps_[lane].clear();
    if (knows_scores() && end.score != job_.known_scores[lanes_[lane].pair])
        throw std::logic_error("no path has the score of its pair");
}

bool Group::any_in_strip() const {
    return last_path_column() >= 0;
}

// No path continues in this strip to the right of this column; -1 if none continues.
int64_t Group::last_path_column() const {
    int64_t last = -1;
    for (int lane = 0; lane < n_lanes_; ++lane)
        if (lanes_[lane].pair != NONE && !paths_[lane].is_complete(job_.mode.is_local) &&
            paths_[lane].row >= args_.first_row)
            last = std::max(last, paths_[lane].column);
    return last;
}

// Follows the part of a path that lies in the strip, if any.
void Group::trace_lane(int lane) {
    PathState& path = paths_[lane];
    std::vector<uint8_t>& steps = steps_[lane];
    if (path.is_complete(job_.mode.is_local) || path.row < args_.first_row) return;
    const size_t before = steps.size();
    steps.resize(before + size_t(path.row - args_.first_row + path.column + 2));
    const uint8_t* end = kernels_.trace_pair(args_, lane, path, steps.data() + before);
    steps.resize(size_t(end - steps.data()));
}

void Group::finish_path(int lane) {
    PathState& path = paths_[lane];
    std::vector<uint8_t>& steps = steps_[lane];
    if (!path.is_complete(job_.mode.is_local)) throw std::logic_error("no path has the score of its pair");
    const size_t before = steps.size();
    steps.resize(before + size_t(path.row + path.column + 2));
    const uint8_t* end = trace_border(job_.mode, path, steps.data() + before);
    steps.resize(size_t(end - steps.data()));
}

}  // namespace exaln
