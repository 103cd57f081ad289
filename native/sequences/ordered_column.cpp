// Gathers rows from several pieces, on several threads.
#include "sequences/ordered_column.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "threads/tasks.hpp"

namespace exaln {

OrderedColumn::OrderedColumn(const std::vector<Rows>& pieces, const Column<int32_t>& ranks, int threads)
    : rows_(static_cast<size_t>(ranks.size())), offsets_(rows_.size() + 1) {
    std::vector<int64_t> first_rows{0};
    for (const Rows& piece : pieces) first_rows.push_back(first_rows.back() + piece.count());
    if (first_rows.back() != ranks.size()) throw std::invalid_argument("one rank per row is needed");
    run_tasks(
        pieces.size(), threads, [] { return std::make_unique<int>(0); },
        [&](int&, size_t i) { add_piece(pieces[i], first_rows[i], ranks); }, [](int&) {});
    std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
}

void OrderedColumn::add_piece(const Rows& piece, int64_t first_row, const Column<int32_t>& ranks) {
    for (int64_t row = 0; row < piece.count(); ++row) {
        const int32_t rank = ranks[first_row + row];
        if (rank < 0 || rank >= ranks.size()) throw std::out_of_range("a rank is out of range");
        const Rows::Bytes bytes = piece.at(row);
        rows_[static_cast<size_t>(rank)] = bytes.begin;
        offsets_[static_cast<size_t>(rank) + 1] = bytes.length;
    }
}

void OrderedColumn::copy(int64_t begin, int64_t end, unsigned char* out, int threads) const {
    constexpr int64_t PART = int64_t(1) << 17;  // bytes per task
    if (begin < 0 || end < begin || end > offsets_.back())
        throw std::out_of_range("no such bytes in the column");
    if (threads == 1) return copy_range(begin, end, out);
    run_tasks(
        static_cast<size_t>((end - begin + PART - 1) / PART), threads,
        [] { return std::make_unique<int>(0); },
        [&](int&, size_t i) {
            const int64_t first = begin + static_cast<int64_t>(i) * PART;
            copy_range(first, std::min(end, first + PART), out + (first - begin));
        },
        [](int&) {});
}

// Rows lie anywhere in memory, so those that follow are fetched ahead.
void OrderedColumn::copy_range(int64_t begin, int64_t end, unsigned char* out) const {
    constexpr size_t AHEAD = 12;  // rows
    const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), begin);
    for (auto row = static_cast<size_t>(after - offsets_.begin()) - 1; begin < end; ++row) {
        if (row + AHEAD < rows_.size()) __builtin_prefetch(rows_[row + AHEAD]);
        const int64_t n = std::min(offsets_[row + 1], end) - begin;
        if (n > 0) std::memcpy(out, rows_[row] + (begin - offsets_[row]), static_cast<size_t>(n));
        out += n;
        begin += n;
    }
}

}  // namespace exaln
