// The Python module exaln._core: one bind_* function per native area, no logic here.
#include "bindings/module.hpp"
#include "sequences/fasta_reader.hpp"
#include "sequences/fasta_text.hpp"
#include "sequences/mapped_file.hpp"
#include "sequences/rows.hpp"

NB_MODULE(_core, m) {
    exaln::nb::set_leak_warnings(false);  // a database that lives until the process ends is no mistake
    m.doc() = "Native core of exaln: arrays and scalars in, arrays out; no policy.";
    exaln::bind_fasta_reader(m);
    exaln::bind_fasta_text(m);
    exaln::bind_kernels(m);
    exaln::bind_mapped_file(m);
    exaln::bind_rows(m);
    exaln::bind_scores(m);
    exaln::bind_pairs(m);
    exaln::bind_region(m);
}
