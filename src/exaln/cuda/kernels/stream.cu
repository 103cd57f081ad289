// Scores of two queries against many targets, or of one query against pairs of targets: the many-targets
// kernel.
//
// A group of LANES lanes holds a strip of LANES * ROWS query rows, each lane ROWS of them, and lets a stream
// of targets pass through: per step each lane computes a tile of ROWS rows x 4 columns, one step behind the
// lane above it, which hands down the last row of its tile. The wavefront never drains: the last tile of a
// target is marked, a lane clears its rows after it, and the next target follows at once.
//
//      step s:    lane 0   tile s        | H, F of the last row, the symbols,
//                 lane 1   tile s - 1    | the place of a tile and the id of its
//                 lane 2   tile s - 2    v target go from lane to lane by shuffles
//
// Each word holds two scores. Either two queries meet one target (PAIRED = 0), or one query meets two targets
// (PAIRED = 1); the kernel is the same, because a symbol of the stream stands for the pair of letters, and
// the profile has the packed scores of each symbol. The profile lies in shared memory as [symbol][rows /
// 4][lane], so that the bank depends on the lane and not on the letter.
//
// Work is handed out in chunks of consecutive targets, the longest first, by a ticket; a group fetches the
// chunk after next while it computes. Strips of a query longer than LANES * ROWS: the last row of a strip
// goes to `boundary`, in place, and comes back as the row above the next strip in the next launch.
//
//   stream      [n_tiles]: four symbols each, uint8 or (PAIRED) uint16; see pack.cu
//   chunks      [n_chunks + 1]: first tile, first id
//   query_*     codes of this strip's rows for the two halves of a word, rows_* of them
//   table       int16[letters of the query][LETTERS]
//   boundary    [n_tiles][2]: H and F of four columns; needed if has_top or has_bottom
//   scores_*    the best score of id i is max-combined into scores_*[i * score_stride]
//
// The busy pipe is that of the maxima (3.5 per packed pair of cells). What can be is kept off it: the first
// lane adds what it reads to what it gets from the lane above times 0, the others add 0, so that there is
// nothing to select; additions and products run on another pipe.
//
// Exactness: packed.cuh. Tests: tests/test_cuda_engine.py, tests/test_cuda_kernels.py.

#include "constants.cuh"
#include "packed.cuh"
#include "recurrence.cuh"

constexpr unsigned N_SYMBOLS = PAIRED ? (LETTERS + 1) * (LETTERS + 1) : LETTERS + 1;
constexpr unsigned IDLE_TILE = 0;
constexpr unsigned NO_CHUNK = 0xFFFFFFFFu;
constexpr unsigned ALL = 0xFFFFFFFFu;

// A number that the compiler knows nothing of: it would turn a product with 0 or 1 into a selection.
__device__ __forceinline__ unsigned opaque(unsigned number) {
    asm volatile("" : "+r"(number));
    return number;
}

// What comes from the lane above, or in the first lane, where is_below is 0, `own`; `own` is 0 in the others.
__device__ __forceinline__ unsigned from_above(unsigned value, unsigned is_below, unsigned own) {
    return __shfl_up_sync(ALL, value, 1, LANES) * is_below + own;
}

// Four symbols, as they lie in the stream; the highest bit marks the last tile of a target.
template <bool paired>
struct TileOf;

template <>
struct TileOf<false> {
    unsigned word;
    __device__ bool is_marked() const { return int(word) < 0; }
    __device__ unsigned symbol(int column) const {
        return column < 3 ? __byte_perm(word, 0, 0x4440 | column) : word >> 24 & 0x7Fu;
    }
    __device__ TileOf or_from_above(TileOf above, unsigned is_below) const {
        return {from_above(above.word, is_below, word)};
    }
};

template <>
struct TileOf<true> {
    uint2 word;
    __device__ bool is_marked() const { return int(word.y) < 0; }
    __device__ unsigned symbol(int column) const {
        if (column == 3) return word.y >> 16 & 0x7FFFu;
        return __byte_perm(column < 2 ? word.x : word.y, 0, column % 2 ? 0x4432 : 0x4410);
    }
    __device__ TileOf or_from_above(TileOf above, unsigned is_below) const {
        return {make_uint2(from_above(above.word.x, is_below, word.x),
                           from_above(above.word.y, is_below, word.y))};
    }
};

using Tile = TileOf<PAIRED>;

struct Strip {
    const unsigned char *query_low, *query_high;
    unsigned rows_low, rows_high;
    const short* table;

    static __device__ Word half(const unsigned char* query, unsigned n_rows, unsigned row, unsigned letter,
                                const short* table) {
        if (row >= n_rows || letter == PAD) return Packed::IMPOSSIBLE;
        return Packed::half_of(table[query[row] * LETTERS + letter - 1]);
    }

    // The packed scores of all symbols with all rows.
    __device__ void fill(Word* profile) const {
        for (unsigned i = threadIdx.x; i < N_SYMBOLS * LANES * ROWS; i += THREADS) {
            const unsigned symbol = i / (LANES * ROWS), place = i % (LANES * ROWS);
            const unsigned row = row_at(place);
            const unsigned low = PAIRED ? symbol / (LETTERS + 1) : symbol;
            const unsigned high = PAIRED ? symbol % (LETTERS + 1) : symbol;
            profile[i] = half(query_low, rows_low, row, low, table) |
                         half(query_high, rows_high, row, high, table) << 16;
        }
    }

    // Which row of the strip lies at a place in the profile of a symbol.
    static __device__ unsigned row_at(unsigned place) {
        return place / 4 % LANES * ROWS + place / (4 * LANES) * 4 + place % 4;
    }
};

// Where the first lane of a group is in the stream. The other lanes stay idle: they get everything from the
// lane above.
struct Feed {
    const uint2* chunks;
    unsigned n_chunks;
    unsigned* ticket;
    unsigned tile, end, id;  // the next tile, the end of its chunk, and the id of its target; 0 in idle lanes
    unsigned is_live;        // 0 or 1
    uint2 next_begin;        // the chunk after this one
    unsigned next_end;
    unsigned after_next;  // the number of the chunk after that

    __device__ unsigned take() {
        const unsigned number = atomicAdd(ticket, 1u);
        return number < n_chunks ? n_chunks - 1 - number : NO_CHUNK;
    }
    __device__ void look_up(unsigned chunk) {
        next_begin = chunk == NO_CHUNK ? make_uint2(IDLE_TILE, 0) : chunks[chunk];
        next_end = chunk == NO_CHUNK ? NO_CHUNK : chunks[chunk + 1].x;
    }
    __device__ void go_to_next() {
        tile = next_begin.x;
        id = next_begin.y;
        end = next_end;
        is_live = tile != IDLE_TILE;
        look_up(after_next);
        if (is_live) after_next = take();
    }
    __device__ void start(bool is_first) {
        after_next = NO_CHUNK;
        look_up(is_first ? take() : NO_CHUNK);
        if (is_first) after_next = take();
        go_to_next();
    }
    // The tile was handed out; `ends_target` if it was the last one of its target.
    __device__ void advance(bool ends_target) {
        id += ends_target;
        tile += is_live;
        if (tile == end) go_to_next();
    }
};

// H and F above the strip, as the first lane of a group reads them; everywhere else zeros. No load depends on
// a branch, so a load has the time of a step.
__device__ const uint4 ZEROS[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};

struct RowAbove {
    const uint4* row;
    unsigned step;

    __device__ RowAbove(const uint4* boundary, bool is_read)
        : row(is_read ? boundary : ZEROS), step(is_read ? 2 : 0) {}
    __device__ uint4 H(unsigned tile) const { return row[size_t(tile) * step]; }
    __device__ uint4 F(unsigned tile) const { return row[size_t(tile) * step + 1]; }
};

__device__ __forceinline__ void take_row(Word (&edge)[COLUMNS], unsigned is_below, uint4 own) {
    edge[0] = from_above(edge[0], is_below, own.x);
    edge[1] = from_above(edge[1], is_below, own.y);
    edge[2] = from_above(edge[2], is_below, own.z);
    edge[3] = from_above(edge[3], is_below, own.w);
}

// The scores of four rows of a lane, from an address in the profile.
__device__ __forceinline__ uint4 load_scores(unsigned address) {
    uint4 four;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
                 : "r"(address));
    return four;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    stream_scores(const Tile* __restrict__ stream, const uint2* __restrict__ chunks, unsigned n_chunks,
                  unsigned* ticket, const unsigned char* query_low, unsigned rows_low,
                  const unsigned char* query_high, unsigned rows_high, const short* table, uint4* boundary,
                  unsigned has_top, unsigned has_bottom, int* scores_low, int* scores_high,
                  unsigned score_stride) {
    extern __shared__ uint4 profile[];
    Strip{query_low, query_high, rows_low, rows_high, table}.fill(reinterpret_cast<Word*>(profile));
    __syncthreads();

    const unsigned lane = threadIdx.x % LANES;
    const bool is_first = lane == 0, is_last = lane == LANES - 1;
    const unsigned is_below = opaque(is_first ? 0 : 1);
    const unsigned scores = unsigned(__cvta_generic_to_shared(profile + lane));
    const RowAbove above(boundary, is_first && has_top);
    Feed feed{chunks, n_chunks, ticket};
    feed.start(is_first);

    Word H[ROWS] = {}, E[ROWS] = {}, edge_H[COLUMNS] = {}, edge_F[COLUMNS] = {};
    Word diagonal = 0, best = 0, best_above = 0;
    Tile tile = stream[IDLE_TILE], next_tile = stream[feed.tile];
    uint4 next_H = above.H(feed.tile), next_F = above.F(feed.tile);
    unsigned id = 0, place = IDLE_TILE;

    for (int drain = LANES; drain > 0;) {
        take_row(edge_H, is_below, next_H);
        take_row(edge_F, is_below, next_F);
        best_above = from_above(best_above, is_below, 0);
        tile = next_tile.or_from_above(tile, is_below);
        id = from_above(id, is_below, feed.id);
        place = from_above(place, is_below, feed.tile);
        if (!__any_sync(ALL, feed.is_live)) drain--;
        feed.advance(next_tile.is_marked());
        next_tile = stream[feed.tile];
        next_H = above.H(feed.tile);
        next_F = above.F(feed.tile);

#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const unsigned symbol = scores + tile.symbol(c) * (LANES * ROWS * 4);
            const Word H_above = edge_H[c];
            update_column<Packed>(H, E, edge_F[c], diagonal, best,
                                  [symbol](int chunk) { return load_scores(symbol + chunk * (LANES * 16)); });
            diagonal = H_above;
            edge_H[c] = H[ROWS - 1];
        }

        best_above = Packed::max2(best_above, best);
        if (is_last && has_bottom) {
            boundary[2 * size_t(place)] = make_uint4(edge_H[0], edge_H[1], edge_H[2], edge_H[3]);
            boundary[2 * size_t(place) + 1] = make_uint4(edge_F[0], edge_F[1], edge_F[2], edge_F[3]);
        }
        if (tile.is_marked()) {
            if (is_last) {
                atomicMax(scores_low + size_t(id) * score_stride, Packed::low(best_above));
                atomicMax(scores_high + size_t(id) * score_stride, Packed::high(best_above));
            }
            best = diagonal = 0;
#pragma unroll
            for (int k = 0; k < ROWS; k++) H[k] = E[k] = 0;
        }
    }
}
