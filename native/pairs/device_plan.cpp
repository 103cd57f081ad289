// Plans batches of pairs for a GPU; see device_plan.hpp.
#include "pairs/device_plan.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "sequences/rows.hpp"

namespace exaln {
namespace {

constexpr int64_t ALIGNMENT = 16;  // of the parts of a block

// For sizes of tables, which have 32 bits: these are divided several times faster than 64.
int64_t ceil_div(int64_t a, int64_t b) {
    return int64_t((uint32_t(a) + uint32_t(b) - 1) / uint32_t(b));
}

int64_t rounded_up(int64_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// Plans the pairs of one call. A pair takes half of the arena of its couple, and eight bytes a letter for its
// runs, which the device stores twice.
class Planner {
  public:
    Planner(const int64_t* m, const int64_t* n, const std::vector<DeviceShape>& shapes,
            const DeviceTables& tables, const DeviceLimits& limits, bool sends_queries, bool sends_targets,
            int64_t head_bytes)
        : m_(m),
          n_(n),
          shapes_(shapes),
          tables_(tables),
          limits_(limits),
          sends_queries_(sends_queries),
          sends_targets_(sends_targets),
          head_bytes_(head_bytes) {}

    DevicePlan planned(int64_t n_pairs) {
        for (int64_t i = 0; i < n_pairs; ++i)
            if (m_[i] < 1 || n_[i] < 1 || m_[i] > LONGEST_ON_DEVICE || n_[i] > LONGEST_ON_DEVICE)
                throw std::invalid_argument("a table is empty or too large");
        std::vector<std::vector<int64_t>> own(shapes_.size());
        size_t shape = 0;
        for (int64_t i = 0; i < n_pairs; ++i) {
            if (i == 0 || m_[i] != m_[i - 1] || n_[i] != n_[i - 1]) shape = cheapest(m_[i], n_[i]);
            own[shape].push_back(i);
        }
        plan_.order.reserve(size_t(n_pairs));
        for (size_t number = 0; number < own.size(); ++number)
            if (!own[number].empty()) add_shape(int64_t(number), own[number]);
        return std::move(plan_);
    }

  private:
    size_t cheapest(int64_t m, int64_t n) const {
        size_t best = 0;
        double least = 0;
        for (size_t number = 0; number < shapes_.size(); ++number) {
            const DeviceShape& shape = shapes_[number];
            const int64_t n_steps =
                ceil_div(m, shape.strip_rows()) * (ceil_div(n, DEVICE_COLUMNS) + shape.lanes - 1);
            const double cost = double(n_steps) * double(shape.cost);
            if (number == 0 || cost < least) best = number, least = cost;
        }
        return best;
    }

    // Sorts pairs by tiles, then by rows, and cuts them into batches.
    void add_shape(int64_t shape, const std::vector<int64_t>& own) {
        const auto first = int64_t(plan_.order.size());
        append_sorted(own);
        const auto end = int64_t(plan_.order.size());
        for (int64_t begin = first; begin < end;) {
            const int64_t fitting = fitting_end(shape, begin, end);
            const int64_t even = std::max(begin + 2, fitting - (fitting - first) % 2);
            const int64_t next = fitting == end ? end : std::min(end, even);
            plan_.batches.push_back(laid_out(shape, begin, next));
            begin = next;
        }
    }

    void append_sorted(const std::vector<int64_t>& own) {
        int64_t most_rows = 0;
        for (const int64_t i : own) most_rows = std::max(most_rows, m_[i]);
        std::vector<int64_t> keys;
        keys.reserve(own.size());
        for (const int64_t i : own) keys.push_back(ceil_div(n_[i], DEVICE_COLUMNS) * (most_rows + 1) + m_[i]);
        if (std::is_sorted(keys.begin(), keys.end())) {
            plan_.order.insert(plan_.order.end(), own.begin(), own.end());
            return;
        }
        for (const int32_t place : argsort_stable(Column<int64_t>(keys.data(), int64_t(keys.size()))))
            plan_.order.push_back(own[size_t(place)]);
    }

    // The end of the pairs from `begin` on that stay within the limits.
    int64_t fitting_end(int64_t shape, int64_t begin, int64_t end) {
        int64_t arena = 0, block = 0, place = begin;
        for (; place < end; ++place) {
            const int64_t m = m_[plan_.order[size_t(place)]], n = n_[plan_.order[size_t(place)]];
            arena += couple_bytes(shape, m, n) / 2 + 8 * (m + n + 2);
            block += pair_bytes(m, n);
            if (arena > limits_.arena_bytes || block > limits_.block_bytes) break;
        }
        return place;
    }

    // Pairs are sorted, so one after the other often has the same size.
    int64_t couple_bytes(int64_t shape, int64_t m, int64_t n) {
        if (shape != last_.shape || m != last_.m || n != last_.n)
            last_ = {shape, m, n, tables_.couple_bytes(shapes_[size_t(shape)], m, n)};
        return last_.bytes;
    }

    // Bytes of a pair in a block; a path is expected to have a run for every three letters.
    int64_t pair_bytes(int64_t m, int64_t n) const {
        constexpr auto FIXED =
            int64_t(sizeof(DevicePair) + sizeof(DeviceLayout) / 2 + sizeof(uint64_t) + sizeof(DeviceResult));
        return FIXED + sent(m, n) + (tables_.has_paths ? 4 * (m + n) / 3 : 0);
    }

    int64_t sent(int64_t m, int64_t n) const { return (sends_queries_ ? m : 0) + (sends_targets_ ? n : 0); }

    DeviceBatch laid_out(int64_t shape, int64_t begin, int64_t end) {
        int64_t letters = 0, n_runs = 0, arena = 0;
        for (int64_t place = begin; place < end; place += 2) {
            int64_t m = 0, n = 0;
            for (int64_t one = place; one < std::min(place + 2, end); ++one) {
                const int64_t pair = plan_.order[size_t(one)];
                m = std::max(m, m_[pair]), n = std::max(n, n_[pair]);
                letters += sent(m_[pair], n_[pair]), n_runs += m_[pair] + n_[pair];
            }
            arena += couple_bytes(shape, m, n);
        }
        const int64_t n_pairs = end - begin;
        DeviceBatch batch{shape, begin, end, rounded_up(head_bytes_), 0, 0, 0, 0, 0, 0, n_runs, arena};
        batch.layouts = rounded_up(batch.pairs + int64_t(sizeof(DevicePair)) * n_pairs);
        batch.run_starts = rounded_up(batch.layouts + int64_t(sizeof(DeviceLayout)) * ((n_pairs + 1) / 2));
        batch.letters = rounded_up(batch.run_starts + int64_t(sizeof(uint64_t)) * (n_pairs + 1));
        batch.counters = rounded_up(batch.letters + letters);
        batch.results = batch.counters + int64_t(sizeof(DeviceCounters));
        batch.runs = rounded_up(batch.results + int64_t(sizeof(DeviceResult)) * n_pairs);
        return batch;
    }

    const int64_t *m_, *n_;
    const std::vector<DeviceShape>& shapes_;
    const DeviceTables& tables_;
    const DeviceLimits& limits_;
    const bool sends_queries_, sends_targets_;
    const int64_t head_bytes_;
    DevicePlan plan_;
    struct {
        int64_t shape = -1, m = 0, n = 0, bytes = 0;
    } last_;
};

}  // namespace

void DeviceTables::part_bytes(const DeviceShape& shape, int64_t n_strips, int64_t n_tiles,
                              int64_t (&bytes)[7]) const {
    const int64_t n_rows = n_strips * shape.strip_rows();
    bytes[0] = 4 * n_rows;
    bytes[1] = 16 * n_tiles;
    bytes[2] = has_paths ? 2 * n_rows * (n_tiles + shape.lanes - 1) * DEVICE_COLUMNS / 2 : 0;
    bytes[3] = is_local ? 0 : 8 * n_rows;
    bytes[4] = has_last_row ? 32 * n_tiles : 0;
    bytes[5] = is_local ? 16 * n_strips * shape.lanes : 0;
    bytes[6] = n_strips > 1 ? 32 * n_tiles : 0;
}

int64_t DeviceTables::couple_bytes(const DeviceShape& shape, int64_t m, int64_t n) const {
    if (m < 0 || n < 0 || m > LONGEST_ON_DEVICE || n > LONGEST_ON_DEVICE)
        return std::numeric_limits<int64_t>::max();
    int64_t parts[7], sum = 0;
    part_bytes(shape, ceil_div(m, shape.strip_rows()), ceil_div(n, DEVICE_COLUMNS), parts);
    for (const int64_t part : parts) sum += part;
    return sum;
}

DevicePlan plan_device_pairs(const int64_t* m, const int64_t* n, int64_t n_pairs,
                             const std::vector<DeviceShape>& shapes, const DeviceTables& tables,
                             const DeviceLimits& limits, bool sends_queries, bool sends_targets,
                             int64_t head_bytes) {
    return Planner(m, n, shapes, tables, limits, sends_queries, sends_targets, head_bytes).planned(n_pairs);
}

}  // namespace exaln
