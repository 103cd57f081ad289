// Rows of variable length: sorting, moving and finding them. The native half of exaln.database.segment and
// its writer.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "bindings/arrays.hpp"

namespace exaln {

// Variable-length rows in one piece of memory: row i is data[offsets[i] .. offsets[i + 1]).
// Refuses offsets that lead outside the data, so that nothing after it reads beyond a damaged column.
struct Rows {
    Rows(const InputArray<uint8_t>& data, const InputArray<int64_t>& offsets);

    int64_t count() const { return offsets.size() - 1; }
    const unsigned char* begin(int64_t row) const { return data.bytes() + offsets[row]; }
    int64_t length(int64_t row) const { return offsets[row + 1] - offsets[row]; }

    // The bytes of a row, checked again: offsets of a mapped file may have changed since.
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

// The rows in ascending order of key; equal keys keep their order. Keys are not negative.
std::vector<int32_t> argsort_stable(const Column<int64_t>& keys);

// The rows in ascending order of their bytes, equal ones in order of their row.
std::vector<int32_t> argsort_bytes(const Rows& rows);

void bind_rows(nb::module_& m);

}  // namespace exaln
