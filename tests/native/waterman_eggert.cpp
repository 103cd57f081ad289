// The textbook of waterman_eggert.hpp for Python: tests/support/compiled_textbook.py builds and calls it.
#include "waterman_eggert.hpp"

#include <cstring>

// Writes score, query end, target end and number of steps of each alignment to `found`, and all steps to
// `steps`. Returns the number of alignments, -1 if there are more than `room` steps.
extern "C" int64_t several(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
                           const int32_t* matrix, int64_t n_letters, int64_t gap_first, int64_t gap_extend,
                           int64_t most, int64_t least, int64_t* found, char* steps, int64_t room) {
    const auto all = waterman_eggert::textbook({query, query + n_rows}, {target, target + n_columns},
                                               {matrix, n_letters, gap_first, gap_extend}, most, least);
    for (const auto& one : all) {
        const auto n = int64_t(one.steps.size());
        if (n > room) return -1;
        *found++ = one.score, *found++ = one.row, *found++ = one.column, *found++ = n;
        memcpy(steps, one.steps.data(), one.steps.size());
        steps += n, room -= n;
    }
    return int64_t(all.size());
}

// Writes H of every cell and of the border, [n_rows + 1][n_columns + 1].
extern "C" void table(const uint8_t* query, int64_t n_rows, const uint8_t* target, int64_t n_columns,
                      const int32_t* matrix, int64_t n_letters, int64_t gap_first, int64_t gap_extend,
                      int64_t* H) {
    const std::vector<uint8_t> rows(query, query + n_rows), columns(target, target + n_columns);
    const waterman_eggert::Scores scores{matrix, n_letters, gap_first, gap_extend};
    waterman_eggert::Tables tables(rows, columns, scores);
    tables.fill();
    std::copy(tables.H.begin(), tables.H.end(), H);
}
