// The functions that module.cpp calls to fill exaln._core, one for each room.
#pragma once

#include <nanobind/nanobind.h>

namespace exaln {

void bind_sequences(nanobind::module_& m);
void bind_text_rows(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
void bind_scan(nanobind::module_& m);
void bind_pairs(nanobind::module_& m);
void bind_short_pairs(nanobind::module_& m);
void bind_long(nanobind::module_& m);
void bind_device_pairs(nanobind::module_& m);
void bind_alignments(nanobind::module_& m);
void bind_composition(nanobind::module_& m);
void bind_masking(nanobind::module_& m);

}  // namespace exaln
