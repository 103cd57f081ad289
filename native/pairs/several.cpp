// The alignments of a pair, one after the other, in a table that is kept.
//
// After an alignment is found, its diagonal steps are forbidden, and the cells that depend on them are
// computed again. Values can only fall, so what changes lies below and to the right of the path:
//
// clang-format off
//     . . . . . . . . . .        \  a step of the path, now forbidden
//     . . \ x x . . . . .        x  computed again, because it or a cell it depends on has changed
//     . . x \ x x . . . .        .  kept
//     . . . x \ x x . . .
//     . . . . x x x . . .        A row is done where a cell and its E are what they were; the rows are
//     . . . . . x . . . .        done where no cell has changed and the path has ended.
// clang-format on
//
// Each row keeps the first of its best cells. A row whose best cell has not changed keeps it, because no
// other cell has become better.
#include "pairs/several.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "pairs/path.hpp"

namespace exaln {
namespace {

constexpr int32_t NEVER = INT32_MIN / 2;  // below every value, far from overflow
constexpr int64_t MOST_SCORE = INT32_MAX / 4, MOST_COST = INT32_MAX / 8;
constexpr int64_t ROWS_PER_CHECK = 64;  // rows between two looks at progress.cancelled

// H, E and F of a cell (local mode).
struct Cell {
    int32_t H, E, F;
};

// The first of the best cells of a row.
struct RowBest {
    int32_t score = 0;
    int64_t column = 0;
};

// An interval of columns; empty if first > last.
struct Columns {
    int64_t first = INT64_MAX, last = -1;

    void include(int64_t column) { first = std::min(first, column), last = std::max(last, column); }
    void include(const Columns& other) {
        first = std::min(first, other.first), last = std::max(last, other.last);
    }
    bool is_empty() const { return first > last; }
};

// The table of a pair; row 0 and column 0 are the border.
class Table {
  public:
    Table(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns, const Costs& costs,
          Progress& progress)
        : query_(query),
          target_(target),
          n_rows_(n_rows),
          n_columns_(n_columns),
          costs_(costs),
          progress_(progress),
          cells_(size_t(n_rows + 1) * size_t(n_columns + 1), Cell{0, NEVER, NEVER}),
          forbidden_(size_t(n_rows) + 1),
          bests_(size_t(n_rows) + 1) {
        for (int64_t row = 1; row <= n_rows_ && !is_cancelled(row); ++row) {
            Columns all;
            all.include(1), all.include(n_columns_);
            compute(row, all, all);
            find_best(row);
        }
    }

    // The row of the best cell; 0 if no cell is above 0. Among equals, the smallest column, then row.
    int64_t best_row() const {
        int64_t best = 0;
        for (int64_t row = 1; row <= n_rows_; ++row) {
            const RowBest &own = bests_[size_t(row)], &known = bests_[size_t(best)];
            if (own.score > known.score ||
                (own.score == known.score && own.score > 0 && own.column < known.column))
                best = row;
        }
        return best;
    }

    const RowBest& best_of(int64_t row) const { return bests_[size_t(row)]; }

    // The steps of the path that ends in the best cell of a row, from its end to its start.
    std::vector<uint8_t> trace_back(int64_t row) const {
        std::vector<uint8_t> steps;
        int64_t column = best_of(row).column;
        for (PathState::Gap gap = PathState::NO_GAP;;) {
            const Cell& cell = at(row, column);
            if (gap == PathState::IN_E) {
                steps.push_back(STEP_TARGET), --column;
                if (cell.E == at(row, column).H - costs_.gap_first) gap = PathState::NO_GAP;
            } else if (gap == PathState::IN_F) {
                steps.push_back(STEP_QUERY), --row;
                if (cell.F == at(row, column).H - costs_.gap_first) gap = PathState::NO_GAP;
            } else if (cell.H == 0) {
                return steps;
            } else if (cell.H == diagonal(row, column)) {
                steps.push_back(STEP_BOTH), --row, --column;
            } else {
                gap = cell.H == cell.E ? PathState::IN_E : PathState::IN_F;
            }
        }
    }

    // Forbids the diagonal steps of a path that ends in (row, column), and computes what depends on them.
    void forbid(const std::vector<uint8_t>& steps, int64_t row, int64_t column) {
        const int64_t end_row = row;
        for (const uint8_t step : steps) {
            if (step == STEP_BOTH) {
                auto& own = forbidden_[size_t(row)];
                own.insert(std::upper_bound(own.begin(), own.end(), column), column);
                touched_.resize(std::max(touched_.size(), size_t(end_row - row) + 1));
                touched_[size_t(end_row - row)].include(column);
            }
            row -= step != STEP_TARGET, column -= step != STEP_QUERY;
        }
        Columns changed;
        for (int64_t at_row = row + 1; at_row <= n_rows_ && (at_row <= end_row || !changed.is_empty());
             ++at_row) {
            if (is_cancelled(at_row)) break;
            Columns suspect = at_row <= end_row && size_t(end_row - at_row) < touched_.size()
                                  ? touched_[size_t(end_row - at_row)]
                                  : Columns();
            if (!changed.is_empty())
                suspect.include(changed), suspect.include(std::min(changed.last + 1, n_columns_));
            changed = suspect.is_empty() ? Columns() : compute(at_row, suspect, Columns());
            const int64_t best = bests_[size_t(at_row)].column;
            if (changed.first <= best && best <= changed.last) find_best(at_row);
        }
        touched_.clear();
    }

  private:
    const uint8_t *query_, *target_;
    const int64_t n_rows_, n_columns_;
    const Costs& costs_;
    Progress& progress_;
    std::vector<Cell> cells_;
    std::vector<std::vector<int64_t>> forbidden_;  // for each row, its forbidden columns, ascending
    std::vector<RowBest> bests_;
    std::vector<Columns> touched_;  // of a path: the forbidden columns of each row, from its last row upwards

    Cell* row_of(int64_t row) { return cells_.data() + row * (n_columns_ + 1); }
    const Cell& at(int64_t row, int64_t column) const {
        return cells_[size_t(row * (n_columns_ + 1) + column)];
    }
    bool is_cancelled(int64_t row) const { return row % ROWS_PER_CHECK == 0 && progress_.cancelled; }

    bool is_forbidden(int64_t row, int64_t column) const {
        const auto& own = forbidden_[size_t(row)];
        return std::binary_search(own.begin(), own.end(), column);
    }

    // H that a diagonal step into a cell gives.
    int32_t diagonal(int64_t row, int64_t column) const {
        if (is_forbidden(row, column)) return NEVER;
        return at(row - 1, column - 1).H + costs_.scores[query_[row - 1]][target_[column - 1]];
    }

    // Computes a row from the first suspect column to the last and on, until a cell is what it was before.
    // All of `all` is computed in any case. Returns the columns whose values have changed.
    Columns compute(int64_t row, const Columns& suspect, const Columns& all) {
        const int32_t* const scores = costs_.scores[query_[row - 1]];
        const int32_t gap_first = costs_.gap_first, gap_extend = costs_.gap_extend;
        const auto& forbidden = forbidden_[size_t(row)];
        const Cell* const above = row_of(row - 1);
        Cell* const own = row_of(row);
        const int64_t last = std::max(suspect.last, all.last);
        size_t next =
            size_t(std::lower_bound(forbidden.begin(), forbidden.end(), suspect.first) - forbidden.begin());
        Columns changed;
        for (int64_t column = suspect.first; column <= n_columns_; ++column) {
            Cell cell;
            cell.E = std::max(own[column - 1].E - gap_extend, own[column - 1].H - gap_first);
            cell.F = std::max(above[column].F - gap_extend, above[column].H - gap_first);
            int32_t matched = above[column - 1].H + scores[target_[column - 1]];
            if (next < forbidden.size() && forbidden[next] == column) matched = NEVER, ++next;
            cell.H = std::max(std::max(matched, 0), std::max(cell.E, cell.F));
            const bool is_same =
                cell.H == own[column].H && cell.E == own[column].E && cell.F == own[column].F;
            own[column] = cell;
            if (!is_same)
                changed.include(column);
            else if (column > last)
                break;
        }
        return changed;
    }

    void find_best(int64_t row) {
        const Cell* const own = row_of(row);
        RowBest best;
        for (int64_t column = 1; column <= n_columns_; ++column)
            if (own[column].H > best.score) best = {own[column].H, column};
        bests_[size_t(row)] = best;
    }
};

void require_range(int64_t n_rows, int64_t n_columns, const Costs& costs) {
    if (std::min(n_rows, n_columns) * std::max<int64_t>(costs.max_score, 1) > MOST_SCORE ||
        costs.gap_first > MOST_COST || -int64_t(costs.min_score) > MOST_COST)
        throw std::overflow_error("a score does not fit the table");
}

}  // namespace

std::vector<ScoredAlignment> align_several(const uint8_t* query, int64_t n_rows, const uint8_t* target,
                                           int64_t n_columns, const Costs& costs, const SeveralLimits& limits,
                                           size_t max_bytes, Progress& progress) {
    require_range(n_rows, n_columns, costs);
    if (double(n_rows + 1) * double(n_columns + 1) * sizeof(Cell) > double(max_bytes)) throw std::bad_alloc();
    std::vector<ScoredAlignment> found;
    Table table(query, n_rows, target, n_columns, costs, progress);
    while (int64_t(found.size()) < limits.most && !progress.cancelled) {
        const int64_t row = table.best_row();
        const RowBest end = table.best_of(row);
        if (row == 0 || end.score < limits.least) break;
        const std::vector<uint8_t> steps = table.trace_back(row);
        found.push_back({end.score, make_alignment(query, target, costs, end.score, row, end.column, steps)});
        if (int64_t(found.size()) < limits.most) table.forbid(steps, row, end.column);
    }
    return found;
}

}  // namespace exaln
