// Several local alignments of a pair by the textbook (Waterman and Eggert 1987), as
// tests/support/waterman_eggert.py: Gotoh's tables, filled anew for every round. It shares no code with the
// core and is never optimised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace waterman_eggert {

struct Found {
    int64_t score, row, column;  // the end: letters of query and target up to there
    std::string steps;           // M, D or I, from the first to the last
};

struct Scores {
    const int32_t* matrix;  // [n_letters][n_letters]
    int64_t n_letters, gap_first, gap_extend;

    int64_t of(uint8_t query, uint8_t target) const { return matrix[query * n_letters + target]; }
};

// H, E and F of every cell of a pair and of the border, and the value that the diagonal gives.
struct Tables {
    static constexpr int64_t NEVER = -(int64_t(1) << 50);

    const std::vector<uint8_t>&query, &target;
    const Scores& scores;
    int64_t n_columns;
    std::vector<int64_t> H, E, F, matched;
    std::vector<bool> is_used;

    Tables(const std::vector<uint8_t>& query_, const std::vector<uint8_t>& target_, const Scores& scores_)
        : query(query_),
          target(target_),
          scores(scores_),
          n_columns(int64_t(target.size())),
          H((query.size() + 1) * (target.size() + 1)),
          is_used(H.size()) {}

    size_t at(int64_t i, int64_t j) const { return size_t(i * (n_columns + 1) + j); }

    void fill() {
        H.assign(H.size(), 0), E.assign(H.size(), NEVER), F = E, matched = E;
        for (int64_t i = 1; i <= int64_t(query.size()); ++i)
            for (int64_t j = 1; j <= n_columns; ++j) {
                E[at(i, j)] =
                    std::max(H[at(i, j - 1)] - scores.gap_first, E[at(i, j - 1)] - scores.gap_extend);
                F[at(i, j)] =
                    std::max(H[at(i - 1, j)] - scores.gap_first, F[at(i - 1, j)] - scores.gap_extend);
                if (!is_used[at(i, j)])
                    matched[at(i, j)] =
                        H[at(i - 1, j - 1)] + scores.of(query[size_t(i - 1)], target[size_t(j - 1)]);
                H[at(i, j)] = std::max({int64_t(0), matched[at(i, j)], E[at(i, j)], F[at(i, j)]});
            }
    }

    // The best cell: of the smallest target end, then query end.
    Found best() const {
        Found found{0, 0, 0, {}};
        for (int64_t j = 1; j <= n_columns; ++j)
            for (int64_t i = 1; i <= int64_t(query.size()); ++i)
                if (H[at(i, j)] > found.score) found = {H[at(i, j)], i, j, {}};
        return found;
    }

    // Sets the steps of the path that ends in a cell, and marks the pairs that it aligns as used.
    void trace(Found& found) {
        int64_t i = found.row, j = found.column;
        char state = 'H';
        while (state != 'H' || H[at(i, j)] > 0) {
            if (state == 'H' && H[at(i, j)] == matched[at(i, j)]) {
                is_used[at(i, j)] = true;
                found.steps += 'M', --i, --j;
            } else if (state == 'H') {
                state = H[at(i, j)] == E[at(i, j)] ? 'E' : 'F';
            } else if (state == 'E') {
                state = E[at(i, j)] == H[at(i, j - 1)] - scores.gap_first ? 'H' : 'E';
                found.steps += 'D', --j;
            } else {
                state = F[at(i, j)] == H[at(i - 1, j)] - scores.gap_first ? 'H' : 'F';
                found.steps += 'I', --i;
            }
        }
        std::reverse(found.steps.begin(), found.steps.end());
    }
};

// At most `most` alignments with a score of at least `least`, which is above 0, in the order found.
inline std::vector<Found> textbook(const std::vector<uint8_t>& query, const std::vector<uint8_t>& target,
                                   const Scores& scores, int64_t most, int64_t least) {
    Tables tables(query, target, scores);
    std::vector<Found> all;
    while (int64_t(all.size()) < most) {
        tables.fill();
        Found one = tables.best();
        if (one.score < least) break;
        tables.trace(one);
        all.push_back(one);
    }
    return all;
}

}  // namespace waterman_eggert
