// Radix sort, scattered copies and binary search over rows of variable length.
#include "sequences/rows.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
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

struct Keyed {
    uint64_t key;
    int32_t row;
};

// Stable radix sort of n entries by key, one byte at a time from the lowest. Bytes that are the same in all
// keys are skipped. `scratch` has room for n entries.
void radix_sort(Keyed* entries, int64_t n, Keyed* scratch) {
    constexpr int digits = 8;
    std::array<std::array<int64_t, 256>, digits> counts{};
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
    explicit ByteSorter(const Rows& rows)
        : rows_(rows), entries_(static_cast<size_t>(rows.count())), scratch_(entries_.size()) {}

    std::vector<int32_t> sorted() {
        for (int64_t row = 0; row < rows_.count(); ++row) entries_[row].row = static_cast<int32_t>(row);
        sort_range(0, rows_.count(), 0);
        std::vector<int32_t> order(entries_.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = entries_[i].row;
        return order;
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

std::vector<int32_t> argsort_bytes(const Rows& rows) {
    return ByteSorter(rows).sorted();
}

int64_t count_repeats(const Rows& rows, const std::vector<int32_t>& order) {
    int64_t repeats = 0;
    for (size_t i = 1; i < order.size(); ++i) {
        const int32_t a = order[i - 1], b = order[i];
        repeats += compare_bytes(rows.begin(a), rows.length(a), rows.begin(b), rows.length(b)) == 0;
    }
    return repeats;
}

void scatter_rows(const Rows& rows, const Column<int64_t>& starts, unsigned char* out, int64_t out_size) {
    if (starts.size() != rows.count()) throw std::invalid_argument("one start per row is needed");
    for (int64_t row = 0; row < rows.count(); ++row) {
        const Rows::Bytes bytes = rows.at(row);
        const int64_t start = starts[row];
        if (start < 0 || bytes.length > out_size - start)
            throw std::out_of_range("a row does not fit the output");
        if (bytes.length > 0) std::memcpy(out + start, bytes.begin, static_cast<size_t>(bytes.length));
    }
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

void join_pieces(const std::vector<Piece>& pieces, unsigned char* out, int threads) {
    constexpr size_t BLOCK = size_t(1) << 18;  // bytes copied per task
    std::vector<Piece> blocks;
    std::vector<unsigned char*> places;
    for (const Piece& piece : pieces) {
        for (size_t begin = 0; begin < piece.size; begin += BLOCK) {
            const size_t size = std::min(BLOCK, piece.size - begin);
            blocks.push_back({piece.data + begin, size});
            places.push_back(out);
            out += size;
        }
    }
    run_tasks(
        blocks.size(), threads, [] { return std::make_unique<int>(0); },
        [&](int&, size_t i) { std::memcpy(places[i], blocks[i].data, blocks[i].size); }, [](int&) {});
}

}  // namespace exaln
