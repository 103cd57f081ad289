// What lanes of a warp of long.cu have in common, and what stays in their registers.

#pragma once

#include "constants.cuh"
#include "long_scores.cuh"

constexpr unsigned ALL = 0xFFFFFFFFu;

// Lanes of few rows have too little to do to hide how long anything takes: what they need is fetched a step
// ahead.
template <int N_ROWS>
constexpr bool FEW = N_ROWS <= 8;

// The same for all lanes, and the compiler knows that: they stay together, and nothing has to bring them
// together.
template <class Value>
__device__ __forceinline__ Value from_first(Value value) {
    return __shfl_sync(ALL, value, 0);
}

// The same for all lanes, and in registers, if there are enough: the compiler would rather load what comes
// from arguments anew, wherever it is used, and wait for it. It does not know that blockIdx.z is 0.
template <class Value>
__device__ __forceinline__ Value in_registers(Value value) {
    if (!FEW<ROWS>) return value;
    value += blockIdx.z;
    if constexpr (sizeof(Value) == 8) {
        asm volatile("" : "+l"(value));
    } else {
        asm volatile("" : "+r"(value));
    }
    return from_first(value);
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
