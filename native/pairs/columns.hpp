// Alignments as columns, which NumPy can take without a copy.
#pragma once

#include <cstdint>
#include <vector>

#include "pairs/alignment.hpp"
#include "sequences/buffer.hpp"

namespace exaln {

constexpr size_t N_POSITIONS = 4, N_COUNTS = 6;

// positions [4 n], counts [6 n], operations, and offsets [n + 1] into them.
struct AlignmentColumns {
    Buffer<int64_t> positions, offsets;
    Buffer<int32_t> counts;
    Buffer<uint32_t> operations;
};

// Written, and the alignments freed, on several threads: pages are touched first where they are filled.
AlignmentColumns to_columns(std::vector<Alignment>&& alignments, int threads);

}  // namespace exaln
