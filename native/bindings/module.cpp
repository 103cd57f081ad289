// The Python module exaln._core.
#include "bindings/module.hpp"

NB_MODULE(_core, m) {
    nanobind::set_leak_warnings(false);  // a database may live until the process ends
    m.doc() = "Native core of exaln: arrays and scalars in, arrays out; no policy.";
    exaln::bind_sequences(m);
    exaln::bind_text_rows(m);
    exaln::bind_kernels(m);
    exaln::bind_scan(m);
    exaln::bind_pairs(m);
    exaln::bind_short_pairs(m);
    exaln::bind_long(m);
    exaln::bind_device_pairs(m);
    exaln::bind_alignments(m);
    exaln::bind_composition(m);
    exaln::bind_masking(m);
}
