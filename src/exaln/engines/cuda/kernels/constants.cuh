// The constants that a kernel is compiled with, as constexpr: the only place where a macro is read.
//
// The compiler (exaln/cuda/compiler.py) passes them as -DEXALN_<NAME>=<value>; each kernel file lists those
// it needs.

#pragma once

constexpr int COLUMNS = 4;  // columns of a tile: what a lane computes per step

#ifdef EXALN_DPX
constexpr bool DPX =
    EXALN_DPX != 0;  // instructions for three-way maxima of packed numbers, compute capability 9.0
#endif
#ifdef EXALN_GAP_FIRST
constexpr int GAP_FIRST = EXALN_GAP_FIRST;
constexpr int GAP_EXTEND = EXALN_GAP_EXTEND;
static_assert(GAP_FIRST >= GAP_EXTEND && GAP_EXTEND >= 0);
#endif
#ifdef EXALN_LETTERS
constexpr int LETTERS = EXALN_LETTERS;  // folded letters of the targets, which are 1 .. LETTERS
constexpr unsigned PAD = 0;             // fills up a tile: can be aligned with nothing
static_assert(LETTERS >= 1 && LETTERS < 255);
#endif
#ifdef EXALN_ROWS
constexpr int ROWS = EXALN_ROWS;  // query rows of a lane
static_assert(ROWS % 4 == 0 && ROWS > 0);
#endif
#ifdef EXALN_THREADS
constexpr int THREADS = EXALN_THREADS;
static_assert(THREADS % 32 == 0 && THREADS <= 1024);
#endif
#ifdef EXALN_LANES
constexpr int LANES = EXALN_LANES;  // lanes that share a stream of targets
static_assert(LANES >= 2 && LANES <= 32 && (LANES & (LANES - 1)) == 0);
#endif
#ifdef EXALN_PACKING
constexpr int TWO_QUERIES = 0, LETTER_PAIRS = 1, MERGED = 2;
constexpr int PACKING = EXALN_PACKING;  // what the two halves of a word are: profile.cuh
#endif
#ifdef EXALN_KEEPS_ROWS
constexpr bool KEEPS_ROWS = EXALN_KEEPS_ROWS != 0;  // a query goes on in another strip
#endif
#ifdef EXALN_BINS
constexpr int BINS = EXALN_BINS;  // length bins of the score cut
#endif
#ifdef EXALN_LOCAL
constexpr bool LOCAL = EXALN_LOCAL != 0;  // no score is below 0
#endif
#ifdef EXALN_PIECE
constexpr int PIECE = EXALN_PIECE;                  // tiles that strips of long.cu hand on at a time
constexpr int BLOCKS = EXALN_BLOCKS;                // blocks of a multiprocessor
constexpr bool LARGE = EXALN_LARGE != 0;            // scores have 64 bits
constexpr bool LARGE_ENDS = EXALN_LARGE_ENDS != 0;  // scores times the cells of a tile would not fit 31 bits
static_assert(PIECE == 4 || PIECE == 8 || PIECE == 16);
#endif
#ifdef EXALN_HIGHEST
constexpr int HIGHEST = EXALN_HIGHEST;  // score of two letters, or 0
static_assert(HIGHEST >= 0);
#endif
#ifdef EXALN_HAS_PAD
constexpr bool HAS_PAD = EXALN_HAS_PAD != 0;  // long.cu has a letter for columns behind the last one
#endif
#ifdef EXALN_PATHS
constexpr bool QUERY_START = EXALN_QUERY_START != 0;  // the mode of pairs.cu: which ends are free
constexpr bool QUERY_END = EXALN_QUERY_END != 0;
constexpr bool TARGET_START = EXALN_TARGET_START != 0;
constexpr bool TARGET_END = EXALN_TARGET_END != 0;
constexpr bool PATHS = EXALN_PATHS != 0;  // paths are wanted, and not scores alone
#endif
