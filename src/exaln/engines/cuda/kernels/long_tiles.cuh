// Tiles of columns on their way into shared memory, while a warp of a long pair computes.

#pragma once

// A tile, from global memory; older devices wait for it.
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

// What was copied, and all else that was written to shared memory, is there for all lanes.
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncwarp();
}
