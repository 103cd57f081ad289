// Decides which pairs run side by side, with which kernels and number types, and where their substitution
// scores come from. It uses lengths, letters and costs.
#pragma once

#include <memory>
#include <vector>

#include "pairs/kernel_args.hpp"
#include "pairs/letter_classes.hpp"
#include "pairs/run.hpp"
#include "recurrence/ranges.hpp"
#include "simd/kernels.hpp"
#include "threads/scratch.hpp"

namespace exaln {

// How the values of a pair are stored, in the order in which the types are tried. RELATIVE: 8-bit lanes hold
// local scores relative to a base (bases.hpp), or in other modes differences of neighbours
// (recurrence/cell.hpp); neither overflows. SCALAR: no lanes, one cell at a time (scalar.hpp).
enum NumberType { BITS_8, RELATIVE, BITS_16, BITS_32, SCALAR };

// Rows of local scores relative to a base, limited so that their state stays in the second-level cache.
constexpr int64_t MAX_BASED_ROWS = 4096;

constexpr int bits_of(int number_type) {
    return number_type <= RELATIVE ? 8 : number_type == BITS_16 ? 16 : 32;
}

// Where a pair of a group is computed: in a lane, from a column of the lane's stream on.
struct Place {
    size_t pair;  // index into PairJob::pairs
    int lane;
    int64_t first_column;
};

struct PairTask {
    enum class Method { GROUP, STRIPED, SCALAR };

    Method method;
    int number_type;              // a NumberType
    const WidthKernels* kernels;  // null if SCALAR
    const void* score_rows;
    ScoreSource source;
    int64_t strip_rows;         // rows per strip
    int64_t n_rows, n_columns;  // of the longest pair; columns are padded
    std::vector<Place> places;  // by first column
    double cost;                // in register updates of a group with one query in narrow registers
};

class PairPlanner {
  public:
    PairPlanner(const PairJob& job, Output output);

    // The first number type, from the given one on, that may hold the pair by its lengths or known score.
    int narrowest(size_t pair, int number_type) const;
    // Tasks for these pairs, the most expensive first.
    std::vector<PairTask> plan(int number_type, const std::vector<size_t>& members) const;

    const LetterClasses& classes() const { return classes_; }
    // Bit a for each letter a of the pair's query or target.
    uint32_t letters_of_query(size_t pair) const { return query_letters_[size_t(job_.pairs[pair].query)]; }
    uint32_t letters_of_target(size_t pair) const { return target_letters_[size_t(job_.pairs[pair].target)]; }
    // How values are stored in a group of this many rows and columns.
    Range range(int number_type, int64_t rows, int64_t columns) const;

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
        std::vector<const WidthKernels*> kernels;  // one for each instruction set, the fastest first
        std::vector<std::unique_ptr<Scratch>> score_rows;
        int widest = 0;
    };

    Size size(size_t pair) const;
    bool is_plain(size_t pair) const;
    bool blends_queries(int number_type) const;
    size_t usual_lanes(int number_type, size_t pair) const;
    size_t min_to_share(int number_type, size_t pair) const;
    bool fits(int number_type, int64_t rows, int64_t columns) const;
    std::vector<size_t> by_query(int number_type, const std::vector<size_t>& members,
                                 std::vector<size_t>& rest) const;
    std::vector<size_t> add_shared(int number_type, const std::vector<size_t>& members,
                                   std::vector<PairTask>& tasks) const;
    static double cost_of(const std::vector<PairTask>& tasks);
    void add_by_size(int number_type, const std::vector<size_t>& members, std::vector<PairTask>& tasks) const;
    void add_groups(int number_type, const std::vector<size_t>& members, ScoreSource source,
                    std::vector<PairTask>& tasks) const;
    void add_mixed(int number_type, const std::vector<size_t>& order, ScoreSource source,
                   std::vector<PairTask>& tasks) const;
    void add_streams(int number_type, std::vector<size_t> pairs, ScoreSource source,
                     std::vector<PairTask>& tasks) const;
    void add_stream(int number_type, std::vector<size_t> pairs, ScoreSource source, int chosen, Size largest,
                    std::vector<PairTask>& tasks) const;
    int stream_kernels(int number_type, Size largest, ScoreSource source) const;
    double least_cost(int number_type, const std::vector<size_t>& pairs, ScoreSource source) const;
    double cells_of(const std::vector<size_t>& pairs) const;
    double speed(const WidthKernels& kernels, ScoreSource source) const;
    void sort_windows(std::vector<size_t>& pairs, size_t block) const;
    double place_blocks(const std::vector<size_t>& pairs, size_t block, PairTask& task) const;
    void add_group(int number_type, const size_t* pairs, const std::vector<Size>& sizes, const Choice& choice,
                   ScoreSource source, std::vector<PairTask>& tasks) const;
    bool is_new_query(const size_t* pairs, size_t i) const;
    bool have_bases(int number_type) const { return number_type == RELATIVE && job_.mode.is_local; }
    bool fit_without_strips(int64_t rows, int64_t columns) const;
    double rate(const WidthKernels& kernels, ScoreSource source, int n_queries) const;
    Choice choose(int number_type, const std::vector<Size>& sizes, ScoreSource source,
                  size_t max_bytes) const;
    int64_t rows_that_fit(const WidthKernels& kernels, int number_type, Size size, size_t max_bytes) const;
    void add_scalar(size_t pair, std::vector<PairTask>& tasks) const;
    bool add_striped(int number_type, const std::vector<size_t>& members, double group_updates,
                     std::vector<PairTask>& tasks) const;

    const PairJob& job_;
    Output output_;
    bool with_paths_;
    LetterClasses classes_;
    uint32_t plain_letters_ = 0;  // the letters that have classes
    std::vector<uint32_t> query_letters_, target_letters_;
    Width widths_[SCALAR];
};

}  // namespace exaln
