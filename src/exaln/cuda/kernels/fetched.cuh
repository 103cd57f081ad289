// What the first lane of a group wants at its next step, on its way while it computes this one.
//
// From compute capability 8.0 on it goes to shared memory by itself. A load into registers would be put off
// by the compiler until just before the end of the step, as it puts off whatever is not wanted soon, and the
// group would wait for it.

#pragma once

#include "constants.cuh"

constexpr unsigned N_GROUPS = THREADS / LANES;
constexpr unsigned N_SLOTS = 2 * N_GROUPS + 1;  // two for each group, which take turns, and one of zeros

// Shared memory for things of all groups, if there are any.
template <class Thing, bool are_any = true>
struct alignas(2 * sizeof(Thing)) Slots {
    Thing things[are_any ? N_SLOTS : 1];

    __device__ void clear() {
        constexpr unsigned N_WORDS = sizeof(things) / sizeof(unsigned);
        for (unsigned i = threadIdx.x; i < N_WORDS; i += THREADS) reinterpret_cast<unsigned*>(things)[i] = 0;
    }
};

#if __CUDA_ARCH__ >= 800

template <int bytes>
struct CopyOf;

template <>
struct CopyOf<4> {
    static __device__ void start(unsigned to, const void* from) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
    }
    static __device__ void read(unsigned* words, unsigned from) {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(words[0]) : "r"(from) : "memory");
    }
};

template <>
struct CopyOf<8> {
    static __device__ void start(unsigned to, const void* from) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory");
    }
    static __device__ void read(unsigned* words, unsigned from) {
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                     : "=r"(words[0]), "=r"(words[1])
                     : "r"(from)
                     : "memory");
    }
};

template <>
struct CopyOf<16> {  // not through the first cache: another block may have written it
    static __device__ void start(unsigned to, const void* from) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
    }
    static __device__ void read(unsigned* words, unsigned from) {
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(from)
                     : "memory");
    }
};

// One thing at a time, for each group; zeros in lanes that are not the first one. slots: [N_SLOTS], zeros.
template <class Thing>
struct Fetched {
    static constexpr unsigned PIECE = sizeof(Thing) < 16 ? sizeof(Thing) : 16;
    static constexpr unsigned N_WORDS = sizeof(Thing) / sizeof(unsigned);
    bool is_reader;
    unsigned place, turn;  // an address in shared memory; what makes it that of the next thing

    __device__ Fetched(Thing* slots, bool is_first, bool reads) : is_reader(is_first && reads) {
        place =
            unsigned(__cvta_generic_to_shared(slots + (is_first ? threadIdx.x / LANES * 2 : 2 * N_GROUPS)));
        turn = is_first ? sizeof(Thing) : 0;
    }
    __device__ void start(const Thing* from) {
        place ^= turn;
        if (!is_reader) return;
#pragma unroll
        for (unsigned at = 0; at < sizeof(Thing); at += PIECE) {
            CopyOf<PIECE>::start(place + at, reinterpret_cast<const char*>(from) + at);
        }
    }
    // After `wait_for_fetched`.
    __device__ Thing get() const {
        union {
            Thing thing;
            unsigned words[N_WORDS];
        } read;
#pragma unroll
        for (unsigned at = 0; at < sizeof(Thing); at += PIECE) {
            CopyOf<PIECE>::read(read.words + at / sizeof(unsigned), place + at);
        }
        return read.thing;
    }
};

__device__ __forceinline__ void wait_for_fetched() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

#else

template <class Thing>
struct Fetched {
    bool is_reader;
    Thing thing;

    __device__ Fetched(Thing*, bool is_first, bool reads) : is_reader(is_first && reads), thing{} {}
    __device__ void start(const Thing* from) {
        if (is_reader) thing = *from;
    }
    __device__ Thing get() const { return thing; }
};

__device__ __forceinline__ void wait_for_fetched() {}

#endif
