// The scores of the rows of a strip with all letters, in shared memory, and how a lane reads them.
//
// What a word of scores packs, and how the profile makes it (PACKING):
//
//   TWO_QUERIES   two queries and one target. A symbol is a letter of the target; the profile has a word for
//                 each symbol and row
//   LETTER_PAIRS  one query and two targets. A symbol is a pair of letters, the profile the same: the fewest
//                 operations, but so large that a strip has few rows
//   MERGED        one query and two targets. A word for each letter of the first one and row, half a word for
//                 each of the second one, put together when they are read: half an operation more for each
//                 cell, but strips have many rows
//
// It lies there as [symbol][rows / 4][lane][4], halves of words as [symbol][rows / 8][lane][8], so that the
// bank depends on the lane and not on the letter: lanes never wait for each other, whatever the targets.

#pragma once

#include "constants.cuh"
#include "packed.cuh"

constexpr unsigned N_LETTERS = LETTERS + 1;  // with PAD
constexpr unsigned N_SYMBOLS = PACKING == LETTER_PAIRS ? N_LETTERS * N_LETTERS : N_LETTERS;
constexpr unsigned STRIP_ROWS = LANES * ROWS;
constexpr unsigned PIECE_BYTES = sizeof(uint4);  // what a lane reads at a time
constexpr unsigned SYMBOL_BYTES = STRIP_ROWS * sizeof(Word);
constexpr unsigned N_HALF_PIECES = (ROWS + 7) / 8;  // of halves of words, eight rows each
constexpr unsigned SYMBOL_HALF_BYTES = N_HALF_PIECES * LANES * PIECE_BYTES;
constexpr unsigned NO_QUERY = 0xFFFFFFFFu;

// Rows of a query in one half of the words of a lane.
struct LaneRows {
    unsigned first;      // the place of the first one's letter among those of all queries
    unsigned n_rows;     // at most ROWS
    unsigned query;      // whose best score leaves here, or NO_QUERY
    unsigned is_joined;  // whether the row above the first one is of the same query
};

struct Profile {
    const LaneRows* rows;  // [LANES][2]
    const unsigned char* queries;
    const short* table;

    // The scores of all symbols with all rows. A thread takes a row, of pairs with one first letter.
    __device__ void fill(void* profile) const {
        constexpr unsigned N_FIRST = PACKING == LETTER_PAIRS ? N_LETTERS : 1;
        Word* words = static_cast<Word*>(profile);
        for (unsigned i = threadIdx.x; i < N_FIRST * STRIP_ROWS; i += THREADS) {
            const unsigned place = i % STRIP_ROWS, first = i / STRIP_ROWS;
            const unsigned lane = place / 4 % LANES, row = place / (4 * LANES) * 4 + place % 4;
            const Half low(*this, 2 * lane, row), high(*this, 2 * lane + 1, row);
            for (unsigned letter = 0; letter < N_LETTERS; letter++) {
                const Word lower = low[PACKING == LETTER_PAIRS ? first : letter];
                words[(first * N_LETTERS + letter) * STRIP_ROWS + place] =
                    PACKING == MERGED ? lower : lower | high[letter] << 16;
            }
        }
        if constexpr (PACKING == MERGED) fill_halves(words + N_LETTERS * STRIP_ROWS);
    }

    // The halves of a merged profile: two rows of a lane in each word.
    __device__ void fill_halves(Word* words) const {
        constexpr unsigned N_WORDS = SYMBOL_HALF_BYTES / sizeof(Word);
        for (unsigned place = threadIdx.x; place < N_WORDS; place += THREADS) {
            const unsigned lane = place / 4 % LANES, row = place / (4 * LANES) * 8 + place % 4 * 2;
            const Half upper(*this, 2 * lane + 1, row), lower(*this, 2 * lane + 1, row + 1);
            for (unsigned letter = 0; letter < N_LETTERS; letter++) {
                words[letter * N_WORDS + place] = upper[letter] | lower[letter] << 16;
            }
        }
    }

    // One row of one half.
    struct Half {
        const short* scores;  // with each letter but PAD; null where there is no row

        __device__ Half(const Profile& profile, unsigned half, unsigned row) : scores(nullptr) {
            const LaneRows& rows = profile.rows[half];
            if (row < rows.n_rows) scores = profile.table + profile.queries[rows.first + row] * LETTERS - 1;
        }
        __device__ Word operator[](unsigned letter) const {
            return scores && letter != PAD ? Packed::half_of(scores[letter]) : Packed::IMPOSSIBLE;
        }
    };
};

// One of the four letters, or pairs of letters, of a tile; the highest bit is the mark.
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

// The packed scores of the rows of a lane with one column, four rows at a time, from the top.
struct WordColumn {
    unsigned address;

    __device__ WordColumn(unsigned profile, unsigned symbol) : address(profile + symbol * SYMBOL_BYTES) {}
    __device__ uint4 operator()(int four) const { return load_piece(address + four * (LANES * PIECE_BYTES)); }
};

// Words of the first target's letter, the upper half empty, and halves of the second one's, two in a word:
// the first of these is moved up by a product, which does not keep the maxima waiting, the second lies right.
struct MergedColumn {
    unsigned first, second;  // addresses
    uint4 halves;            // of eight rows

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
