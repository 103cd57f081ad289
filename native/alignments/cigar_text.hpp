// CIGAR text of many paths at once.
#pragma once

#include <cstdint>

namespace exaln {

// The path of row i is operations[offsets[i] .. offsets[i + 1]), each `length << 4 | code` with codes as in
// SAM.
struct PathColumn {
    const uint32_t* operations;
    const int64_t* offsets;
    int64_t n;
};

// Writes the places of the texts, text_offsets[n + 1] from 0 on. extended: runs are printed as they are;
// otherwise = and X become M, and neighbours with the same letter one run. Throws std::invalid_argument for a
// code that SAM does not have.
void measure_cigars(const PathColumn& paths, bool extended, int64_t* text_offsets, int threads);

// Writes the texts to text[text_offsets[i] .. text_offsets[i + 1]).
void write_cigars(const PathColumn& paths, bool extended, const int64_t* text_offsets, char* text,
                  int threads);

}  // namespace exaln
