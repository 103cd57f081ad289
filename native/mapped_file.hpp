// A file as read-only memory. It stays readable after the file is deleted, and holds no file descriptor, so
// that a database of thousands of segments can be open at once.
#pragma once

#include "arrays.hpp"

namespace exaln {

void bind_mapped_file(nb::module_& m);

}  // namespace exaln
