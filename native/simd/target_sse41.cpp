// Kernels for SSE4.1. kernels.cmake sets the flags of this file.
#include "simd/vec_sse41.hpp"
//
#include "simd/target.hpp"

namespace exaln {

static bool supported_sse41() {
    return __builtin_cpu_supports("sse4.1");
}

extern const Isa isa_sse41{"sse41",
                           supported_sse41,
                           {width_kernels<Sse41I8>(), width_kernels<Sse41I16>(), width_kernels<Sse41I32>()}};

}  // namespace exaln
