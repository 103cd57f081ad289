// Columns of sequences -> FASTA text.
#pragma once

#include "bindings/arrays.hpp"

namespace exaln {

void bind_fasta_text(nb::module_& m);

}  // namespace exaln
