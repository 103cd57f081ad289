// exaln._core: regions of one pair's table, and the traceback through its blocks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "bindings/arguments.hpp"
#include "bindings/interruptible.hpp"
#include "bindings/module.hpp"
#include "long/block_traceback.hpp"
#include "long/boundary.hpp"
#include "long/region.hpp"
#include "simd/dispatch.hpp"

namespace exaln {
namespace {

constexpr double QUICK_CELLS = 2e7;  // a few milliseconds

// Scores of int32 or int64; all arrays of a call have the same type.
using InputScores = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using InputLines = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutputScores = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;

class ScoreType {
  public:
    template <class Array>
    explicit ScoreType(const Array& first) : is_wide_(first.dtype() == nb::dtype<int64_t>()) {}

    ScoreArray input(const InputScores& scores, int64_t size) const {
        require(scores.dtype());
        if (int64_t(scores.shape(0)) != size)
            throw std::invalid_argument("a border is not as long as its region");
        return {const_cast<void*>(scores.data()), is_wide_};
    }
    ScoreArray input(const InputLines& scores, size_t n_lines) const {
        require(scores.dtype());
        if (scores.shape(0) != n_lines)
            throw std::invalid_argument("lines do not have the shape of their places");
        return {const_cast<void*>(scores.data()), is_wide_};
    }
    ScoreArray output(const OutputScores& scores, size_t n_lines, int64_t size) const {
        require(scores.dtype());
        if (scores.shape(0) != n_lines || int64_t(scores.shape(1)) != size)
            throw std::invalid_argument("lines do not have the shape of their region");
        return {scores.data(), is_wide_};
    }

  private:
    void require(nb::dlpack::dtype type) const {
        if (type != (is_wide_ ? nb::dtype<int64_t>() : nb::dtype<int32_t>()))
            throw std::invalid_argument("scores must all be int32, or all int64");
    }
    bool is_wide_;
};

std::vector<CheckpointLine> make_checkpoints(const ScoreType& type, const InputArray<int64_t>& positions,
                                             int64_t n_positions, const OutputScores& H,
                                             const OutputScores& gap, int64_t size) {
    const size_t n = positions.shape(0);
    const ScoreArray all_H = type.output(H, n, size), all_gap = type.output(gap, n, size);
    std::vector<CheckpointLine> lines;
    for (size_t i = 0; i < n; ++i) {
        const int64_t position = positions.data()[i];
        if (position <= (i == 0 ? 0 : positions.data()[i - 1]) || position > n_positions)
            throw std::invalid_argument("lines must ascend and lie within their region");
        lines.push_back(
            {position, scores_from(all_H, int64_t(i) * size), scores_from(all_gap, int64_t(i) * size)});
    }
    return lines;
}

// Throws if a cell of a table of this size, or an intermediate sum, could exceed 64 bits.
void require_small_costs(const Costs& costs, int64_t n_rows, int64_t n_columns) {
    const double largest =
        std::max({double(costs.max_score), -double(costs.min_score), double(costs.gap_first)});
    if ((double(n_rows) + double(n_columns) + 4) * largest > double(MAX_TABLE_SCORE))
        throw std::invalid_argument("the scores of so large a region could pass 61 bits");
}

Region make_region(const ScoreType& type, const Costs& costs, const InputArray<uint8_t>& query,
                   const InputArray<uint8_t>& target, const InputScores& top_H, const InputScores& top_F,
                   const InputScores& left_H, const InputScores& left_E, int64_t corner) {
    const auto n_rows = int64_t(query.shape(0)), n_columns = int64_t(target.shape(0));
    require_letters(costs, query.data(), n_rows), require_letters(costs, target.data(), n_columns);
    require_small_costs(costs, n_rows, n_columns), Boundary::checked(corner);
    return {query.data(),
            target.data(),
            n_rows,
            n_columns,
            type.input(top_H, n_columns),
            type.input(top_F, n_columns),
            type.input(left_H, n_rows),
            type.input(left_E, n_rows),
            corner};
}

using Filled = std::tuple<int64_t, int64_t, int64_t, int64_t>;
using BoundPruning = std::tuple<int64_t, int64_t, int64_t>;  // best, rows left, columns left

Pruning make_pruning(const std::optional<BoundPruning>& bound, bool is_local, const Region& region,
                     const Costs& costs) {
    if (!bound || !is_local) return {false, 0, 0, 0};
    const auto [best, rows_left, columns_left] = *bound;
    if (rows_left < region.n_rows || columns_left < region.n_columns)
        throw std::invalid_argument("fewer rows or columns are left than the region has");
    Boundary::checked(best), require_small_costs(costs, rows_left, columns_left);
    return {true, best, rows_left, columns_left};
}

Filled bound_fill_region(InputArray<uint8_t> query, InputArray<uint8_t> target, InputArray<int32_t, 2> matrix,
                         int32_t gap_first, int32_t gap_extend, bool is_local, InputScores top_H,
                         InputScores top_F, InputScores left_H, InputScores left_E, int64_t corner,
                         InputArray<int64_t> rows, OutputScores row_H, OutputScores row_F,
                         InputArray<int64_t> columns, OutputScores column_H, OutputScores column_E,
                         bool finds_end, int threads, const std::string& isa,
                         std::optional<nb::callable> on_progress, std::optional<BoundPruning> pruning) {
    const Costs costs = make_costs(matrix, gap_first, gap_extend);
    const ScoreType type(top_H);
    const Region region = make_region(type, costs, query, target, top_H, top_F, left_H, left_E, corner);
    require_threads(threads);
    const RegionJob job{choose_isa(isa),
                        region,
                        costs,
                        is_local,
                        make_checkpoints(type, rows, region.n_rows, row_H, row_F, region.n_columns),
                        make_checkpoints(type, columns, region.n_columns, column_H, column_E, region.n_rows),
                        finds_end && is_local,
                        make_pruning(pruning, is_local, region, costs),
                        threads};
    Progress progress;
    RegionResult found;
    run_released(
        double(region.n_rows) * double(region.n_columns) <= QUICK_CELLS, progress,
        [&] { found = fill_region(job, progress); },
        [&] {
            if (on_progress)
                (*on_progress)(std::min(progress.cells.load(), region.n_rows * region.n_columns));
        });
    return {found.end.score, found.end.row, found.end.column, found.pruned};
}

// Windows of the checkpoint lines every `spacing` letters of the region; empty for lines that are not given.
std::vector<CheckpointWindow> make_windows(const ScoreType& type, int64_t spacing,
                                           const InputArray<int64_t>& positions, int64_t n_positions,
                                           const InputArray<int64_t>& firsts, const InputLines& H,
                                           const InputLines& gap, int64_t size) {
    const ScoreArray all_H = type.input(H, positions.shape(0)), all_gap = type.input(gap, positions.shape(0));
    if (firsts.shape(0) != positions.shape(0) || H.shape(1) != gap.shape(1))
        throw std::invalid_argument("lines do not have the shape of their places");
    const auto width = int64_t(H.shape(1)), far = int64_t(1) << 61;
    std::vector<CheckpointWindow> windows(size_t(std::max<int64_t>(0, n_positions - 1) / spacing),
                                          {0, 0, all_H, all_gap});
    for (size_t i = 0; i < positions.shape(0); ++i) {
        const int64_t position = positions.data()[i], first = firsts.data()[i];
        if (position <= 0 || position % spacing != 0 || position >= n_positions || first < -far ||
            first > size)
            continue;
        const int64_t begin = std::max<int64_t>(first, 0), end = std::min(first + width, size);
        const int64_t at = int64_t(i) * width + begin - first;
        if (begin < end)
            windows[size_t(position / spacing - 1)] = {begin, end, scores_from(all_H, at),
                                                       scores_from(all_gap, at)};
    }
    return windows;
}

using Traced = std::tuple<NumpyArray<uint8_t>, int64_t, int64_t, int64_t, int>;

Traced bound_trace(BlockTracer& tracer, InputArray<uint8_t> query, InputArray<uint8_t> target,
                   InputArray<int32_t, 2> matrix, int32_t gap_first, int32_t gap_extend, bool is_local,
                   InputScores top_H, InputScores top_F, InputScores left_H, InputScores left_E,
                   int64_t corner, int64_t spacing, InputArray<int64_t> rows, InputArray<int64_t> row_firsts,
                   InputLines row_H, InputLines row_F, InputArray<int64_t> columns,
                   InputArray<int64_t> column_firsts, InputLines column_H, InputLines column_E, int64_t row,
                   int64_t column, int64_t left, int gap) {
    const Costs costs = make_costs(matrix, gap_first, gap_extend);
    const ScoreType type(top_H);
    const Region region = make_region(type, costs, query, target, top_H, top_F, left_H, left_E, corner);
    if (gap < PathState::NO_GAP || gap > PathState::IN_F)
        throw std::invalid_argument("gap must be 0, 1 or 2");
    if (spacing < 1 || spacing > MAX_TABLE_SCORE)
        throw std::invalid_argument("lines must be 1 to 2^61 apart");
    Boundary::checked(left);
    const TracebackJob job{
        region,
        costs,
        is_local,
        spacing,
        make_windows(type, spacing, rows, region.n_rows, row_firsts, row_H, row_F, region.n_columns),
        make_windows(type, spacing, columns, region.n_columns, column_firsts, column_H, column_E,
                     region.n_rows)};
    PathState path{row, column, left, PathState::Gap(gap)};
    std::vector<uint8_t> steps;
    {
        const nb::gil_scoped_release released;
        steps = tracer.trace(job, path);
    }
    return {to_numpy(std::move(steps)), path.row, path.column, path.left, int(path.gap)};
}

}  // namespace

void bind_long(nb::module_& m) {
    m.def("fill_region", bound_fill_region, nb::arg("query"), nb::arg("target"), nb::arg("matrix"),
          nb::arg("gap_first"), nb::arg("gap_extend"), nb::arg("is_local"), nb::arg("top_h"),
          nb::arg("top_f"), nb::arg("left_h"), nb::arg("left_e"), nb::arg("corner"), nb::arg("rows"),
          nb::arg("row_h").noconvert(), nb::arg("row_f").noconvert(), nb::arg("columns"),
          nb::arg("column_h").noconvert(), nb::arg("column_e").noconvert(), nb::arg("wants_end") = false,
          nb::arg("threads") = 1, nb::arg("isa") = "", nb::arg("on_progress") = nb::none(),
          nb::arg("pruning") = nb::none(),
          "Compute all cells of a region and write the given checkpoint rows and columns. Returns score, row "
          "and "
          "column of the best cell of a local table, if wants_end, and the number of pruned cells.");
    nb::class_<BlockTracer>(m, "BlockWalker",
                            "Traces paths back through blocks between checkpoint lines, on its own threads.")
        .def(
            "__init__",
            [](BlockTracer* self, int threads, const std::string& isa) {
                require_threads(threads);
                new (self) BlockTracer(choose_isa(isa), threads);
            },
            nb::arg("threads") = 1, nb::arg("isa") = "")
        .def("walk", bound_trace, nb::arg("query"), nb::arg("target"), nb::arg("matrix"),
             nb::arg("gap_first"), nb::arg("gap_extend"), nb::arg("is_local"), nb::arg("top_h"),
             nb::arg("top_f"), nb::arg("left_h"), nb::arg("left_e"), nb::arg("corner"), nb::arg("spacing"),
             nb::arg("rows"), nb::arg("row_firsts"), nb::arg("row_h"), nb::arg("row_f"), nb::arg("columns"),
             nb::arg("column_firsts"), nb::arg("column_h"), nb::arg("column_e"), nb::arg("row"),
             nb::arg("column"), nb::arg("left") = 0, nb::arg("gap") = 0,
             "Steps uint8[...] of a traceback through blocks of a region, then its row, column, remaining "
             "score "
             "and gap.");
}

}  // namespace exaln
