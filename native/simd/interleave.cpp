// Transposes rows of codes, eight lanes and sixteen columns at a time, with byte shuffles.
#include "simd/interleave.hpp"

#include <algorithm>
#include <cstring>

#include "sequences/codes.hpp"

namespace exaln {
namespace {

using Bytes = uint8_t __attribute__((vector_size(16)));

// Bytes of a and b alternating: the first eight of both, or the last eight.
#if defined(__clang__)
#define EXALN_ZIP(...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define EXALN_ZIP(...) __builtin_shuffle(a, b, Bytes{__VA_ARGS__})
#endif
inline Bytes zip_low(Bytes a, Bytes b) {
    return EXALN_ZIP(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline Bytes zip_high(Bytes a, Bytes b) {
    return EXALN_ZIP(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
#undef EXALN_ZIP

// Eight rows of 16 columns become 16 columns of eight rows, two columns in each register.
inline void transpose_8x16(Bytes (&rows)[8]) {
    for (int times = 0; times < 3; ++times) {
        Bytes zipped[8];
        for (int i = 0; i < 4; ++i) {
            zipped[2 * i] = zip_low(rows[i], rows[i + 4]);
            zipped[2 * i + 1] = zip_high(rows[i], rows[i + 4]);
        }
        memcpy(rows, zipped, sizeof zipped);
    }
}

Bytes sixteen_codes(const uint8_t* row, int64_t length, int64_t column, Bytes padding) {
    Bytes codes = padding;
    const int64_t left = length - column;
    if (left > 0) memcpy(&codes, row + column, size_t(std::min<int64_t>(left, sizeof codes)));
    return codes;
}

// Eight lanes: their rows, the lengths (0 where there is no row), and the smallest length.
struct EightRows {
    const uint8_t* rows[8] = {};
    int64_t lengths[8] = {}, shortest = 0;

    void set(const uint8_t* const* all_rows, const int64_t* all_lengths, int n) {
        for (int i = 0; i < std::min(n, 8); ++i) rows[i] = all_rows[i], lengths[i] = all_lengths[i];
        shortest = *std::min_element(lengths, lengths + 8);
    }

    // Writes n <= 16 columns of `width` bytes each, and returns the codes seen, joined by `or`. Sizes are
    // constants so that every copy is one instruction.
    template <size_t width>
    Bytes put(int64_t column, int64_t n, int stride, Bytes padding, uint8_t* out) const {
        Bytes seen{}, codes[8];
        if (column + int64_t(sizeof(Bytes)) <= shortest) {
            for (int i = 0; i < 8; ++i) memcpy(&codes[i], rows[i] + column, sizeof codes[i]);
        } else {
            for (int i = 0; i < 8; ++i) codes[i] = sixteen_codes(rows[i], lengths[i], column, padding);
        }
        for (const Bytes& some : codes) seen |= some;
        transpose_8x16(codes);
        const auto* columns = reinterpret_cast<const uint8_t*>(codes);
        for (int64_t c = 0; c < n; ++c) memcpy(out + c * stride, columns + 8 * c, width);
        return seen;
    }
};

uint8_t joined(const Bytes& seen) {
    uint8_t bytes[sizeof seen], all = 0;
    memcpy(bytes, &seen, sizeof seen);
    for (const uint8_t byte : bytes) all |= byte;
    return all;
}

}  // namespace

void interleave(const uint8_t* const* rows, const int64_t* lengths, int n_rows, int lanes, int stride,
                int64_t n_columns, uint8_t pad, uint8_t* out) {
    constexpr int MAX_LANES = 64;
    constexpr int64_t at_a_time = sizeof(Bytes);
    Bytes padding, seen{};
    memset(&padding, pad, sizeof padding);
    EightRows eights[MAX_LANES / 8];
    for (int lane = 0; lane < lanes; lane += 8)
        eights[lane / 8].set(rows + lane, lengths + lane, std::max(0, n_rows - lane));
    // All lanes of 16 columns before the next columns, so that the output stays in the first-level cache.
    for (int64_t column = 0; column < n_columns; column += at_a_time) {
        const int64_t n = std::min(at_a_time, n_columns - column);
        uint8_t* place = out + column * stride;
        for (int lane = 0; lane < lanes; lane += 8, place += 8) {
            const EightRows& eight = eights[lane / 8];
            seen |= lanes - lane >= 8 ? eight.put<8>(column, n, stride, padding, place)
                                      : eight.put<4>(column, n, stride, padding, place);
        }
    }
    require_code_bits(joined(seen));
}

}  // namespace exaln
