// exaln._core: stretches of low complexity.
#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "bindings/arguments.hpp"
#include "bindings/interruptible.hpp"
#include "bindings/module.hpp"
#include "masking/seg.hpp"

namespace exaln {
namespace {

using KindTable = nb::ndarray<const uint8_t, nb::shape<256>, nb::c_contig, nb::device::cpu>;

nb::tuple bound_seg(const InputArray<uint8_t>& codes, const InputArray<int64_t>& offsets,
                    const KindTable& kinds, int window, double locut, double hicut, int threads) {
    constexpr int64_t QUICK_RESIDUES = 100'000;  // some milliseconds
    const Sequences sequences = make_sequences(codes, offsets);
    require_threads(threads);
    uint8_t table[256];
    std::copy_n(kinds.data(), 256, table);
    Stretches found;
    Progress progress;
    run_released(
        sequences.offsets[sequences.n] - sequences.offsets[0] <= QUICK_RESIDUES, progress,
        [&] { found = seg(sequences, table, {window, locut, hicut, threads}, progress.cancelled); }, [] {});
    return nb::make_tuple(to_numpy(std::move(found.begins)), to_numpy(std::move(found.ends)),
                          to_numpy(std::move(found.offsets)));
}

}  // namespace

void bind_masking(nb::module_& m) {
    m.def("seg", &bound_seg, nb::arg("codes"), nb::arg("offsets"), nb::arg("kinds"), nb::arg("window"),
          nb::arg("locut"), nb::arg("hicut"), nb::arg("threads") = 1);
}

}  // namespace exaln
