// Scores of a table's rows and columns in 32 or 64 bits, as the caller stores them. Kernels work in narrower
// lanes and read and write either.
#pragma once

#include <cstdint>

namespace exaln {

// Scores of a table lie within +-MAX_TABLE_SCORE, so that sums and differences of two do not overflow.
constexpr int64_t MAX_TABLE_SCORE = int64_t(1) << 61;

struct ScoreArray {
    void* data;
    bool is_wide;  // int64_t instead of int32_t
};

}  // namespace exaln

namespace {

inline __attribute__((always_inline)) int64_t score_at(const exaln::ScoreArray& scores, int64_t i) {
    return scores.is_wide ? static_cast<const int64_t*>(scores.data)[i]
                          : static_cast<const int32_t*>(scores.data)[i];
}

inline __attribute__((always_inline)) void set_score(const exaln::ScoreArray& scores, int64_t i,
                                                     int64_t score) {
    if (scores.is_wide) {
        static_cast<int64_t*>(scores.data)[i] = score;
    } else {
        static_cast<int32_t*>(scores.data)[i] = int32_t(score);
    }
}

// The scores from index `first` on.
inline __attribute__((always_inline)) exaln::ScoreArray scores_from(const exaln::ScoreArray& scores,
                                                                    int64_t first) {
    const int64_t bytes = first * (scores.is_wide ? int64_t(sizeof(int64_t)) : int64_t(sizeof(int32_t)));
    return {static_cast<char*>(scores.data) + bytes, scores.is_wide};
}

}  // namespace
