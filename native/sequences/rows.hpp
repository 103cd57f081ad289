// Sorting, moving and finding rows of variable length: the native half of the database's segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "sequences/column.hpp"

namespace exaln {

// Rows of variable length in one piece of memory: row i is data[offsets[i] .. offsets[i + 1]).
struct Rows {
    // Throws std::invalid_argument or std::out_of_range if offsets decrease or lead outside the data, so that
    // a damaged column is never read beyond its end.
    Rows(const Column<uint8_t>& data, const Column<int64_t>& offsets);

    int64_t count() const { return offsets.size() - 1; }
    const unsigned char* begin(int64_t row) const { return data.bytes() + offsets[row]; }
    int64_t length(int64_t row) const { return offsets[row + 1] - offsets[row]; }

    // The bytes of a row. The offsets are checked again: those of a mapped file may have changed since.
    struct Bytes {
        const unsigned char* begin;
        int64_t length;
    };
    Bytes at(int64_t row) const {
        const int64_t first = offsets[row], end = offsets[row + 1];
        if (first < 0 || end < first || end > data.size())
            throw std::out_of_range("offsets lead outside the data");
        return {data.bytes() + first, end - first};
    }

    Column<uint8_t> data;
    Column<int64_t> offsets;
};

// The rows in ascending order of their keys; equal keys keep their order. Keys must not be negative.
std::vector<int32_t> argsort_stable(const Column<int64_t>& keys);

// The rows in ascending order of their bytes; equal rows keep their order.
std::vector<int32_t> argsort_bytes(const Rows& rows, int threads);

// The number of rows whose bytes equal those of the previous row of `order`, which sorts them.
int64_t count_repeats(const Rows& rows, const std::vector<int32_t>& order, int threads);

// For each key the first position and the last position + 1 of equal rows in `order` (rows sorted by bytes):
// two numbers per key.
std::vector<int64_t> find_bytes(const Rows& rows, const Column<int32_t>& order, const Rows& keys);

// The bytes [begins[i], ends[i]) of all rows i, one behind the other. Throws std::out_of_range if a row lies
// outside the data.
std::vector<uint8_t> take_rows(const Column<uint8_t>& data, const Column<int64_t>& begins,
                               const Column<int64_t>& ends);

}  // namespace exaln
