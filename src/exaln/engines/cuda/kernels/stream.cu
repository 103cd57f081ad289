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
// is longer than what is left of a strip goes on in the next strip: the last row of a strip is kept, in
// place, and comes back as the row above the next one. A launch has one strip after the other: course.cuh.
//
// Work is handed out in chunks of consecutive targets, the longest first, by a ticket: feed.cuh.
//
//   stream      [n_tiles]: four symbols each; see pack.cu
//   chunks      [n_chunks + 1]: first tile, first id
//   n_strips    of this launch; n_strips_before: of launches before it, for the same targets
//   tickets     [n_strips], 0 before; n_done likewise, and passed [targets]: what strips tell each other
//   stacks      [n_strips][LANES][2]: the rows of each lane in both halves
//   queries     codes of all queries
//   table       [1 + letters of the query][LETTERS + 1, rounded up to eight]: halves of words; the first row
//               is where there is no letter of a query, the first column PAD
//   kept        [n_tiles][2]: H and F of the row between strips, where KEEPS_ROWS. All lanes load of it, but
//               only first lanes with rows above use it; the others get IDLE_TILE, which is 0. Nobody writes
//               there: all warps of the device would do so at once, as long as no tile has reached their last
//               lanes, which took 5 % of a launch of a thousand steps
//   scores      int[n_queries][row_stride]: best scores are max-combined into it
//
// The busy pipe is that of the maxima (3.5 per packed pair of cells). What can be is kept off it: the first
// lane adds the symbols that it reads to what it gets from the lane above times 0, the others add 0, so that
// there is nothing to select; additions and products run on another pipe.
//
// Exactness: packed.cuh. Tests: tests/test_cuda_engine.py, tests/test_cuda_kernels.py,
// tests/test_cuda_stream.py.

#include "boundary.cuh"
#include "constants.cuh"
#include "course.cuh"
#include "packed.cuh"
#include "profile.cuh"
#include "recurrence.cuh"

constexpr bool TWO_TARGETS = PACKING != TWO_QUERIES;

// A number that the compiler knows nothing of: it would turn a product with 0 or 1 into a selection, or
// compute in each step again what never changes. By all lanes of a warp.
__device__ __forceinline__ unsigned opaque(unsigned number) {
    return __shfl_sync(ALL, number, threadIdx.x);
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

// How the row above a lane is put together: from the lane above, or in the first one from the boundary.
//
// Two stacks: of each half the bytes of one of them are chosen, or none where a query begins; none is the
// sign of what comes from above, repeated: 0 for H, and 0 or less for F, which is as good (packed.cuh). One
// query: a product with 0 or 1 and a sum, which keep the maxima waiting less than a choice.
struct Joint {
    unsigned how;  // the bytes, or whether there is a lane above

    __device__ Joint(const LaneRows* halves, bool is_first) {
        const unsigned low = halves[0].joined & ABOVE ? is_first ? 0x54 : 0x10 : 0x99;
        const unsigned high = halves[1].joined & ABOVE ? is_first ? 0x76 : 0x32 : 0xBB;
        how = TWO_TARGETS ? opaque(is_first ? 0 : 1) : low | high << 8;
    }
    __device__ Word row(Word value, Word own) const {
        if constexpr (TWO_TARGETS) return from_above(value, how, own);
        return chosen_bytes(__shfl_up_sync(ALL, value, 1, LANES), own, how);
    }
    __device__ void row(Word (&edge)[COLUMNS], uint4 own) const {
        edge[0] = row(edge[0], own.x);
        edge[1] = row(edge[1], own.y);
        edge[2] = row(edge[2], own.z);
        edge[3] = row(edge[3], own.w);
    }
};

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

// What a lane does in a strip, besides the rows that it has.
struct Role {
    Joint joint;
    unsigned reads_row, keeps_row;  // 0 or 1: whether the row above or below is in `kept`

    __device__ Role(const LaneRows* halves, bool is_first, bool is_last)
        : joint(halves, is_first),
          reads_row(opaque(is_first && (halves[0].joined | halves[1].joined) & ABOVE ? 1 : 0)),
          keeps_row(opaque(is_last && (halves[0].joined | halves[1].joined) & BELOW ? 1 : 0)) {}
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    stream_scores(const Tile* __restrict__ stream, const uint2* __restrict__ chunks, unsigned n_chunks,
                  unsigned n_strips, unsigned n_strips_before, unsigned* tickets, unsigned* n_done,
                  unsigned* passed, const LaneRows* __restrict__ stacks,
                  const unsigned char* __restrict__ queries, const uint4* __restrict__ table, uint4* kept,
                  int* scores, unsigned long long row_stride) {
    extern __shared__ uint4 profile[];
    __shared__ LaneRows rows[2 * LANES];
    __shared__ Course course;
    Strips strips{n_strips, n_strips_before, tickets, n_done, passed, n_chunks, &course};
    if (threadIdx.x == 0) strips.begin(chunks);
    __syncthreads();
    if (course.strip >= n_strips) return;
    const LaneRows* own_stacks = stacks + course.strip * 2 * LANES;
    if (threadIdx.x < 2 * LANES) rows[threadIdx.x] = own_stacks[threadIdx.x];
    Profile{own_stacks, queries, table}.fill<LANES>(profile, 0);
    __syncthreads();

    const unsigned lane = threadIdx.x % LANES;
    const bool is_first = lane == 0, is_last = lane == LANES - 1;
    const unsigned is_below = opaque(is_first ? 0 : 1);
    const unsigned own_profile = opaque(unsigned(__cvta_generic_to_shared(profile + lane)));
    Role role(rows + 2 * lane, is_first, is_last);
    Feed<Strips> feed{chunks, n_chunks, strips};
    feed.stay_idle();
    if (is_first) feed.start();

    Word H[ROWS] = {}, E[ROWS] = {}, edge_H[COLUMNS] = {}, edge_F[COLUMNS] = {};
    Word diagonal = 0, best = 0, best_above = 0;
    Tile tile = stream[IDLE_TILE], next_tile = stream[feed.tile];
    KeptRow next_row = KeptRow::load(kept, feed.tile * role.reads_row);
    unsigned id = 0, place = IDLE_TILE;

    for (bool goes_on = true; goes_on;) {
        const bool is_called = __any_sync(ALL, feed.calls);
        role.joint.row(edge_H, next_row.H());
        role.joint.row(edge_F, next_row.F());
        best_above = role.joint.row(best_above, 0);
        tile.word = from_above(tile.word, is_below, next_tile.word);
        id = from_above(id, is_below, feed.id);
        if constexpr (KEEPS_ROWS) place = from_above(place, is_below, feed.tile);
        feed.advance(next_tile.is_marked());
        if (is_called) {
            const auto take_lanes = [&](unsigned strip, unsigned first_lane) {
                const LaneRows* next = stacks + strip * 2 * LANES;
                Profile{next, queries, table}.fill<TURN_LANES>(profile, first_lane);
                if (threadIdx.x < 2 * TURN_LANES)
                    rows[2 * first_lane + threadIdx.x] = next[2 * first_lane + threadIdx.x];
                const Role next_role(next + 2 * lane, is_first, is_last);
                if (lane - first_lane < TURN_LANES) role = next_role;
            };
            goes_on = Turn::step(feed, is_first, take_lanes);
        }
        // The compiler puts these loads near the end of the step. To force them forward (a fence, copies to
        // shared memory, a branch behind them) costs 2 to 4 %.
        next_tile = stream[feed.tile];
        next_row = KeptRow::load(kept, feed.tile * role.reads_row);

#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const Word H_above = edge_H[c];
            update_column<Packed>(H, E, edge_F[c], diagonal, best, tile.column(own_profile, c));
            diagonal = H_above;
            edge_H[c] = H[ROWS - 1];
        }

        best_above = Packed::max2(best_above, best);
        if (KEEPS_ROWS && place * role.keeps_row != 0) keep_row(kept, place, edge_H, edge_F);
        if (tile.is_marked()) {
            if (KEEPS_ROWS && role.keeps_row) feed.strips.has_passed(id);
            write_scores(rows + 2 * lane, best_above, id, scores, row_stride);
            best = diagonal = 0;
#pragma unroll
            for (int k = 0; k < ROWS; k++) H[k] = E[k] = 0;
        }
    }
}
