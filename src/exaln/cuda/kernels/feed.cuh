// The way of a group of lanes through the stream of targets, chunk after chunk. Tests:
// tests/test_cuda_feed.py.
#pragma once

constexpr unsigned IDLE_TILE = 0;
constexpr unsigned NO_END = 0xFFFFFFFFu;
constexpr unsigned MAX_TICKET = 0x7FFFFFFFu;  // never reached
constexpr unsigned TAKEN_AHEAD = 3;  // tiles before the end of a chunk at which the next one is taken

// Where the first lane of a group is in the stream. The other lanes stay idle: they get everything from the
// lane above. The next chunk is taken as late as its loads allow: a group that has a long target must not
// take others away from groups that will be free earlier. What was loaded is used a step later or more.
struct Feed {
    const uint2* chunks;
    unsigned n_chunks;
    unsigned* ticket;
    unsigned tile, end, id;  // the next tile, the end of its chunk, and the id of its target; 0 in idle lanes
    unsigned is_live;        // 0 or 1
    unsigned taken;          // the ticket of the next chunk; chunks are handed out from the last one on
    uint2 next_begin;
    unsigned next_end;

    // A sum would be taken once for all lanes, by the compiler, with a wait for its result.
    __device__ void take() { taken = atomicInc(ticket, MAX_TICKET); }
    __device__ void look_up() {
        const bool is_there = taken < n_chunks;
        next_begin = is_there ? chunks[n_chunks - 1 - taken] : make_uint2(IDLE_TILE, 0);
        next_end = is_there ? chunks[n_chunks - taken].x : NO_END;
    }
    __device__ void go_to_next() {
        tile = next_begin.x;
        id = next_begin.y;
        end = next_end;
        is_live = tile != IDLE_TILE;
        if (end - tile <= TAKEN_AHEAD) {  // `advance` will not see so many left
            take();
            look_up();
        }
    }
    __device__ void start(bool is_first) {
        taken = n_chunks;
        if (is_first) take();
        look_up();
        go_to_next();
    }
    // The tile was handed out; `ends_target` if it was the last one of its target.
    __device__ void advance(bool ends_target) {
        id += ends_target;
        tile += is_live;
        const unsigned left = end - tile;
        if (left > TAKEN_AHEAD) return;
        if (left == TAKEN_AHEAD) {
            take();
        } else if (left == 1) {
            look_up();
        } else if (left == 0) {
            go_to_next();
        }
    }
};
