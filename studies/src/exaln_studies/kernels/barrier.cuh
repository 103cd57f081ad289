// A barrier for all blocks of a grid, in four versions. All blocks must be resident, so launches are
// cooperative.
//
// clang-format off
//     0 none          no waiting, to measure the time of computing alone; results are meaningless
//     1 counter       Xiao, Aji and Feng, Fig. 7, corrected: fences before and after, a goal that grows with
//                     each barrier, and >= instead of !=, which fails once other blocks have moved on
//     2 flags         their future work, no atomics: each block sets a flag, block 0 waits for all flags and
//                     then sets its own
//     3 cooperative   grid.sync() of CUDA's cooperative groups
// clang-format on
//
// state: int32[1 + gridDim.x], set to 0 before each launch.

#pragma once

#include "study_constants.cuh"

// Called between two reads of a flag. Empty on a GPU; the emulated device switches threads here.
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
