// Runs CUDA kernels as C++ on one CPU thread, for tests on machines without a GPU (see emulated_cuda.py).
//
// Each thread of a grid is a fibre that runs until it waits: at a barrier, in a shuffle, or in __nanosleep.
// Fibres take turns in an order that changes with every round, so that a missing barrier shows up in the
// results. A cooperative launch runs all blocks concurrently at different speeds; any other launch runs one
// block after another. The shared memory of a block is saved while another block runs.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__
#define __constant__
#define __launch_bounds__(...)
#define __SHARED_VARIABLE__ static __attribute__((section("cuda_shared")))

struct uint3 {
    unsigned x, y, z;
};
template <class T, int N>
struct alignas(sizeof(T) * N) Vector;
template <class T>
struct alignas(2 * sizeof(T)) Vector<T, 2> {
    T x, y;
};
template <class T>
struct alignas(4 * sizeof(T)) Vector<T, 4> {
    T x, y, z, w;
};
using int2 = Vector<int, 2>;
using int4 = Vector<int, 4>;
using uint2 = Vector<unsigned, 2>;
using uint4 = Vector<unsigned, 4>;
using char4 = Vector<signed char, 4>;
using uchar4 = Vector<unsigned char, 4>;
inline int2 make_int2(int x, int y) {
    return {x, y};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
    return {x, y};
}
inline int4 make_int4(int x, int y, int z, int w) {
    return {x, y, z, w};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}
inline char4 make_char4(signed char x, signed char y, signed char z, signed char w) {
    return {x, y, z, w};
}
using std::max;
using std::min;

inline uint3 threadIdx, blockIdx, blockDim, gridDim;
// Dynamic shared memory of the running block; kernels call it `arena`.
static unsigned char* emulated_arena = nullptr;
static __attribute__((section("cuda_shared"),
                      used)) int emulated_variable;  // keeps the section from being empty
extern "C" __attribute__((visibility("hidden"))) unsigned char __start_cuda_shared[], __stop_cuda_shared[];

namespace emulated {

constexpr size_t STACK = 64 << 10;

struct Block {
    uint3 number{};
    int n_live = 0, n_arrived = 0;
    unsigned round = 0;
    std::vector<unsigned char> shared, arena;
    struct Warp {
        int n_live = 0, n_arrived = 0;
        unsigned round = 0;
        uint64_t slots[32] = {};
    };
    std::vector<Warp> warps;
};

// A fibre starts with a context of its own; later switches are jumps, which need no system call.
struct Fibre {
    jmp_buf place;
    Block* block = nullptr;
    unsigned thread = 0;
    bool is_begun = false, is_done = false;
};

inline jmp_buf scheduler;
inline Fibre* running = nullptr;
inline std::vector<std::unique_ptr<char[]>> stacks;  // reused from launch to launch
inline void (*kernel_call)(void**) = nullptr;
inline void** kernel_arguments = nullptr;

inline void yield() {
    if (_setjmp(running->place) == 0) _longjmp(scheduler, 1);
}

template <class Group>
void arrive(Group& group) {
    const unsigned round = group.round;
    if (++group.n_arrived >= group.n_live) {
        group.n_arrived = 0, ++group.round;
        return;
    }
    while (group.round == round) yield();
}

template <class Group>
void leave(Group& group) {
    --group.n_live;
    if (group.n_arrived > 0 && group.n_arrived >= group.n_live) group.n_arrived = 0, ++group.round;
}

inline Block::Warp& warp() {
    return running->block->warps[running->thread / 32];
}

inline void begin() {
    kernel_call(kernel_arguments);
    leave(*running->block), leave(warp());
    running->is_done = true;
    yield();
}

inline void resume(Fibre& fibre, char* stack) {
    running = &fibre;
    if (_setjmp(scheduler) != 0) return;
    if (fibre.is_begun) _longjmp(fibre.place, 1);
    fibre.is_begun = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack, context.uc_stack.ss_size = STACK, context.uc_link = nullptr;
    makecontext(&context, begin, 0);
    setcontext(&context);
}

// True if a block skips this round, so that concurrent blocks run at different speeds, down to a quarter.
inline bool sits_out(unsigned block, unsigned round) {
    const unsigned mixed = (round * 0x9E3779B1u + block * 0x85EBCA6Bu) >> 16;
    return mixed % (1 + (block * 5 + 3) % 4) != 0;
}

inline void run_blocks(const std::vector<uint3>& numbers, unsigned n_threads, size_t arena_bytes) {
    const size_t shared_bytes = size_t(__stop_cuda_shared - __start_cuda_shared);
    std::vector<Block> blocks(numbers.size());
    std::vector<Fibre> fibres(numbers.size() * n_threads);
    for (size_t b = 0; b < blocks.size(); ++b) {
        blocks[b].number = numbers[b], blocks[b].n_live = int(n_threads);
        blocks[b].warps.resize((n_threads + 31) / 32);
        blocks[b].shared.assign(numbers.size() > 1 ? shared_bytes : 0, 0xA5);
        blocks[b].arena.assign(arena_bytes + 16, 0xA5);
        for (unsigned t = 0; t < n_threads; ++t) {
            Fibre& fibre = fibres[b * n_threads + t];
            ++blocks[b].warps[t / 32].n_live;
            fibre.block = &blocks[b], fibre.thread = t;
        }
    }
    while (stacks.size() < fibres.size()) stacks.emplace_back(new char[STACK]);
    if (numbers.size() == 1) std::memset(__start_cuda_shared, 0xA5, shared_bytes);
    size_t n_left = fibres.size();
    for (unsigned round = 0; n_left > 0; ++round) {
        for (size_t b = 0; b < blocks.size(); ++b) {
            Block& block = blocks[round % 3 == 1 ? blocks.size() - 1 - b : b];
            if (block.n_live == 0 || (blocks.size() > 1 && sits_out(block.number.x, round))) continue;
            blockIdx = block.number,
            emulated_arena = block.arena.data() + 15 - (uintptr_t(block.arena.data()) + 15) % 16;
            if (!block.shared.empty()) std::memcpy(__start_cuda_shared, block.shared.data(), shared_bytes);
            for (unsigned t = 0; t < n_threads; ++t) {
                const unsigned chosen = round % 2 ? n_threads - 1 - t : t;
                const size_t number = size_t(&block - blocks.data()) * n_threads + chosen;
                Fibre& fibre = fibres[number];
                if (fibre.is_done) continue;
                threadIdx = {chosen, 0, 0};
                resume(fibre, stacks[number].get());
                n_left -= fibre.is_done;
            }
            if (!block.shared.empty()) std::memcpy(block.shared.data(), __start_cuda_shared, shared_bytes);
        }
    }
}

template <class... Arguments, size_t... I>
void call(void (*kernel)(Arguments...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_reference_t<Arguments>*>(arguments[I])...);
}
template <class... Arguments>
void call(void (*kernel)(Arguments...), void** arguments) {
    call(kernel, arguments, std::index_sequence_for<Arguments...>());
}

template <class... Arguments>
constexpr int count(void (*)(Arguments...)) {
    return sizeof...(Arguments);
}

inline void launch(void (*function)(void**), void** arguments, unsigned columns, unsigned rows,
                   unsigned n_threads, unsigned arena_bytes, bool is_cooperative) {
    kernel_call = function, kernel_arguments = arguments;
    blockDim = {n_threads, 1, 1}, gridDim = {columns, rows, 1};
    std::vector<uint3> all;
    for (unsigned y = 0; y < rows; ++y)
        for (unsigned x = 0; x < columns; ++x) all.push_back({x, y, 0});
    if (is_cooperative) return run_blocks(all, n_threads, arena_bytes);
    for (const uint3& one : all) run_blocks({one}, n_threads, arena_bytes);
}

// The value that lane `from` of the warp passes; all lanes call it together.
template <class T>
T exchange(T value, int from) {
    static_assert(sizeof(T) <= 8);
    Block::Warp& own = warp();
    std::memcpy(&own.slots[running->thread % 32], &value, sizeof(T));
    arrive(own);
    T got;
    std::memcpy(&got, &own.slots[from], sizeof(T));
    arrive(own);
    return got;
}
inline int lane() {
    return int(running->thread % 32);
}
// A mask with one bit for each lane whose vote is true.
inline unsigned ballot(bool vote) {
    Block::Warp& own = warp();
    own.slots[lane()] = vote;
    arrive(own);
    unsigned votes = 0;
    for (int from = 0; from < 32; from++) votes |= unsigned(own.slots[from]) << from;
    arrive(own);
    return votes;
}

inline unsigned chosen_bytes(unsigned first, unsigned second, unsigned places) {
    const uint64_t bytes = uint64_t(second) << 32 | first;
    unsigned chosen = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned digit = places >> 4 * i & 15, byte = unsigned(bytes >> 8 * (digit & 7)) & 255;
        chosen |= (digit & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * i;
    }
    return chosen;
}

inline void load_four(const unsigned char* from, unsigned& x, unsigned& y, unsigned& z, unsigned& w) {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    x = four.x, y = four.y, z = four.z, w = four.w;
}

}  // namespace emulated

inline unsigned __byte_perm(unsigned first, unsigned second, unsigned places) {
    return emulated::chosen_bytes(first, second, places & 0x7777);
}
inline size_t __cvta_generic_to_shared(const void* place) {
    return size_t(static_cast<const unsigned char*>(place) - emulated_arena);
}
inline void __syncthreads() {
    emulated::arrive(*emulated::running->block);
}
inline void __syncwarp(unsigned = ~0u) {
    emulated::arrive(emulated::warp());
}
inline void __nanosleep(unsigned) {
    emulated::yield();
}
inline void __threadfence() {}
inline void __threadfence_system() {}
inline bool __any_sync(unsigned, bool value) {
    return emulated::ballot(value) != 0;
}
inline bool __all_sync(unsigned, bool value) {
    return emulated::ballot(value) == ~0u;
}
inline void __threadfence_block() {}
template <class T>
T __shfl_sync(unsigned, T value, int from) {
    return emulated::exchange(value, from % 32);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned delta, int width = 32) {
    const int lane = emulated::lane(), from = lane - int(delta);
    return emulated::exchange(value, from < lane / width * width ? lane : from);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta) {
    const int from = emulated::lane() + int(delta);
    return emulated::exchange(value, from > 31 ? emulated::lane() : from);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulated::exchange(value, emulated::lane() ^ mask);
}
template <class T, class U>
T atomicAdd(T* place, U value) {
    return std::exchange(*place, T(*place + value));
}
inline unsigned atomicInc(unsigned* place, unsigned most) {
    return std::exchange(*place, *place >= most ? 0 : *place + 1);
}
template <class T, class U>
T atomicMax(T* place, U value) {
    return std::exchange(*place, std::max(*place, T(value)));
}
template <class T, class U>
T atomicCAS(T* place, U expected, U value) {
    return std::exchange(*place, *place == T(expected) ? T(value) : *place);
}
template <class T>
T __ldg(const T* place) {
    return *place;
}
template <class T>
T __ldcg(const T* place) {
    return *place;
}
template <class T>
void __stcg(T* place, T value) {
    *place = value;
}
inline int __vimax3_s32(int a, int b, int c) {
    return max(max(a, b), c);
}
inline int __vimax3_s32_relu(int a, int b, int c) {
    return max(0, __vimax3_s32(a, b, c));
}
inline int __viaddmax_s32(int a, int b, int c) {
    return max(a + b, c);
}
// Applies an operation to the two 16-bit halves of a word separately.
template <class Half, class Operation>
unsigned by_halves(Operation operation, unsigned a, unsigned b) {
    const auto of = [&](int shift) {
        return unsigned(std::uint16_t(operation(Half(a >> shift), Half(b >> shift)))) << shift;
    };
    return of(0) | of(16);
}
inline unsigned __vadd2(unsigned a, unsigned b) {
    return by_halves<short>([](int x, int y) { return x + y; }, a, b);
}
inline unsigned __vsub2(unsigned a, unsigned b) {
    return by_halves<short>([](int x, int y) { return x - y; }, a, b);
}
inline unsigned __vmaxs2(unsigned a, unsigned b) {
    return by_halves<short>([](int x, int y) { return max(x, y); }, a, b);
}
inline unsigned __vminu2(unsigned a, unsigned b) {
    return by_halves<std::uint16_t>([](int x, int y) { return min(x, y); }, a, b);
}
inline unsigned __vimax3_s16x2(unsigned a, unsigned b, unsigned c) {
    return __vmaxs2(__vmaxs2(a, b), c);
}
inline unsigned __vimax3_s16x2_relu(unsigned a, unsigned b, unsigned c) {
    return __vmaxs2(__vimax3_s16x2(a, b, c), 0);
}
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) {
    return __vmaxs2(__vadd2(a, b), c);
}
inline int __clz(int value) {
    return value == 0 ? 32 : __builtin_clz(unsigned(value));
}
