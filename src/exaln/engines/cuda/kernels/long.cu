// Long-pair kernel: one pair over the whole device. It computes all cells of a region of the pair's table,
// the checkpoint rows and columns of the region, and its best cell.
//
// The rows are cut into strips of up to 32 * ROWS rows. A warp takes a strip and runs along all columns. A
// lane owns ROWS rows and computes a tile of ROWS rows x 4 columns per step, one step behind the lane above.
//
// clang-format off
//      step s   lane 0   tile s              strip 0   --------------------------->
//               lane 1   tile s-1            strip 1        ---------------------->   a warp each,
//               lane 2   tile s-2            strip 2             ----------------->   in the same step
// clang-format on
//
// Between strips, H and F of the last row pass through a queue in global memory (long_row_queues.cuh). Each
// queue word carries a round tag, so there are no flags, fences or barriers. A warp loads a piece of PIECE
// tiles at a time, all lanes together, while it computes the piece before, and loads again where a tag is not
// the expected one. It thereby falls just far enough behind the strip above not to wait. The last lane stores
// its last row to shared memory, and at the end of a piece all lanes together send it on.
//
// Small pairs have fewer strips than the device has schedulers, and a lone warp waits for each of its own
// results. Then the time of a step counts, and the steps by which a strip is behind the one above. So a tile
// is computed along its anti-diagonals, and a step has no branch. With few rows, operands are prefetched a
// step ahead, the piece above is loaded as late as possible, and little is done between two pieces: arguments
// stay in registers (long_warp.cuh), and the best cell is updated once per piece (long_best_cell.cuh). The
// first and last pieces of a strip must be as fast as the others, as the strip below waits for them.
//
// Queues are short, so that all of them stay in the cache. Strips are taken in order by a ticket. Strip s
// uses queue s % n_channels, and n_channels warps are on the device at once (a cooperative launch), so every
// wait is for a running warp. Strip s + n_channels begins when strip s is done; so the last queue holds a
// whole row, and never makes its writer wait for a strip that has no warp yet. A warp that waits longer than
// `patience` sets `stop`, and all warps exit.
//
// Strips end at checkpoint rows. They have 32 * ROWS rows, or as many whole lanes as are left; the rest goes
// into a narrow strip of one row per lane. Lanes store checkpoint columns when they reach them.
//
// The best cell of a local alignment is searched only where it can be. Let M be the largest H that a warp has
// at the beginning of a piece: in its rows, between its lanes, and in the row above the piece. A path gains
// at most `highest`, the highest score of two letters, per column, and a piece has 4 * PIECE columns; E and
// F, as the next cell needs them, are not above the H they come from. So if M + 4 * PIECE * highest < G, the
// best score of any strip so far, no cell of the piece reaches G. Otherwise the piece is searched: each lane
// finds the highest score of its cells and the first cell that has it, by column and then by row. A lane
// thus knows the first cell with its highest score, if that is the highest of all; the end is the first of
// these cells.
//
// Pieces in which nothing can matter are skipped: long_pruning.cuh.
//
//   columns             [(n_pieces + 1) * PIECE + 64]: tiles, four profile offsets each: letter *
//                       LETTER_BYTES. Padding columns have the letter LETTERS if HAS_PAD, else any
//   query               letters of the region's rows
//   strips              [n_strips]
//   table               int[letters of the query][LETTERS]
//   top_H, top_F        [n_pieces * PIECE * 4]: the row above the region, as a checkpoint row
//   left_H              [1 + n_rows]: the corner, then the column left of the region;  left_E  [n_rows]
//   queues              [(n_channels * queue_pieces + n_pieces) * PIECE_WORDS], zeros at first
//   consumed            [n_channels], zeros at first
//   checkpoint_columns  ascending, each the last column before a checkpoint, and then NEVER
//   row_H, row_F        [checkpoint rows][n_pieces * PIECE * 4]
//   column_H, column_E  [checkpoint columns][n_rows]
//   ends                [n_strips]: the best cell of a strip, or score 0
//   gain                4 * PIECE * highest, or negative if ends are not computed
//   left_rows_ready     rows of left_H and left_E that are complete, counted up by the host; null: all
//   highest, rows_left, columns_left   struct Pruning
//
// Shared memory of each warp: struct Shared. Scores are exact as long as they fit (engines/regions.py:
// score_type); padding rows and columns may overflow, and nothing reads them.
//
// Tests: tests/engines/cuda/long/.

#include "async_copy.cuh"
#include "constants.cuh"
#include "long_best_cell.cuh"
#include "long_row_queues.cuh"
#include "long_scores.cuh"
#include "long_strips.cuh"
#include "long_warp.cuh"
#include "recurrence.cuh"

constexpr unsigned CHUNK_BYTES = WARP * sizeof(int4);
constexpr unsigned LETTER_BYTES = ROWS / 4 * CHUNK_BYTES;
constexpr unsigned RING = 64;  // tiles in shared memory
static_assert(WARP - 1 + 3 * PIECE <= RING);

// The score of the padding letter, if the profile has room for one. It is so low that H of a padding column
// comes from a gap that began in the region, or is not above 0. So no such cell exceeds every cell of the
// columns before it, and none is taken for the end.
constexpr int PAD_SCORE = -(1 << 20);
static_assert(2 * GAP_FIRST < 1 << 20);

constexpr Score HIGHEST_SCORE = sizeof(Score) == 8 ? Score(0x7FFFFFFFFFFFFFFFll) : Score(0x7FFFFFFF);

// The shared memory of a warp.
struct Shared {
    char* profile;      // this lane's part, [letter][rows / 4], 512 bytes apart
    Score* top_row;     // [PIECE + 1][2][COLUMNS]: the row above a piece; the last tile is zeros
    Score* bottom_row;  // [PIECE][2][COLUMNS]: the last row of a piece
    char* tiles;        // uint4[RING]: profile offsets of tile i at i % RING
};

// The tiles of the columns. Those of the next pieces are copied to shared memory while this one is computed.
struct Tiles {
    static constexpr unsigned BYTES = RING * sizeof(uint4);
    const uint4* next;
    char* ring;

    __device__ Tiles(const Arguments& arguments, char* given)
        : next(arguments.columns + threadIdx.x % WARP), ring(given) {
        for (unsigned i = threadIdx.x % WARP; i < RING; i += WARP)
            *reinterpret_cast<uint4*>(ring + i * sizeof(uint4)) = make_uint4(0, 0, 0, 0);
        __syncwarp();
        load(0), load(1);
    }
    // RING holds this piece, the next two, and the 31 tiles by which the last lane is behind.
    __device__ __forceinline__ void load(unsigned piece) {
        if (threadIdx.x % WARP >= PIECE) return;
        const unsigned tile = piece * PIECE + threadIdx.x % WARP;
        char* to = ring + tile * sizeof(uint4) % BYTES;
        start_copy(to, next);
        next += PIECE;
    }
    __device__ __forceinline__ uint4 of(unsigned tile) const {
        return *reinterpret_cast<const uint4*>(ring + tile * unsigned(sizeof(uint4)) % BYTES);
    }
};

// The scores of a tile, four rows at a time. Lanes of few rows have those of the first four in registers.
template <int N_ROWS>
struct TileScores {
    unsigned offsets[COLUMNS];  // of the letters in the profile
    int4 first[HAS_FEW_ROWS<N_ROWS> ? COLUMNS : 1];

    __device__ __forceinline__ TileScores(const char* profile, uint4 letters)
        : offsets{letters.x, letters.y, letters.z, letters.w} {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            if (HAS_FEW_ROWS<N_ROWS>) first[c] = in(profile, c, 0);
    }
    __device__ __forceinline__ int4 in(const char* profile, int column, int chunk) const {
        return *reinterpret_cast<const int4*>(profile + offsets[column] + chunk * CHUNK_BYTES);
    }
    __device__ __forceinline__ int4 of(const char* profile, int column, int chunk) const {
        return HAS_FEW_ROWS<N_ROWS> && chunk == 0 ? first[column] : in(profile, column, chunk);
    }
};

// The rows of a lane, after its last column.
template <int N_ROWS>
struct Rows {
    Score H[N_ROWS], E[N_ROWS], diagonal;
};

// A lane with its N_ROWS rows of a strip.
template <int N_ROWS>
struct Lane : Rows<N_ROWS> {
    using Rows<N_ROWS>::H;
    using Rows<N_ROWS>::E;
    using Rows<N_ROWS>::diagonal;
    const Arguments& arguments;
    unsigned row;  // the first one, in the region
    Edge above;    // the last row of the lane above, one tile further
    BestCell best;
    Score gain;
    const unsigned* checkpoint;  // in checkpoint_columns
    unsigned next_checkpoint;    // its value

    __device__ Lane(const Arguments& given, const Strip& strip, unsigned lane, Score known_best)
        : arguments(given),
          row(strip.first_row + lane * N_ROWS),
          best(lane * N_ROWS < strip.n_rows, known_best) {
        const bool is_used = lane * N_ROWS < strip.n_rows;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) {
            H[k] = is_used ? given.left_H[row + k + 1] : 0;
            E[k] = is_used ? given.left_E[row + k] : 0;
        }
        diagonal = is_used ? given.left_H[row] : 0;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) above.H[c] = 0, above.F[c] = 0;
        gain = in_registers(Score(given.gain));
        checkpoint = given.checkpoint_columns;
        next_checkpoint = is_used ? *checkpoint : NEVER;
    }

    // Stores the scores of this lane's rows with all letters. Lanes without rows of the strip compute values
    // that nothing reads, as all lanes do after the last column.
    __device__ void fill_profile(const Strip& strip, char* profile) const {
        const unsigned end = strip.first_row + strip.n_rows;
        for (int chunk = 0; chunk < (N_ROWS + 3) / 4; chunk++) {
            const int* of_rows[4];
            for (int k = 0; k < 4; k++)
                of_rows[k] = arguments.table + arguments.query[min(row + chunk * 4 + k, end - 1)] * LETTERS;
            for (int letter = 0; letter < LETTERS; letter++)
                *reinterpret_cast<int4*>(profile + letter * LETTER_BYTES + chunk * CHUNK_BYTES) =
                    make_int4(of_rows[0][letter], of_rows[1][letter], of_rows[2][letter], of_rows[3][letter]);
            if (HAS_PAD)
                *reinterpret_cast<int4*>(profile + LETTERS * LETTER_BYTES + chunk * CHUNK_BYTES) =
                    make_int4(PAD_SCORE, PAD_SCORE, PAD_SCORE, PAD_SCORE);
        }
    }

    // Skips a piece: sets the rows to H = 0 without gaps, and stores the checkpoint columns of the next PIECE
    // tiles. A lane that has not begun loses its left column, whose H was part of the test.
    __device__ __forceinline__ void skip(unsigned step) {
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) H[k] = 0, E[k] = NO_GAP;
        diagonal = 0, above = Edge::nothing();
        while (int(next_checkpoint / COLUMNS) < int(step + PIECE) - int(threadIdx.x % WARP))
            store_checkpoint();
        __syncwarp();
    }

    // Whether the best cell may be in the next part of a piece. reach: the highest H that the part can come
    // from, in each lane.
    __device__ __forceinline__ bool may_end(Score reach, Score known_best, int n_parts = 1) const {
        const Score least = gain >= 0 ? Number::max2(known_best, 1) - gain / n_parts : HIGHEST_SCORE;
        return __any_sync(ALL, reach >= least);
    }

    // The highest H that any cell of the next piece can come from, in this lane.
    __device__ __forceinline__ Score highest() const {
        Score even = diagonal, odd = diagonal;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) (k % 2 ? odd : even) = Number::max2(k % 2 ? odd : even, H[k]);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) even = Number::max2(even, above.H[c]);
        return Number::max2(even, odd);
    }

    // The first piece in which a lane stores a checkpoint column, or the last piece if there is no padding
    // letter.
    __device__ __forceinline__ unsigned next_special() const {
        const unsigned piece = (next_checkpoint / COLUMNS + threadIdx.x % WARP) / PIECE;
        return warp_minimum(HAS_PAD ? piece : min(piece, arguments.n_pieces - 1));
    }

    // The row above a tile: from the lane above, or in the first lane, where is_below is 0, from the row
    // above the strip. own: 0 in the other lanes.
    __device__ __forceinline__ Edge top(int is_below, const Edge& own) const {
        Edge joined;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            joined.H[c] = Number::join(above.H[c], is_below, own.H[c]);
            joined.F[c] = Number::join(above.F[c], is_below, own.F[c]);
        }
        return joined;
    }

    __device__ __forceinline__ void pass_down(const Edge& edge) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            above.H[c] = __shfl_up_sync(ALL, edge.H[c], 1);
            above.F[c] = __shfl_up_sync(ALL, edge.F[c], 1);
        }
    }

    // Computes a tile along its anti-diagonals, so that dependent cells are far apart. edge: enters as the
    // row above and leaves as the last row. seen(k, c) is called after each cell.
    template <class Seen>
    __device__ __forceinline__ void compute(Edge& edge, const char* profile, const TileScores<N_ROWS>& scores,
                                            Seen seen) {
        Score t[COLUMNS];
        int4 four[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            four[c] = scores.of(profile, c, 0);
            t[c] = Number::diagonal(c == 0 ? diagonal : edge.H[c - 1], four[c].x);
        }
        diagonal = edge.H[COLUMNS - 1];
#pragma unroll
        for (int d = 0; d < N_ROWS + COLUMNS - 1; d++) {
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                const int k = d - c;
                if (k < 0 || k >= N_ROWS) continue;
                Score next = t[c];
                if (k + 1 < N_ROWS) {
                    const int r = (k + 1) % 4;
                    if (r == 0) four[c] = scores.of(profile, c, (k + 1) / 4);
                    next = Number::diagonal(H[k], r == 0   ? four[c].x
                                                  : r == 1 ? four[c].y
                                                  : r == 2 ? four[c].z
                                                           : four[c].w);
                }
                update_cell<Number, Score>(t[c], H[k], E[k], edge.F[c]);
                t[c] = next;
                if (k == N_ROWS - 1) edge.H[c] = H[k];
                seen(k, c);
            }
        }
    }

    // Computes a tile. Returns the largest key of its cells.
    __device__ __forceinline__ Key search(Edge& edge, const char* profile, const TileScores<N_ROWS>& scores) {
        Key even[COLUMNS] = {}, largest[COLUMNS];
        compute(edge, profile, scores, [&](int k, int c) {
            const Key key = key_of(H[k], k, c);
            if (k == 0) largest[c] = key;
            if (k % 2 == 1) {
                largest[c] = Keys::max3(largest[c], even[c], key);
            } else if (k + 1 == N_ROWS) {
                largest[c] = max(largest[c], key);
            } else {
                even[c] = key;
            }
        });
        return Keys::max3(max(largest[0], largest[1]), largest[2], largest[3]);
    }

    // Computes a tile column by column, with checkpoint and padding columns. Returns the largest key.
    __device__ __forceinline__ Key compute_columns(unsigned tile, Edge& edge, const char* profile,
                                                   const TileScores<N_ROWS>& scores) {
        Key largest = NO_KEY;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const Score H_above = edge.H[c];
            Score unused;
            update_column<Number, false>(H, E, edge.F[c], diagonal, unused,
                                         [=, &scores](int chunk) { return scores.of(profile, c, chunk); });
            diagonal = H_above;
            edge.H[c] = H[N_ROWS - 1];
            if (tile * COLUMNS + c == next_checkpoint) store_checkpoint();
            if (!LOCAL || tile * COLUMNS + c >= arguments.n_columns) continue;
#pragma unroll
            for (int k = 0; k < N_ROWS; k++) largest = max(largest, key_of(H[k], k, c));
        }
        return largest;
    }

    __device__ __forceinline__ void store_checkpoint() {
        const size_t place = size_t(checkpoint - arguments.checkpoint_columns) * arguments.n_rows + row;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) {
            arguments.column_H[place + k] = H[k];
            arguments.column_E[place + k] = E[k];
        }
        next_checkpoint = *++checkpoint;
    }
};

// Scores and letters that a step needs, fetched in the step before.
template <int N_ROWS>
struct Prefetch {
    TileScores<N_ROWS> scores;
    uint4 letters;  // of the next tile

    __device__ __forceinline__ Prefetch(const Shared& shared, const Tiles& tiles, unsigned tile)
        : scores(shared.profile, tiles.of(tile)), letters(tiles.of(tile + 1)) {}

    __device__ __forceinline__ void advance(const Shared& shared, const Tiles& tiles,
                                            unsigned tile_after_next) {
        scores = TileScores<N_ROWS>(shared.profile, letters);
        letters = tiles.of(tile_after_next);
    }
};

// Kinds of pieces: only cells; the best cell may be there; some lanes have not begun; a lane stores a
// checkpoint column, or lanes without a padding letter are after the last column.
enum class Piece { PLAIN, SEARCHED, FIRST, SPECIAL };

// The steps of a piece are done in parts. With few rows, the row above the next piece is loaded before the
// last part: as late as possible, but in time. With many rows its latency is hidden anyway, and each part is
// searched only if the best cell may be there.
template <Piece KIND, int N_ROWS>
constexpr unsigned PARTS = HAS_FEW_ROWS<N_ROWS>      ? 2
                           : KIND == Piece::SEARCHED ? PIECE / 2
                                                     : 1;

// The steps of a warp in a piece.
template <int N_ROWS>
struct Steps {
    Lane<N_ROWS>& lane;
    Prefetch<N_ROWS>& prefetch;
    const Shared& shared;
    const Tiles& tiles;
    unsigned last_lane, n_tiles, tile;
    const Score* above;
    unsigned stride;
    Edge own;  // the row above the strip in the first lane, 0 in the others
    Score* bottom;
    PieceSearch search;

    __device__ __forceinline__ Steps(Lane<N_ROWS>& of, Prefetch<N_ROWS>& fetched, unsigned piece,
                                     unsigned n_pieces, unsigned last, const Shared& memory,
                                     const Tiles& letters)
        : lane(of),
          prefetch(fetched),
          shared(memory),
          tiles(letters),
          last_lane(last),
          n_tiles(n_pieces * PIECE),
          tile(piece * PIECE - threadIdx.x % WARP),
          bottom(memory.bottom_row),
          search(of.best) {
        const bool reads_row = threadIdx.x % WARP == 0 && piece < n_pieces;
        above = reads_row ? memory.top_row : memory.top_row + PIECE * 2 * COLUMNS;
        stride = reads_row ? 2 * COLUMNS : 0;
        own = load_edge(above);
        if (!HAS_FEW_ROWS<N_ROWS>) prefetch = Prefetch<N_ROWS>(memory, letters, tile);
    }

    template <Piece KIND>
    __device__ __forceinline__ void run(unsigned n_steps) {
        const unsigned number = threadIdx.x % WARP;
        const int is_below = number == 0 ? 0 : ONE;
#pragma unroll(KIND == Piece::SPECIAL ? 1 : HAS_FEW_ROWS<N_ROWS> ? 4 : 2)
        for (unsigned i = 0; i < n_steps; i++, tile++) {
            Edge edge = lane.top(is_below, HAS_FEW_ROWS<N_ROWS> ? own : load_edge(above));
            const TileScores<N_ROWS> now = prefetch.scores;
            above += stride;
            if (HAS_FEW_ROWS<N_ROWS>) own = load_edge(above);
            prefetch.advance(shared, tiles, tile + 2);
            Key found = NO_KEY;
            if (KIND == Piece::SPECIAL) {
                found = tile < n_tiles ? lane.compute_columns(tile, edge, shared.profile, now) : NO_KEY;
            } else if (KIND == Piece::FIRST) {
                const Rows<N_ROWS> before = lane;
                found = lane.search(edge, shared.profile, now);
                if (int(tile) < 0) static_cast<Rows<N_ROWS>&>(lane) = before, found = NO_KEY;
            } else if (LOCAL && KIND == Piece::SEARCHED) {
                found = lane.search(edge, shared.profile, now);
            } else {
                lane.compute(edge, shared.profile, now, [](int, int) {});
            }
            lane.pass_down(edge);
            if (number == last_lane) store_edge(bottom, edge);
            bottom += 2 * COLUMNS;
            if (LOCAL && KIND != Piece::PLAIN) search.add(tile, found);
        }
    }
};

// Computes a piece: PIECE steps of a warp.
template <Piece KIND, int N_ROWS>
__device__ __forceinline__ void run_piece(Lane<N_ROWS>& lane, Prefetch<N_ROWS>& prefetch, RowReader& reader,
                                          unsigned piece, unsigned last_lane, const Shared& shared,
                                          const Tiles& tiles, Score known_best) {
    constexpr unsigned N_PARTS = PARTS<KIND, N_ROWS>, N_STEPS = PIECE / N_PARTS;
    Steps<N_ROWS> steps(lane, prefetch, piece, reader.n_pieces, last_lane, shared, tiles);
#pragma unroll 1
    for (unsigned part = 1; part <= N_PARTS; part++) {
        if (part == (HAS_FEW_ROWS<N_ROWS> ? N_PARTS : 1)) reader.load(piece + 1);
        if (KIND == Piece::SEARCHED && !HAS_FEW_ROWS<N_ROWS> &&
            !lane.may_end(Number::max2(lane.highest(), reader.highest), known_best, N_PARTS)) {
            steps.template run<Piece::PLAIN>(N_STEPS);
        } else {
            steps.template run<KIND>(N_STEPS);
        }
    }
    if (LOCAL && KIND != Piece::PLAIN) steps.search.end(steps.tile - PIECE);
    __syncwarp();
}

// Computes one strip over all columns; false if the warp must exit.
template <int N_ROWS>
__device__ bool run_strip(const Arguments& arguments, unsigned number, const Strip& strip,
                          const Shared& shared) {
    const unsigned last_lane = (strip.n_rows - 1) / N_ROWS;
    Score known_best = LOCAL ? from_first_lane(best_so_far(arguments.control)) : 0;
    Lane<N_ROWS> lane(arguments, strip, threadIdx.x % WARP, known_best);
    __syncwarp();
    lane.fill_profile(strip, shared.profile);
    RowReader reader(arguments, number);
    RowWriter writer(arguments, number, last_lane, strip.checkpoint);
    reader.load(0);
    Tiles tiles(arguments, shared.tiles);
    wait_for_copies();
    Prefetch<N_ROWS> prefetch(shared, tiles, 0u - threadIdx.x % WARP);
    GainBound bound(arguments.pruning, strip.first_row);
    unsigned n_skipped = 0;
    unsigned special = lane.next_special();
    const unsigned n_pieces = in_registers(arguments.n_pieces + (last_lane + PIECE - 1) / PIECE);
    for (unsigned first = 0; first < n_pieces; first += ACK_PIECES) {
        if (!exchange_progress(reader, writer, first)) return false;
        for (unsigned piece = first; piece < min(first + ACK_PIECES, n_pieces); piece++) {
            const unsigned step = piece * PIECE;
            if (piece < reader.n_pieces && !reader.take(piece, shared.top_row)) return false;
            wait_for_copies();
            tiles.load(piece + 2);
            const Score next_best = LOCAL ? best_so_far(arguments.control) : 0;
            const Score reach = Number::max2(lane.highest(), reader.highest);
            const bool may_end = LOCAL && lane.may_end(reach, known_best);
            const bool is_skipped =
                LOCAL && __all_sync(ALL, reach < bound.least_start(int(step) - (WARP - 1), known_best));
            const bool is_usual = !is_skipped & (piece < special) & (step >= WARP - 1);
            if (is_usual && may_end) {
                run_piece<Piece::SEARCHED>(lane, prefetch, reader, piece, last_lane, shared, tiles,
                                           known_best);
            } else if (is_usual) {
                run_piece<Piece::PLAIN>(lane, prefetch, reader, piece, last_lane, shared, tiles, known_best);
            } else if (is_skipped) {
                reader.load(piece + 1);
                lane.skip(step);
                if (threadIdx.x % WARP < PIECE)
                    store_edge(shared.bottom_row + threadIdx.x % WARP * 2 * COLUMNS, Edge::nothing());
                if (HAS_FEW_ROWS<N_ROWS>)
                    prefetch = Prefetch<N_ROWS>(shared, tiles, step + PIECE - threadIdx.x % WARP);
                __syncwarp();
                if (piece >= special) special = lane.next_special();
                n_skipped++;
            } else if (!HAS_FEW_ROWS<N_ROWS> || piece >= special) {
                run_piece<Piece::SPECIAL>(lane, prefetch, reader, piece, last_lane, shared, tiles,
                                          known_best);
                special = lane.next_special();
            } else {
                run_piece<Piece::FIRST>(lane, prefetch, reader, piece, last_lane, shared, tiles, known_best);
            }
            writer.send(shared.bottom_row, step - last_lane);
            if (may_end && __any_sync(ALL, lane.best.score() > known_best)) {
                const Score best = warp_maximum(lane.best.score());
                if (threadIdx.x % WARP == 0) atomicMax(&arguments.control->best, (long long)best);
            }
            known_best = from_first_lane(next_best);
        }
    }
    reader.acknowledge(arguments.n_pieces);
    if (LOCAL)
        report_end(arguments, number, End{lane.best.score(), lane.row + lane.best.row(), lane.best.column()});
    count_skipped(arguments, strip, n_skipped);
    return true;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    fill_region(const uint4* columns, unsigned n_pieces, unsigned n_columns, const unsigned char* query,
                const Strip* strips, unsigned n_strips, const int* table, const Score* top_H,
                const Score* top_F, const Score* left_H, const Score* left_E, Tagged* queues,
                unsigned queue_pieces, unsigned* consumed, unsigned n_channels,
                const unsigned* checkpoint_columns, Score* row_H, Score* row_F, Score* column_H,
                Score* column_E, unsigned long long n_rows, End* ends, long long gain, Control* control,
                unsigned long long patience, const unsigned* left_rows_ready, long long highest,
                long long rows_left, long long columns_left) {
    extern __shared__ int4 memory[];
    constexpr unsigned PROFILE_BYTES = (LETTERS + (HAS_PAD ? 1 : 0)) * LETTER_BYTES;
    constexpr unsigned TOP_SCORES = (PIECE + 1) * 2 * COLUMNS, BOTTOM_SCORES = PIECE * 2 * COLUMNS;
    constexpr unsigned EDGE_BYTES = (TOP_SCORES + BOTTOM_SCORES) * sizeof(Score);
    constexpr unsigned WARP_BYTES = PROFILE_BYTES + EDGE_BYTES + Tiles::BYTES;
    const Arguments arguments{columns,
                              in_registers(n_pieces),
                              n_columns,
                              query,
                              strips,
                              n_strips,
                              table,
                              top_H,
                              top_F,
                              left_H,
                              left_E,
                              queues,
                              queue_pieces,
                              consumed,
                              n_channels,
                              checkpoint_columns,
                              row_H,
                              row_F,
                              column_H,
                              column_E,
                              n_rows,
                              ends,
                              gain,
                              in_registers(control),
                              patience,
                              left_rows_ready,
                              Pruning{highest, rows_left, columns_left}};
    char* own = reinterpret_cast<char*>(memory) + threadIdx.x / WARP * WARP_BYTES;
    const unsigned lane = threadIdx.x % WARP;
    Score* top_row = reinterpret_cast<Score*>(own + PROFILE_BYTES);
    const Shared shared{own + lane * sizeof(int4), top_row, top_row + TOP_SCORES,
                        own + PROFILE_BYTES + EDGE_BYTES};
    if (lane < 2 * COLUMNS) shared.top_row[PIECE * 2 * COLUMNS + lane] = 0;
    for (;;) {
        const unsigned number = take_ticket(control);
        if (number >= n_strips) return;
        const Strip strip = load_strip(strips + number);
        if (!wait_for_left(arguments, strip.first_row + strip.n_rows)) return;
        const bool is_done = strip.is_narrow ? run_strip<1>(arguments, number, strip, shared)
                                             : run_strip<ROWS>(arguments, number, strip, shared);
        if (!is_done || !publish(arguments, strip)) return;
    }
}
