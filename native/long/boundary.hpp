// What surrounds a region of a table, as its strips take it.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "long/region.hpp"
#include "recurrence/score_array.hpp"
#include "threads/tasks.hpp"

namespace exaln {

// H and a gap's score along one side of a region.
struct Side {
    ScoreArray H, gap;

    Side from(int64_t first) const { return {scores_from(H, first), scores_from(gap, first)}; }

    void raise(int64_t i, int64_t least, int64_t gap_first) const {
        if (score_at(H, i) >= least) return;
        set_score(H, i, least);
        set_score(gap, i, std::max(score_at(gap, i), least - gap_first));
    }

    // From the cell before the first one on, by no more than a gap costs.
    void let_fall(int64_t before, int64_t n, const Costs& costs) const {
        int64_t least = before - costs.gap_first;
        for (int64_t i = 0; i < n; ++i) {
            raise(i, least, costs.gap_first);
            least = std::max(least - costs.gap_extend, score_at(H, i) - costs.gap_first);
        }
    }

    // As if an alignment began in each cell.
    void forget(int64_t first, int64_t end, int64_t gap_first) const {
        for (int64_t i = first; i < end; ++i) set_score(H, i, 0), set_score(gap, i, -gap_first);
    }

    int64_t highest(int64_t n) const {
        int64_t found = 0;
        for (int64_t i = 0; i < n; ++i) found = std::max(found, score_at(H, i));
        return found;
    }
};

// What surrounds a region, or a part of one, copied: the row between two strips, first the one above the
// region; the column left of what is computed next, first the one left of the region; H between them.
//
// Numbers beside pruned cells are lower than the true ones, and may be so by more than two neighbours of a
// table can differ, which StripRange relies on. `smooth` raises them: from a cell to those right of it or
// below it H falls by at most what a gap costs, and from a cell to the next it rises by at most max_score +
// gap_first. So what is raised is still not above the true number, and inside of such borders H keeps to the
// same limits. Nothing changes where no cell was pruned.
struct Surroundings {
    Side top, left;
    int64_t corner;

    Surroundings(const Region& region, int64_t padded_columns) : corner(region.corner) {
        top = copied(region.top_H, region.top_F, region.n_columns, padded_columns, memory_);
        left = copied(region.left_H, region.left_E, region.n_rows, region.n_rows, memory_ + 2);
    }

    static void smooth(const Costs& costs, const Side& top, int64_t n_columns, const Side& left,
                       int64_t n_rows, int64_t& corner) {
        const int64_t rises = costs.gap_first + std::max(costs.max_score, 0);
        for (int64_t i = n_rows - 1; i > 0; --i)
            left.raise(i - 1, score_at(left.H, i) - rises, costs.gap_first);
        if (n_rows > 0) corner = std::max(corner, score_at(left.H, 0) - rises);
        top.let_fall(corner, n_columns, costs);
        for (int64_t j = n_columns - 1; j > 0; --j)
            top.raise(j - 1, score_at(top.H, j) - rises, costs.gap_first);
        if (n_columns > 0) corner = std::max(corner, score_at(top.H, 0) - rises);
        left.let_fall(corner, n_rows, costs);
    }

    static int64_t checked(int64_t score) {
        if (score > MAX_TABLE_SCORE || score < -MAX_TABLE_SCORE)
            throw std::invalid_argument("a score of the table is beyond 2^61");
        return score;
    }

  private:
    static Side copied(const ScoreArray& H, const ScoreArray& gap, int64_t n, int64_t padded,
                       Scratch* memory) {
        const size_t bytes = size_t(padded) * (H.is_wide ? sizeof(int64_t) : sizeof(int32_t));
        const Side side{{memory[0].reserve(bytes), H.is_wide}, {memory[1].reserve(bytes), H.is_wide}};
        for (int64_t i = 0; i < padded; ++i) {
            const int64_t from = std::min(i, n - 1);
            set_score(side.H, i, checked(score_at(H, from)));
            set_score(side.gap, i, checked(score_at(gap, from)));
        }
        return side;
    }

    Scratch memory_[4];
};

}  // namespace exaln
