// exaln._core: scores of queries against targets, instruction sets, and the upper bound of their speed.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "bindings/arguments.hpp"
#include "bindings/interruptible.hpp"
#include "bindings/module.hpp"
#include "scan/plan.hpp"
#include "scan/scores.hpp"
#include "scan/single_kernel.hpp"
#include "simd/dispatch.hpp"

namespace exaln {
namespace {

constexpr double QUICK_CELLS = 2e7;  // about a millisecond

// The number of cells of all tables: residues of all queries times residues of all targets.
double n_cells(const Sequences& queries, const Sequences& targets) {
    return double(queries.offsets[queries.n] - queries.offsets[0]) *
           double(targets.offsets[targets.n] - targets.offsets[0]);
}

using Scores = nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>;

Scores bound_score_all(InputArray<uint8_t> query_codes, InputArray<int64_t> query_offsets,
                       InputArray<uint8_t> target_codes, InputArray<int64_t> target_offsets,
                       InputArray<int32_t, 2> matrix, int32_t gap_first, int32_t gap_extend, int threads,
                       const std::string& isa_name, std::optional<nb::callable> on_progress,
                       int64_t block_columns) {
    const Isa& isa = choose_isa(isa_name);
    const Costs costs = make_costs(matrix, gap_first, gap_extend);
    const Sequences queries = make_sequences(query_codes, query_offsets);
    const Sequences targets = make_sequences(target_codes, target_offsets);
    require_codes(queries);
    require_threads(threads);

    std::optional<ColumnBlocks> blocks;
    if (block_columns) blocks.emplace(targets, block_columns);
    const size_t n_columns = size_t(blocks ? blocks->n() : targets.n);
    auto scores = std::make_unique<int32_t[]>(std::max<size_t>(size_t(queries.n) * n_columns, 1));
    Progress progress;
    run_released(
        n_cells(queries, targets) <= QUICK_CELLS, progress,
        [&] {
            score_all(isa, queries, targets, costs, threads, progress, scores.get(),
                      blocks ? &*blocks : nullptr);
        },
        [&] {
            if (on_progress) (*on_progress)(progress.cells.load());
        });
    int32_t* const data = scores.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
    return Scores(data, {size_t(queries.n), n_columns}, owner);
}

std::vector<std::tuple<std::string, bool>> bound_isas() {
    std::vector<std::tuple<std::string, bool>> found;
    for (const Isa* isa : built_isas()) found.emplace_back(isa->name, isa->supported());
    return found;
}

// Offsets of sequences with these lengths. Throws std::invalid_argument unless they ascend.
std::vector<int64_t> offsets_of(const InputArray<int64_t>& lengths) {
    constexpr int64_t LONGEST = int64_t(1) << 40;
    std::vector<int64_t> offsets(lengths.shape(0) + 1, 0);
    for (size_t i = 0; i < lengths.shape(0); ++i) {
        const int64_t length = lengths.data()[i];
        if (length < (i ? lengths.data()[i - 1] : 0)) throw std::invalid_argument("lengths must ascend");
        if (length > LONGEST || offsets[i] > INT64_MAX - length)
            throw std::invalid_argument("a length is too large");
        offsets[i + 1] = offsets[i] + length;
    }
    return offsets;
}

std::tuple<int, int64_t> bound_plan_scan(InputArray<int64_t> query_lengths,
                                         InputArray<int64_t> target_lengths, int threads,
                                         const std::string& isa_name) {
    const WidthKernels& kernels = kernels_of(choose_isa(isa_name), 8);
    require_threads(threads);
    const std::vector<int64_t> query_offsets = offsets_of(query_lengths);
    const std::vector<int64_t> target_offsets = offsets_of(target_lengths);
    const Sequences queries{nullptr, query_offsets.data(), int64_t(query_lengths.shape(0))};
    const Sequences targets{nullptr, target_offsets.data(), int64_t(target_lengths.shape(0))};
    std::vector<int64_t> order(size_t(targets.n));
    std::iota(order.begin(), order.end(), int64_t(0));
    std::vector<Task> tasks;
    const nb::gil_scoped_release released;
    Planner(kernels.lanes, threads, queries, targets, order).add_tasks(0, queries.n, order, tasks);
    int64_t n_striped = 0;
    for (const Task& task : tasks)
        if (task.striped && task.first_query == 0) n_striped += int64_t(task.places.size());
    return {kernels.lanes, n_striped};
}

double bound_bare_loop(const std::string& isa_name, int bits, double seconds) {
    if (!(seconds >= 0 && seconds <= 3600)) throw std::invalid_argument("seconds must be 0 to 3600");
    const WidthKernels& kernels = kernels_of(choose_isa(isa_name), bits);
    const nb::gil_scoped_release released;
    const auto start = std::chrono::steady_clock::now();
    double cells = 0, elapsed = 0;
    while (elapsed < seconds) {
        cells += kernels.bare_loop(200'000);
        elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    return elapsed > 0 ? cells / elapsed / 1e9 : 0;
}

}  // namespace

void bind_scan(nb::module_& m) {
    m.def("score_all", bound_score_all, nb::arg("query_codes"), nb::arg("query_offsets"),
          nb::arg("target_codes"), nb::arg("target_offsets"), nb::arg("matrix"), nb::arg("gap_first"),
          nb::arg("gap_extend"), nb::arg("threads") = 1, nb::arg("isa") = "",
          nb::arg("on_progress") = nb::none(), nb::arg("block_columns") = 0,
          "int32[n_queries, n_targets]: exact local scores. on_progress(cells) is called about ten times a "
          "second. block_columns: a multiple of 64; instead of a column per target there is one for each "
          "block of so many residues of a target, with the best score of an alignment that ends in it.");
    m.def("plan_scan", bound_plan_scan, nb::arg("query_lengths"), nb::arg("target_lengths"),
          nb::arg("threads") = 1, nb::arg("isa") = "",
          "(lanes, n_striped) for targets with these ascending lengths: the last n_striped of them would be "
          "scored by the striped kernel, the others in groups of that many lanes.");
    m.def("isas", bound_isas,
          "[(name, usable on this CPU)] of the instruction sets built in, the fastest first.");
    m.def("bare_loop", bound_bare_loop, nb::arg("isa"), nb::arg("bits"), nb::arg("seconds"),
          "GCUPS of the cell update alone, in registers: the bound of one core.");
}

}  // namespace exaln
