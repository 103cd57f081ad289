// The best cell of a lane of long.cu. Its score and its position form one number, the key, and the best cell
// is the one with the largest key. Of equal scores the first column wins, then the first row.
//
// A key covers the cells of KEY_TILES tiles. A lane of few rows updates its best cell once per piece, as that
// would otherwise take a good part of its time; a lane of many rows, whose keys are large, in each tile.

#pragma once

#include "constants.cuh"
#include "long_scores.cuh"
#include "long_warp.cuh"

constexpr int KEY_ROWS = ROWS <= 4 ? 4 : ROWS <= 8 ? 8 : ROWS <= 16 ? 16 : 32;
constexpr int KEY_TILES = HAS_FEW_ROWS<ROWS> ? PIECE : 1;
constexpr int TILE_KEYS = COLUMNS * KEY_ROWS;
constexpr int KEYS = KEY_TILES * TILE_KEYS;
static_assert(ROWS <= 32 && KEYS <= 256);  // scan/variants.py: MAX_SMALL_END

// Not constexpr, or the compiler would replace the product by a shift, which uses the busiest pipe.
__constant__ int N_KEYS = KEYS;

template <bool is_large>
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
constexpr Key NO_KEY = -KEYS;  // below every key; local scores are not negative
constexpr Key HIGHEST_KEY = sizeof(Key) == 8 ? Key(0x7FFFFFFFFFFFFFFFll) : Key(0x7FFFFFFF);

// The key of a cell of the last of KEY_TILES tiles.
__device__ __forceinline__ Key key_of(Score H, int row, int column) {
    return Keys::of(H, (COLUMNS - 1 - column) * KEY_ROWS + KEY_ROWS - 1 - row);
}

struct BestCell {
    Key threshold, key = 0;  // the least key that is better, and the best key
    unsigned tile = 0;       // the first tile that the best key covers

    __device__ BestCell(bool is_used, Score known)
        : threshold(is_used ? Key(Number::max2(known, 1)) * KEYS : HIGHEST_KEY) {}

    __device__ __forceinline__ void update(unsigned first_tile, Key found) {
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

// Collects the keys of a lane over the tiles of a piece.
struct PieceSearch {
    BestCell& best;
    Key largest = NO_KEY;
    int n_left = KEYS;  // keys of the remaining tiles

    __device__ explicit PieceSearch(BestCell& given) : best(given) {}

    __device__ __forceinline__ void add(unsigned tile, Key found) {
        if (KEY_TILES == 1) return best.update(tile, found);
        n_left -= TILE_KEYS;
        largest = max(largest, found + n_left);
    }
    __device__ __forceinline__ void end(unsigned first_tile) {
        if (KEY_TILES > 1) best.update(first_tile, largest);
    }
};
