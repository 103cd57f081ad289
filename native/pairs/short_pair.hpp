// One pair of short sequences at a time, on the calling thread, without tasks, plans and groups.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pairs/alignment.hpp"
#include "recurrence/modes.hpp"
#include "simd/kernels.hpp"
#include "threads/scratch.hpp"

namespace exaln {

enum class Strand { PLUS, MINUS, BOTH };

struct ScoredAlignment {
    int64_t score;
    bool is_minus;
    Alignment alignment;
};

// Scores and alignments with one scoring and one instruction set. Nothing changes after construction, so any
// number of threads may use an object at once.
class ShortPairs {
  public:
    using Codes = std::vector<uint8_t>;

    // complements: the code of each letter's complement, for `Strand`; empty if sequences have one strand.
    ShortPairs(const Costs& costs, Codes complements, const Isa& isa);

    // Nothing if the scores of the table need more than 32 bits.
    std::optional<int64_t> score(const Codes& query, const Codes& target, const Mode& mode) const;

    // The alignment on one strand of the target or, with BOTH, on the better one, PLUS if they are equal.
    // MINUS aligns the reverse complement of the query with the target; positions refer to both as given, and
    // the path runs along the query as given. Nothing if the scores of the table need more than 32 bits.
    std::optional<ScoredAlignment> align(const Codes& query, const Codes& target, const Mode& mode,
                                         Strand strand) const;

    const Costs& costs() const { return costs_; }

  private:
    Codes reverse_complement(const Codes& codes) const;
    std::optional<ScoredAlignment> align_plus(const Codes& query, const Codes& target,
                                              const Mode& mode) const;
    std::optional<ScoredAlignment> align_minus(const Codes& reversed, const Codes& target,
                                               const Mode& mode) const;
    // Neither sequence is empty. Nothing as in `score`; steps are empty without directions.
    struct Traced {
        EndCell end;
        std::vector<uint8_t> steps;
    };
    std::optional<Traced> trace(const Codes& query, const Codes& target, const Mode& mode,
                                bool has_directions) const;

    static constexpr int N_WIDTHS = 2;  // 16 and 32 bits
    Costs costs_;
    Codes complements_;
    const Isa& isa_;
    Scratch score_rows_[N_WIDTHS];
};

}  // namespace exaln
