// Asynchronous copies from global to shared memory, which run while a warp of long.cu or long_packed.cu
// computes. Before compute capability 8.0 they are ordinary copies.

#pragma once

// Starts the copy of one tile.
template <class Tile>
__device__ __forceinline__ void start_copy(void* to, const Tile* tile) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
                 "l"(tile), "n"(sizeof(Tile))
                 : "memory");
#else
    *static_cast<Tile*>(to) = __ldg(tile);
#endif
}

// Waits for all copies of the warp. All lanes then see them, and all other writes to shared memory.
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncwarp();
}
