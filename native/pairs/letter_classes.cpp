// Finds the classes of letters that a matrix distinguishes.
#include "pairs/letter_classes.hpp"

#include <algorithm>

namespace exaln {

LetterClasses LetterClasses::of(const Costs& costs, uint32_t letters, bool is_local) {
    LetterClasses classes;
    const int n = costs.n_codes;
    const auto used = [&](int code) { return letters >> code & 1; };
    if (n + 1 >= MAX_CODES) return classes;  // two codes are needed for letters that match none
    classes.match = INT32_MIN, classes.mismatch = INT32_MAX;
    for (int q = 0; q < n; ++q)
        for (int t = 0; t < n; ++t)
            if (used(q) && used(t)) {
                classes.match = std::max(classes.match, costs.scores[q][t]);
                classes.mismatch = std::min(classes.mismatch, costs.scores[q][t]);
            }
    std::fill_n(classes.of_query, MAX_CODES, n), std::fill_n(classes.of_target, MAX_CODES, n + 1);
    classes.of_query[costs.pad] = QUERY_PAD, classes.of_target[costs.pad] = TARGET_PAD;
    for (int q = n - 1; q >= 0; --q)
        for (int t = n - 1; t >= 0; --t)
            if (used(q) && used(t) && costs.scores[q][t] == classes.match)
                classes.of_query[q] = uint8_t(t), classes.of_target[t] = classes.of_query[q];
    for (int t = 0; t < n; ++t)  // one letter represents all that match the same letters
        for (int q = 0; q < n; ++q)
            if (used(q) && used(t) && costs.scores[q][t] == classes.match)
                classes.of_target[t] = classes.of_query[q];
    classes.exist = letters != 0 && !(is_local && classes.mismatch > 0);
    for (int q = 0; q < n; ++q)
        for (int t = 0; t < n; ++t)
            if (used(q) && used(t)) {
                const bool is_same = classes.of_query[q] == classes.of_target[t];
                classes.exist &= costs.scores[q][t] == (is_same ? classes.match : classes.mismatch);
            }
    for (int code = 0; code < n; ++code)
        if (used(code)) {
            classes.are_codes &= classes.of_query[code] == code && classes.of_target[code] == code;
            classes.are_few &= classes.of_query[code] < MAX_CLASSES && classes.of_target[code] < MAX_CLASSES;
        }
    return classes;
}

}  // namespace exaln
