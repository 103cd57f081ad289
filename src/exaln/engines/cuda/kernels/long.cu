// One pair over the whole device: all cells of a region of its table, and the lines that are kept of it.
//
// The rows are cut into strips of up to 32 * ROWS rows. A warp takes a strip and runs along all columns; a
// lane owns ROWS rows and computes a tile of ROWS rows x 4 columns per step, one step behind the lane above
// it.
//
//      step s:    lane 0   tile s        ^        strip 0   --------------------------->
//                 lane 1   tile s - 1    |  warp  strip 1        ---------------------->
//                 lane 2   tile s - 2    v        strip 2             ----------------->
//
// Between strips H and F of the last row of a strip go through global memory, in a queue per pair of strips.
// There are no flags, fences or barriers: a word of a queue has a tag that names the round of the queue it
// was written in, so that it tells by itself whether it is there yet (long_rows.cuh). A warp loads a piece
// of PIECE tiles at a time, all lanes together, while it computes the one before; where a tag is not the
// expected one it loads again. So it comes to run just so far behind the strip above that nothing has to
// wait. The last lane puts its last row into shared memory, and at the end of a piece all lanes together hand
// it on.
//
// A small pair has fewer strips than the device has schedulers, and a warp that is alone waits for every
// result of its own. What counts is how long a step takes, and how many steps a strip is behind the one
// above. So a tile goes along its anti-diagonals, and a step has no branch. With few rows what a step needs
// of memory is fetched in the step before, the piece above as late as possible, and little is done between
// two pieces: what the compiler would load again is kept in registers (long_warp.cuh), and the best cell is
// looked at once in a piece (long_keys.cuh). The first and the last pieces of a strip have to be as fast as
// the others, as the strip below waits for them.
//
// Queues are short, so that all of them lie in the cache, and rounds begin once the piece that lay there was
// read: the reader says so every few pieces. Strips are taken in order by a ticket, strip s uses queue
// s % n_channels, and there are n_channels warps, all on the device at once (a cooperative launch): whoever
// waits, waits for a running warp. Strip s + n_channels begins when strip s is done; so the last queue holds
// a whole row, and never makes its writer wait for a strip that has no warp. Whoever waits longer than
// `patience` sets `stop`, and all warps leave.
//
// Kept rows: strips end there. Strips have 32 * ROWS rows, or as many lanes as are left; what is left of a
// lane goes in a narrow strip, one row per lane. Kept columns: a lane writes its rows when it gets there.
//
// The best cell of a local alignment costs nothing where it cannot be. Let M be the largest H that a warp has
// at the beginning of a piece: in its rows, between its lanes, and in the row above the piece. A path gains
// at most the highest score of two letters per column, and a piece has 4 * PIECE columns; E and F, as the
// next cell takes them, are not above the H they come from. So if M + 4 * PIECE * highest < G, the best score
// of any strip so far, nothing in the piece can be the best, nor equal it, and there is nothing to look for.
// Else the piece is searched: of its tiles a lane knows the highest score and the first cell, by column and
// then by row, that has it, in one number (long_keys.cuh), and notes where its best was raised. So a lane
// knows the first cell with its highest score, if that is the highest of all; and the end is the first of
// these.
//
// Pieces in which nothing can matter are skipped: long_pruning.cuh says which, and why that changes nothing.
//
//   columns       [(n_pieces + 1) * PIECE + 64]: tiles, four profile offsets each: letter * LETTER_BYTES;
//                 columns behind the last one have the letter LETTERS if HAS_PAD, else any
//   query         letters of the region's rows
//   strips        [n_strips]
//   table         int[letters of the query][LETTERS]
//   top_H, top_F  [n_pieces * PIECE * 4]: the row above the region, as kept rows are
//   left_H        [1 + n_rows]: the corner, then the column left of the region;  left_E  [n_rows]
//   queues        [(n_channels * queue_pieces + n_pieces) * PIECE_WORDS], zeros
//   consumed      [n_channels], zeros
//   kept_columns  ascending, the last columns before lines, and then NEVER
//   row_H, row_F  [kept rows][n_pieces * PIECE * 4];  column_H, column_E  [kept columns][n_rows]
//   ends          [n_strips]: the best cell of a strip, or score 0
//   gain          4 * PIECE * highest, or < 0: ends are not wanted
//   left_rows     rows of left_H and left_E that are there, counted up by the host; null: all of them
//   highest, rows_left, columns_left  struct Pruning
//
// Shared memory of each warp: struct Shared. Scores are exact as long as they fit (longpair/region.py); rows
// and columns that pad may overflow, and nothing reads them. Tests: tests/test_cuda_long.py.

#include "constants.cuh"
#include "long_keys.cuh"
#include "long_rows.cuh"
#include "long_scores.cuh"
#include "long_tiles.cuh"
#include "long_turns.cuh"
#include "long_warp.cuh"
#include "recurrence.cuh"

constexpr unsigned CHUNK_BYTES = 32 * sizeof(int4);
constexpr unsigned LETTER_BYTES = ROWS / 4 * CHUNK_BYTES;
constexpr unsigned RING = 64;  // tiles in shared memory
static_assert(31 + 3 * PIECE <= RING);

// Columns behind the last one have a letter of their own, behind all others, if there is room for it. It
// scores so little that H there comes from a gap, which began in the region, or is not above 0: no such cell
// has more than some cell of an earlier column, and none is taken for the end.
constexpr int PAD_SCORE = -(1 << 20);
static_assert(2 * GAP_FIRST < 1 << 20);

constexpr Score HIGHEST_SCORE = sizeof(Score) == 8 ? Score(0x7FFFFFFFFFFFFFFFll) : Score(0x7FFFFFFF);

// What a warp has in shared memory.
struct Shared {
    char* profile;  // this lane's part, [letter][rows / 4], 512 bytes apart
    Score* feed;    // [PIECE + 1][2][COLUMNS]: the row above a piece; the last tile is zeros
    Score* tail;    // [PIECE][2][COLUMNS]: the last row of a piece
    char* tiles;    // uint4[RING]: profile offsets of a tile, in its place modulo RING
};

// Tiles of the next piece travel into shared memory while this one is computed.
struct Tiles {
    static constexpr unsigned BYTES = RING * sizeof(uint4);
    const uint4* next;
    char* ring;

    __device__ Tiles(const Arguments& arguments, char* given)
        : next(arguments.columns + threadIdx.x % 32), ring(given) {
        for (unsigned i = threadIdx.x % 32; i < RING; i += 32)
            *reinterpret_cast<uint4*>(ring + i * sizeof(uint4)) = make_uint4(0, 0, 0, 0);
        __syncwarp();
        load(0), load(1);
    }
    // Lanes are up to 31 tiles behind, and RING holds these, the piece and the next two.
    __device__ __forceinline__ void load(unsigned piece) {
        if (threadIdx.x % 32 >= PIECE) return;
        const unsigned tile = piece * PIECE + threadIdx.x % 32;
        char* to = ring + tile * sizeof(uint4) % BYTES;
        start_copy(to, next);
        next += PIECE;
    }
    __device__ __forceinline__ uint4 of(unsigned tile) const {
        return *reinterpret_cast<const uint4*>(ring + tile * unsigned(sizeof(uint4)) % BYTES);
    }
};

// The scores of a tile, four rows at a time; lanes of few rows have those of the first rows in registers.
template <int N_ROWS>
struct TileScores {
    unsigned offsets[COLUMNS];  // of the letters, in the profile
    int4 first[FEW<N_ROWS> ? COLUMNS : 1];

    __device__ __forceinline__ TileScores(const char* profile, uint4 letters)
        : offsets{letters.x, letters.y, letters.z, letters.w} {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            if (FEW<N_ROWS>) first[c] = in(profile, c, 0);
    }
    __device__ __forceinline__ int4 in(const char* profile, int column, int chunk) const {
        return *reinterpret_cast<const int4*>(profile + offsets[column] + chunk * CHUNK_BYTES);
    }
    __device__ __forceinline__ int4 of(const char* profile, int column, int chunk) const {
        return FEW<N_ROWS> && chunk == 0 ? first[column] : in(profile, column, chunk);
    }
};

// Rows as the last column left them.
template <int N_ROWS>
struct Rows {
    Score H[N_ROWS], E[N_ROWS], diagonal;
};

// A lane and its N_ROWS rows of a strip.
template <int N_ROWS>
struct Lane : Rows<N_ROWS> {
    using Rows<N_ROWS>::H;
    using Rows<N_ROWS>::E;
    using Rows<N_ROWS>::diagonal;
    const Arguments& arguments;
    unsigned row;  // its first one, in the region
    Edge above;    // the last row of the lane above, one tile ahead
    Best best;
    Score gain;
    const unsigned* kept;
    unsigned next_kept;

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
        kept = given.kept_columns;
        next_kept = is_used ? *kept : NEVER;
    }

    // The scores of this lane's rows with all letters. Lanes that have no rows of the strip compute something
    // that nobody reads, and so do all lanes behind the last column.
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

    // As if nothing had been before the next tile; kept columns of the next PIECE tiles are written. A lane
    // that has not begun loses the column left of it: its H was looked at, and is hopeless too.
    __device__ __forceinline__ void skip(unsigned step) {
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) H[k] = 0, E[k] = NO_GAP;
        diagonal = 0, above = Edge::nothing();
        while (int(next_kept / COLUMNS) < int(step + PIECE) - int(threadIdx.x % 32)) keep_column();
        __syncwarp();
    }

    // Whether the end may be in the next of so many parts of a piece; H of what it can come from is at most
    // the highest `reach`.
    __device__ __forceinline__ bool may_end(Score reach, Score known_best, int n_parts = 1) const {
        const Score least = gain >= 0 ? Number::max2(known_best, 1) - gain / n_parts : HIGHEST_SCORE;
        return __any_sync(ALL, reach >= least);
    }

    // The highest H that anything of the next piece can come from.
    __device__ __forceinline__ Score highest() const {
        Score even = diagonal, odd = diagonal;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) (k % 2 ? odd : even) = Number::max2(k % 2 ? odd : even, H[k]);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) even = Number::max2(even, above.H[c]);
        return Number::max2(even, odd);
    }

    // The first piece that has a kept column in its reach, or the last one if letters do not pad.
    __device__ __forceinline__ unsigned next_special() const {
        const unsigned piece = (next_kept / COLUMNS + threadIdx.x % 32) / PIECE;
        return warp_minimum(HAS_PAD ? piece : min(piece, arguments.n_pieces - 1));
    }

    // The row above a tile: that of the lane above, or in the first lane, where is_below is 0, that above the
    // strip; `own` is 0 in the others.
    __device__ __forceinline__ Edge top(int is_below, const Edge& own) const {
        Edge joined;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            joined.H[c] = Number::join(above.H[c], is_below, own.H[c]);
            joined.F[c] = Number::join(above.F[c], is_below, own.F[c]);
        }
        return joined;
    }

    __device__ __forceinline__ void hand_down(const Edge& edge) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            above.H[c] = __shfl_up_sync(ALL, edge.H[c], 1);
            above.F[c] = __shfl_up_sync(ALL, edge.F[c], 1);
        }
    }

    // A tile, along its anti-diagonals: cells that wait for one another are far apart. `edge` comes in as the
    // row above and goes out as the last row. seen(k, c) is called when a cell is done.
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

    // The same, and the largest key of a cell of the tile.
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

    // A tile column by column: some may be kept, or lie behind the last one.
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
            if (tile * COLUMNS + c == next_kept) keep_column();
            if (!LOCAL || tile * COLUMNS + c >= arguments.n_columns) continue;
#pragma unroll
            for (int k = 0; k < N_ROWS; k++) largest = max(largest, key_of(H[k], k, c));
        }
        return largest;
    }

    __device__ __forceinline__ void keep_column() {
        const size_t place = size_t(kept - arguments.kept_columns) * arguments.n_rows + row;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) {
            arguments.column_H[place + k] = H[k];
            arguments.column_E[place + k] = E[k];
        }
        next_kept = *++kept;
    }
};

// What a step needs of letters: it is fetched in the step before.
template <int N_ROWS>
struct Ahead {
    TileScores<N_ROWS> scores;
    uint4 letters;  // of the next tile

    __device__ __forceinline__ Ahead(const Shared& shared, const Tiles& tiles, unsigned tile)
        : scores(shared.profile, tiles.of(tile)), letters(tiles.of(tile + 1)) {}

    __device__ __forceinline__ void advance(const Shared& shared, const Tiles& tiles,
                                            unsigned tile_after_next) {
        scores = TileScores<N_ROWS>(shared.profile, letters);
        letters = tiles.of(tile_after_next);
    }
};

// What can happen in a piece: nothing but cells; the end may be there; lanes have not begun yet; some column
// is kept, or lanes of many rows are behind the last column.
enum class Piece { PLAIN, SEARCHED, FIRST, SPECIAL };

// The steps of a piece are done in parts. With few rows the feed of the next piece is loaded before the last
// part: as late as it is still there in time. With many rows that takes no time, and each part is searched
// only if the end may be there.
template <Piece KIND, int N_ROWS>
constexpr unsigned PARTS = FEW<N_ROWS>               ? 2
                           : KIND == Piece::SEARCHED ? PIECE / 2
                                                     : 1;

// Steps of a warp in a piece.
template <int N_ROWS>
struct Steps {
    Lane<N_ROWS>& lane;
    Ahead<N_ROWS>& ahead;
    const Shared& shared;
    const Tiles& tiles;
    unsigned last_lane, n_tiles, tile;
    const Score* above;
    unsigned stride;
    Edge own;  // the row above the strip, in the first lane; 0 in the others
    Score* tail;
    Finds finds;

    __device__ __forceinline__ Steps(Lane<N_ROWS>& of, Ahead<N_ROWS>& fetched, unsigned piece,
                                     unsigned n_pieces, unsigned last, const Shared& memory,
                                     const Tiles& letters)
        : lane(of),
          ahead(fetched),
          shared(memory),
          tiles(letters),
          last_lane(last),
          n_tiles(n_pieces * PIECE),
          tile(piece * PIECE - threadIdx.x % 32),
          tail(memory.tail),
          finds(of.best) {
        const bool is_fed = threadIdx.x % 32 == 0 && piece < n_pieces;
        above = is_fed ? memory.feed : memory.feed + PIECE * 2 * COLUMNS;
        stride = is_fed ? 2 * COLUMNS : 0;
        own = edge_at(above);
        if (!FEW<N_ROWS>) ahead = Ahead<N_ROWS>(memory, letters, tile);
    }

    template <Piece KIND>
    __device__ __forceinline__ void run(unsigned n_steps) {
        const unsigned number = threadIdx.x % 32;
        const int is_below = number == 0 ? 0 : ONE;
#pragma unroll(KIND == Piece::SPECIAL ? 1 : FEW<N_ROWS> ? 4 : 2)
        for (unsigned i = 0; i < n_steps; i++, tile++) {
            Edge edge = lane.top(is_below, FEW<N_ROWS> ? own : edge_at(above));
            const TileScores<N_ROWS> now = ahead.scores;
            above += stride;
            if (FEW<N_ROWS>) own = edge_at(above);
            ahead.advance(shared, tiles, tile + 2);
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
            lane.hand_down(edge);
            if (number == last_lane) put(tail, edge);
            tail += 2 * COLUMNS;
            if (LOCAL && KIND != Piece::PLAIN) finds.add(tile, found);
        }
    }
};

// PIECE steps of a warp.
template <Piece KIND, int N_ROWS>
__device__ __forceinline__ void run_piece(Lane<N_ROWS>& lane, Ahead<N_ROWS>& ahead, Feed& feed,
                                          unsigned piece, unsigned last_lane, const Shared& shared,
                                          const Tiles& tiles, Score known_best) {
    constexpr unsigned N_PARTS = PARTS<KIND, N_ROWS>, N_STEPS = PIECE / N_PARTS;
    Steps<N_ROWS> steps(lane, ahead, piece, feed.n_pieces, last_lane, shared, tiles);
#pragma unroll 1
    for (unsigned part = 1; part <= N_PARTS; part++) {
        if (part == (FEW<N_ROWS> ? N_PARTS : 1)) feed.load(piece + 1);
        if (KIND == Piece::SEARCHED && !FEW<N_ROWS> &&
            !lane.may_end(Number::max2(lane.highest(), feed.highest), known_best, N_PARTS)) {
            steps.template run<Piece::PLAIN>(N_STEPS);
        } else {
            steps.template run<KIND>(N_STEPS);
        }
    }
    if (LOCAL && KIND != Piece::PLAIN) steps.finds.end(steps.tile - PIECE);
    __syncwarp();
}

// The best cell that a strip's lanes have noted.
template <int N_ROWS>
__device__ void report_end(const Lane<N_ROWS>& lane, unsigned strip) {
    const End end = first_best(End{lane.best.score(), lane.row + lane.best.row(), lane.best.column()});
    if (threadIdx.x % 32 == 0) lane.arguments.ends[strip] = end;
}

// One strip over all columns; false if the warp has to leave.
template <int N_ROWS>
__device__ bool run_strip(const Arguments& arguments, unsigned number, const Strip& strip,
                          const Shared& shared) {
    const unsigned last_lane = (strip.n_rows - 1) / N_ROWS;
    Score known_best = LOCAL ? from_first(best_so_far(arguments.control)) : 0;
    Lane<N_ROWS> lane(arguments, strip, threadIdx.x % 32, known_best);
    __syncwarp();
    lane.fill_profile(strip, shared.profile);
    Feed feed(arguments, number);
    Writer writer(arguments, number, last_lane, strip.line);
    feed.load(0);
    Tiles tiles(arguments, shared.tiles);
    wait_for_copies();
    Ahead<N_ROWS> ahead(shared, tiles, 0u - threadIdx.x % 32);
    Hope hope(arguments.pruning, strip.first_row);
    unsigned n_skipped = 0;
    unsigned special = lane.next_special();
    const unsigned n_pieces = in_registers(arguments.n_pieces + (last_lane + PIECE - 1) / PIECE);
    for (unsigned first = 0; first < n_pieces; first += ACK) {
        if (!look_around(feed, writer, first)) return false;
        for (unsigned piece = first; piece < min(first + ACK, n_pieces); piece++) {
            const unsigned step = piece * PIECE;
            if (piece < feed.n_pieces && !feed.take(piece, shared.feed)) return false;
            wait_for_copies();
            tiles.load(piece + 2);
            const Score next_best = LOCAL ? best_so_far(arguments.control) : 0;
            const Score reach = Number::max2(lane.highest(), feed.highest);
            const bool may_end = LOCAL && lane.may_end(reach, known_best);
            const bool is_hopeless = LOCAL && __all_sync(ALL, reach < hope.least(int(step) - 31, known_best));
            const bool is_usual = !is_hopeless & (piece < special) & (step >= 31);
            if (is_usual && may_end) {
                run_piece<Piece::SEARCHED>(lane, ahead, feed, piece, last_lane, shared, tiles, known_best);
            } else if (is_usual) {
                run_piece<Piece::PLAIN>(lane, ahead, feed, piece, last_lane, shared, tiles, known_best);
            } else if (is_hopeless) {
                feed.load(piece + 1);
                lane.skip(step);
                if (threadIdx.x % 32 < PIECE)
                    put(shared.tail + threadIdx.x % 32 * 2 * COLUMNS, Edge::nothing());
                if (FEW<N_ROWS>) ahead = Ahead<N_ROWS>(shared, tiles, step + PIECE - threadIdx.x % 32);
                __syncwarp();
                if (piece >= special) special = lane.next_special();
                n_skipped++;
            } else if (!FEW<N_ROWS> || piece >= special) {
                run_piece<Piece::SPECIAL>(lane, ahead, feed, piece, last_lane, shared, tiles, known_best);
                special = lane.next_special();
            } else {
                run_piece<Piece::FIRST>(lane, ahead, feed, piece, last_lane, shared, tiles, known_best);
            }
            writer.hand_on(shared.tail, step - last_lane);
            if (may_end && __any_sync(ALL, lane.best.score() > known_best)) {
                const Score best = warp_maximum(lane.best.score());
                if (threadIdx.x % 32 == 0) atomicMax(&arguments.control->best, (long long)best);
            }
            known_best = from_first(next_best);
        }
    }
    feed.acknowledge(arguments.n_pieces);
    if (LOCAL) report_end(lane, number);
    if (n_skipped > 0 && threadIdx.x % 32 == 0)
        atomicAdd(&arguments.control->pruned,
                  (unsigned long long)min(n_skipped * PIECE_COLUMNS, arguments.n_columns) * strip.n_rows);
    return true;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    fill_region(const uint4* columns, unsigned n_pieces, unsigned n_columns, const unsigned char* query,
                const Strip* strips, unsigned n_strips, const int* table, const Score* top_H,
                const Score* top_F, const Score* left_H, const Score* left_E, Tagged* queues,
                unsigned queue_pieces, unsigned* consumed, unsigned n_channels, const unsigned* kept_columns,
                Score* row_H, Score* row_F, Score* column_H, Score* column_E, unsigned long long n_rows,
                End* ends, long long gain, Control* control, unsigned long long patience,
                const unsigned* left_rows, long long highest, long long rows_left, long long columns_left) {
    extern __shared__ int4 memory[];
    constexpr unsigned PROFILE_BYTES = (LETTERS + (HAS_PAD ? 1 : 0)) * LETTER_BYTES;
    constexpr unsigned FEED_SCORES = (PIECE + 1) * 2 * COLUMNS, TAIL_SCORES = PIECE * 2 * COLUMNS;
    constexpr unsigned EDGE_BYTES = (FEED_SCORES + TAIL_SCORES) * sizeof(Score);
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
                              kept_columns,
                              row_H,
                              row_F,
                              column_H,
                              column_E,
                              n_rows,
                              ends,
                              gain,
                              in_registers(control),
                              patience,
                              left_rows,
                              Pruning{highest, rows_left, columns_left}};
    char* own = reinterpret_cast<char*>(memory) + threadIdx.x / 32 * WARP_BYTES;
    const unsigned lane = threadIdx.x % 32;
    Score* feed = reinterpret_cast<Score*>(own + PROFILE_BYTES);
    const Shared shared{own + lane * sizeof(int4), feed, feed + FEED_SCORES,
                        own + PROFILE_BYTES + EDGE_BYTES};
    if (lane < 2 * COLUMNS) shared.feed[PIECE * 2 * COLUMNS + lane] = 0;
    for (;;) {
        const unsigned ticket = lane == 0 ? atomicAdd(&control->ticket, 1u) : 0;
        if (THREADS == 32) __syncthreads();  // the compiler does not know otherwise that lanes stay together
        const unsigned number = from_first(ticket);
        if (number >= n_strips) return;
        const Strip strip{from_first(strips[number].first_row), from_first(strips[number].n_rows),
                          from_first(strips[number].line), from_first(strips[number].is_narrow)};
        if (!wait_for_left(arguments, strip.first_row + strip.n_rows)) return;
        const bool is_done = strip.is_narrow ? run_strip<1>(arguments, number, strip, shared)
                                             : run_strip<ROWS>(arguments, number, strip, shared);
        if (!is_done || !publish(arguments, strip)) return;
    }
}
