// The Python module exaln_studies._native: arrays and scalars in, arrays out. Every argument is checked here,
// so that no call can read or write outside its arrays.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <tuple>

#include "arrays.hpp"
#include "table_fill.hpp"

namespace exaln_studies {
namespace {

constexpr int64_t MAX_SIDE = int64_t(1) << 30, MAX_STEPS = 100'000'000;
constexpr int MAX_THREADS = 1024;

using Codes = InputArray<uint8_t>;
using Matrix = InputArray<int32_t, 2>;

TableLayout layout_named(const std::string& name) {
    if (name == "by rows") return TableLayout::by_rows;
    if (name == "rotated") return TableLayout::rotated;
    if (name == "by diagonals") return TableLayout::by_diagonals;
    throw std::invalid_argument("layout must be 'by rows', 'rotated' or 'by diagonals'");
}

// A path of n_letters letters must not overflow an int32 table.
void require_small_costs(const Matrix& matrix, int32_t gap_first, int32_t gap_extend, int64_t n_letters) {
    int64_t largest = 0;
    for (size_t i = 0; i < matrix.size(); ++i)
        largest = std::max(largest, std::abs(int64_t(matrix.data()[i])));
    for (const int64_t gap : {int64_t(gap_first), int64_t(gap_extend)})
        largest = std::max(largest, std::abs(gap));
    if (double(largest) * double(n_letters + 2) > double(1 << 28))
        throw std::invalid_argument("scores or gap costs are too large for a table of int32");
}

void require_square(const Matrix& matrix) {
    if (matrix.shape(0) != matrix.shape(1)) throw std::invalid_argument("matrix must be n x n");
}

template <class Array>
void require_codes(const Array& codes, int64_t n_letters) {
    for (size_t i = 0; i < codes.size(); ++i)
        if (codes.data()[i] >= n_letters) throw std::invalid_argument("a code is outside the matrix");
}

void require_threads(int threads) {
    if (threads < 1 || threads > MAX_THREADS) throw std::invalid_argument("threads must be 1 to 1024");
}

void require_size(const OutputArray<int32_t>& table, int64_t n_cells) {
    if (int64_t(table.shape(0)) != n_cells) throw std::invalid_argument("the table has another size");
}

Pair make_pair(const Codes& query, const Codes& target, const Matrix& matrix, int32_t gap_first,
               int32_t gap_extend) {
    const int64_t n_letters = int64_t(matrix.shape(0));
    require_square(matrix);
    require_codes(query, n_letters), require_codes(target, n_letters);
    require_small_costs(matrix, gap_first, gap_extend, int64_t(query.shape(0)) + int64_t(target.shape(0)));
    return {query.data(),  int64_t(query.shape(0)),
            target.data(), int64_t(target.shape(0)),
            matrix.data(), n_letters,
            gap_first,     gap_extend};
}

int64_t bound_table_size(const std::string& layout, int64_t m, int64_t n) {
    if (m < 0 || n < 0 || m > MAX_SIDE || n > MAX_SIDE)
        throw std::invalid_argument("a table has 0 to 2^30 rows and columns");
    return table_size(layout_named(layout), m, n);
}

void bound_fill_table(Codes query, Codes target, Matrix matrix, int32_t gap, const std::string& layout,
                      int threads, int64_t chunk, OutputArray<int32_t> table) {
    const Pair pair = make_pair(query, target, matrix, gap, gap);
    const TableLayout order = layout_named(layout);
    require_threads(threads), require_size(table, table_size(order, pair.m, pair.n));
    if (chunk < 1) throw std::invalid_argument("a chunk has at least one cell");
    const nb::gil_scoped_release released;
    if (order == TableLayout::by_rows)
        fill_by_rows(pair, table.data());
    else
        fill_by_diagonals(pair, order, threads, std::min(chunk, pair.m + 1), table.data());
}

double bound_time_empty_steps(int threads, int64_t n_steps) {
    require_threads(threads);
    if (n_steps < 0 || n_steps > MAX_STEPS) throw std::invalid_argument("steps must be 0 to 100000000");
    const nb::gil_scoped_release released;
    return time_empty_steps(threads, n_steps);
}

std::vector<double> bound_fill_tiles(Codes query, Codes target, Matrix matrix, int32_t gap_first,
                                     int32_t gap_extend, int threads, int64_t side, OutputArray<int32_t> H,
                                     OutputArray<int32_t> E, OutputArray<int32_t> F) {
    const Pair pair = make_pair(query, target, matrix, gap_first, gap_extend);
    require_threads(threads);
    if (side < 1) throw std::invalid_argument("a tile has at least one cell");
    for (const auto* table : {&H, &E, &F})
        require_size(*table, table_size(TableLayout::by_rows, pair.m, pair.n));
    const nb::gil_scoped_release released;
    return fill_by_tiles(pair, threads, std::min(side, std::max(pair.m, pair.n) + 1), H.data(), E.data(),
                         F.data());
}

using AlignmentColumns = std::tuple<NumpyArray<int32_t>, NumpyArray<int64_t>, NumpyArray<uint8_t>,
                                    NumpyArray<int64_t>, double, double>;

AlignmentColumns bound_align_pairs(InputArray<uint8_t, 2> queries, InputArray<uint8_t, 2> targets,
                                   Matrix matrix, int32_t gap) {
    const int64_t n_pairs = int64_t(queries.shape(0)), n_letters = int64_t(matrix.shape(0));
    const int64_t m = int64_t(queries.shape(1)), n = int64_t(targets.shape(1));
    if (int64_t(targets.shape(0)) != n_pairs)
        throw std::invalid_argument("queries and targets must have the same number of rows");
    require_square(matrix);
    require_codes(queries, n_letters), require_codes(targets, n_letters);
    require_small_costs(matrix, gap, gap, m + n);
    std::vector<Pair> pairs;
    for (int64_t i = 0; i < n_pairs; ++i)
        pairs.push_back(
            {queries.data() + i * m, m, targets.data() + i * n, n, matrix.data(), n_letters, gap, gap});
    Alignments result;
    {
        const nb::gil_scoped_release released;
        result = align_pairs(pairs);
    }
    return {to_numpy(std::move(result.scores)),
            to_numpy(std::move(result.ends)),
            to_numpy(std::move(result.steps)),
            to_numpy(std::move(result.offsets)),
            result.fill_seconds,
            result.traceback_seconds};
}

}  // namespace
}  // namespace exaln_studies

NB_MODULE(_native, m) {
    using namespace exaln_studies;
    m.doc() = "Score tables filled as the papers fill them.";
    m.def("table_size", bound_table_size, nb::arg("layout"), nb::arg("m"), nb::arg("n"));
    m.def("fill_table", bound_fill_table, nb::arg("query"), nb::arg("target"), nb::arg("matrix"),
          nb::arg("gap"), nb::arg("layout"), nb::arg("threads"), nb::arg("chunk"), nb::arg("table"));
    m.def("time_empty_steps", bound_time_empty_steps, nb::arg("threads"), nb::arg("n_steps"));
    m.def("fill_tiles", bound_fill_tiles, nb::arg("query"), nb::arg("target"), nb::arg("matrix"),
          nb::arg("gap_first"), nb::arg("gap_extend"), nb::arg("threads"), nb::arg("side"), nb::arg("H"),
          nb::arg("E"), nb::arg("F"));
    m.def("align_pairs", bound_align_pairs, nb::arg("queries"), nb::arg("targets"), nb::arg("matrix"),
          nb::arg("gap"));
}
