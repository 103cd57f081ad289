// exaln._core: tables filled as the papers fill them, for the studies.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "studies/fill.hpp"

namespace exaln {
namespace {

constexpr int64_t MAX_SIDE = int64_t(1) << 30, MAX_STEPS = 100'000'000;

using Codes = InputArray<uint8_t>;
using Matrix = InputArray<int32_t, 2>;

TableLayout layout_of(const std::string& name) {
    if (name == "by rows") return TableLayout::by_rows;
    if (name == "rotated") return TableLayout::rotated;
    if (name == "by diagonals") return TableLayout::by_diagonals;
    throw std::invalid_argument("layout must be 'by rows', 'rotated' or 'by diagonals'");
}

// Throws if a score could exceed the int32 of these tables.
void require_small_costs(const Matrix& matrix, int32_t gap_first, int32_t gap_extend, int64_t n_letters) {
    int64_t largest = 0;
    for (size_t i = 0; i < matrix.size(); ++i)
        largest = std::max(largest, std::abs(int64_t(matrix.data()[i])));
    for (const int64_t gap : {int64_t(gap_first), int64_t(gap_extend)})
        largest = std::max(largest, std::abs(gap));
    if (double(largest) * double(n_letters + 2) > double(1 << 28))
        throw std::invalid_argument("scores or gap costs are too large for a table of int32");
}

StudyPair make_pair(const Codes& query, const Codes& target, const Matrix& matrix, int32_t gap_first,
                    int32_t gap_extend) {
    const int64_t n_letters = int64_t(matrix.shape(0));
    if (matrix.shape(0) != matrix.shape(1)) throw std::invalid_argument("matrix must be n x n");
    for (const Codes* codes : {&query, &target})
        for (size_t i = 0; i < codes->shape(0); ++i)
            if (codes->data()[i] >= n_letters) throw std::invalid_argument("a code is outside the matrix");
    require_small_costs(matrix, gap_first, gap_extend, int64_t(query.shape(0)) + int64_t(target.shape(0)));
    return {query.data(),  int64_t(query.shape(0)),
            target.data(), int64_t(target.shape(0)),
            matrix.data(), n_letters,
            gap_first,     gap_extend};
}

void require_study_threads(int threads) {
    if (threads < 1 || threads > 1024) throw std::invalid_argument("threads must be 1 to 1024");
}

void require_room(const OutputArray<int32_t>& table, int64_t n_cells) {
    if (int64_t(table.shape(0)) != n_cells) throw std::invalid_argument("the table has another size");
}

int64_t bound_table_size(const std::string& layout, int64_t m, int64_t n) {
    if (m < 0 || n < 0 || m > MAX_SIDE || n > MAX_SIDE)
        throw std::invalid_argument("a table has 0 to 2^30 rows and columns");
    return table_size(layout_of(layout), m, n);
}

void bound_fill(Codes query, Codes target, Matrix matrix, int32_t gap, const std::string& layout, int threads,
                int64_t chunk, OutputArray<int32_t> table) {
    const StudyPair pair = make_pair(query, target, matrix, gap, gap);
    const TableLayout order = layout_of(layout);
    require_study_threads(threads), require_room(table, table_size(order, pair.m, pair.n));
    if (chunk < 1) throw std::invalid_argument("a chunk has at least one cell");
    const nb::gil_scoped_release released;
    if (order == TableLayout::by_rows)
        fill_by_rows(pair, table.data());
    else
        fill_by_steps(pair, order, threads, std::min(chunk, pair.m + 1), table.data());
}

double bound_empty_steps(int threads, int64_t n_steps) {
    require_study_threads(threads);
    if (n_steps < 0 || n_steps > MAX_STEPS) throw std::invalid_argument("steps must be 0 to 100000000");
    const nb::gil_scoped_release released;
    return empty_steps(threads, n_steps);
}

std::vector<double> bound_fill_tiles(Codes query, Codes target, Matrix matrix, int32_t gap_first,
                                     int32_t gap_extend, int threads, int64_t side, OutputArray<int32_t> H,
                                     OutputArray<int32_t> E, OutputArray<int32_t> F) {
    const StudyPair pair = make_pair(query, target, matrix, gap_first, gap_extend);
    require_study_threads(threads);
    if (side < 1) throw std::invalid_argument("a tile has at least one cell");
    for (const auto* table : {&H, &E, &F})
        require_room(*table, table_size(TableLayout::by_rows, pair.m, pair.n));
    const nb::gil_scoped_release released;
    return fill_by_tiles(pair, threads, std::min(side, std::max(pair.m, pair.n) + 1), H.data(), E.data(),
                         F.data());
}

using PlainColumns = std::tuple<NumpyArray<int32_t>, NumpyArray<int64_t>, NumpyArray<uint8_t>,
                                NumpyArray<int64_t>, double, double>;

PlainColumns bound_align_plainly(InputArray<uint8_t, 2> queries, InputArray<uint8_t, 2> targets,
                                 Matrix matrix, int32_t gap) {
    const int64_t n_pairs = int64_t(queries.shape(0)), n_letters = int64_t(matrix.shape(0));
    const int64_t m = int64_t(queries.shape(1)), n = int64_t(targets.shape(1));
    if (int64_t(targets.shape(0)) != n_pairs)
        throw std::invalid_argument("as many targets as queries are needed");
    if (matrix.shape(0) != matrix.shape(1)) throw std::invalid_argument("matrix must be n x n");
    for (const auto* codes : {&queries, &targets})
        for (size_t i = 0; i < codes->size(); ++i)
            if (codes->data()[i] >= n_letters) throw std::invalid_argument("a code is outside the matrix");
    require_small_costs(matrix, gap, gap, m + n);
    std::vector<StudyPair> pairs;
    for (int64_t i = 0; i < n_pairs; ++i)
        pairs.push_back(
            {queries.data() + i * m, m, targets.data() + i * n, n, matrix.data(), n_letters, gap, gap});
    PlainPairs found;
    {
        const nb::gil_scoped_release released;
        found = align_plainly(pairs);
    }
    return {to_numpy(std::move(found.scores)),
            to_numpy(std::move(found.ends)),
            to_numpy(std::move(found.steps)),
            to_numpy(std::move(found.offsets)),
            found.fill_seconds,
            found.walk_seconds};
}

}  // namespace

void bind_studies(nb::module_& m) {
    m.def("study_table_size", bound_table_size, nb::arg("layout"), nb::arg("m"), nb::arg("n"),
          "Cells of a table, borders included.");
    m.def("study_fill", bound_fill, nb::arg("query"), nb::arg("target"), nb::arg("matrix"), nb::arg("gap"),
          nb::arg("layout"), nb::arg("threads"), nb::arg("chunk"), nb::arg("table"),
          "Fill a table of local scores with linear gaps: 'by rows', 'rotated' or 'by diagonals'.");
    m.def("study_empty_steps", bound_empty_steps, nb::arg("threads"), nb::arg("n_steps"),
          "Seconds of n_steps steps without work; all threads wait for each other after each step.");
    m.def("study_fill_tiles", bound_fill_tiles, nb::arg("query"), nb::arg("target"), nb::arg("matrix"),
          nb::arg("gap_first"), nb::arg("gap_extend"), nb::arg("threads"), nb::arg("side"), nb::arg("H"),
          nb::arg("E"), nb::arg("F"), "Fill H, E and F by tiles; the seconds that each thread waited.");
    m.def("study_align_plainly", bound_align_plainly, nb::arg("queries"), nb::arg("targets"),
          nb::arg("matrix"), nb::arg("gap"),
          "Scores, ends, steps from end to start, their offsets, seconds of filling and of traceback.");
}

}  // namespace exaln
