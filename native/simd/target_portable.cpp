// Kernels for any CPU, compiled without special flags.
#include "simd/vec_portable.hpp"
//
#include "simd/target.hpp"

namespace exaln {

static bool supported_portable() {
    return true;
}

extern const Isa isa_portable{
    "portable",
    supported_portable,
    {width_kernels<PortableI8>(), width_kernels<PortableI16>(), width_kernels<PortableI32>()}};

}  // namespace exaln
