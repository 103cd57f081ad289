// The address ranges of all mapped files, for the handler of SIGBUS (see mapped_file.hpp).
#pragma once

#include <cstddef>

namespace exaln {

// Makes faults in this range harmless. Returns the number of the range, or -1 if there are too many.
int watch_range(void* begin, size_t size);

// Call it before the memory is unmapped.
void unwatch_range(int number);

// True if bytes of the range could not be read and were replaced by zeros.
bool has_faulted(int number);

}  // namespace exaln
