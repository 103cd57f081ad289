// Finds the pieces of targets that overflowed.
#include "scan/pieces.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "recurrence/ranges.hpp"

namespace exaln {

int64_t alignment_span(const uint8_t* query, int64_t n_rows, const Costs& costs) {
    if (costs.gap_extend == 0) return UNBOUNDED;
    int64_t best[MAX_CODES], most = 0;
    for (int letter = 0; letter < MAX_CODES; ++letter)
        best[letter] = std::max(0, *std::max_element(costs.scores[letter], costs.scores[letter] + MAX_CODES));
    for (int64_t row = 0; row < n_rows; ++row) most += best[query[row]];
    const int64_t left = most - 1 - (int64_t(costs.gap_first) - costs.gap_extend);
    return n_rows + std::max<int64_t>(left / costs.gap_extend, 0);
}

void add_wrong_pieces(const Piece& whole, const int32_t* block_scores, int64_t stride, int64_t columns,
                      int64_t span, std::vector<Piece>& pieces) {
    if (span == UNBOUNDED) return pieces.push_back(whole);
    const int64_t n_blocks = whole.end_block;
    int64_t begin = n_blocks, end = n_blocks;  // the run of wrong blocks found last
    const auto first_of = [&](int64_t block) {
        return std::max<int64_t>(block * columns - span, 0) / columns;
    };
    const auto add = [&] {
        const int64_t first_column = first_of(begin) * columns;
        const int64_t end_column = std::min(end * columns, whole.n_columns);
        pieces.push_back({whole.query, whole.target, first_column, end_column - first_column, begin, end});
    };
    for (int64_t block = 0; block < n_blocks; ++block) {
        if (block_scores[block * stride] != OVERFLOWED) continue;
        if (begin < n_blocks && first_of(block) > end) add(), begin = n_blocks;
        begin = std::min(begin, block);
        end = std::min(n_blocks, ((block + 1) * columns + span) / columns + 1);
    }
    if (begin < n_blocks) add();
}

Pieces::Pieces(std::vector<Piece> pieces)
    : sorted(std::move(pieces)), offsets(sorted.size() + 1, 0), order(sorted.size()) {
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Piece& a, const Piece& b) { return a.n_columns < b.n_columns; });
    for (size_t i = 0; i < sorted.size(); ++i) offsets[i + 1] = offsets[i] + sorted[i].n_columns;
    std::iota(order.begin(), order.end(), int64_t(0));
}

}  // namespace exaln
