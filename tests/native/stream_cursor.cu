// Test kernel for tile_stream.cuh: groups of one lane move through all chunks in turn and record the tiles
// and target ids that they read. Used by tests/engines/cuda/scan/test_tile_stream.py.
#include "tile_stream.cuh"

constexpr int MAX_GROUPS = 8;

// One strip. Each chunk can be begun at the second attempt.
struct OneStrip {
    unsigned* own_ticket;
    bool was_asked = false;

    __device__ unsigned* ticket() const { return own_ticket; }
    __device__ void count_begun() { was_asked = false; }
    __device__ bool can_begin(const uint2*) {
        const bool is_second = was_asked;
        was_asked = true;
        return is_second;
    }
};

//   marks    [tile]: whether it is the last tile of its target
//   seen     [max_steps]: tile, id, group
//   n_seen   entries of `seen`; max_steps if a group would never end
extern "C" __global__ void read_stream(const uint2* chunks, unsigned n_chunks, unsigned* ticket,
                                       const unsigned char* marks, unsigned n_groups, uint3* seen,
                                       unsigned max_steps, unsigned* n_seen) {
    StreamCursor<OneStrip> cursors[MAX_GROUPS];
    for (unsigned group = 0; group < n_groups; group++) {
        cursors[group] = StreamCursor<OneStrip>{chunks, n_chunks, {ticket}};
        cursors[group].start();
    }
    unsigned n = 0, n_live = 1;
    while (n_live > 0 && n < max_steps) {
        n_live = 0;
        for (unsigned group = 0; group < n_groups && n < max_steps; group++) {
            StreamCursor<OneStrip>& cursor = cursors[group];
            n_live += cursor.is_live || cursor.is_waiting();
            if (cursor.is_waiting()) cursor.begin_next();
            if (!cursor.is_live) continue;
            seen[n++] = uint3{cursor.tile, cursor.id, group};
            cursor.advance(marks[cursor.tile]);
        }
    }
    *n_seen = n;
}
