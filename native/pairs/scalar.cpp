// One pair cell by cell, with checkpoint rows and columns instead of the directions of all cells.
//
// clang-format off
//   first pass   computes all cells row by row, and stores H and F of every B-th row, H and E of every B-th
//                column (16 bytes per B cells)
//   traceback    computes only the blocks of B x B cells on the path again, now with directions
//
//     +-----+-----+-----+   B is about the cube root of 8 x rows x columns, which minimizes the memory of
//     |     |     |     |   checkpoints and of one block's directions: 20 MB for 35,000 x 35,000.
//     +-----+-----+-----+
//     |  \  |     |     |   The cells are those of the pair kernel, and so is the path: it depends only on
//     +-----+-----+-----+   the two sequences and the costs.
//     |     |  \  |     |
//     +-----+-----+-----+   A block needs H and F of the row above it, H and E of the column to its left.
// clang-format on
//
// It also serves scores that need more than 32 bits, and pairs of which one sequence is empty. Tests:
// test_trace.py and test_pairs.py in tests/engines/cpu compare it with the pair kernel.
#include "pairs/scalar.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "pairs/traceback.hpp"
#include "recurrence/ranges.hpp"

namespace exaln {
namespace {

constexpr int64_t MIN_BLOCK = 256;

template <class Score>
class ScalarPair {
  public:
    ScalarPair(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
               const Costs& costs, const Mode& mode, bool keeps_checkpoints)
        : query_(query), target_(target), n_rows_(n_rows), n_columns_(n_columns), costs_(costs), mode_(mode) {
        const double cells = double(n_rows) * double(n_columns);
        block_ = std::max(MIN_BLOCK, int64_t(std::cbrt(8 * cells)));
        n_checkpoint_rows_ = keeps_checkpoints ? n_rows / block_ : 0,
        n_checkpoint_columns_ = keeps_checkpoints ? n_columns / block_ : 0;
        const size_t across = size_t(n_checkpoint_rows_ * n_columns),
                     down = size_t(n_checkpoint_columns_ * n_rows);
        row_H_.resize(across), row_F_.resize(across);
        column_H_.resize(down), column_E_.resize(down);
    }

    // Computes all cells. Returns the end of the path.
    EndCell fill(Progress& progress) {
        std::vector<Score> H, F, last_column;
        enter_top(0, n_columns_, H, F);
        if (mode_.is_local) end_ = {0, 0, 0};
        for (int64_t row = 0; row < n_rows_; ++row) {
            if (row % 64 == 0 && progress.cancelled.load(std::memory_order_relaxed)) return end_;
            mode_.is_local ? fill_row<true>(row, H.data(), F.data())
                           : fill_row<false>(row, H.data(), F.data());
            if (mode_.query_end && !mode_.is_local && n_columns_ > 0) last_column.push_back(H.back());
            if (row % block_ == block_ - 1 && row / block_ < n_checkpoint_rows_) {
                const auto line = std::ptrdiff_t(row / block_ * n_columns_);
                std::copy(H.begin(), H.end(), row_H_.begin() + line);
                std::copy(F.begin(), F.end(), row_F_.begin() + line);
            }
        }
        if (!mode_.is_local)
            end_ = choose_end(
                mode_, n_rows_, n_columns_, costs_.gap_first, costs_.gap_extend,
                [&](int64_t j) { return int64_t(H[size_t(j - 1)]); },
                [&](int64_t i) { return int64_t(last_column[size_t(i - 1)]); });
        return end_;
    }

    std::vector<uint8_t> trace() {
        PathState path{end_.row - 1, end_.column - 1, end_.score};
        std::vector<uint8_t> steps(size_t(end_.row + end_.column));
        uint8_t* next = steps.data();
        auto bits = [&](int64_t row, int64_t column) {
            if (row / block_ != block_row_ || column / block_ != block_column_)
                mode_.is_local ? compute_block<true>(row / block_, column / block_)
                               : compute_block<false>(row / block_, column / block_);
            return directions_[size_t(row % block_ * block_ + column % block_)];
        };
        auto letters = [&](int64_t row, int64_t column) {
            return costs_.scores[query_[row]][target_[column]];
        };
        if (mode_.is_local) {
            trace_rows<true>(costs_, bits, letters, 0, path, next);
        } else {
            trace_rows<false>(costs_, bits, letters, 0, path, next);
        }
        if (!path.is_complete(mode_.is_local)) throw std::logic_error("no path has the score of its pair");
        next = trace_border(mode_, path, next);
        steps.resize(size_t(next - steps.data()));
        return steps;
    }

  private:
    Score left(int64_t row) const {
        return Score(border_score(row, mode_.query_start, costs_.gap_first, costs_.gap_extend));
    }

    // Appends H and F above the first row, from a column on.
    void enter_top(int64_t first_column, int64_t columns, std::vector<Score>& H,
                   std::vector<Score>& F) const {
        for (int64_t j = first_column + 1; j <= first_column + columns; ++j) {
            const int64_t h = border_score(j, mode_.target_start, costs_.gap_first, costs_.gap_extend);
            H.push_back(Score(h)), F.push_back(Score(h - costs_.gap_first));
        }
    }

    template <bool is_local>
    static Score best_of(Score diagonal, Score E, Score F) {
        return std::max(std::max(diagonal, F), is_local ? std::max(E, Score(0)) : E);
    }

    template <bool is_local>
    void fill_row(int64_t row, Score* H, Score* F) {
        const int32_t* scores = costs_.scores[query_[row]];
        const Score first = costs_.gap_first, extend = costs_.gap_extend;
        Score diagonal = left(row), E = left(row + 1) - first, best = Score(end_.score);
        for (int64_t begin = 0, line = 0; begin < n_columns_; begin += block_, ++line) {
            const int64_t end = std::min(n_columns_, begin + block_);
            for (int64_t column = begin; column < end; ++column) {
                const Score h = best_of<is_local>(diagonal + scores[target_[column]], E, F[column]);
                diagonal = H[column];
                H[column] = h;
                E = std::max(E - extend, h - first);
                F[column] = std::max(F[column] - extend, h - first);
                if (is_local && h >= best) end_.consider(h, row + 1, column + 1), best = h;
            }
            if (line < n_checkpoint_columns_) {
                column_H_[size_t(line * n_rows_ + row)] = H[end - 1];
                column_E_[size_t(line * n_rows_ + row)] = E;
            }
        }
    }

    template <bool is_local>
    void compute_block(int64_t block_row, int64_t block_column) {
        block_row_ = block_row, block_column_ = block_column;
        directions_.resize(size_t(block_ * block_));
        const int64_t first_row = block_row * block_, first_column = block_column * block_;
        const int64_t rows = std::min(block_, n_rows_ - first_row),
                      columns = std::min(block_, n_columns_ - first_column);
        std::vector<Score> H, F;
        if (block_row > 0) {
            const auto line = std::ptrdiff_t((block_row - 1) * n_columns_ + first_column);
            H.assign(row_H_.begin() + line, row_H_.begin() + line + columns);
            F.assign(row_F_.begin() + line, row_F_.begin() + line + columns);
        } else {
            enter_top(first_column, columns, H, F);
        }
        const auto above = [&](int64_t column) {  // H of the top border
            return Score(border_score(column, mode_.target_start, costs_.gap_first, costs_.gap_extend));
        };
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t row = first_row + r;
            const int64_t line = (block_column - 1) * n_rows_ + row;
            const Score E = block_column > 0 ? column_E_[size_t(line)] : left(row + 1) - costs_.gap_first;
            const Score corner = block_column == 0 ? left(row)
                                 : row > 0         ? column_H_[size_t(line - 1)]
                                                   : above(first_column);
            trace_row<is_local>(query_[row], target_ + first_column, columns, corner, E, H.data(), F.data(),
                                directions_.data() + r * block_);
        }
    }

    template <bool is_local>
    void trace_row(uint8_t letter, const uint8_t* target, int64_t columns, Score diagonal, Score E, Score* H,
                   Score* F, uint8_t* directions) const {
        const int32_t* scores = costs_.scores[letter];
        for (int64_t column = 0; column < columns; ++column) {
            const Score matched = diagonal + scores[target[column]];
            const Score h = best_of<is_local>(matched, E, F[column]), opened = h - costs_.gap_first;
            const Score extended_E = E - costs_.gap_extend, extended_F = F[column] - costs_.gap_extend;
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
    int64_t n_rows_, n_columns_, block_, n_checkpoint_rows_, n_checkpoint_columns_, block_row_ = -1,
                                                                                    block_column_ = -1;
    const Costs& costs_;
    const Mode mode_;
    EndCell end_;
    std::vector<Score> row_H_, row_F_, column_H_, column_E_;
    std::vector<uint8_t> directions_;
};

template <class Score>
int64_t align(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
              const Costs& costs, const Mode& mode, Progress& progress, Alignment* alignment) {
    ScalarPair<Score> pair(query, n_rows, target, n_columns, costs, mode, alignment != nullptr);
    const EndCell end = pair.fill(progress);
    if (alignment && !progress.cancelled)
        *alignment = make_alignment(query, target, costs, end.score, end.row, end.column, pair.trace());
    return end.score;
}

}  // namespace

int64_t align_scalar(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
                     const Costs& costs, const Mode& mode, Progress& progress, Alignment* alignment) {
    const bool is_small = Range::of(costs, 32, n_rows, n_columns).usable &&
                          std::min(n_rows, n_columns) * costs.max_score <= INT32_MAX;
    const auto run = is_small ? align<int32_t> : align<int64_t>;
    return run(query, n_rows, target, n_columns, costs, mode, progress, alignment);
}

}  // namespace exaln
