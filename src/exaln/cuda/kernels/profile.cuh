// The scores of the rows of a strip with all letters, in shared memory, and how a lane reads them.
//
// What a word of scores packs, and how the profile makes it (PACKING):
//
//   TWO_QUERIES   two queries and one target: a symbol is a letter of the target; a word for each symbol and row
//   LETTER_PAIRS  one query and two targets: a symbol is a pair of letters; a word for each symbol and row. The
//                 fewest operations, but so large that a strip has few rows
//   MERGED        one query and two targets: half a word for each letter and row, and two of them are put
//                 together when they are read: an operation more for each cell, but strips of many rows
//
// It lies there as [symbol][piece of rows][lane][rows of a piece], so that the bank depends on the lane and not
// on the letter: lanes that read a piece at a time never wait for each other, whatever the targets.

#pragma once

#include "constants.cuh"
#include "packed.cuh"

#if EXALN_SCORE_BYTES == 1
using Score = signed char;
#elif EXALN_SCORE_BYTES == 8
using Score = unsigned;
#else
using Score = unsigned short;  // one half of a word
#endif

constexpr unsigned N_LETTERS = LETTERS + 1;  // with PAD
constexpr unsigned N_SYMBOLS = PACKING == LETTER_PAIRS ? N_LETTERS * N_LETTERS : N_LETTERS;
constexpr unsigned PIECE_BYTES = sizeof(uint4);
constexpr unsigned PIECE_ROWS = PIECE_BYTES / (PACKING == MERGED ? sizeof(Score) : sizeof(Word));
constexpr unsigned N_PIECES = (ROWS + PIECE_ROWS - 1) / PIECE_ROWS;
constexpr unsigned SYMBOL_PLACES = N_PIECES * LANES * PIECE_ROWS;
constexpr unsigned SYMBOL_BYTES = N_PIECES * LANES * PIECE_BYTES;
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

    // The scores of all symbols with all rows: a thread takes a row at a time.
    __device__ void fill(void* profile) const {
        for (unsigned place = threadIdx.x; place < SYMBOL_PLACES; place += THREADS) {
            const unsigned lane = place / PIECE_ROWS % LANES;
            const unsigned row = place / (PIECE_ROWS * LANES) * PIECE_ROWS + place % PIECE_ROWS;
            const Half low(*this, 2 * lane, row), high(*this, 2 * lane + 1, row);
            for (unsigned letter = 0; letter < N_LETTERS; letter++) {
                if constexpr (PACKING == TWO_QUERIES) {
                    static_cast<Word*>(profile)[letter * SYMBOL_PLACES + place] = low[letter] | high[letter] << 16;
                } else if constexpr (PACKING == MERGED) {
#if EXALN_SCORE_BYTES == 6
                    Word* words = static_cast<Word*>(profile);
                    Score* halves = reinterpret_cast<Score*>(words + N_LETTERS * LANES * ROWS);
                    halves[letter * SYMBOL_PLACES + place] = low.score(letter);
                    if (row < ROWS) words[letter * LANES * ROWS + (row / 4 * LANES + lane) * 4 + row % 4] = low.score(letter);
#else
                    static_cast<Score*>(profile)[letter * SYMBOL_PLACES + place] = low.score(letter);
#endif
                } else {
                    for (unsigned second = 0; second < N_LETTERS; second++) {
                        const unsigned symbol = letter * N_LETTERS + second;
                        static_cast<Word*>(profile)[symbol * SYMBOL_PLACES + place] = low[letter] | high[second] << 16;
                    }
                }
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
        __device__ Score score(unsigned letter) const {
            if constexpr (sizeof(Score) == 1) return scores && letter != PAD ? scores[letter] : -128;
            else return (*this)[letter];
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
    __device__ uint4 operator()(int four) { return load_piece(address + four * (LANES * PIECE_BYTES)); }
};

#if EXALN_SCORE_BYTES == 6
constexpr unsigned FIRST_BYTES = ROWS / 4 * LANES * PIECE_BYTES;
struct MergedColumn {
    unsigned first, second;  // addresses
    uint4 halves;

    __device__ MergedColumn(unsigned profile, unsigned first_letter, unsigned second_letter)
        : first(profile + first_letter * FIRST_BYTES), second(profile + N_LETTERS * FIRST_BYTES + second_letter * SYMBOL_BYTES) {}

    __device__ uint4 operator()(int four) {
        const uint4 low = load_piece(first + four * (LANES * PIECE_BYTES));
        if (four % 2 == 0) halves = load_piece(second + four / 2 * (LANES * PIECE_BYTES));
        const unsigned a = four % 2 ? halves.z : halves.x, b = four % 2 ? halves.w : halves.y;
        return make_uint4(shifted(a) + low.x, (a & 0xFFFF0000u) | low.y, shifted(b) + low.z, (b & 0xFFFF0000u) | low.w);
    }
    static __device__ unsigned shifted(unsigned a) { return a * 65536u; }
};
#elif EXALN_SCORE_BYTES == 8
struct MergedColumn {
    unsigned first, second;  // addresses
    __device__ MergedColumn(unsigned profile, unsigned first_letter, unsigned second_letter)
        : first(profile + first_letter * SYMBOL_BYTES), second(profile + second_letter * SYMBOL_BYTES) {}
    __device__ uint4 operator()(int four) {
        const uint4 low = load_piece(first + four * (LANES * PIECE_BYTES)), high = load_piece(second + four * (LANES * PIECE_BYTES));
        return make_uint4(high.x * 65536u + low.x, high.y * 65536u + low.y, high.z * 65536u + low.z, high.w * 65536u + low.w);
    }
};
#else
struct MergedColumn {
    unsigned first, second;  // addresses
    uint4 of_first, of_second;

    __device__ MergedColumn(unsigned profile, unsigned first_letter, unsigned second_letter)
        : first(profile + first_letter * SYMBOL_BYTES), second(profile + second_letter * SYMBOL_BYTES) {}

    __device__ uint4 operator()(int four) {
        constexpr int FOURS = PIECE_ROWS / 4;
        if (four % FOURS == 0) {
            of_first = load_piece(first + four / FOURS * (LANES * PIECE_BYTES));
            of_second = load_piece(second + four / FOURS * (LANES * PIECE_BYTES));
        }
        if constexpr (sizeof(Score) == 1) {
            const int part = four % 4;
            const unsigned a = part == 0 ? of_first.x : part == 1 ? of_first.y : part == 2 ? of_first.z : of_first.w;
            const unsigned b = part == 0 ? of_second.x : part == 1 ? of_second.y : part == 2 ? of_second.z : of_second.w;
            return make_uint4(perm(a, b, 0), perm(a, b, 1), perm(a, b, 2), perm(a, b, 3));
        } else {
            const bool upper = four % 2;
            const unsigned a = upper ? of_first.z : of_first.x, b = upper ? of_second.z : of_second.x;
            const unsigned c = upper ? of_first.w : of_first.y, d = upper ? of_second.w : of_second.y;
            return make_uint4(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632), __byte_perm(c, d, 0x5410),
                              __byte_perm(c, d, 0x7632));
        }
    }
    static __device__ unsigned perm(unsigned a, unsigned b, int k) { return chosen_bytes(a, b, 0xC480 + 0x1111 * k); }
};
#endif
