// Compares several alignments of pairs, and the best scores of blocks of columns, with the textbook.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "pairs/several.hpp"
#include "scan/scores.hpp"
#include "waterman_eggert.hpp"

namespace exaln {

// A query and a target, or the end of a target from column `first` on.
class SeveralCheck {
  public:
    static constexpr int64_t MOST = 5;

    SeveralCheck(const Sequences& queries, int64_t query, const Sequences& targets, int64_t target,
                 const Costs& costs)
        : query_(queries.at(query), queries.at(query) + queries.length(query)),
          target_(targets.at(target), targets.at(target) + targets.length(target)),
          costs_(costs) {
        for (int row = 0; row < costs.n_codes; ++row)
            matrix_.insert(matrix_.end(), costs.scores[row], costs.scores[row] + costs.n_codes);
        scores_ = {matrix_.data(), costs.n_codes, costs.gap_first, costs.gap_extend};
        least_ = std::max<int64_t>(1, costs.max_score / 2);
        waterman_eggert::Tables tables(query_, target_, scores_);
        tables.fill();
        for (int64_t column = 0; column <= int64_t(target_.size()); ++column) {
            best_.push_back(0);
            for (int64_t row = 0; row <= int64_t(query_.size()); ++row)
                best_.back() = std::max(best_.back(), tables.H[tables.at(row, column)]);
        }
    }

    // Of each block of columns.
    std::vector<int32_t> block_scores(int64_t columns) const {
        std::vector<int32_t> found(size_t((int64_t(target_.size()) + columns - 1) / columns), 0);
        for (size_t column = 1; column < best_.size(); ++column) {
            int32_t& best = found[(column - 1) / size_t(columns)];
            best = std::max(best, int32_t(best_[column]));
        }
        return found;
    }

    // Whether the core finds the alignments of the whole target.
    bool finds_all(const Isa& isa, const TileShape& shape, int least_bits, int threads) {
        if (expected_.empty()) expected_ = waterman_eggert::textbook(query_, target_, scores_, MOST, least_);
        const SeveralFound found = found_from(isa, 0, 0, 0, shape, least_bits, threads);
        return found.is_certain[0] && is_same(found.alignments[0], expected_, 0);
    }

    // Whether the core finds those that end after column `first`, or is not certain.
    bool finds_end(const Isa& isa, int64_t first, const TileShape& shape, int least_bits, int threads) {
        if (all_.empty()) all_ = waterman_eggert::textbook(query_, target_, scores_, 1 << 20, least_);
        std::vector<waterman_eggert::Found> later;
        for (const auto& one : all_)
            if (one.column > first && int64_t(later.size()) < MOST) later.push_back(one);
        int64_t margin = 0;
        while (first + margin + 1 < int64_t(best_.size()) && best_[size_t(first + margin + 1)] < least_)
            ++margin;
        const SeveralFound found =
            found_from(isa, first, best_[size_t(first)], margin, shape, least_bits, threads);
        return !found.is_certain[0] || is_same(found.alignments[0], later, first);
    }

  private:
    const std::vector<uint8_t> query_, target_;
    const Costs& costs_;
    std::vector<int32_t> matrix_;
    waterman_eggert::Scores scores_{};
    int64_t least_;
    std::vector<int64_t> best_;  // H of each column, the border included
    std::vector<waterman_eggert::Found> expected_, all_;

    SeveralFound found_from(const Isa& isa, int64_t first, int64_t upper, int64_t margin,
                            const TileShape& shape, int least_bits, int threads) const {
        const int64_t n_rows = int64_t(query_.size()), n_columns = int64_t(target_.size()) - first;
        const int64_t rows[] = {0, n_rows}, columns[] = {0, n_columns};
        const std::vector<uint8_t> end(target_.begin() + first, target_.end());  // its own memory
        const PairJob pairs{{&isa},
                            {query_.data(), rows, 1},
                            {end.data(), columns, 1},
                            {{0, 0}},
                            costs_,
                            LOCAL,
                            threads,
                            1 << 20,
                            {}};
        // In tiles of a given shape, as few as possible are kept, and threads share a table.
        const double max_bytes = shape.rows > 0 ? 1 : 1 << 30;
        const SeveralJob job{pairs, MOST, &least_, max_bytes, &upper, &margin, shape, least_bits};
        Progress progress;
        return align_several(job, progress);
    }

    static bool is_same(const std::vector<FoundAlignment>& found,
                        const std::vector<waterman_eggert::Found>& expected, int64_t first) {
        if (found.size() != expected.size()) return false;
        for (size_t i = 0; i < found.size(); ++i) {
            const Alignment& path = found[i].alignment;
            std::string steps;
            for (const uint32_t run : path.operations)
                steps += std::string(run >> 4, (run & 15) >= EQUAL      ? 'M'
                                               : (run & 15) == DELETION ? 'D'
                                                                        : 'I');
            if (found[i].score != expected[i].score || path.query_end != expected[i].row ||
                path.target_end != expected[i].column - first || steps != expected[i].steps)
                return false;
        }
        return true;
    }
};

}  // namespace exaln
