// Reads the letters of many sequences on several threads.
#include "pairs/letters.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "threads/tasks.hpp"

namespace exaln {
namespace {

constexpr int64_t PER_TASK = 256;                // sequences
constexpr int64_t LETTERS_PER_THREAD = 1 << 20;  // fewer are not worth a thread

// The maximum is found quickly. Otherwise four masks are filled in turn, so that the updates do not wait for
// each other.
uint32_t letters_of(const Sequences& sequences, int64_t i, int n_codes) {
    constexpr int n_bases = 4, n_residues = 20;
    const uint8_t* codes = sequences.at(i);
    const int64_t length = sequences.length(i);
    uint8_t last = 0;
    for (int64_t k = 0; k < length; ++k) last = std::max(last, codes[k]);
    if (length > 0 && last >= n_codes)
        throw std::invalid_argument("a sequence holds a code that the matrix does not have");
    if (last < n_bases) return (uint32_t(1) << n_bases) - 1;
    if (last < n_residues && n_codes >= n_residues) return (uint32_t(1) << n_residues) - 1;
    uint32_t letters[4] = {};
    int64_t k = 0;
    for (; k + 4 <= length; k += 4)
        for (int part = 0; part < 4; ++part) letters[part] |= uint32_t(1) << codes[k + part];
    for (; k < length; ++k) letters[0] |= uint32_t(1) << codes[k];
    return letters[0] | letters[1] | letters[2] | letters[3];
}

struct Nothing {};

}  // namespace

std::vector<uint32_t> letters_of_each(const Sequences& sequences, const std::vector<bool>& are_used,
                                      const Costs& costs, int threads) {
    std::vector<uint32_t> letters(size_t(sequences.n));
    const int64_t n_letters = sequences.n > 0 ? sequences.offsets[sequences.n] - sequences.offsets[0] : 0;
    run_tasks(
        size_t((sequences.n + PER_TASK - 1) / PER_TASK),
        int(std::min<int64_t>(threads, n_letters / LETTERS_PER_THREAD + 1)),
        [] { return std::make_unique<Nothing>(); },
        [&](Nothing&, size_t task) {
            const int64_t begin = int64_t(task) * PER_TASK;
            for (int64_t i = begin; i < std::min(sequences.n, begin + PER_TASK); ++i)
                if (are_used[size_t(i)]) letters[size_t(i)] = letters_of(sequences, i, costs.n_codes);
        },
        [](Nothing&) {});
    return letters;
}

}  // namespace exaln
