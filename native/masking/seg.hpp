// SEG: stretches of low complexity in proteins, as Wootton and Federhen (1993) define them.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "sequences/codes.hpp"

namespace exaln {

struct SegOptions {
    int window;
    double locut, hicut;  // bits
    int threads;
};

// Stretches of n sequences: those of sequence i are [begins[k], ends[k]) for offsets[i] <= k < offsets[i +
// 1], in the order found, which is that of NCBI's segmasker. They may overlap, and one may lie before an
// earlier one.
struct Stretches {
    std::vector<int64_t> begins, ends, offsets;
};

// kinds[code] numbers the 20 amino acids from 0; a letter of another kind is unknown. Stops early, with
// undefined results, once `cancelled` is set. Throws std::invalid_argument unless 1 <= window <= MAX_WINDOW
// and 0 <= locut <= hicut.
Stretches seg(const Sequences& sequences, const uint8_t (&kinds)[256], const SegOptions& options,
              const std::atomic<bool>& cancelled);

constexpr int MAX_WINDOW = 1 << 16;

}  // namespace exaln
