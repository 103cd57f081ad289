// One score in a 32-bit word, with the interface of the number types in packed.cuh.

#pragma once

#include "constants.cuh"

struct Wide {
    static constexpr int IMPOSSIBLE = -(1 << 30);

    static __device__ int minus_first() { return -GAP_FIRST; }
    static __device__ int minus_extend() { return -GAP_EXTEND; }
    static __device__ int add(int a, int b) { return a + b; }
    static __device__ int diagonal(int d, int w) { return d + w; }
    static __device__ int cell(int t, int E, int F) { return __vimax3_s32_relu(t, E, F); }
    static __device__ int add_max(int a, int b, int c) { return __viaddmax_s32(a, b, c); }
    static __device__ int max2(int a, int b) { return max(a, b); }
    static __device__ int max3(int a, int b, int c) { return __vimax3_s32(a, b, c); }
};
