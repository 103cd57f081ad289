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
//
// Strips: where tickets are taken, and whether a chunk can be begun. While it cannot, the group is idle and
// tries again: to wait would stop the lanes below, of which others may wait in turn.
template <class Strips>
struct Feed {
    const uint2* chunks;
    unsigned n_chunks;
    Strips strips;
    unsigned tile, end, id;  // the next tile, the end of its chunk, and the id of its target; 0 in idle lanes
    unsigned is_live;        // 0 or 1
    unsigned calls;          // not 0: the warp has to look after this lane, as it has no tile or is to turn
    unsigned taken;          // the ticket of the next chunk; chunks are handed out from the last one on
    uint2 next_begin;
    unsigned next_end;

    // A sum would be taken once for all lanes, by the compiler, with a wait for its result.
    __device__ void take() { taken = atomicInc(strips.ticket(), MAX_TICKET); }
    __device__ void look_up() {
        const bool is_there = taken < n_chunks;
        next_begin = is_there ? chunks[n_chunks - 1 - taken] : make_uint2(IDLE_TILE, 0);
        next_end = is_there ? chunks[n_chunks - taken].x : NO_END;
    }
    // Whether there is a chunk that could not be begun.
    __device__ bool is_waiting() const { return !is_live && taken < n_chunks; }
    __device__ void go_to_next() {
        const bool is_there = taken < n_chunks;
        const bool can_begin = !is_there || strips.can_begin(chunks + (n_chunks - 1 - taken));
        if (is_there && can_begin) strips.has_begun();
        tile = can_begin ? next_begin.x : IDLE_TILE;
        id = can_begin ? next_begin.y : 0;
        end = can_begin ? next_end : NO_END;
        is_live = tile != IDLE_TILE;
        calls |= !is_live;
        if (end - tile <= TAKEN_AHEAD) {  // `advance` will not see so many left
            take();
            look_up();
        }
    }
    __device__ void start() {
        take();
        look_up();
        go_to_next();
    }
    // What lanes have that are not the first of a group.
    __device__ void stay_idle() {
        tile = IDLE_TILE;
        end = NO_END;
        taken = n_chunks;
        id = is_live = calls = 0;
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
