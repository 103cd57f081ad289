// The position of a group of lanes in the tile stream of stream.cu, chunk after chunk.
//
// Chunks are claimed with an atomic ticket, from the last one to the first. The next chunk is claimed as late
// as the latency of its loads allows: a group that still has a long target must not take chunks from groups
// that will be free earlier. Values that are loaded are used one step later at the earliest.
//
// Tests: tests/engines/cuda/scan/test_tile_stream.py.

#pragma once

constexpr unsigned IDLE_TILE = 0;             // what lanes without work read: PAD
constexpr unsigned NO_END = 0xFFFFFFFFu;      // the end of a chunk that does not exist
constexpr unsigned MAX_TICKET = 0x7FFFFFFFu;  // atomicInc wraps there; it is never reached
constexpr unsigned PREFETCH_TILES = 3;        // tiles before the end of a chunk at which the next is claimed

// Held by every lane; only the first lane of a group moves. The others stay idle, as they get everything from
// the lane above.
//
// Strips: `ticket()` is the counter to claim from, and `can_begin(chunk)` tells whether the strip above is
// done with a chunk. Until it is, the group stays idle and tries again in later steps. Blocking here would
// stop the lanes below, for which other groups may be waiting.
template <class Strips>
struct StreamCursor {
    const uint2* chunks;
    unsigned n_chunks;
    Strips strips;
    unsigned tile, end, id;  // the next tile, the end of its chunk, the id of its target; 0 in idle lanes
    unsigned is_live;        // 0 or 1: whether there is a tile
    unsigned attention;      // not 0 if the warp must call StripSwitch::step: no tile, or a strip switch
    unsigned ticket;         // claimed for the next chunk
    uint2 next_begin;
    unsigned next_end;

    // atomicInc, because the compiler would combine the lanes of an atomicAdd, and wait for the result.
    __device__ void claim() { ticket = atomicInc(strips.ticket(), MAX_TICKET); }
    __device__ void load_chunk() {
        const bool is_there = ticket < n_chunks;
        next_begin = is_there ? chunks[n_chunks - 1 - ticket] : make_uint2(IDLE_TILE, 0);
        next_end = is_there ? chunks[n_chunks - ticket].x : NO_END;
    }
    // Whether a chunk is claimed that could not be begun yet.
    __device__ bool is_waiting() const { return !is_live && ticket < n_chunks; }
    __device__ void begin_next() {
        const bool is_there = ticket < n_chunks;
        const bool can_begin = !is_there || strips.can_begin(chunks + (n_chunks - 1 - ticket));
        if (is_there && can_begin) strips.count_begun();
        tile = can_begin ? next_begin.x : IDLE_TILE;
        id = can_begin ? next_begin.y : 0;
        end = can_begin ? next_end : NO_END;
        is_live = tile != IDLE_TILE;
        attention |= !is_live;
        if (end - tile <= PREFETCH_TILES) {  // too short for `advance` to claim the next one
            claim();
            load_chunk();
        }
    }
    __device__ void start() {
        claim();
        load_chunk();
        begin_next();
    }
    __device__ void set_idle() {
        tile = IDLE_TILE;
        end = NO_END;
        ticket = n_chunks;
        id = is_live = attention = 0;
    }
    // After a tile was read. ends_target: it was the last tile of its target.
    __device__ void advance(bool ends_target) {
        id += ends_target;
        tile += is_live;
        const unsigned left = end - tile;
        if (left > PREFETCH_TILES) return;
        if (left == PREFETCH_TILES) {
            claim();
        } else if (left == 1) {
            load_chunk();
        } else if (left == 0) {
            begin_next();
        }
    }
};
