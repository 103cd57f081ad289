// Kernels for AVX-512BW. kernels.cmake sets the flags of this file.
#include "simd/vec_avx512.hpp"
//
#include "simd/target.hpp"

namespace exaln {

static bool supported_avx512bw() {
    return __builtin_cpu_supports("avx512bw");
}

extern const Isa isa_avx512bw{
    "avx512bw",
    supported_avx512bw,
    {width_kernels<Avx512I8>(), width_kernels<Avx512I16>(), width_kernels<Avx512I32>()}};

}  // namespace exaln
