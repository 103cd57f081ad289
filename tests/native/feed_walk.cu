// Groups of one lane go through all chunks in turns; which tiles and ids they saw. For
// tests/test_cuda_feed.py.
#include "feed.cuh"

constexpr int MAX_GROUPS = 8;

// seen: [max_steps]: tile, id, group. marks: [tile]: whether it is the last one of its target. n_seen is
// max_steps where a group would go on for ever.
extern "C" __global__ void walk_feed(const uint2* chunks, unsigned n_chunks, unsigned* ticket,
                                     const unsigned char* marks, unsigned n_groups, uint3* seen,
                                     unsigned max_steps, unsigned* n_seen) {
    Feed feeds[MAX_GROUPS];
    for (unsigned group = 0; group < n_groups; group++) {
        feeds[group] = Feed{chunks, n_chunks, ticket};
        feeds[group].start(true);
    }
    unsigned n = 0, n_live = 1;
    while (n_live > 0 && n < max_steps) {
        n_live = 0;
        for (unsigned group = 0; group < n_groups && n < max_steps; group++) {
            Feed& feed = feeds[group];
            if (!feed.is_live) continue;
            n_live++;
            seen[n++] = uint3{feed.tile, feed.id, group};
            feed.advance(marks[feed.tile]);
        }
    }
    *n_seen = n;
}
