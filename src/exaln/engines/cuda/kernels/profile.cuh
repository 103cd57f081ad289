// The query profile of a strip: the scores of its rows with all letters, in shared memory, and how a lane
// reads them.
//
// PACKING says what the two halves of a word hold, and what the profile stores:
//
//   TWO_QUERIES   two queries, one target. A symbol is a letter of the target; the profile has a word for
//                 each symbol and row.
//   LETTER_PAIRS  one query, two targets. A symbol is a pair of letters; the profile has a word for each
//                 symbol and row. This takes the fewest operations, but the profile is so large that a strip
//                 has few rows.
//   MERGED        one query, two targets. The profile has a word for each letter of the first target and row,
//                 and a half word for each letter of the second. They are merged when read, which takes half
//                 an operation more per cell, but strips have many rows.
//
// Words are stored as [symbol][rows / 4][lane][4], half words as [symbol][rows / 8][lane][8]. The bank
// depends on the lane and not on the letter, so there are no bank conflicts, whatever the targets.

#pragma once

#include "constants.cuh"
#include "packed.cuh"

constexpr unsigned N_LETTERS = LETTERS + 1;  // with PAD
constexpr unsigned N_SYMBOLS = PACKING == LETTER_PAIRS ? N_LETTERS * N_LETTERS : N_LETTERS;
constexpr unsigned STRIP_ROWS = LANES * ROWS;
constexpr unsigned PIECE_BYTES = sizeof(uint4);  // read by a lane at a time
constexpr unsigned SYMBOL_BYTES = STRIP_ROWS * sizeof(Word);
constexpr unsigned N_HALF_PIECES = (ROWS + 7) / 8;  // of half words, eight rows each
constexpr unsigned SYMBOL_HALF_BYTES = N_HALF_PIECES * LANES * PIECE_BYTES;
constexpr unsigned ROW_PIECES = (N_LETTERS + 7) / 8;  // of eight scores, in a row of the table
constexpr unsigned NO_QUERY = 0xFFFFFFFFu;

// Rows of a query in one half of the words of a lane.
struct LaneRows {
    unsigned first;      // index of the first row's letter among the letters of all queries
    unsigned n_rows;     // at most ROWS
    unsigned query;      // the query that ends here, or NO_QUERY
    unsigned continues;  // ABOVE, BELOW: the query continues in the row above the first, or in the next strip
};
constexpr unsigned ABOVE = 1, BELOW = 2;

struct Profile {
    const LaneRows* rows;  // [LANES][2]
    const unsigned char* queries;
    const uint4* table;

    // Stores the scores of all symbols with the rows of N lanes. A thread fills one row; with LETTER_PAIRS,
    // for the pairs of one first letter.
    template <unsigned N>
    __device__ void fill(void* profile, unsigned first_lane) const {
        constexpr unsigned N_FIRST = PACKING == LETTER_PAIRS ? N_LETTERS : 1;
        Word* words = static_cast<Word*>(profile);
        for (unsigned i = threadIdx.x; i < N_FIRST * N * ROWS; i += THREADS) {
            const unsigned first = i / (N * ROWS), four = i / (4 * N) % (ROWS / 4);
            const unsigned lane = first_lane + i / 4 % N, row = 4 * four + i % 4;
            const uint4 *low = scores_of(2 * lane, row), *high = scores_of(2 * lane + 1, row);
            Word* to = words + first * N_LETTERS * STRIP_ROWS + (four * LANES + lane) * 4 + i % 4;
            if constexpr (PACKING == TWO_QUERIES) {
                for_letters([=](unsigned letter, unsigned piece, HalfWord half) {
                    to[letter * STRIP_ROWS] = half.joined(low[piece], high[piece]);
                });
            } else if constexpr (PACKING == LETTER_PAIRS) {
                const Word own = reinterpret_cast<const unsigned short*>(low)[first];
                for_letters([=](unsigned letter, unsigned piece, HalfWord half) {
                    to[letter * STRIP_ROWS] = own | half.of(high[piece]) << 16;
                });
            } else {
                for_letters([=](unsigned letter, unsigned piece, HalfWord half) {
                    to[letter * STRIP_ROWS] = half.of(low[piece]);
                });
            }
        }
        if constexpr (PACKING == MERGED) fill_halves<N>(words + N_LETTERS * STRIP_ROWS, first_lane);
    }

    // Stores the half words of a merged profile: two rows of a lane in each word.
    template <unsigned N>
    __device__ void fill_halves(Word* words, unsigned first_lane) const {
        constexpr unsigned N_WORDS = SYMBOL_HALF_BYTES / sizeof(Word);
        for (unsigned i = threadIdx.x; i < N_HALF_PIECES * N * 4; i += THREADS) {
            const unsigned eight = i / (4 * N), lane = first_lane + i / 4 % N, row = 8 * eight + i % 4 * 2;
            const uint4 *one = scores_of(2 * lane + 1, row), *next = scores_of(2 * lane + 1, row + 1);
            Word* to = words + (eight * LANES + lane) * 4 + i % 4;
            for_letters([=](unsigned letter, unsigned piece, HalfWord half) {
                to[letter * N_WORDS] = half.joined(one[piece], next[piece]);
            });
        }
    }

    // The scores of one row in one half with all letters, eight per piece.
    __device__ const uint4* scores_of(unsigned half, unsigned row) const {
        const LaneRows& own = rows[half];
        return table + (row < own.n_rows ? 1 + queries[own.first + row] : 0) * ROW_PIECES;
    }

    // One of the eight half words of a piece.
    struct HalfWord {
        int number;

        __device__ __forceinline__ Word word(uint4 piece) const {
            return number < 2 ? piece.x : number < 4 ? piece.y : number < 6 ? piece.z : piece.w;
        }
        __device__ __forceinline__ Word of(uint4 piece) const {
            return number % 2 ? word(piece) >> 16 : word(piece) & 0xFFFFu;
        }
        __device__ __forceinline__ Word joined(uint4 low, uint4 high) const {
            return chosen_bytes(word(low), word(high), number % 2 ? 0x7632 : 0x5410);
        }
    };

    template <class Put>
    static __device__ __forceinline__ void for_letters(Put put) {
#pragma unroll
        for (unsigned piece = 0; piece < ROW_PIECES; piece++) {
#pragma unroll
            for (int number = 0; number < 8; number++) {
                if (piece * 8 + number < N_LETTERS) put(piece * 8 + number, piece, HalfWord{number});
            }
        }
    }
};

// One of the four letters, or letter pairs, of a tile, without the mark in its highest bit.
__device__ __forceinline__ unsigned letter_of(unsigned word, int column) {
    return column < 3 ? __byte_perm(word, 0, 0x4440 | column) : word >> 24 & 0x7Fu;
}

__device__ __forceinline__ unsigned letter_pair_of(uint2 word, int column) {
    if (column == 3) return word.y >> 16 & 0x7FFFu;
    return __byte_perm(column < 2 ? word.x : word.y, 0, column % 2 ? 0x4432 : 0x4410);
}

__device__ __forceinline__ uint4 load_piece(unsigned address) {
    uint4 piece;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(piece.x), "=r"(piece.y), "=r"(piece.z), "=r"(piece.w)
                 : "r"(address));
    return piece;
}

// The packed scores of a lane's rows in one column, four rows at a time, from the top.
struct WordColumn {
    unsigned address;

    __device__ WordColumn(unsigned profile, unsigned symbol) : address(profile + symbol * SYMBOL_BYTES) {}
    __device__ uint4 operator()(int four) const { return load_piece(address + four * (LANES * PIECE_BYTES)); }
};

// Merges words of the first target's letter, whose upper half is empty, with half words of the second one's.
// Of two half words in a word, the lower is moved up by a multiplication, which does not use the pipe of the
// maxima; the upper is in place already.
struct MergedColumn {
    unsigned first, second;  // addresses
    uint4 halves;            // half words of eight rows

    __device__ MergedColumn(unsigned profile, unsigned first_letter, unsigned second_letter)
        : first(profile + first_letter * SYMBOL_BYTES),
          second(profile + N_SYMBOLS * SYMBOL_BYTES + second_letter * SYMBOL_HALF_BYTES) {}

    __device__ uint4 operator()(int four) {
        const uint4 low = load_piece(first + four * (LANES * PIECE_BYTES));
        if (four % 2 == 0) halves = load_piece(second + four / 2 * (LANES * PIECE_BYTES));
        const Word upper = four % 2 ? halves.z : halves.x, lower = four % 2 ? halves.w : halves.y;
        return make_uint4(upper * 0x10000u + low.x, (upper & 0xFFFF0000u) | low.y, lower * 0x10000u + low.z,
                          (lower & 0xFFFF0000u) | low.w);
    }
};
