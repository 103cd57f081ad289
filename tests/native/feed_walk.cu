// Test kernel: groups of one lane take turns in reading all chunks, and record the tiles and ids they
// read. For test_cuda_feed.py.
#include "feed.cuh"

constexpr int MAX_GROUPS = 8;

// One strip whose chunks can begin only at the second attempt.
struct OneStrip {
    unsigned* own_ticket;
    bool was_asked = false;

    __device__ unsigned* ticket() const { return own_ticket; }
    __device__ void has_begun() { was_asked = false; }
    __device__ bool can_begin(const uint2*) {
        const bool is_second = was_asked;
        was_asked = true;
        return is_second;
    }
};

// seen: [max_steps] of tile, id and group. marks: [tile], 1 for the last tile of a target. n_seen is
// max_steps if a group would never end.
extern "C" __global__ void walk_feed(const uint2* chunks, unsigned n_chunks, unsigned* ticket,
                                     const unsigned char* marks, unsigned n_groups, uint3* seen,
                                     unsigned max_steps, unsigned* n_seen) {
    Feed<OneStrip> feeds[MAX_GROUPS];
    for (unsigned group = 0; group < n_groups; group++) {
        feeds[group] = Feed<OneStrip>{chunks, n_chunks, {ticket}};
        feeds[group].start();
    }
    unsigned n = 0, n_live = 1;
    while (n_live > 0 && n < max_steps) {
        n_live = 0;
        for (unsigned group = 0; group < n_groups && n < max_steps; group++) {
            Feed<OneStrip>& feed = feeds[group];
            n_live += feed.is_live || feed.is_waiting();
            if (feed.is_waiting()) feed.go_to_next();
            if (!feed.is_live) continue;
            seen[n++] = uint3{feed.tile, feed.id, group};
            feed.advance(marks[feed.tile]);
        }
    }
    *n_seen = n;
}
