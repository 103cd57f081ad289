// Many-targets kernel: exact scores of queries against a stream of targets, two scores per 32-bit word.
//
// A group of LANES threads owns a strip of LANES * ROWS query rows, ROWS per thread. Targets pass through the
// group as one continuous stream of tiles of four columns. In each step a thread computes its ROWS x 4 tile,
// one step behind the thread above, which passes down the last row of its own tile.
//
// clang-format off
//     step s   thread 0   tile s       moved down by shuffles: H and F of the last row, the letters,
//              thread 1   tile s-1     the tile index and the target id
//              thread 2   tile s-2
// clang-format on
//
// The wavefront never drains. The last tile of a target is marked; each thread clears its rows after it, and
// the next target follows in the next step.
//
// Packing. A word holds two queries against one target, or one query against two targets (profile.cuh).
// Queries are stacked within a strip, one stack in each half of the words: each query starts at a thread of
// its own, where no row enters from above, and its best score leaves at the thread where it ends. A query
// longer than the rest of the strip continues in the next one; the row between strips is stored and read back
// (boundary.cuh). strip_schedule.cuh orders the strips of a launch.
//
// Work distribution: chunks of consecutive targets, longest first, claimed with an atomic ticket
// (tile_stream.cuh).
//
//   stream           [n_tiles]: four symbols each; see pack.cu
//   chunks           [n_chunks + 1]: first tile, first target id
//   n_strips         strips of this launch; n_strips_before: of earlier launches for the same targets
//   tickets          [n_strips], zeros at first; chunks_done the same
//   target_flags     [targets]: the progress flags of strip_schedule.cuh
//   stacks           [n_strips][LANES][2]: the rows of each lane in both halves
//   queries          codes of all queries
//   table            [1 + letters of the query][LETTERS + 1, rounded up to eight]: half words. The first row
//                    is for rows without a query letter, the first column for PAD
//   boundary         [n_tiles][2]: H and F of the row between strips, with KEEPS_ROWS. Element IDLE_TILE is 0
//   scores           int[n_queries][row_stride]: best scores are max-combined into it
//
// Throughput is limited by the pipe that computes maxima (3.5 operations per packed pair of cells).
// Everything else is kept off that pipe: selections are replaced by multiply-adds with 0 or 1. So all lanes
// load from `boundary`, but only first lanes that continue a query use a real tile. No lane ever stores to
// IDLE_TILE: until the first tile reaches the last lanes, all warps of the device would store to that one
// address, which took 5 % of a launch of a thousand steps.
//
// Exactness: packed.cuh. Tests: tests/engines/cuda/test_engine.py and tests/engines/cuda/scan/.

#include "boundary.cuh"
#include "constants.cuh"
#include "packed.cuh"
#include "profile.cuh"
#include "recurrence.cuh"
#include "strip_schedule.cuh"

constexpr bool TWO_TARGETS = PACKING != TWO_QUERIES;

// The number, hidden from the compiler, which would otherwise turn a product with 0 or 1 into a selection, or
// recompute an invariant in each step. Called by all lanes of a warp.
__device__ __forceinline__ unsigned opaque(unsigned number) {
    return __shfl_sync(ALL, number, threadIdx.x);
}

// The value of the lane above, or `own` in the first lane of a group. is_below: 0 in the first lane, else 1.
// own: 0 in all but the first lane.
__device__ __forceinline__ unsigned from_above(unsigned value, unsigned is_below, unsigned own) {
    return __shfl_up_sync(ALL, value, 1, LANES) * is_below + own;
}

__device__ __forceinline__ uint2 from_above(uint2 value, unsigned is_below, uint2 own) {
    return make_uint2(from_above(value.x, is_below, own.x), from_above(value.y, is_below, own.y));
}

// Four symbols, as stored in the stream; the highest bit marks the last tile of a target.
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

// Merges the row above a tile from two sources: the lane above, and in the first lane the boundary row.
//
// Two stacks: a byte permutation selects the source for each half. Where a query begins, it repeats the sign
// of the value from above instead: 0 for H, and 0 or less for F, which is as good as 0 (packed.cuh).
// One query: a multiply-add with 0 or 1, which delays the maxima less than a permutation.
struct RowMerge {
    unsigned selector;  // bytes of the permutation, or 1 if there is a lane above

    __device__ RowMerge(const LaneRows* halves, bool is_first) {
        const unsigned low = halves[0].continues & ABOVE ? is_first ? 0x54 : 0x10 : 0x99;
        const unsigned high = halves[1].continues & ABOVE ? is_first ? 0x76 : 0x32 : 0xBB;
        selector = TWO_TARGETS ? opaque(is_first ? 0 : 1) : low | high << 8;
    }
    __device__ Word merged(Word value, Word own) const {
        if constexpr (TWO_TARGETS) return from_above(value, selector, own);
        return chosen_bytes(__shfl_up_sync(ALL, value, 1, LANES), own, selector);
    }
    __device__ void merge(Word (&edge)[COLUMNS], uint4 own) const {
        edge[0] = merged(edge[0], own.x);
        edge[1] = merged(edge[1], own.y);
        edge[2] = merged(edge[2], own.z);
        edge[3] = merged(edge[3], own.w);
    }
};

// Writes the best scores of the queries that end in a lane.
__device__ void write_scores(const LaneRows* halves, Word best, unsigned id, int* scores, size_t row_stride) {
    const size_t place = TWO_TARGETS ? 2 * size_t(id) : id;
    if (halves[0].query != NO_QUERY) {
        atomicMax(scores + halves[0].query * row_stride + place, Packed::low(best));
    }
    if (halves[1].query != NO_QUERY) {
        atomicMax(scores + halves[1].query * row_stride + place + TWO_TARGETS, Packed::high(best));
    }
}

// How a lane exchanges rows with its neighbours in a strip.
struct Role {
    RowMerge top;
    unsigned reads_boundary, writes_boundary;  // 0 or 1: whether the row above or below is a boundary row

    __device__ Role(const LaneRows* halves, bool is_first, bool is_last)
        : top(halves, is_first),
          reads_boundary(opaque(is_first && (halves[0].continues | halves[1].continues) & ABOVE ? 1 : 0)),
          writes_boundary(opaque(is_last && (halves[0].continues | halves[1].continues) & BELOW ? 1 : 0)) {}
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    stream_scores(const Tile* __restrict__ stream, const uint2* __restrict__ chunks, unsigned n_chunks,
                  unsigned n_strips, unsigned n_strips_before, unsigned* tickets, unsigned* chunks_done,
                  unsigned* target_flags, const LaneRows* __restrict__ stacks,
                  const unsigned char* __restrict__ queries, const uint4* __restrict__ table, uint4* boundary,
                  int* scores, unsigned long long row_stride) {
    extern __shared__ uint4 profile[];
    __shared__ LaneRows rows[2 * LANES];
    __shared__ StripSchedule schedule;
    Strips strips{n_strips, n_strips_before, tickets, chunks_done, target_flags, n_chunks, &schedule};
    if (threadIdx.x == 0) strips.begin(chunks);
    __syncthreads();
    if (schedule.strip >= n_strips) return;
    const LaneRows* own_stacks = stacks + schedule.strip * 2 * LANES;
    if (threadIdx.x < 2 * LANES) rows[threadIdx.x] = own_stacks[threadIdx.x];
    Profile{own_stacks, queries, table}.fill<LANES>(profile, 0);
    __syncthreads();

    const unsigned lane = threadIdx.x % LANES;
    const bool is_first = lane == 0, is_last = lane == LANES - 1;
    const unsigned is_below = opaque(is_first ? 0 : 1);
    const unsigned own_profile = opaque(unsigned(__cvta_generic_to_shared(profile + lane)));
    Role role(rows + 2 * lane, is_first, is_last);
    StreamCursor<Strips> cursor{chunks, n_chunks, strips};
    cursor.set_idle();
    if (is_first) cursor.start();

    Word H[ROWS] = {}, E[ROWS] = {}, edge_H[COLUMNS] = {}, edge_F[COLUMNS] = {};
    Word diagonal = 0, best = 0, best_above = 0;
    Tile tile = stream[IDLE_TILE], next_tile = stream[cursor.tile];
    BoundaryRow next_row = BoundaryRow::load(boundary, cursor.tile * role.reads_boundary);
    unsigned id = 0, tile_index = IDLE_TILE;

    for (bool goes_on = true; goes_on;) {
        const bool needs_attention = __any_sync(ALL, cursor.attention);
        role.top.merge(edge_H, next_row.H());
        role.top.merge(edge_F, next_row.F());
        best_above = role.top.merged(best_above, 0);
        tile.word = from_above(tile.word, is_below, next_tile.word);
        id = from_above(id, is_below, cursor.id);
        if constexpr (KEEPS_ROWS) tile_index = from_above(tile_index, is_below, cursor.tile);
        cursor.advance(next_tile.is_marked());
        if (needs_attention) {
            const auto load_lanes = [&](unsigned strip, unsigned first_lane) {
                const LaneRows* next = stacks + strip * 2 * LANES;
                Profile{next, queries, table}.fill<SWITCH_LANES>(profile, first_lane);
                if (threadIdx.x < 2 * SWITCH_LANES)
                    rows[2 * first_lane + threadIdx.x] = next[2 * first_lane + threadIdx.x];
                const Role next_role(next + 2 * lane, is_first, is_last);
                if (lane - first_lane < SWITCH_LANES) role = next_role;
            };
            goes_on = StripSwitch::step(cursor, is_first, load_lanes);
        }
        // The compiler moves these loads near the end of the step. Forcing them forward (a fence, copies to
        // shared memory, a branch after them) costs 2 to 4 %.
        next_tile = stream[cursor.tile];
        next_row = BoundaryRow::load(boundary, cursor.tile * role.reads_boundary);

#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const Word H_above = edge_H[c];
            update_column<Packed>(H, E, edge_F[c], diagonal, best, tile.column(own_profile, c));
            diagonal = H_above;
            edge_H[c] = H[ROWS - 1];
        }

        best_above = Packed::max2(best_above, best);
        if (KEEPS_ROWS && tile_index * role.writes_boundary != 0)
            store_boundary(boundary, tile_index, edge_H, edge_F);
        if (tile.is_marked()) {
            if (KEEPS_ROWS && role.writes_boundary) cursor.strips.flag_target(id);
            write_scores(rows + 2 * lane, best_above, id, scores, row_stride);
            best = diagonal = 0;
#pragma unroll
            for (int k = 0; k < ROWS; k++) H[k] = E[k] = 0;
        }
    }
}
