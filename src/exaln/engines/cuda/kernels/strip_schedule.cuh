// The strip schedule: how the blocks of a launch go from one strip of query rows to the next.
//
// The groups of a block share one profile, so they switch strips together. To switch all lanes at once would
// leave most of them idle for LANES steps. Instead, a strip switch begins when no group of the block gets
// further tiles and the first SWITCH_LANES lanes are done: these load the rows of the next strip and receive
// its first tiles. SWITCH_LANES steps later the next lanes follow, which are done by then, and so on.
//
// clang-format off
//      lanes 0 .. 3   1 1 1 . . . . 2 2 2 2 2 2     1, 2   a step with a tile of the first or second strip
//            4 .. 7   1 1 1 1 1 1 1 . . . . 2 2     .      no tile; the profile of these lanes is replaced
// clang-format on
//
// Where boundary rows are stored, a chunk can begin once the strip above is done with it. A block counts all
// of its chunks as done when its last lanes leave the strip. Chunks that are claimed first, which the next
// strip needs at once, are also flagged target by target. All strips claim chunks in the same order, and each
// chunk belongs to a running block, so some block can always continue.
//
// Tests: tests/engines/cuda/scan/test_stream_kernel.py.

#pragma once

#include "constants.cuh"
#include "progress_flags.cuh"
#include "tile_stream.cuh"

constexpr unsigned SWITCH_LANES = LANES < 4 ? LANES : 4;
constexpr unsigned POLL_NANOSECONDS = 200;
constexpr unsigned FLAGGED_CHUNKS = 2;  // per group on the device: chunks that are flagged target by target

// The position of a block in the schedule, in shared memory.
struct StripSchedule {
    unsigned strip, last_strip;               // of the first lanes, and of the last lanes
    unsigned n_idle_warps;                    // warps that get no more tiles in `strip`
    unsigned n_begun;                         // chunks begun in `strip`
    unsigned n_leaving;                       // chunks begun in the strip that the last lanes will leave next
    unsigned flagged_from;                    // targets from this id on are flagged one by one
    unsigned is_above_done[THREADS / LANES];  // 0 or 1 for each group: the strip above is known to be done
};

// The strips of a launch, as one group of lanes sees them.
struct Strips {
    unsigned n, n_before;    // strips of this launch, and of earlier launches for the same targets
    unsigned* tickets;       // [n], zeros at first
    unsigned* chunks_done;   // [n], zeros at first
    unsigned* target_flags;  // [targets]: strips that each flagged target has passed
    unsigned n_chunks;
    StripSchedule* schedule;

    __device__ bool flags_progress() const { return KEEPS_ROWS && n > 1; }
    __device__ bool is_in_last() const { return schedule->strip + 1 >= n; }

    __device__ unsigned* ticket() const { return tickets + schedule->strip; }
    __device__ bool can_begin(const uint2* chunk) const {
        unsigned& is_above_done = schedule->is_above_done[threadIdx.x / LANES];
        if (!flags_progress() || is_above_done) return true;
        const unsigned strip = schedule->strip;
        if (strip == 0 || load_acquire(chunks_done + strip - 1) == n_chunks) return is_above_done = 1;
        return chunk[0].y >= schedule->flagged_from &&
               load_acquire(target_flags + chunk[1].y - 1) >= n_before + strip;
    }
    __device__ void count_begun() const {
        if (flags_progress()) atomicAdd(&schedule->n_begun, 1u);
    }
    __device__ void begin_strip() const { schedule->is_above_done[threadIdx.x / LANES] = 0; }
    // Called by the last lane of a group after the last tile of a target.
    __device__ void flag_target(unsigned id) const {
        if (flags_progress() && id >= schedule->flagged_from)
            store_release(target_flags + id, n_before + schedule->last_strip + 1);
    }

    // The next three are called by one thread of a block between two barriers.

    // The block begins with the first strip that has unclaimed chunks.
    __device__ void begin(const uint2* chunks) const {
        unsigned strip = 0;
        while (strip < n && load_relaxed(tickets + strip) >= n_chunks) strip++;
        const unsigned n_flagged = FLAGGED_CHUNKS * gridDim.x * (THREADS / LANES);
        *schedule = {strip, strip, 0, 0, 0, n_flagged < n_chunks ? chunks[n_chunks - n_flagged].y : 0, {}};
    }
    // The first lanes go to the next strip.
    __device__ void switch_first() const {
        schedule->strip++;
        schedule->n_idle_warps = 0;
        schedule->n_leaving = schedule->n_begun;
        schedule->n_begun = 0;
    }
    // The last lanes have left the strip.
    __device__ void switch_last() const {
        if (flags_progress()) add_release(chunks_done + schedule->last_strip, schedule->n_leaving);
        schedule->last_strip = schedule->strip;
    }
};

// What a warp does while one of its first lanes has no tile, and during a strip switch.
struct StripSwitch {
    static constexpr unsigned ALL_IDLE = LANES + 1, SWITCHING = ALL_IDLE + 1;
    unsigned n_steps;  // without tiles, up to ALL_IDLE; from SWITCHING on, steps of the switch

    // Called by the whole warp in each step in which `attention` of a first lane is not 0.
    // load_lanes(strip, lane): load the rows of SWITCH_LANES lanes from `lane` on. Returns false in the last
    // step of the kernel.
    template <class Cursor, class LoadLanes>
    static __device__ bool step(Cursor& cursor, bool is_first, LoadLanes load_lanes) {
        StripSwitch own{__shfl_sync(ALL, cursor.attention, 0) / 2};
        if (cursor.is_waiting()) cursor.begin_next();
        const bool goes_on = own.n_steps >= SWITCHING || own.wait_for_block(cursor);
        if (own.n_steps >= SWITCHING) {
            const unsigned lane = own.n_steps++ - SWITCHING;
            if (lane % SWITCH_LANES == 0) switch_lanes(cursor, is_first, lane, load_lanes);
            if (lane == LANES - SWITCH_LANES) own.n_steps = 0;
        }
        cursor.attention = is_first && (!cursor.is_live || own.n_steps > 0) ? 1 + 2 * own.n_steps : 0;
        return goes_on;
    }

    // Starts the switch once the whole block can; false if all lanes are done with the last strip. A warp
    // whose lanes are all idle sleeps.
    template <class Cursor>
    __device__ bool wait_for_block(const Cursor& cursor) {
        if (__any_sync(ALL, cursor.is_live || cursor.is_waiting())) return true;
        volatile unsigned& n_idle_warps = cursor.strips.schedule->n_idle_warps;
        if (n_steps == 0 && threadIdx.x % WARP == 0) atomicAdd(&cursor.strips.schedule->n_idle_warps, 1u);
        if (n_steps < ALL_IDLE) n_steps++;
        if (cursor.strips.is_in_last()) return n_steps < LANES;
        bool are_all_idle = __all_sync(ALL, n_idle_warps == THREADS / WARP);
        for (; n_steps == ALL_IDLE && !are_all_idle;
             are_all_idle = __all_sync(ALL, n_idle_warps == THREADS / WARP))
            __nanosleep(POLL_NANOSECONDS);
        if (n_steps > SWITCH_LANES && are_all_idle) n_steps = SWITCHING;
        return true;
    }

    template <class Cursor, class LoadLanes>
    static __device__ void switch_lanes(Cursor& cursor, bool is_first, unsigned lane, LoadLanes load_lanes) {
        const unsigned strip = cursor.strips.schedule->strip + (lane == 0);
        __syncthreads();
        load_lanes(strip, lane);
        if (threadIdx.x == 0) {
            if (lane == 0) cursor.strips.switch_first();
            if (lane == LANES - SWITCH_LANES) cursor.strips.switch_last();
        }
        __syncthreads();
        if (lane == 0 && is_first) {
            cursor.strips.begin_strip();
            cursor.start();
        }
    }
};
