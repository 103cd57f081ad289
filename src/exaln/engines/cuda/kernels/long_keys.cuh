// The best cell of a lane of long.cu: a score, and where it is, in one number, the key, of which the largest
// is taken. Of equal scores that of the first column, and there of the first row, has the largest key.
//
// A key knows cells of KEY_TILES tiles: a lane of few rows looks at its best once in a piece, as that would
// take a good part of its time otherwise, and one of many rows, whose keys are large already, at each tile.

#pragma once

#include "constants.cuh"
#include "long_scores.cuh"
#include "long_warp.cuh"

constexpr int KEY_ROWS = ROWS <= 4 ? 4 : ROWS <= 8 ? 8 : ROWS <= 16 ? 16 : 32;
constexpr int KEY_TILES = FEW<ROWS> ? PIECE : 1;
constexpr int TILE_KEYS = COLUMNS * KEY_ROWS;
constexpr int KEYS = KEY_TILES * TILE_KEYS;
static_assert(ROWS <= 32 && KEYS <= 256);  // exaln/cuda/variants.py: MAX_SMALL_END

// Not known to the compiler: it would shift, in the pipe that is the busiest.
__constant__ int N_KEYS = KEYS;

template <bool large>
struct KeyOf {
    using Type = int;
    static __device__ int of(int H, int place) { return H * N_KEYS + place; }
    static __device__ int max3(int a, int b, int c) { return __vimax3_s32(a, b, c); }
};
template <>
struct KeyOf<true> {
    using Type = long long;
    static __device__ long long of(long long H, int place) { return H * KEYS + place; }
    static __device__ long long max3(long long a, long long b, long long c) { return max(max(a, b), c); }
};

using Keys = KeyOf<LARGE || LARGE_ENDS>;
using Key = Keys::Type;
constexpr Key NO_KEY = -KEYS;  // of no score; local scores are not below 0
constexpr Key HIGHEST_KEY = sizeof(Key) == 8 ? Key(0x7FFFFFFFFFFFFFFFll) : Key(0x7FFFFFFF);

// Of a cell of the last of KEY_TILES tiles.
__device__ __forceinline__ Key key_of(Score H, int row, int column) {
    return Keys::of(H, (COLUMNS - 1 - column) * KEY_ROWS + KEY_ROWS - 1 - row);
}

struct Best {
    Key threshold, key = 0;  // what a key must have to be better, and the best one
    unsigned tile = 0;       // the first one that the key knows

    __device__ Best(bool is_wanted, Score known)
        : threshold(is_wanted ? Key(Number::max2(known, 1)) * KEYS : HIGHEST_KEY) {}

    __device__ __forceinline__ void note(unsigned first_tile, Key found) {
        const bool is_better = found >= threshold;
        threshold = is_better ? (found | (KEYS - 1)) + 1 : threshold;
        key = is_better ? found : key;
        tile = is_better ? first_tile : tile;
    }

    __device__ __forceinline__ Score score() const { return Score(key / KEYS); }
    __device__ __forceinline__ unsigned row() const { return KEY_ROWS - 1 - unsigned(key % KEY_ROWS); }
    __device__ __forceinline__ unsigned column() const {
        return (tile + KEY_TILES) * COLUMNS - 1 - unsigned(key % KEYS / KEY_ROWS);
    }
};

// What a lane finds in the tiles of a piece, one after the other.
struct Finds {
    Best& best;
    Key largest = NO_KEY;
    int n_before = KEYS;  // keys of the tiles behind this one, and of itself

    __device__ explicit Finds(Best& given) : best(given) {}

    __device__ __forceinline__ void add(unsigned tile, Key found) {
        if (KEY_TILES == 1) return best.note(tile, found);
        n_before -= TILE_KEYS;
        largest = max(largest, found + n_before);
    }
    __device__ __forceinline__ void end(unsigned first_tile) {
        if (KEY_TILES > 1) best.note(first_tile, largest);
    }
};
