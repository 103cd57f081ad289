// Columns of sequences -> FASTA text.
#pragma once

#include "arrays.hpp"

namespace exaln {

void bind_fasta_text(nb::module_& m);

}  // namespace exaln
