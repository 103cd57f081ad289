// How many letters of a text belong to each of a few classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace exaln {

constexpr int N_CLASSES = 8;

struct ClassCounts {
    int64_t of[N_CLASSES] = {};

    ClassCounts operator+(const ClassCounts& other) const {
        ClassCounts sum;
        for (int c = 0; c < N_CLASSES; ++c) sum.of[c] = of[c] + other.of[c];
        return sum;
    }
};

// members[byte][class] is 1 if the byte belongs to the class, else 0. The eight counts are bytes of one word,
// to which a letter adds its own eight; before one of them can overflow they are added to the result.
inline ClassCounts count_classes(const uint8_t* text, size_t n, const uint8_t (*members)[N_CLASSES]) {
    static_assert(N_CLASSES == sizeof(uint64_t));
    constexpr size_t piece = 255;
    ClassCounts counts;
    for (size_t first = 0; first < n; first += piece) {
        const size_t end = n - first < piece ? n : first + piece;
        uint64_t sums = 0;
        for (size_t i = first; i < end; ++i) {
            uint64_t own;
            memcpy(&own, members[text[i]], sizeof own);
            sums += own;
        }
        uint8_t bytes[N_CLASSES];
        memcpy(bytes, &sums, sizeof sums);
        for (int c = 0; c < N_CLASSES; ++c) counts.of[c] += bytes[c];
    }
    return counts;
}

}  // namespace exaln
