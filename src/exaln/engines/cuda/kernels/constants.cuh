// Compile-time constants of the kernels. No other file reads a macro.
//
// The host passes each constant as -DEXALN_<NAME>=<value> (runtime/compiler.py); here it becomes a checked
// constexpr. A kernel gets the constants that it uses, and DPX.

#pragma once

constexpr int WARP = 32;               // threads of a warp
constexpr unsigned ALL = 0xFFFFFFFFu;  // the mask of all lanes of a warp
constexpr int COLUMNS = 4;             // columns of a tile, which a lane computes in one step

#ifdef EXALN_DPX
// Whether packed 16-bit maxima of three take one instruction: compute capability 9.0 or later.
constexpr bool DPX = EXALN_DPX != 0;
#endif
#ifdef EXALN_GAP_FIRST
constexpr int GAP_FIRST = EXALN_GAP_FIRST;    // cost of a gap of one letter
constexpr int GAP_EXTEND = EXALN_GAP_EXTEND;  // cost of each further letter
static_assert(GAP_FIRST >= GAP_EXTEND && GAP_EXTEND >= 0);
#endif
#ifdef EXALN_LETTERS
constexpr int LETTERS = EXALN_LETTERS;  // distinct letters of the targets, folded to 1 .. LETTERS
constexpr unsigned PAD = 0;             // the letter that fills the last tile; it aligns with nothing
static_assert(LETTERS >= 1 && LETTERS < 255);
#endif
#ifdef EXALN_ROWS
constexpr int ROWS = EXALN_ROWS;  // query rows of a lane
static_assert(ROWS % 4 == 0 && ROWS > 0);
#endif
#ifdef EXALN_THREADS
constexpr int THREADS = EXALN_THREADS;  // threads of a block
static_assert(THREADS % WARP == 0 && THREADS <= 1024);
#endif
#ifdef EXALN_LANES
constexpr int LANES = EXALN_LANES;  // lanes of a group, which share a strip
static_assert(LANES >= 2 && LANES <= WARP && (LANES & (LANES - 1)) == 0);
#endif
#ifdef EXALN_PACKING
constexpr int TWO_QUERIES = 0, LETTER_PAIRS = 1, MERGED = 2;
constexpr int PACKING = EXALN_PACKING;  // what the two halves of a word hold: profile.cuh
#endif
#ifdef EXALN_KEEPS_ROWS
constexpr bool KEEPS_ROWS = EXALN_KEEPS_ROWS != 0;  // some query continues in another strip: boundary.cuh
#endif
#ifdef EXALN_BINS
constexpr int BINS = EXALN_BINS;  // length bins of the score cutoff
#endif
#ifdef EXALN_LOCAL
constexpr bool LOCAL = EXALN_LOCAL != 0;  // local alignment: no score is below 0
#endif
#ifdef EXALN_PIECE
constexpr int PIECE = EXALN_PIECE;                  // tiles that strips of long.cu pass on at a time
constexpr int BLOCKS = EXALN_BLOCKS;                // blocks of a multiprocessor
constexpr bool LARGE = EXALN_LARGE != 0;            // scores have 64 bits
constexpr bool LARGE_ENDS = EXALN_LARGE_ENDS != 0;  // keys of long_best_cell.cuh need 64 bits
static_assert(PIECE == 4 || PIECE == 8 || PIECE == 16);
#endif
#ifdef EXALN_HIGHEST
constexpr int HIGHEST = EXALN_HIGHEST;  // highest score of two letters, or 0 if all are negative
static_assert(HIGHEST >= 0);
#endif
#ifdef EXALN_HAS_PAD
constexpr bool HAS_PAD = EXALN_HAS_PAD != 0;  // the profile of long.cu has a letter for padding columns
#endif
#ifdef EXALN_PATHS
// The mode of pairs.cu: which ends of the query and the target are free.
constexpr bool QUERY_START = EXALN_QUERY_START != 0;
constexpr bool QUERY_END = EXALN_QUERY_END != 0;
constexpr bool TARGET_START = EXALN_TARGET_START != 0;
constexpr bool TARGET_END = EXALN_TARGET_END != 0;
constexpr bool PATHS = EXALN_PATHS != 0;  // paths are computed, and not scores and ends alone
#endif
