// The plan of pairs for a GPU: which shape of the kernels each pair gets, and which pairs form a batch.
// src/exaln/engines/cuda/kernels/pairs.cu describes the kernels.
#pragma once

#include <cstdint>
#include <vector>

namespace exaln {

constexpr int64_t DEVICE_COLUMNS = 4;  // columns of a tile
constexpr int64_t LONGEST_ON_DEVICE =
    (int64_t(1) << 31) - 1;  // letters; what a table may have besides is less

// pairs_table.cuh has the same structs.
struct DevicePair {
    uint64_t query, target;  // where the letters begin
    uint32_t m, n;
};
struct DeviceLayout {
    uint64_t rows, tiles, directions, columns, last_row, bests, boundary;  // offsets in the arena, in bytes
    uint32_t n_tiles, n_strips;
};
struct DeviceCounters {
    uint32_t ticket, n_wrong, n_runs, unused;
};
struct DeviceResult {
    int32_t score, positions[4], counts[6];
    uint32_t n_runs, first_run;
};

// A compiled shape of the kernels. cost: of a step, relative to the other shapes.
struct DeviceShape {
    int64_t lanes, rows, cost;

    int64_t strip_rows() const { return lanes * rows; }
};

// What the kernels store for each table.
struct DeviceTables {
    bool is_local, has_last_row, has_paths;

    // Bytes of the parts of a couple, in the order of DeviceLayout.
    void part_bytes(const DeviceShape& shape, int64_t n_strips, int64_t n_tiles, int64_t (&bytes)[7]) const;
    // Bytes of the arena for a couple of m rows and n columns; the largest number if a sequence is too long.
    int64_t couple_bytes(const DeviceShape& shape, int64_t m, int64_t n) const;
};

// Pairs order[begin .. end) of a plan, and where their data lie in the block that holds all of them:
//
//     head | pairs | layouts | run starts | letters | counters | results | runs of the paths
//
// The host sends everything up to the counters and receives everything from there on. n_runs: the most runs
// that the paths can have. All numbers are in bytes, except the first three and n_runs.
struct DeviceBatch {
    int64_t shape, begin, end;
    int64_t pairs, layouts, run_starts, letters, counters, results, runs;
    int64_t n_runs, arena_bytes;
};

struct DeviceLimits {
    int64_t arena_bytes, block_bytes;
};

struct DevicePlan {
    std::vector<int64_t> order;
    std::vector<DeviceBatch> batches;
};

// Pairs of m[i] rows and n[i] columns. Each gets the shape with the lowest cost; the pairs of a shape are
// sorted by size and cut into batches within the limits. A batch has at least two pairs, and an even number
// unless it is the last of its shape. sends_queries, sends_targets: whether letters are part of the block.
// head_bytes: of the block. Throws std::invalid_argument if a table is empty or too large.
DevicePlan plan_device_pairs(const int64_t* m, const int64_t* n, int64_t n_pairs,
                             const std::vector<DeviceShape>& shapes, const DeviceTables& tables,
                             const DeviceLimits& limits, bool sends_queries, bool sends_targets,
                             int64_t head_bytes);

}  // namespace exaln
