// Traceback along directions, and the result of a pair, for all kernels of the study of Taluzzi.

#pragma once

#include "cells.cuh"

// The best cell of a pair as one number; the larger is the better one: the higher score, then the smaller
// column (target end), then the smaller row (query end).
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

// Writes the steps of a path from its end and returns their number. direction(i, j): i and j count from 1.
template <class Directions>
__device__ __forceinline__ int trace_back(EndKey end, Directions direction, unsigned char* steps) {
    int i = row_of(end), j = column_of(end), n = 0;
    if (score_of(end) == 0) return 0;
    while (i > 0 && j > 0) {
        const unsigned char step = direction(i, j);
        if (step == STOP) break;
        steps[n++] = step;
        i -= step != TARGET_ONLY;
        j -= step != QUERY_ONLY;
    }
    return n;
}
