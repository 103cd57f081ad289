#include "interleave.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace exaln {
namespace {

constexpr uint64_t NOT_A_CODE = 0xe0e0e0e0e0e0e0e0;  // bits that no code below 32 has

// Byte c of word r becomes byte r of word c.
void transpose_8x8(uint64_t words[8]) {
    auto swap_blocks = [&](int distance, int shift, uint64_t mask) {
        for (int i = 0; i < 8; ++i) {
            if (i & distance) continue;
            const uint64_t moved = ((words[i] >> shift) ^ words[i + distance]) & mask;
            words[i + distance] ^= moved;
            words[i] ^= moved << shift;
        }
    };
    swap_blocks(4, 32, 0x00000000ffffffff);
    swap_blocks(2, 16, 0x0000ffff0000ffff);
    swap_blocks(1, 8, 0x00ff00ff00ff00ff);
}

uint64_t eight_codes(const uint8_t* row, int64_t length, int64_t column, uint64_t padding) {
    uint64_t word = padding;
    const int64_t left = length - column;
    if (left >= 8) {
        memcpy(&word, row + column, 8);
    } else if (left > 0) {
        memcpy(&word, row + column, size_t(left));
    }
    return word;
}

// Eight rows into `width` bytes of every column; sizes are constants, so that every copy is one instruction.
template <size_t width>
uint64_t interleave_eight(const uint8_t* const* rows, const int64_t* lengths, int lanes, int64_t n_columns,
                          uint64_t padding, uint8_t* out) {
    int64_t column = 0;
    uint64_t seen = 0, words[8];
    const int64_t shortest = *std::min_element(lengths, lengths + 8);
    for (; column + 8 <= shortest; column += 8) {
        for (int i = 0; i < 8; ++i) memcpy(&words[i], rows[i] + column, 8), seen |= words[i];
        transpose_8x8(words);
        for (int c = 0; c < 8; ++c) memcpy(out + (column + c) * lanes, &words[c], width);
    }
    for (; column < n_columns; column += 8) {
        for (int i = 0; i < 8; ++i)
            words[i] = eight_codes(rows[i], lengths[i], column, padding), seen |= words[i];
        transpose_8x8(words);
        const int columns = int(std::min<int64_t>(8, n_columns - column));
        for (int c = 0; c < columns; ++c) memcpy(out + (column + c) * lanes, &words[c], width);
    }
    return seen;
}

}  // namespace

void interleave(const uint8_t* const* rows, const int64_t* lengths, int n_rows, int lanes, int64_t n_columns,
                uint8_t pad, uint8_t* out) {
    const uint64_t padding = 0x0101010101010101 * pad;
    uint64_t seen = 0;
    for (int lane = 0; lane < lanes; lane += 8) {
        const uint8_t* eight_rows[8] = {};
        int64_t eight_lengths[8] = {};
        for (int i = 0; i < 8 && lane + i < n_rows; ++i)
            eight_rows[i] = rows[lane + i], eight_lengths[i] = lengths[lane + i];
        const auto run = lanes - lane >= 8 ? interleave_eight<8> : interleave_eight<4>;
        seen |= run(eight_rows, eight_lengths, lanes, n_columns, padding, out + lane);
    }
    if (seen & NOT_A_CODE) throw std::invalid_argument("a sequence holds a code of 32 or more");
}

void require_codes(const uint8_t* codes, int64_t n) {
    uint8_t seen = 0;
    for (int64_t i = 0; i < n; ++i) seen |= codes[i];
    if (seen & uint8_t(NOT_A_CODE)) throw std::invalid_argument("a sequence holds a code of 32 or more");
}

}  // namespace exaln
