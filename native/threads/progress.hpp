// Progress of a computation and the request to stop it, shared with the thread that started it.
#pragma once

#include <atomic>
#include <cstdint>

namespace exaln {

struct Progress {
    std::atomic<int64_t> cells{0};       // table cells done so far
    std::atomic<bool> cancelled{false};  // set to stop early; the results are then undefined
};

}  // namespace exaln
