// Walking back along directions, and what a pair gives: the way that all kernels of the batch study report.

#pragma once

#include "cells.cuh"

// The best cell of a pair as one number, so that the larger is the better: the score, then the smaller column
// (target end), then the smaller row (query end).
using EndKey = unsigned long long;

__device__ __forceinline__ EndKey end_key(int H, int row, int column) {
    return EndKey(H) << 32 | EndKey(0xFFFF - column) << 16 | EndKey(0xFFFF - row);
}
__device__ __forceinline__ int score_of(EndKey key) {
    return int(key >> 32);
}
__device__ __forceinline__ int column_of(EndKey key) {
    return 0xFFFF - int(key >> 16 & 0xFFFF);
}
__device__ __forceinline__ int row_of(EndKey key) {
    return 0xFFFF - int(key & 0xFFFF);
}

// Writes the steps of a path from its end back; `direction(i, j)` for cells from 1 on. Returns how many.
template <class Directions>
__device__ __forceinline__ int walk_back(EndKey end, Directions direction, unsigned char* steps) {
    int i = row_of(end), j = column_of(end), n = 0;
    if (score_of(end) == 0) return 0;
    while (i > 0 && j > 0) {
        const unsigned char step = direction(i, j);
        if (step == STOP) break;
        steps[n++] = step;
        i -= step != TARGET_ALONE;
        j -= step != QUERY_ALONE;
    }
    return n;
}
