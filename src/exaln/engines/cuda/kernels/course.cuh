// How a block goes from strip to strip within a launch.
//
// The groups of a block share the profile, so they turn to the next strip together; but not all lanes at
// once, which would leave most of them idle for as many steps as there are lanes. A turn begins when no group
// of the block gets any more tiles and the first TURN_LANES lanes are done: these get the rows of the next
// strip, and its first tiles. TURN_LANES steps later the next lanes do, which are done by then, and so on:
//
//      lanes 0 .. 3   1 1 1 . . . . 2 2 2 2 2 2     1, 2: steps with tiles of both strips
//            4 .. 7   1 1 1 1 1 1 1 . . . . 2 2     between them the profile is filled
//
// Where rows between strips are kept, a chunk can be begun when the strip above is through with it. That is
// told for all chunks of a block when its last lanes have left the strip, and for those handed out first,
// which the next strip wants at once, target by target. Chunks are handed out in the same order in all
// strips, each to a block that runs, so that somebody can always go on.
//
// Tests: tests/test_cuda_stream.py.
#pragma once

#include "constants.cuh"
#include "feed.cuh"
#include "flags.cuh"

constexpr unsigned ALL = 0xFFFFFFFFu;
constexpr unsigned TURN_LANES = LANES < 4 ? LANES : 4;
constexpr unsigned SLEEP = 200;      // nanoseconds
constexpr unsigned TOLD_CHUNKS = 2;  // for each group of lanes on the device: which are told target by target

// What a block knows, in shared memory.
struct Course {
    unsigned strip, last_strip;               // that of first lanes, and that of last lanes
    unsigned n_out;                           // warps that get no more tiles in `strip`
    unsigned n_begun;                         // chunks, in `strip`
    unsigned n_leaving;                       // the same, in the strip that last lanes are about to leave
    unsigned told_from;                       // targets from this one on are told of one by one
    unsigned is_above_done[THREADS / LANES];  // 0 or 1, as far as each group knows
};

// The strips of a launch, as a group of lanes sees them.
struct Strips {
    unsigned n, n_before;  // of this launch, and of those before
    unsigned* tickets;     // [n], 0 before
    unsigned* n_done;      // [n], 0 before: chunks that are done
    unsigned* passed;  // [targets]: strips that a target has passed, of those which are told of one by one
    unsigned n_chunks;
    Course* course;

    __device__ bool tells() const { return KEEPS_ROWS && n > 1; }
    __device__ bool is_in_last() const { return course->strip + 1 >= n; }

    __device__ unsigned* ticket() const { return tickets + course->strip; }
    __device__ bool can_begin(const uint2* chunk) const {
        unsigned& is_above_done = course->is_above_done[threadIdx.x / LANES];
        if (!tells() || is_above_done) return true;
        const unsigned strip = course->strip;
        if (strip == 0 || load_acquire(n_done + strip - 1) == n_chunks) return is_above_done = 1;
        return chunk[0].y >= course->told_from && load_acquire(passed + chunk[1].y - 1) >= n_before + strip;
    }
    __device__ void has_begun() const {
        if (tells()) atomicAdd(&course->n_begun, 1u);
    }
    __device__ void begin_strip() const { course->is_above_done[threadIdx.x / LANES] = 0; }
    // By a last lane: it has computed the last tile of a target.
    __device__ void has_passed(unsigned id) const {
        if (tells() && id >= course->told_from) store_release(passed + id, n_before + course->last_strip + 1);
    }

    // By one thread, and the others wait: the block begins, with the first strip that has chunks left.
    __device__ void begin(const uint2* chunks) const {
        unsigned strip = 0;
        while (strip < n && load_relaxed(tickets + strip) >= n_chunks) strip++;
        const unsigned n_told = TOLD_CHUNKS * gridDim.x * (THREADS / LANES);
        *course = {strip, strip, 0, 0, 0, n_told < n_chunks ? chunks[n_chunks - n_told].y : 0, {}};
    }
    // Likewise: first lanes leave a strip.
    __device__ void turn_first() const {
        course->strip++;
        course->n_out = 0;
        course->n_leaving = course->n_begun;
        course->n_begun = 0;
    }
    // Likewise: last lanes have left it.
    __device__ void turn_last() const {
        if (tells()) add_release(n_done + course->last_strip, course->n_leaving);
        course->last_strip = course->strip;
    }
};

// A warp whose first lanes have no tiles, or which is about to turn.
struct Turn {
    static constexpr unsigned ALL_IDLE = LANES + 1, TURNING = ALL_IDLE + 1;
    unsigned n_steps;  // without tiles, up to ALL_IDLE; from TURNING on, those of the turn

    // In each step in which a first lane calls. take_lanes(strip, lane) gives the lanes from this one on
    // their rows in a strip. False in the last step of all.
    template <class Feed, class TakeLanes>
    static __device__ bool step(Feed& feed, bool is_first, TakeLanes take_lanes) {
        Turn turn{__shfl_sync(ALL, feed.calls, 0) / 2};
        if (feed.is_waiting()) feed.go_to_next();
        const bool goes_on = turn.n_steps >= TURNING || turn.wait_for_others(feed);
        if (turn.n_steps >= TURNING) {
            const unsigned lane = turn.n_steps++ - TURNING;
            if (lane % TURN_LANES == 0) turn_lanes(feed, is_first, lane, take_lanes);
            if (lane == LANES - TURN_LANES) turn.n_steps = 0;
        }
        feed.calls = is_first && (!feed.is_live || turn.n_steps > 0) ? 1 + 2 * turn.n_steps : 0;
        return goes_on;
    }

    // Until the whole block can turn, or all lanes are done with the last strip. A warp whose lanes are all
    // idle sleeps.
    template <class Feed>
    __device__ bool wait_for_others(const Feed& feed) {
        if (__any_sync(ALL, feed.is_live || feed.is_waiting())) return true;
        volatile unsigned& n_out = feed.strips.course->n_out;
        if (n_steps == 0 && threadIdx.x % 32 == 0) atomicAdd(&feed.strips.course->n_out, 1u);
        if (n_steps < ALL_IDLE) n_steps++;
        if (feed.strips.is_in_last()) return n_steps < LANES;
        bool are_all_out = __all_sync(ALL, n_out == THREADS / 32);
        for (; n_steps == ALL_IDLE && !are_all_out; are_all_out = __all_sync(ALL, n_out == THREADS / 32))
            __nanosleep(SLEEP);
        if (n_steps > TURN_LANES && are_all_out) n_steps = TURNING;
        return true;
    }

    template <class Feed, class TakeLanes>
    static __device__ void turn_lanes(Feed& feed, bool is_first, unsigned lane, TakeLanes take_lanes) {
        const unsigned strip = feed.strips.course->strip + (lane == 0);
        __syncthreads();
        take_lanes(strip, lane);
        if (threadIdx.x == 0) {
            if (lane == 0) feed.strips.turn_first();
            if (lane == LANES - TURN_LANES) feed.strips.turn_last();
        }
        __syncthreads();
        if (lane == 0 && is_first) {
            feed.strips.begin_strip();
            feed.start();
        }
    }
};
