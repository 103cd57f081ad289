// clang-format off
// The path of a pair that is too large for keeping the directions of all its cells.
//
//   first pass    all cells, row by row; H and F of every B-th row and H and E of every B-th column are kept
//                 (16 bytes per B cells)
//   walking back  only the blocks of B x B cells that the path runs through are computed again, now with
//                 directions
//
//        +-----+-----+-----+   B is about the cube root of 8 x rows x columns, which makes the kept lines and
//        |     |     |     |   one block's directions together as small as can be: 20 MB for 35,000 x 35,000.
//        +-----+-----+-----+   The cells are those of the direct method, and so is the path: it depends on
//        |     |  \  |     |   nothing but the two sequences and the costs.
//        +-----+-----+-----+
//        |  \  |     |     |   A block needs H and F of the row above it, H and E of the column left of it.
//        +-----+-----+-----+   Tests: tests/test_trace.py compares with the direct method.
// clang-format on
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "trace.hpp"
#include "walk.hpp"

namespace exaln {
namespace {

constexpr int32_t NEVER = INT32_MIN / 2;  // far below every score, far above where subtraction could wrap
constexpr int64_t SMALLEST_BLOCK = 256;

class LongPair {
  public:
    LongPair(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
             const Costs& costs)
        : query_(query), target_(target), n_rows_(n_rows), n_columns_(n_columns), costs_(costs) {
        const double cells = double(n_rows) * double(n_columns);
        block_ = std::max(SMALLEST_BLOCK, int64_t(std::cbrt(8 * cells)));
        const size_t row_lines = size_t(n_rows / block_), column_lines = size_t(n_columns / block_);
        row_H_.resize(row_lines * size_t(n_columns)), row_F_.resize(row_lines * size_t(n_columns));
        column_H_.resize(column_lines * size_t(n_rows)), column_E_.resize(column_lines * size_t(n_rows));
    }

    void fill(int32_t score, Progress& progress) {
        std::vector<int32_t> H(size_t(n_columns_), 0), F(size_t(n_columns_), NEVER);
        for (int64_t row = 0; row < n_rows_; ++row) {
            if (row % 64 == 0 && progress.cancelled.load(std::memory_order_relaxed)) return;
            fill_row(row, score, H.data(), F.data());
            if (row % block_ == block_ - 1) {
                const auto line = std::ptrdiff_t(row / block_ * n_columns_);
                std::copy(H.begin(), H.end(), row_H_.begin() + line);
                std::copy(F.begin(), F.end(), row_F_.begin() + line);
            }
        }
    }

    std::vector<uint8_t> walk(int32_t score) {
        PathState path{end_row, end_column, score};
        std::vector<uint8_t> steps(size_t(end_row + end_column + 2));
        uint8_t* next = steps.data();
        auto bits = [&](int64_t row, int64_t column) {
            if (row / block_ != block_row_ || column / block_ != block_column_)
                compute_block(row / block_, column / block_);
            return directions_[size_t(row % block_ * block_ + column % block_)];
        };
        auto letters = [&](int64_t row, int64_t column) {
            return costs_.scores[query_[row]][target_[column]];
        };
        while (!path.is_complete() && path.row >= 0 && path.column >= 0)
            step_back(costs_, bits, letters, path, next);
        if (!path.is_complete()) throw std::logic_error("no path has the score of its pair");
        steps.resize(size_t(next - steps.data()));
        return steps;
    }

    int64_t end_row = -1, end_column = -1;

  private:
    void fill_row(int64_t row, int32_t score, int32_t* H, int32_t* F) {
        const int32_t* scores = costs_.scores[query_[row]];
        const int32_t first = costs_.gap_first, extend = costs_.gap_extend;
        const int64_t column_lines = int64_t(column_H_.size()) / std::max<int64_t>(n_rows_, 1);
        int32_t diagonal = 0, E = NEVER;
        for (int64_t begin = 0, line = 0; begin < n_columns_; begin += block_, ++line) {
            const int64_t end = std::min(n_columns_, begin + block_);
            for (int64_t column = begin; column < end; ++column) {
                const int32_t h =
                    std::max(std::max(diagonal + scores[target_[column]], F[column]), std::max(E, 0));
                diagonal = H[column];
                H[column] = h;
                E = std::max(E - extend, h - first);
                F[column] = std::max(F[column] - extend, h - first);
                if (h == score && (end_column < 0 || column < end_column)) end_row = row, end_column = column;
            }
            if (line < column_lines) {
                column_H_[size_t(line * n_rows_ + row)] = H[end - 1];
                column_E_[size_t(line * n_rows_ + row)] = E;
            }
        }
    }

    void compute_block(int64_t block_row, int64_t block_column) {
        block_row_ = block_row, block_column_ = block_column;
        directions_.resize(size_t(block_ * block_));
        const int64_t first_row = block_row * block_, first_column = block_column * block_;
        const int64_t rows = std::min(block_, n_rows_ - first_row),
                      columns = std::min(block_, n_columns_ - first_column);
        std::vector<int32_t> H(size_t(columns), 0), F(size_t(columns), NEVER);
        if (block_row > 0) {
            const auto line = std::ptrdiff_t((block_row - 1) * n_columns_ + first_column);
            std::copy_n(row_H_.begin() + line, columns, H.begin());
            std::copy_n(row_F_.begin() + line, columns, F.begin());
        }
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t row = first_row + r;
            const int64_t line = (block_column - 1) * n_rows_ + row;
            const int32_t E = block_column > 0 ? column_E_[size_t(line)] : NEVER;
            const bool has_corner = block_column > 0 && row > 0;
            const int32_t corner = has_corner ? column_H_[size_t(line - 1)] : 0;
            trace_row(query_[row], target_ + first_column, columns, corner, E, H.data(), F.data(),
                      directions_.data() + r * block_);
        }
    }

    void trace_row(uint8_t letter, const uint8_t* target, int64_t columns, int32_t diagonal, int32_t E,
                   int32_t* H, int32_t* F, uint8_t* directions) const {
        const int32_t* scores = costs_.scores[letter];
        for (int64_t column = 0; column < columns; ++column) {
            const int32_t matched = diagonal + scores[target[column]];
            const int32_t h = std::max(std::max(matched, F[column]), std::max(E, 0)),
                          opened = h - costs_.gap_first;
            const int32_t extended_E = E - costs_.gap_extend, extended_F = F[column] - costs_.gap_extend;
            directions[column] =
                uint8_t((h == matched ? FROM_DIAGONAL : 0) | (h == E ? FROM_E : 0) |
                        (extended_E > opened ? EXTENDS_E : 0) | (extended_F > opened ? EXTENDS_F : 0));
            diagonal = H[column];
            H[column] = h;
            E = std::max(extended_E, opened);
            F[column] = std::max(extended_F, opened);
        }
    }

    const uint8_t *query_, *target_;
    int64_t n_rows_, n_columns_, block_, block_row_ = -1, block_column_ = -1;
    const Costs& costs_;
    std::vector<int32_t> row_H_, row_F_, column_H_, column_E_;
    std::vector<uint8_t> directions_;
};

}  // namespace

Alignment trace_long(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
                     const Costs& costs, int32_t score, Progress& progress) {
    LongPair pair(query, n_rows, target, n_columns, costs);
    pair.fill(score, progress);
    if (progress.cancelled) return {};
    if (pair.end_row < 0) throw std::logic_error("no cell has the score of its pair");
    const std::vector<uint8_t> steps = pair.walk(score);
    return make_alignment(query, target, costs, score, pair.end_row, pair.end_column, steps);
}

}  // namespace exaln
