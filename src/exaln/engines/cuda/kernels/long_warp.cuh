// Warp-wide helpers of long.cu and long_packed.cu: uniform values, reductions, and values that stay in
// registers.

#pragma once

#include "constants.cuh"
#include "long_scores.cuh"

// Lanes of few rows have too little work to hide latencies, so everything they need is prefetched a step
// ahead.
template <int N_ROWS>
constexpr bool HAS_FEW_ROWS = N_ROWS <= 8;

// The value of the first lane. The compiler then knows that it is uniform, so lanes do not diverge and need
// no reconvergence.
template <class Value>
__device__ __forceinline__ Value from_first_lane(Value value) {
    return __shfl_sync(ALL, value, 0);
}

// The value of the first lane, kept in registers where lanes have few rows. Otherwise the compiler would load
// kernel arguments again at each use, and wait for them. It does not know that blockIdx.z is 0.
template <class Value>
__device__ __forceinline__ Value in_registers(Value value) {
    if (!HAS_FEW_ROWS<ROWS>) return value;
    value += blockIdx.z;
    if constexpr (sizeof(Value) == 8) {
        asm volatile("" : "+l"(value));
    } else {
        asm volatile("" : "+r"(value));
    }
    return from_first_lane(value);
}
template <class Value>
__device__ __forceinline__ Value* in_registers(Value* pointer) {
    return reinterpret_cast<Value*>(in_registers(reinterpret_cast<unsigned long long>(pointer)));
}

__device__ __forceinline__ Score warp_maximum(Score value) {
#if __CUDA_ARCH__ >= 800
    if (!LARGE) return __reduce_max_sync(ALL, int(value));
#endif
    for (int distance = 16; distance > 0; distance /= 2)
        value = Number::max2(value, __shfl_xor_sync(ALL, value, distance));
    return value;
}
__device__ __forceinline__ unsigned warp_minimum(unsigned value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(ALL, value);
#else
    for (int distance = 16; distance > 0; distance /= 2)
        value = min(value, __shfl_xor_sync(ALL, value, distance));
    return value;
#endif
}
