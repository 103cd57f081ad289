// Files as read-only memory that survives whatever happens to the file.
//
// A mapping keeps the descriptor of its file, so that a change of the file can be noticed, also after it was
// deleted or renamed. Reading beyond the end of a file that was truncated raises SIGBUS: a handler puts zeros
// there and remembers the fault, and whoever uses the bytes has to ask for it before handing out results.
#pragma once

#include "bindings/arrays.hpp"

namespace exaln {

void bind_mapped_file(nb::module_& m);

}  // namespace exaln
