// Kernels for NEON, which every AArch64 CPU has.
#include "simd/vec_neon.hpp"
//
#include "simd/target.hpp"

namespace exaln {

static bool supported_neon() {
    return true;
}

extern const Isa isa_neon{
    "neon", supported_neon, {width_kernels<NeonI8>(), width_kernels<NeonI16>(), width_kernels<NeonI32>()}};

}  // namespace exaln
