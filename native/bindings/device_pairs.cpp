// exaln._core: batches of pairs for the cuda engine.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <tuple>

#include "bindings/arguments.hpp"
#include "bindings/module.hpp"
#include "pairs/device_batches.hpp"

namespace exaln {
namespace {

using Integers = InputArray<int64_t>;
using BoundSide = std::tuple<InputArray<uint8_t>, Integers, Integers, bool, int64_t>;
using BoundTables = std::tuple<bool, bool, bool>;  // is local, has a last row, has paths

constexpr int64_t MAX_HEAD = int64_t(1) << 20;
constexpr size_t BATCH_FIELDS = sizeof(DeviceBatch) / sizeof(int64_t);

DeviceTables make_tables(const BoundTables& bound) {
    return {std::get<0>(bound), std::get<1>(bound), std::get<2>(bound)};
}

// PairSide::length checks the offsets that are used.
PairSide make_side(const BoundSide& bound) {
    const auto& [codes, offsets, rows, is_sent, first] = bound;
    const Sequences sequences{codes.data(), offsets.data(), int64_t(offsets.size()) - 1};
    return {sequences, int64_t(codes.size()), rows.data(), is_sent, first};
}

DeviceShape make_shape(int64_t lanes, int64_t rows, int64_t cost) {
    if (lanes < 1 || lanes > 32 || rows < 1 || rows > 1024 || cost < 0)
        throw std::invalid_argument("a shape has 1 to 32 lanes of 1 to 1024 rows");
    return {lanes, rows, cost};
}

// The batch, if its parts follow one another in a block of these bytes.
DeviceBatch make_batch(const Integers& numbers, const Integers& order, size_t block_bytes) {
    if (numbers.size() != BATCH_FIELDS) throw std::invalid_argument("a batch has 12 numbers");
    DeviceBatch batch;
    std::memcpy(&batch, numbers.data(), sizeof(batch));
    if (batch.begin < 0 || batch.begin >= batch.end || batch.end > int64_t(order.size()))
        throw std::invalid_argument("a batch is empty or reaches beyond its plan");
    const int64_t n_pairs = batch.end - batch.begin, size = int64_t(block_bytes);
    const int64_t places[] = {0,
                              batch.pairs,
                              batch.layouts,
                              batch.run_starts,
                              batch.letters,
                              batch.counters,
                              batch.results,
                              batch.runs,
                              size};
    const int64_t least[] = {0,
                             n_pairs * int64_t(sizeof(DevicePair)),
                             (n_pairs + 1) / 2 * int64_t(sizeof(DeviceLayout)),
                             (n_pairs + 1) * int64_t(sizeof(uint64_t)),
                             0,
                             int64_t(sizeof(DeviceCounters)),
                             n_pairs * int64_t(sizeof(DeviceResult)),
                             0};
    for (size_t i = 0; i + 1 < std::size(places); ++i)
        if (places[i] < 0 || places[i] > size || places[i] % 8 || places[i + 1] < places[i] ||
            places[i + 1] - places[i] < least[i])
            throw std::invalid_argument("the parts of a batch do not fit its block");
    return batch;
}

void require_rows(const Integers& order, int64_t begin, int64_t end, size_t n_rows) {
    for (int64_t i = begin; i < end; ++i)
        if (order.data()[i] < 0 || order.data()[i] >= int64_t(n_rows))
            throw std::invalid_argument("a batch names a pair that is not there");
}

nb::tuple bound_plan(const Integers& m, const Integers& n,
                     const std::vector<std::tuple<int64_t, int64_t, int64_t>>& shapes,
                     const BoundTables& tables, const std::pair<int64_t, int64_t>& limits,
                     const std::pair<bool, bool>& sends, int64_t head_bytes) {
    if (m.size() != n.size()) throw std::invalid_argument("rows and columns differ in number");
    std::vector<DeviceShape> made;
    for (const auto& [lanes, rows, cost] : shapes) made.push_back(make_shape(lanes, rows, cost));
    if (made.empty() || head_bytes < 0 || head_bytes > MAX_HEAD || limits.first < 0 || limits.second < 0)
        throw std::invalid_argument("a plan needs shapes, a small head and limits that are not negative");
    DevicePlan plan;
    std::vector<int64_t> batches;
    {
        const nb::gil_scoped_release released;
        plan = plan_device_pairs(m.data(), n.data(), int64_t(m.size()), made, make_tables(tables),
                                 {limits.first, limits.second}, sends.first, sends.second, head_bytes);
        batches.resize(plan.batches.size() * BATCH_FIELDS);
        if (!batches.empty())
            std::memcpy(batches.data(), plan.batches.data(), batches.size() * sizeof(int64_t));
    }
    return nb::make_tuple(to_numpy(std::move(plan.order)), to_numpy(std::move(batches)));
}

NumpyArray<int64_t> bound_couple_bytes(const Integers& m, const Integers& n,
                                       const std::vector<std::pair<int64_t, int64_t>>& shapes,
                                       const BoundTables& bound) {
    if (m.size() != n.size()) throw std::invalid_argument("rows and columns differ in number");
    const DeviceTables tables = make_tables(bound);
    std::vector<int64_t> bytes(m.size());
    for (const auto& [lanes, rows] : shapes) {
        const DeviceShape shape = make_shape(lanes, rows, 0);
        for (size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = std::max(bytes[i], tables.couple_bytes(shape, m.data()[i], n.data()[i]));
    }
    return to_numpy(std::move(bytes));
}

NumpyArray<uint8_t> bound_used_codes(const BoundSide& side, int few, int threads) {
    require_threads(threads);
    if (few < 0 || few >= N_BYTES) throw std::invalid_argument("few is not a code");
    bool used[N_BYTES] = {};
    {
        const nb::gil_scoped_release released;
        mark_used_codes(make_side(side), int64_t(std::get<2>(side).size()), uint8_t(few), threads, used);
    }
    return to_numpy(std::vector<uint8_t>(used, used + N_BYTES));
}

void bound_fill(const OutputArray<uint8_t>& block, const Integers& numbers, const Integers& order,
                const BoundSide& queries, const BoundSide& targets, const std::pair<int64_t, int64_t>& shape,
                const BoundTables& tables, int threads) {
    require_threads(threads);
    const DeviceBatch batch = make_batch(numbers, order, block.size());
    const nb::gil_scoped_release released;
    require_rows(order, batch.begin, batch.end,
                 std::min(std::get<2>(queries).size(), std::get<2>(targets).size()));
    fill_block(block.data(), batch, order.data(), make_side(queries), make_side(targets),
               make_shape(shape.first, shape.second, 0), make_tables(tables), threads);
}

using BoundColumns = std::tuple<OutputArray<int64_t>, OutputArray<int64_t>, OutputArray<int32_t>,
                                OutputArray<int64_t>, OutputArray<int64_t>>;

void bound_collect(const InputArray<uint8_t>& block, const Integers& numbers, const Integers& order,
                   const BoundColumns& bound, const OutputArray<uint32_t>& runs, int64_t n_runs,
                   int64_t first_run, int threads) {
    require_threads(threads);
    const auto& [scores, positions, counts, n_runs_of, first_runs] = bound;
    const DeviceBatch batch = make_batch(numbers, order, block.size());
    const size_t n = scores.size();
    if (positions.size() != 4 * n || counts.size() != 6 * n || n_runs_of.size() != n ||
        first_runs.size() != n)
        throw std::invalid_argument("columns differ in length");
    if (n_runs < 0 || n_runs > int64_t(runs.size()))
        throw std::invalid_argument("more runs than there is room for");
    const nb::gil_scoped_release released;
    if (4 * n_runs > int64_t(block.size()) - batch.runs)
        throw std::invalid_argument("a block has fewer runs than that");
    require_rows(order, batch.begin, batch.end, n);
    const PairColumns columns{scores.data(), positions.data(), counts.data(), n_runs_of.data(),
                              first_runs.data()};
    collect_block(block.data(), batch, order.data(), columns, runs.data(), n_runs, first_run, threads);
}

void bound_collect_scores(const InputArray<uint8_t>& block, const Integers& numbers, const Integers& order,
                          const OutputArray<int64_t>& scores) {
    const DeviceBatch batch = make_batch(numbers, order, block.size());
    const nb::gil_scoped_release released;
    require_rows(order, batch.begin, batch.end, scores.size());
    collect_scores(block.data(), batch, order.data(), scores.data());
}

void bound_gather(const std::vector<InputArray<uint32_t>>& pieces, const Integers& first_runs,
                  const Integers& offsets, const OutputArray<uint32_t>& operations, int threads) {
    require_threads(threads);
    const size_t n = first_runs.size();
    if (offsets.size() != n + 1 || offsets.data()[n] < 0 || offsets.data()[n] > int64_t(operations.size()))
        throw std::invalid_argument("the paths do not fit the output");
    std::vector<RunPiece> views;
    for (const auto& piece : pieces) views.push_back({piece.data(), int64_t(piece.size())});
    const nb::gil_scoped_release released;
    gather_paths(views, first_runs.data(), offsets.data(), int64_t(n), operations.data(),
                 int64_t(operations.size()), threads);
}

}  // namespace

void bind_device_pairs(nb::module_& m) {
    using nb::arg;
    m.def("plan_device_pairs", bound_plan, arg("m"), arg("n"), arg("shapes"), arg("tables"), arg("limits"),
          arg("sends"), arg("head_bytes"));
    m.def("pair_couple_bytes", bound_couple_bytes, arg("m"), arg("n"), arg("shapes"), arg("tables"));
    m.def("used_codes", bound_used_codes, arg("side"), arg("few"), arg("threads") = 1);
    m.def("fill_pair_block", bound_fill, arg("block"), arg("batch"), arg("order"), arg("queries"),
          arg("targets"), arg("shape"), arg("tables"), arg("threads") = 1);
    m.def("collect_pair_block", bound_collect, arg("block"), arg("batch"), arg("order"), arg("columns"),
          arg("runs"), arg("n_runs"), arg("first_run"), arg("threads") = 1);
    m.def("collect_pair_scores", bound_collect_scores, arg("block"), arg("batch"), arg("order"),
          arg("scores"));
    m.def("gather_paths", bound_gather, arg("pieces"), arg("first_runs"), arg("offsets"), arg("operations"),
          arg("threads") = 1);
}

}  // namespace exaln
