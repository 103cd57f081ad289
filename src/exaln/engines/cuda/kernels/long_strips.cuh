// How the warps of long.cu and long_packed.cu take strips, and what they do for one another and for the host
// besides passing on rows: acknowledgements, progress, checkpoint columns, and the best cell.

#pragma once

#include "long_row_queues.cuh"
#include "long_warp.cuh"

constexpr unsigned REPORT_PIECES = 256;  // pieces between two progress reports to the host

// The better of two cells: the higher score; of equal scores the smaller column, then the smaller row.
__device__ __forceinline__ End better_end(const End& one, const End& other) {
    const bool is_earlier = other.column < one.column || (other.column == one.column && other.row < one.row);
    return other.score > one.score || (other.score == one.score && is_earlier) ? other : one;
}

// Stores the best cell of a strip, of which `end` is the best cell of one lane.
__device__ __forceinline__ void report_end(const Arguments& arguments, unsigned strip, End end) {
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        end = better_end(
            end, End{__shfl_xor_sync(ALL, end.score, distance), __shfl_xor_sync(ALL, end.row, distance),
                     __shfl_xor_sync(ALL, end.column, distance)});
    if (threadIdx.x % WARP == 0) arguments.ends[strip] = end;
}

// Called every ACK_PIECES pieces: acknowledges what was read, reports progress, and waits for room to write.
// False if the warp must exit.
__device__ bool exchange_progress(const RowReader& reader, RowWriter& writer, unsigned piece) {
    Control* control = reader.arguments.control;
    if (piece >= reader.arguments.n_pieces) return true;
    if (piece > 0) reader.acknowledge(piece);
    if (piece % REPORT_PIECES == REPORT_PIECES - ACK_PIECES) {
        if (BoundedWait::is_stopped(control)) return false;
        if (threadIdx.x % WARP == 0) atomicAdd(&control->tiles, (unsigned long long)(REPORT_PIECES * PIECE));
    }
    return writer.wait_for_room(piece);
}

__device__ __forceinline__ void count_skipped(const Arguments& arguments, const Strip& strip,
                                              unsigned n_skipped) {
    if (n_skipped > 0 && threadIdx.x % WARP == 0)
        atomicAdd(&arguments.control->pruned,
                  (unsigned long long)min(n_skipped * PIECE_COLUMNS, arguments.n_columns) * strip.n_rows);
}

// Publishes the checkpoint columns of a strip, after those of all strips above, for a device to the right.
// False if the warp must exit.
__device__ bool publish(const Arguments& arguments, const Strip& strip) {
    if (arguments.checkpoint_columns[0] == NEVER) return true;
    __threadfence_system();
    __syncwarp();
    for (BoundedWait waiting{arguments.control, arguments.patience};
         !__all_sync(ALL, load_acquire(&arguments.control->rows) == strip.first_row);)
        if (!waiting.wait()) return false;
    if (threadIdx.x % WARP == 0) store_release(&arguments.control->rows, strip.first_row + strip.n_rows);
    return true;
}

// Waits until the column left of a strip is complete. False if the warp must exit.
__device__ bool wait_for_left(const Arguments& arguments, unsigned end_row) {
    if (arguments.left_rows_ready == nullptr) return true;
    for (BoundedWait waiting{arguments.control, 0};
         !__all_sync(ALL, load_acquire_from_host(arguments.left_rows_ready) >= end_row);)
        if (!waiting.wait()) return false;
    return true;
}

// The next strip, by a ticket: all warps take strips in order.
__device__ __forceinline__ unsigned take_ticket(Control* control) {
    const unsigned ticket = threadIdx.x % WARP == 0 ? atomicAdd(&control->ticket, 1u) : 0;
    if (THREADS == WARP) __syncthreads();  // the compiler does not know otherwise that lanes are converged
    return from_first_lane(ticket);
}
// A strip, uniform in the warp.
__device__ __forceinline__ Strip load_strip(const Strip* strip) {
    return Strip{from_first_lane(strip->first_row), from_first_lane(strip->n_rows),
                 from_first_lane(strip->checkpoint), from_first_lane(strip->is_narrow)};
}
