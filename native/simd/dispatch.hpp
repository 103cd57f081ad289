// Which instruction sets are built in, which of them this CPU has, and the choice among them: the only place
// where it is made.
#pragma once

#include <string>
#include <vector>

#include "simd/kernels.hpp"

namespace exaln {

// All that are compiled in, the fastest first.
const std::vector<const Isa*>& built_isas();

// The named one, or the fastest supported one if the name is empty. Throws std::invalid_argument if it is
// unknown or unsupported.
const Isa& choose_isa(const std::string& name);

}  // namespace exaln
