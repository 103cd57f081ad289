// Radix sort, scattered copies and binary search over rows of variable length.
#include "sequences/rows.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "threads/tasks.hpp"

namespace exaln {

Rows::Rows(const Column<uint8_t>& data_column, const Column<int64_t>& offset_column)
    : data(data_column), offsets(offset_column) {
    if (offsets.size() == 0) throw std::invalid_argument("offsets need at least one element");
    if (count() > std::numeric_limits<int32_t>::max()) throw std::invalid_argument("more than 2^31 - 1 rows");
    int64_t last = 0;
    for (int64_t i = 0; i < offsets.size(); ++i) {
        const int64_t offset = offsets[i];
        if (offset < last) throw std::out_of_range("offsets decrease");
        last = offset;
    }
    if (last > data.size()) throw std::out_of_range("offsets lead outside the data");
}

namespace {

// Calls `work(i)` for every i < n on several threads.
template <class Work>
void run_each(size_t n, int threads, Work work) {
    run_tasks(
        n, threads, [] { return std::make_unique<int>(0); }, [&](int&, size_t i) { work(i); }, [](int&) {});
}

struct Keyed {
    uint64_t key;
    int32_t row;
};

// Stable radix sort of n entries by key, one byte at a time from the lowest. Bytes that are the same in all
// keys are skipped. `scratch` has room for n entries.
void radix_sort(Keyed* entries, int64_t n, Keyed* scratch) {
    uint64_t used = 0;  // bits that are set in a key
    for (int64_t i = 0; i < n; ++i) used |= entries[i].key;
    int digits = 0;
    while (digits < 8 && used >> (8 * digits) != 0) ++digits;
    std::array<std::array<int64_t, 256>, 8> counts{};
    for (int64_t i = 0; i < n; ++i)
        for (int digit = 0; digit < digits; ++digit) ++counts[digit][(entries[i].key >> (8 * digit)) & 255];
    Keyed* from = entries;
    Keyed* to = scratch;
    for (int digit = 0; digit < digits; ++digit) {
        auto& count = counts[digit];
        if (count[(from[0].key >> (8 * digit)) & 255] == n) continue;
        int64_t start = 0;
        for (auto& c : count) start += std::exchange(c, start);
        for (int64_t i = 0; i < n; ++i) to[count[(from[i].key >> (8 * digit)) & 255]++] = from[i];
        std::swap(from, to);
    }
    if (from != entries) std::copy(from, from + n, entries);
}

int compare_bytes(const unsigned char* a, int64_t a_length, const unsigned char* b, int64_t b_length) {
    const auto shared = static_cast<size_t>(std::min(a_length, b_length));
    const int order = shared == 0 ? 0 : std::memcmp(a, b, shared);
    if (order != 0) return order;
    return a_length < b_length ? -1 : (a_length > b_length ? 1 : 0);
}

// Sorts rows by their bytes: skips the prefix that all rows of a range share, sorts by the next eight bytes,
// then sorts every run of equal keys in the same way. Short runs, and runs in which a row ends inside its
// key, are sorted by comparisons.
class ByteSorter {
  public:
    // Sorts the n row numbers from `order` on, which must ascend.
    ByteSorter(const Rows& rows, int32_t* order, int64_t n)
        : rows_(rows), entries_(static_cast<size_t>(n)), scratch_(entries_.size()) {
        for (int64_t i = 0; i < n; ++i) entries_[i].row = order[i];
        sort_range(0, n, 0);
        for (int64_t i = 0; i < n; ++i) order[i] = entries_[i].row;
    }

  private:
    static constexpr int64_t small = 256;
    static constexpr int64_t key_bytes = 8;

    void sort_range(int64_t begin, int64_t end, int64_t depth) {
        if (end - begin <= small) return compare_sort(begin, end);
        depth = shared_prefix(begin, end, depth);
        for (int64_t i = begin; i < end; ++i) entries_[i].key = key_at(entries_[i].row, depth);
        radix_sort(&entries_[begin], end - begin, scratch_.data());
        for (int64_t first = begin; first < end;) {
            int64_t last = first + 1;
            bool one_ends = ends_within(entries_[first].row, depth);
            for (; last < end && entries_[last].key == entries_[first].key; ++last)
                one_ends = one_ends || ends_within(entries_[last].row, depth);
            if (last - first > 1) {
                if (one_ends)
                    compare_sort(first, last);
                else
                    sort_range(first, last, depth + key_bytes);
            }
            first = last;
        }
    }

    bool ends_within(int64_t row, int64_t depth) const { return rows_.length(row) <= depth + key_bytes; }

    void compare_sort(int64_t begin, int64_t end) {
        std::sort(entries_.begin() + begin, entries_.begin() + end, [this](const Keyed& a, const Keyed& b) {
            const int order = compare_bytes(rows_.begin(a.row), rows_.length(a.row), rows_.begin(b.row),
                                            rows_.length(b.row));
            return order != 0 ? order < 0 : a.row < b.row;
        });
    }

    int64_t shared_prefix(int64_t begin, int64_t end, int64_t depth) const {
        const int32_t first = entries_[begin].row;
        const unsigned char* model = rows_.begin(first);
        int64_t shared = rows_.length(first);
        for (int64_t i = begin + 1; i < end && shared > depth; ++i) {
            const int32_t row = entries_[i].row;
            shared = std::min(shared, rows_.length(row));
            const unsigned char* bytes = rows_.begin(row);
            if (std::memcmp(model + depth, bytes + depth, static_cast<size_t>(shared - depth)) == 0) continue;
            shared = std::mismatch(model + depth, model + shared, bytes + depth).first - model;
        }
        return std::max(shared, depth);
    }

    uint64_t key_at(int64_t row, int64_t depth) const {
        const int64_t left = std::min(rows_.length(row) - depth, key_bytes);
        const unsigned char* bytes = rows_.begin(row) + depth;
        uint64_t key = 0;
        for (int64_t i = 0; i < key_bytes; ++i) key = (key << 8) | (i < left ? bytes[i] : 0);
        return key;
    }

    const Rows& rows_;
    std::vector<Keyed> entries_;
    std::vector<Keyed> scratch_;
};

// Rows divided into buckets, each of which holds lesser rows than the next one and keeps them in ascending
// order of their numbers, so that threads can sort the buckets independently. Equal rows share a bucket.
class Buckets {
  public:
    std::vector<int32_t> order;  // the rows, bucket by bucket
    std::vector<int64_t> starts;

    Buckets(const Rows& rows, int threads) : order(static_cast<size_t>(rows.count())), rows_(rows) {
        if (threads == 1 || rows.count() < LEAST) {
            std::iota(order.begin(), order.end(), 0);
            starts = {0, rows.count()};
            return;
        }
        find_bounds(4 * threads);
        distribute(threads);
    }

    size_t count() const { return starts.size() - 1; }
    int64_t size(size_t bucket) const { return starts[bucket + 1] - starts[bucket]; }

  private:
    static constexpr int64_t LEAST = 1 << 14;  // fewer rows are one bucket
    static constexpr int64_t PART = 1 << 14;   // rows per task
    static constexpr int64_t SAMPLES = 32;     // rows per bucket that the bounds are chosen from

    bool is_less(int32_t a, int32_t b) const {
        return compare_bytes(rows_.begin(a), rows_.length(a), rows_.begin(b), rows_.length(b)) < 0;
    }

    void find_bounds(int64_t n_buckets) {
        const int64_t n = std::min(rows_.count(), n_buckets * SAMPLES);
        std::vector<int32_t> sample;
        for (int64_t i = 0; i < n; ++i) sample.push_back(static_cast<int32_t>(i * rows_.count() / n));
        std::sort(sample.begin(), sample.end(), [&](int32_t a, int32_t b) { return is_less(a, b); });
        for (int64_t i = SAMPLES; i < n; i += SAMPLES) bounds_.push_back(sample[static_cast<size_t>(i)]);
    }

    // Counts the rows of each bucket in each part, then copies each row to its place.
    void distribute(int threads) {
        const size_t n_buckets = bounds_.size() + 1;
        const auto n_parts = static_cast<size_t>((rows_.count() + PART - 1) / PART);
        std::vector<int32_t> bucket_of(order.size());
        std::vector<int64_t> places(n_parts * n_buckets);  // of the next row: part by part
        const auto each_row = [&](size_t part, auto work) {
            const int64_t first = static_cast<int64_t>(part) * PART;
            for (int64_t row = first; row < std::min(rows_.count(), first + PART); ++row)
                work(static_cast<int32_t>(row), places.data() + part * n_buckets);
        };
        run_each(n_parts, threads, [&](size_t part) {
            each_row(part, [&](int32_t row, int64_t* counts) {
                const auto above = std::upper_bound(bounds_.begin(), bounds_.end(), row,
                                                    [&](int32_t a, int32_t b) { return is_less(a, b); });
                bucket_of[static_cast<size_t>(row)] = static_cast<int32_t>(above - bounds_.begin());
                ++counts[above - bounds_.begin()];
            });
        });
        int64_t place = 0;
        for (size_t bucket = 0; bucket < n_buckets; ++bucket) {
            starts.push_back(place);
            for (size_t part = 0; part < n_parts; ++part)
                place += std::exchange(places[part * n_buckets + bucket], place);
        }
        starts.push_back(place);
        run_each(n_parts, threads, [&](size_t part) {
            each_row(part, [&](int32_t row, int64_t* next) {
                order[static_cast<size_t>(next[bucket_of[static_cast<size_t>(row)]]++)] = row;
            });
        });
    }

    const Rows& rows_;
    std::vector<int32_t> bounds_;  // rows; those from bounds_[i] on are in bucket i + 1 or behind it
};

}  // namespace

std::vector<int32_t> argsort_stable(const Column<int64_t>& keys) {
    if (keys.size() > std::numeric_limits<int32_t>::max())
        throw std::invalid_argument("more than 2^31 - 1 rows");
    const auto n = static_cast<size_t>(keys.size());
    std::vector<Keyed> entries(n), scratch(n);
    for (size_t i = 0; i < n; ++i) {
        const int64_t key = keys[static_cast<int64_t>(i)];
        if (key < 0) throw std::invalid_argument("keys must not be negative");
        entries[i] = {static_cast<uint64_t>(key), static_cast<int32_t>(i)};
    }
    if (n > 1) radix_sort(entries.data(), static_cast<int64_t>(n), scratch.data());
    std::vector<int32_t> order(n);
    for (size_t i = 0; i < n; ++i) order[i] = entries[i].row;
    return order;
}

std::vector<int32_t> argsort_bytes(const Rows& rows, int threads) {
    Buckets buckets(rows, threads);
    run_each(buckets.count(), threads, [&](size_t bucket) {
        ByteSorter(rows, buckets.order.data() + buckets.starts[bucket], buckets.size(bucket));
    });
    return std::move(buckets.order);
}

int64_t count_repeats(const Rows& rows, const std::vector<int32_t>& order, int threads) {
    constexpr size_t PART = size_t(1) << 14;  // rows per task
    std::atomic<int64_t> repeats{0};
    run_each((order.size() + PART - 1) / PART, threads, [&](size_t part) {
        int64_t here = 0;
        for (size_t i = std::max<size_t>(part * PART, 1); i < std::min(order.size(), (part + 1) * PART);
             ++i) {
            const int32_t a = order[i - 1], b = order[i];
            here += compare_bytes(rows.begin(a), rows.length(a), rows.begin(b), rows.length(b)) == 0;
        }
        repeats += here;
    });
    return repeats;
}

std::vector<int64_t> find_bytes(const Rows& rows, const Column<int32_t>& order, const Rows& keys) {
    const auto partition = [&](int64_t key, int64_t begin, bool after_equals) {
        int64_t end = order.size();
        while (begin < end) {
            const int64_t middle = begin + (end - begin) / 2;
            const int32_t row = order[middle];
            if (row < 0 || row >= rows.count()) throw std::out_of_range("a row number is out of range");
            const Rows::Bytes bytes = rows.at(row);
            const int side = compare_bytes(bytes.begin, bytes.length, keys.begin(key), keys.length(key));
            if (side < 0 || (after_equals && side == 0))
                begin = middle + 1;
            else
                end = middle;
        }
        return begin;
    };
    std::vector<int64_t> positions(static_cast<size_t>(2 * keys.count()));
    for (int64_t key = 0; key < keys.count(); ++key) {
        positions[2 * key] = partition(key, 0, false);
        positions[2 * key + 1] = partition(key, positions[2 * key], true);
    }
    return positions;
}

std::vector<uint8_t> take_rows(const Column<uint8_t>& data, const Column<int64_t>& begins,
                               const Column<int64_t>& ends) {
    if (begins.size() != ends.size()) throw std::invalid_argument("one end per row is needed");
    std::vector<uint8_t> taken;
    for (int64_t row = 0; row < begins.size(); ++row) {
        const int64_t begin = begins[row], end = ends[row];
        if (begin < 0 || end < begin || end > data.size())
            throw std::out_of_range("a row lies outside the data");
        taken.insert(taken.end(), data.bytes() + begin, data.bytes() + end);
    }
    return taken;
}

}  // namespace exaln
