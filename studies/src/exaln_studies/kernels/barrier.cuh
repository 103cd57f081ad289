// A barrier for all blocks of a grid, four ways; all blocks must be resident, so launches are cooperative.
//
//     0 none          nothing waits: only to see what the waiting costs, results are meaningless
//     1 counter       Xiao, Aji and Feng, Fig. 7, made correct: a fence before and after, a goal that grows
//                     with each barrier, and >= in place of !=, which a counter that others have moved on
//                     would never meet again
//     2 flags         their future work, no atomics: each block raises a flag, block 0 sees them all and
//                     raises its own
//     3 cooperative   grid.sync() of CUDA's cooperative groups
//
// state: int32[1 + gridDim.x], set to 0 before each launch.

#pragma once

#include "study_constants.cuh"

// Between two looks at a flag; nothing on a GPU.
__device__ __forceinline__ void look_again() {}

__device__ __forceinline__ void wait_until(const volatile int* place, int goal) {
    while (*place < goal) look_again();
}

class GridBarrier {
  public:
    __device__ explicit GridBarrier(int* state) : state_(state) {}

    __device__ void wait() {
        round_++;
        if constexpr (BARRIER == 1) wait_for_counter();
        if constexpr (BARRIER == 2) wait_for_flags();
        if constexpr (BARRIER == 3) cooperative_barrier();
    }

  private:
    int* state_;
    int round_ = 0;

    __device__ void wait_for_counter() {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(state_, 1);
            wait_until(state_, round_ * int(gridDim.x));
            __threadfence();
        }
        __syncthreads();
    }

    __device__ void wait_for_flags() {
        volatile int *all = state_, *flags = state_ + 1;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            flags[blockIdx.x] = round_;
        }
        if (blockIdx.x == 0) {
            for (int block = threadIdx.x; block < int(gridDim.x); block += blockDim.x)
                wait_until(flags + block, round_);
            __threadfence();
            __syncthreads();
            if (threadIdx.x == 0) *all = round_;
        } else if (threadIdx.x == 0) {
            wait_until(all, round_);
        }
        __threadfence();
        __syncthreads();
    }
};
