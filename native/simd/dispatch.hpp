// The instruction sets that are built in, and the choice among them: the only place where it is made.
#pragma once

#include <string>
#include <vector>

#include "simd/kernels.hpp"

namespace exaln {

// All instruction sets that are built in, the fastest first.
const std::vector<const Isa*>& built_isas();

// The named instruction set or, if the name is empty, the fastest that this CPU supports. Throws
// std::invalid_argument if it is unknown or unsupported.
const Isa& choose_isa(const std::string& name);

}  // namespace exaln
