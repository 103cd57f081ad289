// Kernels for AVX2. kernels.cmake sets the flags of this file.
#include "simd/vec_avx2.hpp"
//
#include "simd/target.hpp"

namespace exaln {

static bool supported_avx2() {
    return __builtin_cpu_supports("avx2");
}

extern const Isa isa_avx2{
    "avx2", supported_avx2, {width_kernels<Avx2I8>(), width_kernels<Avx2I16>(), width_kernels<Avx2I32>()}};

}  // namespace exaln
