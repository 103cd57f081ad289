// Packs targets from the bytes of the database into the tile streams that stream.cu reads.
//
// A stream holds for each target (singles) or pair of neighbouring targets (pairs, merged) its columns in
// tiles of four, padded with PAD, at least one tile. `starts` is the first tile of each. Tile 0 is the idle
// tile, all PAD. The highest bit of the last tile of each target or pair is set: the mark.
//
//   singles     a byte per column: the folded letter
//   pairs       two bytes per column: letter of the first * (LETTERS + 1) + letter of the second, with PAD
//               after the end of the shorter one. Targets 2i and 2i + 1 are a pair; the last target of an odd
//               number is paired with an empty one
//   merged      the same pairs: four bytes of the first target, then four of the second
//
// One warp packs a target or pair. Its lanes take consecutive tiles, so that loads and stores are coalesced.
//
// Tests: tests/engines/cuda/scan/test_stream_kernel.py, tests/engines/cuda/test_engine.py.

#include "constants.cuh"

constexpr unsigned PAIR_LETTERS = LETTERS + 1;
constexpr unsigned MARK = 0x80000000u;
static_assert(LETTERS < 128, "the highest bit of a symbol is free for the mark");
static_assert(PAD == 0, "a word of PAD is 0");

struct Target {
    const unsigned char* codes;
    long long length;

    __device__ Target(const unsigned char* all, const long long* offsets, unsigned number, unsigned n_targets)
        : codes(all), length(0) {
        if (number < n_targets) {
            codes = all + offsets[number];
            length = offsets[number + 1] - offsets[number];
        }
    }
    __device__ unsigned letter(long long column, const unsigned char* fold) const {
        return column < length ? fold[codes[column]] : PAD;
    }
};

__device__ unsigned number_of_warp() {
    return (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
}
__device__ unsigned lane_of_warp() {
    return threadIdx.x % WARP;
}

// Four folded letters of a target, one per byte, from a column on.
__device__ unsigned four_letters(const Target& target, long long column, const unsigned char* fold) {
    unsigned word = 0;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) word |= target.letter(column + c, fold) << 8 * c;
    return word;
}

extern "C" __global__ void pack_singles(const unsigned char* __restrict__ codes,
                                        const long long* __restrict__ offsets,
                                        const unsigned* __restrict__ starts, unsigned n_targets,
                                        const unsigned char* __restrict__ fold,
                                        unsigned* __restrict__ stream) {
    const unsigned number = number_of_warp();
    if (number >= n_targets) return;
    const Target target(codes, offsets, number, n_targets);
    const unsigned begin = starts[number], end = starts[number + 1];
    for (unsigned tile = begin + lane_of_warp(); tile < end; tile += WARP) {
        const long long column = (long long)(tile - begin) * COLUMNS;
        const unsigned word = four_letters(target, column, fold);
        stream[tile] = tile == end - 1 ? word | MARK : word;
    }
    if (number == 0 && lane_of_warp() == 0) stream[0] = PAD;
}

// A tile of two targets: as four letter pairs, or as the letters of one target after the other.
__device__ uint2 letter_pairs(const Target& first, const Target& second, long long column,
                              const unsigned char* fold) {
    unsigned symbols[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        symbols[c] = first.letter(column + c, fold) * PAIR_LETTERS + second.letter(column + c, fold);
    }
    return make_uint2(symbols[0] | symbols[1] << 16, symbols[2] | symbols[3] << 16);
}

__device__ uint2 two_words(const Target& first, const Target& second, long long column,
                           const unsigned char* fold) {
    return make_uint2(four_letters(first, column, fold), four_letters(second, column, fold));
}

template <uint2 (*tile_of)(const Target&, const Target&, long long, const unsigned char*)>
__device__ void pack_two(const unsigned char* codes, const long long* offsets, const unsigned* starts,
                         unsigned n_targets, const unsigned char* fold, uint2* stream) {
    const unsigned pair = number_of_warp(), n_pairs = (n_targets + 1) / 2;
    if (pair >= n_pairs) return;
    const Target first(codes, offsets, 2 * pair, n_targets), second(codes, offsets, 2 * pair + 1, n_targets);
    const unsigned begin = starts[pair], end = starts[pair + 1];
    for (unsigned tile = begin + lane_of_warp(); tile < end; tile += WARP) {
        uint2 word = tile_of(first, second, (long long)(tile - begin) * COLUMNS, fold);
        if (tile == end - 1) word.y |= MARK;
        stream[tile] = word;
    }
    if (pair == 0 && lane_of_warp() == 0) stream[0] = make_uint2(PAD, PAD);
}

extern "C" __global__ void pack_pairs(const unsigned char* __restrict__ codes,
                                      const long long* __restrict__ offsets,
                                      const unsigned* __restrict__ starts, unsigned n_targets,
                                      const unsigned char* __restrict__ fold, uint2* __restrict__ stream) {
    pack_two<letter_pairs>(codes, offsets, starts, n_targets, fold, stream);
}

extern "C" __global__ void pack_merged(const unsigned char* __restrict__ codes,
                                       const long long* __restrict__ offsets,
                                       const unsigned* __restrict__ starts, unsigned n_targets,
                                       const unsigned char* __restrict__ fold, uint2* __restrict__ stream) {
    pack_two<two_words>(codes, offsets, starts, n_targets, fold, stream);
}
