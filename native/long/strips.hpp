// How the rows of a region are divided: the width of the lanes, and the runs of rows of a lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "long/strip_args.hpp"
#include "recurrence/ranges.hpp"
#include "simd/kernels.hpp"

namespace exaln {

// The kernels with the narrowest lanes that can hold a strip of n_rows rows, at most max_lane_rows of them
// per lane; null if there are none.
inline const WidthKernels* kernels_for(const Isa& isa, const Costs& costs, int64_t n_rows,
                                       int64_t max_lane_rows) {
    for (const WidthKernels& kernels : isa.widths) {
        const int64_t lane_rows = std::min(max_lane_rows, (n_rows + kernels.lanes - 1) / kernels.lanes);
        if (kernels.bits > 8 && StripRange::of(costs, kernels.bits, lane_rows, kernels.columns).usable)
            return &kernels;
    }
    return nullptr;
}

// The rows of a lane as runs, which end at each stop (ascending, the last at the last row) and where plain
// rows meet mixed ones.
inline std::vector<RowRun> make_runs(const std::vector<int64_t>& stops,
                                     const std::vector<uint8_t>& mixed_rows) {
    std::vector<RowRun> runs;
    int32_t stop = 0;
    for (size_t row = 0; row < mixed_rows.size(); ++row) {
        const bool is_plain = mixed_rows[row] == 0, is_stop = int64_t(row) + 1 == stops[size_t(stop)];
        if (runs.empty() || runs.back().stop >= 0 || runs.back().are_plain != is_plain)
            runs.push_back({0, is_plain, -1});
        runs.back().end = int64_t(row) + 1;
        if (is_stop) runs.back().stop = stop++;
    }
    return runs;
}

}  // namespace exaln
