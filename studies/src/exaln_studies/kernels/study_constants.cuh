// The compile-time constants of the kernels as constexpr; no other file reads a macro.
//
// gpu.py passes them as -DEXALN_<NAME>=<value>. Each kernel file explains its constants.

#pragma once

#ifdef EXALN_LENGTH
constexpr int LENGTH = EXALN_LENGTH;
static_assert(LENGTH > 0 && LENGTH <= 1024);
#endif
#ifdef EXALN_WHERE
constexpr int WHERE = EXALN_WHERE;
static_assert(WHERE >= 0 && WHERE <= 3);
#endif
#ifdef EXALN_BARRIER
constexpr int BARRIER = EXALN_BARRIER;
static_assert(BARRIER >= 0 && BARRIER <= 3);
#if EXALN_BARRIER == 3  // the header of cooperative groups is included only where it is used
#include <cooperative_groups.h>
__device__ __forceinline__ void cooperative_barrier() {
    cooperative_groups::this_grid().sync();
}
#else
__device__ void cooperative_barrier();
#endif
#endif
#ifdef EXALN_LOADS
constexpr int LOADS = EXALN_LOADS;
static_assert(LOADS >= 0 && LOADS <= 2);
#endif
#ifdef EXALN_LOCAL
constexpr bool IS_LOCAL = EXALN_LOCAL != 0;
#endif
#ifdef EXALN_TILED
constexpr bool TILED = EXALN_TILED != 0;
#endif
#ifdef EXALN_THREADS
constexpr int THREADS = EXALN_THREADS;
static_assert(THREADS >= 32 && THREADS % 32 == 0 && THREADS <= 1024);
#endif
#ifdef EXALN_HEIGHT
constexpr int HEIGHT = EXALN_HEIGHT, WIDTH = EXALN_WIDTH;  // tile of a thread
static_assert(HEIGHT % 4 == 0 && WIDTH >= 1);
constexpr int VERSION = EXALN_VERSION, BOUNDARY = EXALN_BOUNDARY;
static_assert(VERSION >= 0 && VERSION <= 3 && BOUNDARY >= 0 && BOUNDARY <= 2);
constexpr bool ONE_FILL = EXALN_ONE_FILL != 0;
#endif
#ifdef EXALN_BYPASS
constexpr bool BYPASS = EXALN_BYPASS != 0;
#endif
#ifdef EXALN_ROWS_EACH
constexpr int ROWS_EACH = EXALN_ROWS_EACH, COLUMNS_EACH = EXALN_COLUMNS_EACH;  // cells of a thread and step
static_assert((ROWS_EACH == 1 || ROWS_EACH == 4) && (COLUMNS_EACH == 1 || COLUMNS_EACH == 4));
#endif
