// Kernels for AVX-512BW with VBMI. kernels.cmake sets the flags of this file.
#include "simd/vec_avx512.hpp"
//
#include "simd/target.hpp"

namespace exaln {

static bool supported_avx512vbmi() {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
}

extern const Isa isa_avx512vbmi{
    "avx512vbmi",
    supported_avx512vbmi,
    {width_kernels<Avx512I8>(), width_kernels<Avx512I16>(), width_kernels<Avx512I32>()}};

}  // namespace exaln
