// The cell update alone, in registers: the upper bound on speed that `exaln bench` compares a scan with.
//
// Each thread computes n tiles of ROWS rows x 4 columns of packed pairs of cells, with the recurrence of
// stream.cu, but with four constant words of scores, no neighbours and no stream. `out` keeps the compiler
// from removing the computation. Tests: tests/engines/bench/test_bench.py.

#include "constants.cuh"
#include "packed.cuh"
#include "recurrence.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1) bare_loop(unsigned n, unsigned* out) {
    Word H[ROWS], E[ROWS], best = 0, diagonal = 0, F = 0;
#pragma unroll
    for (int k = 0; k < ROWS; k++) H[k] = threadIdx.x & 7u, E[k] = 0;
    const uint4 scores = make_uint4(Packed::half_of(int(threadIdx.x % 5) - 3), Packed::both(2),
                                    Packed::both(-int(threadIdx.x % 3)), Packed::both(-1));
    for (unsigned round = 0; round < n; round++) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            update_column<Packed>(H, E, F, diagonal, best, [scores](int) { return scores; });
            diagonal = H[ROWS - 1];
        }
    }
    if (best == 0xFFFFFFFFu) out[0] = best + F;
}
