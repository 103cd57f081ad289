// Substitution scores of one pair of proteins, from the compositions of both (Schaffer et al. 2001, Altschul
// et al. 2005): the integers that BLAST scores the pair with.
#pragma once

#include <cstdint>

#include "composition/target_frequencies.hpp"

namespace exaln {

// Letters by code: the 20 amino acids in the order of the frequencies, then B, Z, X, J, U, O and stop.
namespace protein {
constexpr int B = 20, Z = 21, X = 22, J = 23, U = 24, O = 25, STOP = 26, LETTERS = 27;
constexpr int N = 2, D = 3, C = 4, Q = 5, E = 6, I = 9, L = 10;
}  // namespace protein

// What is behind a standard matrix.
struct MatrixFrequencies {
    double joint[AMINO_PAIRS];                           // of aligned amino acids
    double background[AMINO_ACIDS];                      // for the choice of the rule
    double ratios[protein::LETTERS][protein::LETTERS];   // frequency ratios of letters; 0 for X, U and O
    double lambda;                                       // of the scores wanted, ungapped
    int32_t scaled[protein::LETTERS][protein::LETTERS];  // the standard matrix at that lambda, written by
                                                         // set_scaled
    double sums[2][AMINO_ACIDS];                         // of rows and columns of joint, likewise

    void set_scaled();
};

enum class CompositionMode { SCALE = 1, CHOOSE = 2, OPTIMIZE = 3 };
enum class CompositionRule : uint8_t { SCALED, OPTIMIZED };

struct Composition {
    double share[AMINO_ACIDS];  // of the amino acids
    int64_t n_amino_acids, length;

    // length: with all other letters.
    static Composition of(const int64_t* counts, int64_t length);
};

// Writes how often each amino acid occurs; U counts as C.
void count_amino_acids(const uint8_t* codes, int64_t length, int64_t* counts);

// Writes scores[LETTERS][LETTERS], row: query letter. Returns the rule that was applied. A pair whose
// optimum is not found, which no pair is known for, is scaled.
CompositionRule adjusted_scores(const MatrixFrequencies& matrix, const Composition& query,
                                const Composition& target, CompositionMode mode, int32_t* scores);

}  // namespace exaln
