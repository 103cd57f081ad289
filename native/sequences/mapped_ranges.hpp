// The addresses of all mapped files, for the handler of SIGBUS: see mapped_file.hpp.
#pragma once

#include <cstddef>

namespace exaln {

// Makes faults at these addresses harmless. The number of the range, or -1 if there are too many.
int watch_range(void* begin, size_t size);

// Before the addresses are given back.
void forget_range(int number);

// Whether bytes of the range could not be read, and were replaced by zeros.
bool has_faulted(int number);

}  // namespace exaln
