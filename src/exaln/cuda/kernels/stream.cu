// Scores of queries against many targets, two pairs in each word: the many-targets kernel.
//
// A group of LANES lanes holds a strip of LANES * ROWS rows, each lane ROWS of them, and lets a stream of
// targets pass through: per step each lane computes a tile of ROWS rows x 4 columns, one step behind the
// lane above it, which hands down the last row of its tile. The wavefront never drains: the last tile of a
// target is marked, a lane clears its rows after it, and the next target follows at once.
//
//      step s:    lane 0   tile s        | H, F of the last row, the symbols,
//                 lane 1   tile s - 1    | the place of a tile and the id of its
//                 lane 2   tile s - 2    v target go from lane to lane by shuffles
//
// Each word holds two scores: two queries meet one target, or one query meets two targets; profile.cuh has
// the ways. In each half of the words queries lie one below the other: two stacks. A query begins at a lane
// of its own, where nothing comes from above, and its best score leaves at the lane where it ends. One that
// is longer than what is left of a strip goes on in the next launch: the last row of a strip is kept, in
// place, and comes back as the row above the next one.
//
// Work is handed out in chunks of consecutive targets, the longest first, by a ticket.
//
//   stream      [n_tiles]: four symbols each; see pack.cu
//   chunks      [n_chunks + 1]: first tile, first id
//   stacks      [LANES][2]: the rows of each lane in both halves
//   queries     codes of all queries
//   table       int16[letters of the query][LETTERS]
//   kept        H, then F, of four columns of [n_tiles]: boundary.cuh. Without has_top and has_bottom
//   anything
//               that can be read: lanes read it always, and use it only where a query goes on
//   scores      int[n_queries][row_stride]: best scores are max-combined into it
//
// The busy pipe is that of the maxima (3.5 per packed pair of cells). What can be is kept off it: the first
// lane adds the symbols that it reads to what it gets from the lane above times 0, the others add 0, so that
// there is nothing to select; additions and products run on another pipe.
//
// Exactness: packed.cuh. Tests: tests/test_cuda_engine.py, tests/test_cuda_kernels.py.

#include "boundary.cuh"
#include "constants.cuh"
#include "packed.cuh"
#include "profile.cuh"
#include "recurrence.cuh"

constexpr bool TWO_TARGETS = PACKING != TWO_QUERIES;
constexpr unsigned IDLE_TILE = 0;
constexpr unsigned NO_CHUNK = 0xFFFFFFFFu, NOT_TAKEN = 0xFFFFFFFEu;
constexpr unsigned TAKEN_AHEAD = 4;  // steps before the end of a chunk in which the next one is taken
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

__device__ __forceinline__ uint2 from_above(uint2 value, unsigned is_below, uint2 own) {
    return make_uint2(from_above(value.x, is_below, own.x), from_above(value.y, is_below, own.y));
}

// Four symbols, as they lie in the stream; the highest bit marks the last tile of a target.
template <int packing>
struct TileOf;

template <>
struct TileOf<TWO_QUERIES> {
    unsigned word;
    __device__ bool is_marked() const { return int(word) < 0; }
    __device__ WordColumn column(unsigned profile, int c) const { return {profile, letter_of(word, c)}; }
};

template <>
struct TileOf<LETTER_PAIRS> {
    uint2 word;
    __device__ bool is_marked() const { return int(word.y) < 0; }
    __device__ WordColumn column(unsigned profile, int c) const { return {profile, letter_pair_of(word, c)}; }
};

template <>
struct TileOf<MERGED> {
    uint2 word;
    __device__ bool is_marked() const { return int(word.y) < 0; }
    __device__ MergedColumn column(unsigned profile, int c) const {
        return {profile, letter_of(word.x, c), letter_of(word.y, c)};
    }
};

using Tile = TileOf<PACKING>;

// Which bytes of a word from the lane above and of one from `boundary` make the row above a lane: a query's
// own rows, or nothing where it begins. Nothing is the sign of what comes from above, repeated: 0 for H, and
// 0 or less for F, which is as good (packed.cuh).
__device__ unsigned joining_bytes(const LaneRows* halves, bool is_first) {
    const unsigned low = halves[0].is_joined ? is_first ? 0x54 : 0x10 : 0x99;
    const unsigned high = halves[1].is_joined ? is_first ? 0x76 : 0x32 : 0xBB;
    return low | high << 8;
}

__device__ __forceinline__ Word joined(Word value, Word own, unsigned bytes) {
    return chosen_bytes(__shfl_up_sync(ALL, value, 1, LANES), own, bytes);
}

// Where the first lane of a group is in the stream. The other lanes stay idle: they get everything from the
// lane above. The next chunk is taken as late as its loads allow: a group that has a long target must not
// take others away from groups that will be free earlier.
struct Feed {
    const uint2* chunks;
    unsigned n_chunks;
    unsigned* ticket;
    unsigned tile, end, id;  // the next tile, the end of its chunk, and the id of its target; 0 in idle lanes
    unsigned is_live;        // 0 or 1
    unsigned next;           // the number of the next chunk, or NOT_TAKEN
    uint2 next_begin;
    unsigned next_end;  // or NOT_TAKEN, before it was looked up

    __device__ void take() {
        const unsigned number = atomicAdd(ticket, 1u);
        next = number < n_chunks ? n_chunks - 1 - number : NO_CHUNK;
    }
    __device__ void look_up() {
        next_begin = next == NO_CHUNK ? make_uint2(IDLE_TILE, 0) : chunks[next];
        next_end = next == NO_CHUNK ? NO_CHUNK : chunks[next + 1].x;
    }
    __device__ void go_to_next() {
        tile = next_begin.x;
        id = next_begin.y;
        end = next_end;
        is_live = tile != IDLE_TILE;
        next = next_end = NOT_TAKEN;
    }
    __device__ void start(bool is_first) {
        next = NO_CHUNK;
        if (is_first) take();
        look_up();
        go_to_next();
    }
    // The tile was handed out; `ends_target` if it was the last one of its target.
    __device__ void advance(bool ends_target) {
        id += ends_target;
        tile += is_live;
        if (end - tile <= TAKEN_AHEAD) prepare_next();
    }
    // One thing in each of the last steps of a chunk, so that none waits for the one before.
    __device__ void prepare_next() {
        const bool is_over = tile == end;
        if (next == NOT_TAKEN) {
            take();
            if (!is_over) return;
        }
        if (next_end == NOT_TAKEN) {
            look_up();
            if (!is_over) return;
        }
        if (is_over) go_to_next();
    }
};

__device__ __forceinline__ void take_row(Word (&edge)[COLUMNS], unsigned bytes, uint4 own) {
    edge[0] = joined(edge[0], own.x, bytes);
    edge[1] = joined(edge[1], own.y, bytes);
    edge[2] = joined(edge[2], own.z, bytes);
    edge[3] = joined(edge[3], own.w, bytes);
}

// The best scores of the queries that end in a lane.
__device__ void write_scores(const LaneRows* halves, Word best, unsigned id, int* scores, size_t row_stride) {
    const size_t place = TWO_TARGETS ? 2 * size_t(id) : id;
    if (halves[0].query != NO_QUERY) {
        atomicMax(scores + halves[0].query * row_stride + place, Packed::low(best));
    }
    if (halves[1].query != NO_QUERY) {
        atomicMax(scores + halves[1].query * row_stride + place + TWO_TARGETS, Packed::high(best));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    stream_scores(const Tile* __restrict__ stream, const uint2* __restrict__ chunks, unsigned n_chunks,
                  unsigned* ticket, const LaneRows* __restrict__ stacks,
                  const unsigned char* __restrict__ queries, const short* __restrict__ table, uint4* kept,
                  unsigned has_top, unsigned has_bottom, int* scores, unsigned long long row_stride) {
    extern __shared__ uint4 profile[];
    __shared__ LaneRows rows[2 * LANES];
    if (threadIdx.x < 2 * LANES) rows[threadIdx.x] = stacks[threadIdx.x];
    __syncthreads();
    Profile{rows, queries, table}.fill(profile);
    __syncthreads();

    const unsigned lane = threadIdx.x % LANES;
    const bool is_first = lane == 0, is_last = lane == LANES - 1;
    const unsigned is_below = opaque(is_first ? 0 : 1);
    const unsigned joining = joining_bytes(rows + 2 * lane, is_first);
    const unsigned own_profile = unsigned(__cvta_generic_to_shared(profile + lane));
    const Boundary boundary(kept, has_top || has_bottom ? chunks[n_chunks].x : 0);
    const unsigned reads_above = opaque(is_first && has_top ? 1 : 0);
    Feed feed{chunks, n_chunks, ticket};
    feed.start(is_first);

    Word H[ROWS] = {}, E[ROWS] = {}, edge_H[COLUMNS] = {}, edge_F[COLUMNS] = {};
    Word diagonal = 0, best = 0, best_above = 0;
    Tile tile = stream[IDLE_TILE], next_tile = stream[feed.tile];
    uint4 next_H = boundary.H[feed.tile * reads_above];
    KeptF next_kept = boundary.F[feed.tile * reads_above];
    unsigned id = 0, place = IDLE_TILE;

    for (int drain = LANES; drain > 0;) {
        take_row(edge_H, joining, next_H);
        uint4 next_F = make_uint4(0, 0, 0, 0);
        if (has_top) next_F = next_kept.values(next_H);
        take_row(edge_F, joining, next_F);
        best_above = joined(best_above, 0, joining);
        tile.word = from_above(tile.word, is_below, next_tile.word);
        id = from_above(id, is_below, feed.id);
        place = from_above(place, is_below, feed.tile);
        if (!__any_sync(ALL, feed.is_live)) drain--;
        feed.advance(next_tile.is_marked());
        next_tile = stream[feed.tile];
        next_H = boundary.H[feed.tile * reads_above];
        next_kept = boundary.F[feed.tile * reads_above];

#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const Word H_above = edge_H[c];
            update_column<Packed>(H, E, edge_F[c], diagonal, best, tile.column(own_profile, c));
            diagonal = H_above;
            edge_H[c] = H[ROWS - 1];
        }

        best_above = Packed::max2(best_above, best);
        if (is_last && has_bottom) {
            boundary.H[place] = make_uint4(edge_H[0], edge_H[1], edge_H[2], edge_H[3]);
            boundary.F[place] = KeptF::of(edge_H, edge_F);
        }
        if (tile.is_marked()) {
            write_scores(rows + 2 * lane, best_above, id, scores, row_stride);
            best = diagonal = 0;
#pragma unroll
            for (int k = 0; k < ROWS; k++) H[k] = E[k] = 0;
        }
    }
}
