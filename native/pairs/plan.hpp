// Which pairs run side by side, with which kernels, and where the scores of their cells come from. Knows
// lengths, letters and costs.
#pragma once

#include <memory>
#include <vector>

#include "pairs/run.hpp"
#include "threads/tasks.hpp"

namespace exaln {

// How the values of a pair are held, in the order in which they are tried. Relative: lanes of 8 bits hold
// local scores above a base (pair_bases.hpp), and in other modes the differences of neighbours
// (recurrence.hpp); neither overflows.
enum Numbers { BITS_8, RELATIVE, BITS_16, BITS_32, ONE_BY_ONE };  // the last: pairs for trace_long

// Of local scores above a base: so many that their state stays in the second-level cache.
constexpr int64_t MOST_BASED_ROWS = 4096;

constexpr int bits_of(int numbers) {
    return numbers <= RELATIVE ? 8 : numbers == BITS_16 ? 16 : 32;
}

// Letters as classes that score `match` if they are the same and `mismatch` if not, where the matrix has no
// more than that to say about the letters in use.
struct LetterClasses {
    bool exist = false;
    int32_t match = 0, mismatch = 0;
    uint8_t of_query[MAX_CODES], of_target[MAX_CODES];
    bool are_codes = true;  // every letter is its own class

    bool are_few = true;  // all are below MOST

    // What pads differs from the other and from all classes, in the three bits that the kernels have room
    // for.
    static constexpr uint8_t MOST = 6, QUERY_PAD = 6, TARGET_PAD = 7;

    // letters: bit a for each letter a in use.
    static LetterClasses of(const Costs& costs, uint32_t letters, bool is_local);
};

struct PairTask {
    enum class How { GROUP, STRIPED, ALONE };

    How how;
    int numbers;                  // one of Numbers
    const WidthKernels* kernels;  // null if ALONE
    const void* score_rows;
    Letters letters;
    int64_t strip_rows;           // rows at a time
    int64_t n_rows, n_columns;    // of the longest; columns padded
    std::vector<size_t> members;  // indices of pairs
    double cost;                  // in updates of a narrow register with one query's scores
};

class PairPlanner {
  public:
    PairPlanner(const PairJob& job, Wants wants);

    // The narrowest numbers from these on that may hold the pair: known from lengths or score, otherwise the
    // first to be tried.
    int narrowest(size_t pair, int numbers) const;
    // Tasks for these pairs, longest first.
    std::vector<PairTask> plan(int numbers, const std::vector<size_t>& members) const;

    const LetterClasses& classes() const { return classes_; }
    // Bit a for each letter a of the pair's sequences.
    uint32_t letters_of_query(size_t pair) const { return query_letters_[size_t(job_.pairs[pair].query)]; }
    uint32_t letters_of_target(size_t pair) const { return target_letters_[size_t(job_.pairs[pair].target)]; }
    // How numbers are stored in a group of so many rows and columns.
    Range range(int numbers, int64_t rows, int64_t columns) const;

  private:
    struct Size {
        int64_t rows, columns;
    };
    struct Choice {
        int kernels = -1;
        int64_t strip_rows = 0;
        double cost = 0;
    };
    struct Width {
        std::vector<const WidthKernels*> kernels;  // widest first
        std::vector<std::unique_ptr<Scratch>> score_rows;
        int widest = 0;
    };

    Size size(size_t pair) const;
    bool is_plain(size_t pair) const;
    bool blends_queries(int numbers) const;
    size_t usual_lanes(int numbers, size_t pair) const;
    size_t enough_to_share(int numbers, size_t pair) const;
    bool fits(int numbers, int64_t rows, int64_t columns) const;
    std::vector<size_t> by_query(int numbers, const std::vector<size_t>& members,
                                 std::vector<size_t>& rest) const;
    std::vector<size_t> add_sharing(int numbers, const std::vector<size_t>& members,
                                    std::vector<PairTask>& tasks) const;
    void add_apart(int numbers, const std::vector<size_t>& members, std::vector<PairTask>& tasks) const;
    void add_groups(int numbers, const std::vector<size_t>& members, Letters letters,
                    std::vector<PairTask>& tasks) const;
    void add_group(int numbers, const size_t* pairs, const std::vector<Size>& sizes, const Choice& choice,
                   Letters letters, std::vector<PairTask>& tasks) const;
    bool is_new_query(const size_t* pairs, size_t i) const;
    bool have_bases(int numbers) const { return numbers == RELATIVE && job_.mode.is_local; }
    bool fit_without_strips(int64_t rows, int64_t columns) const;
    double rate(const WidthKernels& kernels, Letters letters, int n_queries) const;
    Choice choose(int numbers, const std::vector<Size>& sizes, Letters letters, size_t max_bytes) const;
    int64_t rows_that_fit(const WidthKernels& kernels, int numbers, Size size, size_t max_bytes) const;
    void add_alone(size_t pair, std::vector<PairTask>& tasks) const;
    bool add_striped(int numbers, const std::vector<size_t>& members, double group_updates,
                     std::vector<PairTask>& tasks) const;

    const PairJob& job_;
    Wants wants_;
    bool wants_paths_;
    LetterClasses classes_;
    uint32_t plain_letters_ = 0;  // those of the classes
    std::vector<uint32_t> query_letters_, target_letters_;
    Width widths_[ONE_BY_ONE];
};

}  // namespace exaln
