// What the warps of a long pair do for one another and for the host, besides handing on rows: they wait for
// their turn, say how far they are, and join what their lanes have found.

#pragma once

#include "long_rows.cuh"
#include "long_warp.cuh"

constexpr unsigned REPORT = 256;  // pieces between two reports to the host

// The better of two cells: the higher score; of equal ones the smaller column, then the smaller row.
__device__ __forceinline__ End earlier(const End& one, const End& other) {
    const bool is_earlier = other.column < one.column || (other.column == one.column && other.row < one.row);
    return other.score > one.score || (other.score == one.score && is_earlier) ? other : one;
}

// The best of all lanes.
__device__ __forceinline__ End first_best(End end) {
    for (int distance = 16; distance > 0; distance /= 2)
        end = earlier(end,
                      End{__shfl_xor_sync(ALL, end.score, distance), __shfl_xor_sync(ALL, end.row, distance),
                          __shfl_xor_sync(ALL, end.column, distance)});
    return end;
}

// What a warp has to do for others, every ACK pieces; false if it has to leave.
__device__ bool look_around(const Feed& feed, Writer& writer, unsigned piece) {
    Control* control = feed.arguments.control;
    if (piece >= feed.arguments.n_pieces) return true;
    if (piece > 0) feed.acknowledge(piece);
    if (piece % REPORT == REPORT - ACK) {
        if (Patience::must_leave(control)) return false;
        if (threadIdx.x % 32 == 0) atomicAdd(&control->tiles, (unsigned long long)(REPORT * PIECE));
    }
    return writer.make_room(piece);
}

// Others may fetch the kept columns of a strip: strips are done in order, and say so in order.
__device__ bool publish(const Arguments& arguments, const Strip& strip) {
    if (arguments.kept_columns[0] == NEVER) return true;
    __threadfence_system();
    __syncwarp();
    for (Patience patience{arguments.control, arguments.patience};
         !__all_sync(ALL, load_acquire(&arguments.control->rows) == strip.first_row);)
        if (!patience.wait()) return false;
    if (threadIdx.x % 32 == 0) store_release(&arguments.control->rows, strip.first_row + strip.n_rows);
    return true;
}

// Until the column left of this strip is there.
__device__ bool wait_for_left(const Arguments& arguments, unsigned end_row) {
    if (arguments.left_rows == nullptr) return true;
    for (Patience patience{arguments.control, 0};
         !__all_sync(ALL, load_acquire_from_host(arguments.left_rows) >= end_row);)
        if (!patience.wait()) return false;
    return true;
}
