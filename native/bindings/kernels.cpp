// exaln._core: single kernels, for the tests.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arguments.hpp"
#include "bindings/module.hpp"
#include "scan/kernel_args.hpp"
#include "scan/single_kernel.hpp"
#include "simd/dispatch.hpp"

namespace exaln {
namespace {

NumpyArray<int32_t> bound_score_kernel(const std::string& isa, const std::string& family, int bits,
                                       InputArray<uint8_t> query, InputArray<uint8_t> target_codes,
                                       InputArray<int64_t> target_offsets, InputArray<int32_t, 2> matrix,
                                       int32_t gap_first, int32_t gap_extend) {
    const Costs costs = make_costs(matrix, gap_first, gap_extend);
    const Sequences targets = make_sequences(target_codes, target_offsets);
    const int64_t n_rows = int64_t(query.shape(0));
    const int64_t offsets[] = {0, n_rows};
    require_codes({query.data(), offsets, 1});
    require_codes(targets);
    return to_numpy(score_with_kernel(kernels_of(choose_isa(isa), bits), family_of(family), query.data(),
                                      n_rows, targets, costs));
}

std::vector<std::tuple<int, int, int>> bound_kernel_shapes(const std::string& isa) {
    std::vector<std::tuple<int, int, int>> shapes;
    for (const WidthKernels& kernels : choose_isa(isa).widths)
        shapes.emplace_back(kernels.bits, kernels.lanes, kernels.columns);
    return shapes;
}

}  // namespace

void bind_kernels(nb::module_& m) {
    m.attr("STRIP_ROWS") = STRIP_ROWS;
    m.def("score_kernel", bound_score_kernel, nb::arg("isa"), nb::arg("family"), nb::arg("bits"),
          nb::arg("query"), nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("matrix"),
          nb::arg("gap_first"), nb::arg("gap_extend"),
          "int32[n_targets]: scores by one kernel (family group or striped; 8, 16 or 32 bits), -1 where the "
          "width is too narrow.");
    m.def("kernel_shapes", bound_kernel_shapes, nb::arg("isa"),
          "[(bits, lanes, columns of a tile)] of an instruction set.");
}

}  // namespace exaln
