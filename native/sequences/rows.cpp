// Radix sort, moves and binary search over rows of variable length.
#include "sequences/rows.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>

#include "bindings/module.hpp"
#include "threads/tasks.hpp"

namespace exaln {

Rows::Rows(const InputArray<uint8_t>& data_array, const InputArray<int64_t>& offsets_array)
    : data(data_array), offsets(offsets_array) {
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

// Stable radix sort of entries [0, n) by key, one byte at a time from the lowest; bytes that are the same in
// all keys cost nothing. `scratch` has room for n entries.
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

// Sorts rows by their bytes: skip what all rows of a range share, radix sort by the next eight bytes, then
// the same for every run of equal keys. Short runs, and runs in which a row ends inside its key, are compared
// as a whole.
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

int64_t count_repeats(const Rows& rows, const std::vector<int32_t>& order) {
    int64_t repeats = 0;
    for (size_t i = 1; i < order.size(); ++i) {
        const int32_t a = order[i - 1], b = order[i];
        repeats += compare_bytes(rows.begin(a), rows.length(a), rows.begin(b), rows.length(b)) == 0;
    }
    return repeats;
}

// Copies row i of `rows` to out[starts[i]].
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

// First and last + 1 place in `order` (rows sorted by bytes) of each wanted string, two numbers per string.
std::vector<int64_t> find_bytes(const Rows& rows, const Column<int32_t>& order, const Rows& wanted) {
    const auto partition = [&](int64_t w, int64_t begin, bool after_equals) {
        int64_t end = order.size();
        while (begin < end) {
            const int64_t middle = begin + (end - begin) / 2;
            const int32_t row = order[middle];
            if (row < 0 || row >= rows.count()) throw std::out_of_range("a row number is out of range");
            const Rows::Bytes bytes = rows.at(row);
            const int side = compare_bytes(bytes.begin, bytes.length, wanted.begin(w), wanted.length(w));
            if (side < 0 || (after_equals && side == 0))
                begin = middle + 1;
            else
                end = middle;
        }
        return begin;
    };
    std::vector<int64_t> places(static_cast<size_t>(2 * wanted.count()));
    for (int64_t w = 0; w < wanted.count(); ++w) {
        places[2 * w] = partition(w, 0, false);
        places[2 * w + 1] = partition(w, places[2 * w], true);
    }
    return places;
}

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

struct Piece {
    const unsigned char* data;
    size_t size;
};

// Pieces of bytes one behind the other, copied by several threads.
void join_pieces(const std::vector<Piece>& pieces, unsigned char* out, int threads) {
    constexpr size_t BLOCK = size_t(1) << 18;  // bytes that a thread copies at a time
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

void bind_rows(nb::module_& m) {
    m.def(
        "join_pieces",
        [](const std::vector<InputArray<uint8_t>>& pieces, const OutputArray<uint8_t>& out, int threads) {
            require_threads(threads);
            std::vector<Piece> views;
            size_t size = 0;
            for (const auto& piece : pieces) {
                views.push_back({piece.data(), piece.size()});
                size += piece.size();
            }
            if (size > out.size()) throw std::out_of_range("the pieces do not fit the output");
            const nb::gil_scoped_release released;
            join_pieces(views, out.data(), threads);
        },
        nb::arg("pieces"), nb::arg("out"), nb::arg("threads") = 1);
    m.def(
        "argsort_stable",
        [](const InputArray<int64_t>& keys) {
            std::vector<int32_t> order;
            {
                nb::gil_scoped_release released;
                order = argsort_stable(Column<int64_t>(keys));
            }
            return to_numpy(std::move(order));
        },
        nb::arg("keys"));
    m.def(
        "argsort_bytes",
        [](const InputArray<uint8_t>& data, const InputArray<int64_t>& offsets) {
            std::vector<int32_t> order;
            int64_t repeats = 0;
            {
                nb::gil_scoped_release released;
                const Rows rows(data, offsets);
                order = argsort_bytes(rows);
                repeats = count_repeats(rows, order);
            }
            return nb::make_tuple(to_numpy(std::move(order)), repeats);
        },
        nb::arg("data"), nb::arg("offsets"));
    m.def(
        "scatter_rows",
        [](const InputArray<uint8_t>& data, const InputArray<int64_t>& offsets,
           const InputArray<int64_t>& starts, const OutputArray<uint8_t>& out) {
            nb::gil_scoped_release released;
            scatter_rows(Rows(data, offsets), Column<int64_t>(starts), out.data(),
                         static_cast<int64_t>(out.size()));
        },
        nb::arg("data"), nb::arg("offsets"), nb::arg("starts"), nb::arg("out"));
    m.def(
        "find_bytes",
        [](const InputArray<uint8_t>& data, const InputArray<int64_t>& offsets,
           const InputArray<int32_t>& order, const InputArray<uint8_t>& wanted_data,
           const InputArray<int64_t>& wanted_offsets) {
            std::vector<int64_t> places;
            {
                nb::gil_scoped_release released;
                places = find_bytes(Rows(data, offsets), Column<int32_t>(order),
                                    Rows(wanted_data, wanted_offsets));
            }
            return to_numpy(std::move(places));
        },
        nb::arg("data"), nb::arg("offsets"), nb::arg("order"), nb::arg("wanted_data"),
        nb::arg("wanted_offsets"));
}

}  // namespace exaln
