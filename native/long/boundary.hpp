// The boundary of a region: the row above it, the column to its left and the corner, as strips use it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "long/region.hpp"
#include "recurrence/costs.hpp"
#include "recurrence/score_array.hpp"
#include "threads/scratch.hpp"

namespace exaln {

// A boundary row (H and F) or column (H and E).
struct Side {
    ScoreArray H, gap;

    Side from(int64_t first) const { return {scores_from(H, first), scores_from(gap, first)}; }

    // Raises H of a cell to `least`, and its gap accordingly.
    void raise(int64_t i, int64_t least, int64_t gap_first) const {
        if (score_at(H, i) >= least) return;
        set_score(H, i, least);
        set_score(gap, i, std::max(score_at(gap, i), least - gap_first));
    }

    // Raises cells so that H falls by no more than a gap costs, starting from the cell before the first one.
    void limit_fall(int64_t before, int64_t n, const Costs& costs) const {
        int64_t least = before - costs.gap_first;
        for (int64_t i = 0; i < n; ++i) {
            raise(i, least, costs.gap_first);
            least = std::max(least - costs.gap_extend, score_at(H, i) - costs.gap_first);
        }
    }

    // Sets cells [first, end) as if an alignment began in each of them.
    void reset(int64_t first, int64_t end, int64_t gap_first) const {
        for (int64_t i = first; i < end; ++i) set_score(H, i, 0), set_score(gap, i, -gap_first);
    }

    int64_t highest(int64_t n) const {
        int64_t found = 0;
        for (int64_t i = 0; i < n; ++i) found = std::max(found, score_at(H, i));
        return found;
    }
};

// A copy of the boundary of a region, updated while the region is computed: `top` becomes the row between two
// strips, `left` the column to the left of the next columns, `corner` the H between them.
//
// Scores beside pruned cells are lower than the true scores, and may differ from their neighbours by more
// than StripRange assumes. `smooth` raises them, using two bounds that true scores obey: from a cell to those
// to the right or below, H falls by at most the cost of a gap; from a cell to the next, H rises by at most
// max_score + gap_first. So raised scores never exceed the true ones, and H inside the region obeys the same
// bounds. Where no cell was pruned, nothing changes.
struct Boundary {
    Side top, left;
    int64_t corner;

    Boundary(const Region& region, int64_t padded_columns) : corner(region.corner) {
        top = copied(region.top_H, region.top_F, region.n_columns, padded_columns, memory_);
        left = copied(region.left_H, region.left_E, region.n_rows, region.n_rows, memory_ + 2);
    }

    static void smooth(const Costs& costs, const Side& top, int64_t n_columns, const Side& left,
                       int64_t n_rows, int64_t& corner) {
        const int64_t rises = costs.gap_first + std::max(costs.max_score, 0);
        for (int64_t i = n_rows - 1; i > 0; --i)
            left.raise(i - 1, score_at(left.H, i) - rises, costs.gap_first);
        if (n_rows > 0) corner = std::max(corner, score_at(left.H, 0) - rises);
        top.limit_fall(corner, n_columns, costs);
        for (int64_t j = n_columns - 1; j > 0; --j)
            top.raise(j - 1, score_at(top.H, j) - rises, costs.gap_first);
        if (n_columns > 0) corner = std::max(corner, score_at(top.H, 0) - rises);
        left.limit_fall(corner, n_rows, costs);
    }

    // Returns the score; throws std::invalid_argument if it is outside the range of table scores.
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
