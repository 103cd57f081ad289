// Packed long-pair kernel: as long.cu, with two cells in the halves of each word.
//
// A strip has 64 virtual lanes of ROWS rows, two for each lane of a warp: the low half of a word belongs to
// virtual lane 2 * l, the high half to 2 * l + 1. Each virtual lane is one tile behind the one above, so one
// instruction computes a cell of both.
//
// clang-format off
//      step s   lane 0   low half    tile s      rows 0 .. ROWS - 1
//                        high half   tile s-1    rows ROWS .. 2 * ROWS - 1
//               lane 1   low half    tile s-2    ...
// clang-format on
//
// The last row of a low half is the row above the high half in the next step; that of a high half goes to the
// next lane. Scores are stored relative to a base that all lanes of a warp share: long_packed_range.cuh shows
// that 16 bits suffice for any table. The base is moved before a piece that it does not fit.
//
// Scores. The four most frequent letters of the columns are called plain. Each row has its scores with them
// as bytes, one word per half, and one instruction selects a byte of both words and extends their signs. Each
// column has the selector, `places`: four digits, the lower two for low halves and the upper two for high
// halves. Up to four more letters are called rare. Pieces in which some lane has a rare letter select from
// two more words.
//
// The best cell. As in long.cu, a piece is searched only where it can be. There, lanes look at the H beside
// and above each tile. No cell of the tile exceeds these by more than COLUMNS * highest; only if that reaches
// the best score so far, which is rare with long sequences, is the rest of the piece searched.
//
// Special pieces are computed column by column: some halves are after the last column, a letter is rare, a
// checkpoint column is stored, or the best cell may be there.
//
//   columns       [(n_pieces + 2) * PIECE + 64]: tiles, the 16-bit `places` of each column
//   table         [letters of the query][2]: bytes, the scores with plain letters and with rare ones
//   gain          4 * PIECE * highest, or negative if ends are not computed
//
// All else, such as queues and checkpoints, is as in long.cu.
//
// Tests: tests/engines/cuda/long/test_packed_regions.py.

#include "async_copy.cuh"
#include "constants.cuh"
#include "long_packed_range.cuh"
#include "long_row_queues.cuh"
#include "long_strips.cuh"
#include "long_warp.cuh"
#include "packed.cuh"
#include "recurrence.cuh"

static_assert(!LARGE);

constexpr unsigned RING = 128;          // tiles in shared memory
constexpr int NEVER_NEAR = 0x7FFFFFFF;  // a threshold that no score reaches
constexpr unsigned SAVED_WORDS = (2 * ROWS + 2 * COLUMNS + 1 + 3) / 4 * 4;
constexpr bool HAS_RARE = LETTERS > 4;
static_assert(VIRTUAL_LANES - 1 + 2 * PIECE <= RING && LETTERS <= 8);

using Pair = Word;  // two values, one for each virtual lane of a lane

struct Halves : PackedNumber<true> {
    static __device__ Pair minus_first() { return both(-GAP_FIRST); }
    static __device__ Pair minus_extend() { return both(-GAP_EXTEND); }
    static __device__ int of(Pair pair, unsigned half) { return short(pair >> 16 * half); }
    static __device__ int highest(Pair pair) { return max(low(pair), high(pair)); }
    static __device__ Pair join(int low, int high) { return half_of(low) | half_of(high) << 16; }
    // a where the mask has ones, else b.
    static __device__ Pair merged(Pair mask, Pair a, Pair b) { return (a & mask) | (b & ~mask); }
};

struct alignas(16) PairEdge {
    Pair H[COLUMNS], F[COLUMNS];
};

// The shared memory of a warp.
struct Shared {
    uint2 *plain, *rare;          // this lane's part, [rows], 32 apart: scores with plain and rare letters
    Score *top_row, *bottom_row;  // [PIECE][2][COLUMNS]: the row above a piece; the last row of a piece
    unsigned* packed_top_row;     // [PIECE + 1][2][COLUMNS]: in the low half; the last tile is zeros
    Pair* packed_bottom_row;      // [PIECE][2][COLUMNS]
    Pair* saved;                  // [SAVED_WORDS]: of the one lane of which only the low half has begun
    uint2* tiles;                 // [RING]: tile i at i % RING
};

// The tiles of the columns. Those of the next piece are copied to shared memory while this one is computed.
struct Tiles {
    const uint2* next;
    uint2* ring;

    __device__ Tiles(const Arguments& arguments, uint2* given)
        : next(reinterpret_cast<const uint2*>(arguments.columns) + threadIdx.x % WARP), ring(given) {
        for (unsigned i = threadIdx.x % WARP; i < RING; i += WARP) ring[i] = make_uint2(0, 0);
        __syncwarp();
        load(0);
    }
    __device__ __forceinline__ void load(unsigned piece) {
        if (threadIdx.x % WARP >= PIECE) return;
        uint2* to = ring + (piece * PIECE + threadIdx.x % WARP) % RING;
        start_copy(to, next);
        next += PIECE;
    }
    __device__ __forceinline__ uint2 of(unsigned tile) const { return ring[tile % RING]; }
    // Whether the tiles of a piece have a rare letter.
    __device__ __forceinline__ bool have_rare(unsigned piece) const {
        const uint2 tile = of(piece * PIECE + threadIdx.x % PIECE);
        return HAS_RARE && __any_sync(ALL, ((tile.x | tile.y) & 0x00040004u) != 0);
    }
};

// The byte selectors of a step: low halves take the columns of one tile, high halves those of the tile
// before.
struct Places {
    unsigned column[COLUMNS];

    __device__ __forceinline__ Places(uint2 low, uint2 high) {
        column[0] = chosen_bytes(low.x, high.x, 0x0050);
        column[1] = chosen_bytes(low.x, high.x, 0x0072);
        column[2] = chosen_bytes(low.y, high.y, 0x0050);
        column[3] = chosen_bytes(low.y, high.y, 0x0072);
    }
};

// The first cell with the highest score of a virtual lane.
struct BestCell {
    int score;  // which a better cell must exceed
    unsigned row, column;
};

// A lane with its rows of a strip, N_ROWS in each half.
template <int N_ROWS>
struct Lane {
    const Arguments& arguments;
    Pair H[N_ROWS], E[N_ROWS];  // of the column left of the next tile
    PairEdge above;             // of the row above it; 0 in the low half of the first lane
    Pair diagonal;
    const uint2 *plain, *rare;  // [N_ROWS], 32 apart: scores of the rows of both halves, four bytes
    unsigned row;               // the first one of the low half, in the region
    Pair used;                  // mask of the halves that have rows of the strip
    Base base;
    BestCell best[2];
    int least;  // the least score of a better cell in either half
    unsigned checkpoint,
        first_checkpoint;  // index and value of the first column that not all lanes have passed

    __device__ Lane(const Arguments& given, const Strip& strip, const Shared& shared)
        : arguments(given), plain(shared.plain), rare(shared.rare), checkpoint(0), first_checkpoint(0) {
        const unsigned lane = threadIdx.x % WARP;
        row = strip.first_row + lane * 2 * N_ROWS;
        used = (is_used(strip, 0) ? 0x0000FFFFu : 0) | (is_used(strip, 1) ? 0xFFFF0000u : 0);
        int highest = given.left_H[strip.first_row];
        for (unsigned i = lane; i < strip.n_rows; i += WARP)
            highest = max(highest, given.left_H[strip.first_row + i + 1]);
        base = Base::near(warp_maximum(highest));
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) {
            H[k] = left([&](unsigned at) { return base.stored_H(given.left_H[at + k + 1]); });
            E[k] = left([&](unsigned at) { return base.stored_gap(given.left_E[at + k]); });
        }
        diagonal = left([&](unsigned at) { return base.stored_H(given.left_H[at]); });
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) above.H[c] = diagonal, above.F[c] = 0;
        clear_first();
        const int known = LOCAL ? best_so_far(given.control) : 0;
        for (unsigned half = 0; half < 2; half++)
            best[half] = BestCell{is_used(strip, half) ? max(known, 1) - 1 : NEVER_NEAR - 1, NEVER, NEVER};
        least = max(known, 1);
    }

    __device__ bool is_used(const Strip& strip, unsigned half) const {
        return (threadIdx.x % WARP * 2 + half) * N_ROWS < strip.n_rows;
    }
    template <class Value>
    __device__ Pair left(Value value) const {
        return Halves::join(used & 1 ? value(row) : 0, used >> 31 ? value(row + N_ROWS) : 0);
    }
    // Clears the row above the low half of the first lane, to which the row above the strip is added.
    __device__ __forceinline__ void clear_first() {
        const Pair mask = threadIdx.x % WARP == 0 ? 0xFFFF0000u : ~0u;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) above.H[c] &= mask, above.F[c] &= mask;
    }

    __device__ void store_scores(const Strip& strip, const Shared& shared) const {
        const uint2* table = reinterpret_cast<const uint2*>(arguments.table);
        const unsigned last = strip.first_row + strip.n_rows - 1;
        for (int k = 0; k < N_ROWS; k++) {
            const uint2 low = table[arguments.query[min(row + k, last)]];
            const uint2 high = table[arguments.query[min(row + N_ROWS + k, last)]];
            shared.plain[k * WARP] = make_uint2(low.x, high.x);
            if (HAS_RARE) shared.rare[k * WARP] = make_uint2(low.y, high.y);
        }
    }

    // The score of row k. Digits of low halves count from the plain letters on, those of high halves from the
    // rare ones on.
    __device__ __forceinline__ Pair any_score(int k, unsigned places) const {
        const uint2 common = plain[k * WARP], others = HAS_RARE ? rare[k * WARP] : common;
        if (!HAS_RARE) return chosen_bytes(common.x, common.y, places);
        return chosen_bytes(chosen_bytes(common.x, others.x, places),
                            chosen_bytes(others.y, common.y, places), 0x7610);
    }

    // The highest H that any cell of the next piece can come from, in this lane.
    __device__ __forceinline__ int highest() const {
        return base.value + Halves::highest(Halves::max3(highest_row(), highest_of(above), diagonal) & used);
    }
    __device__ __forceinline__ Pair highest_row() const {
        Pair most = H[0];
#pragma unroll
        for (int k = 1; k < N_ROWS; k += 2)
            most = k + 1 < N_ROWS ? Halves::max3(most, H[k], H[k + 1]) : Halves::max2(most, H[k]);
        return most;
    }
    static __device__ __forceinline__ Pair highest_of(const PairEdge& edge) {
        return Halves::max2(Halves::max2(edge.H[0], edge.H[1]), Halves::max2(edge.H[2], edge.H[3]));
    }

    // Whether some lane has a stored H of `near` or more beside or above its tile.
    __device__ __forceinline__ bool is_near(const PairEdge& edge, int near) const {
        return __any_sync(
            ALL, Halves::highest(Halves::max3(highest_row(), highest_of(edge), diagonal) & used) >= near);
    }

    // Moves the base. Values below the new base are raised to it.
    __device__ void move_base(Base to) {
        int delta = to.value - base.value;
        base = to;
        shift(Halves::both(-min(delta, MAX_STEP)));
        if (delta > MAX_STEP) shift(Halves::both(-MAX_STEP));
        clear_first();
    }
    __device__ void shift(Pair amount) {
        const Pair no_gap = Halves::minus_first();
#pragma unroll
        for (int k = 0; k < N_ROWS; k++)
            H[k] = Halves::add_max(H[k], amount, 0), E[k] = Halves::add_max(E[k], amount, no_gap);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            above.H[c] = Halves::add_max(above.H[c], amount, 0),
            above.F[c] = Halves::add_max(above.F[c], amount, no_gap);
        diagonal = Halves::add_max(diagonal, amount, 0);
    }

    // Sets the rows to H = 0 without gaps, for a piece that is skipped. A half that has not begun loses its
    // left column, whose H was part of the test.
    __device__ __forceinline__ void reset() {
        base.value = 0;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) H[k] = 0, E[k] = Halves::minus_first();
        diagonal = 0;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) above.H[c] = 0, above.F[c] = Halves::minus_first();
        clear_first();
    }

    __device__ __forceinline__ void pass_down(const PairEdge& edge, unsigned is_below) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            above.H[c] = chosen_bytes(__shfl_up_sync(ALL, edge.H[c], 1) * is_below, edge.H[c], 0x5432);
            above.F[c] = chosen_bytes(__shfl_up_sync(ALL, edge.F[c], 1) * is_below, edge.F[c], 0x5432);
        }
    }

    // Computes a tile of both halves along its anti-diagonals, so that dependent cells are far apart. edge:
    // enters as the row above and leaves as the last row.
    __device__ __forceinline__ void compute(PairEdge& edge, const Places& places) {
        Pair t[COLUMNS];
        uint2 scores[N_ROWS];
        scores[0] = plain[0];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            t[c] = Halves::add(c == 0 ? diagonal : edge.H[c - 1],
                               chosen_bytes(scores[0].x, scores[0].y, places.column[c]));
        diagonal = edge.H[COLUMNS - 1];
#pragma unroll
        for (int d = 0; d < N_ROWS + COLUMNS - 1; d++) {
            if (d + 1 < N_ROWS) scores[d + 1] = plain[(d + 1) * WARP];
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                const int k = d - c;
                if (k < 0 || k >= N_ROWS) continue;
                Pair next = t[c];
                if (k + 1 < N_ROWS)
                    next =
                        Halves::add(H[k], chosen_bytes(scores[k + 1].x, scores[k + 1].y, places.column[c]));
                update_cell<Halves, Pair>(t[c], H[k], E[k], edge.F[c]);
                t[c] = next;
                if (k == N_ROWS - 1) edge.H[c] = H[k];
            }
        }
    }

    // Computes a tile in lanes that have begun. In the first step of a low half, the high half keeps its
    // values, and its part of `edge` does not change.
    __device__ __forceinline__ void compute_begun(PairEdge& edge, const Places& places, unsigned tile,
                                                  Pair* saved) {
        if (int(tile) < 0) return;
        if (tile == 0) each_pair(edge, [&](Pair& pair, unsigned i) { saved[i] = pair; });
        compute(edge, places);
        if (tile == 0)
            each_pair(edge, [&](Pair& pair, unsigned i) { pair = Halves::merged(0xFFFFu, pair, saved[i]); });
    }
    template <class Visit>
    __device__ __forceinline__ void each_pair(PairEdge& edge, Visit visit) {
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) visit(H[k], 2 * k), visit(E[k], 2 * k + 1);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            visit(edge.H[c], 2 * (N_ROWS + c)), visit(edge.F[c], 2 * (N_ROWS + c) + 1);
        visit(diagonal, 2 * (N_ROWS + COLUMNS));
    }

    // Computes a tile column by column in the active halves; the others keep their values, and their part of
    // `edge` does not change. tile: of the low half. Columns rotate through the first element of `edge` and
    // `places`, so the loop is not unrolled.
    __device__ __forceinline__ void compute_columns(PairEdge& edge, Places places, unsigned tile,
                                                    bool is_searched) {
        const unsigned n_tiles = arguments.n_pieces * PIECE;
        const Pair active = (tile < n_tiles ? 0x0000FFFFu : 0) | (tile - 1 < n_tiles ? 0xFFFF0000u : 0);
        unsigned column = tile * COLUMNS;
#pragma unroll 1
        for (int c = 0; c < COLUMNS; c++, column++) {
            const Pair H_above = edge.H[0];
            Pair F = edge.F[0], before = diagonal;
#pragma unroll
            for (int k = 0; k < N_ROWS; k++) {
                const Pair t = Halves::add(before, any_score(k, places.column[0]));
                Pair new_H = before = H[k], new_E = E[k];
                update_cell<Halves, Pair>(t, new_H, new_E, F);
                H[k] = Halves::merged(active, new_H, H[k]), E[k] = Halves::merged(active, new_E, E[k]);
            }
            diagonal = Halves::merged(active, H_above, diagonal);
            rotate_in(edge.H, Halves::merged(active, H[N_ROWS - 1], H_above));
            rotate_in(edge.F, Halves::merged(active, F, edge.F[0]));
            rotate_in(places.column, places.column[0]);
            if (column >= first_checkpoint) store_checkpoints(column, active & used);
            if (!is_searched) continue;
            const Pair highest = highest_row() & active & used;
            if (Halves::highest(highest) + base.value >= least) record(column, highest);
        }
    }
    static __device__ __forceinline__ void rotate_in(Pair (&of_columns)[COLUMNS], Pair last) {
#pragma unroll
        for (int c = 0; c + 1 < COLUMNS; c++) of_columns[c] = of_columns[c + 1];
        of_columns[COLUMNS - 1] = last;
    }

    // Stores checkpoints of the columns that the active halves have reached.
    __device__ void store_checkpoints(unsigned column, Pair active) {
        for (unsigned half = 0; half < 2; half++, column -= COLUMNS)
            for (unsigned i = checkpoint;
                 (active >> 16 * half & 1) && arguments.checkpoint_columns[i] <= column; i++)
                if (arguments.checkpoint_columns[i] == column) store_checkpoint(i, half);
    }

    // Records the first cell with the highest score of this column, if it is better than all before.
    __device__ void record(unsigned column, Pair highest_of_column) {
        for (unsigned half = 0; half < 2; half++, column -= COLUMNS) {
            const int highest = Halves::of(highest_of_column, half);
            if (base.value + highest <= best[half].score || column >= arguments.n_columns) continue;
            unsigned first = 0;
#pragma unroll
            for (int k = N_ROWS - 1; k >= 0; k--) first = Halves::of(H[k], half) == highest ? k : first;
            best[half] = BestCell{base.value + highest, row + half * N_ROWS + first, column};
        }
        least = min(best[0].score, best[1].score) + 1;
    }
    __device__ __forceinline__ void store_checkpoint(unsigned place, unsigned half) {
        const size_t first = size_t(place) * arguments.n_rows + row + half * N_ROWS;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) {
            arguments.column_H[first + k] = base.value + Halves::of(H[k], half);
            arguments.column_E[first + k] = base.value + Halves::of(E[k], half);
        }
    }

    // Stores the checkpoint columns of a piece that is skipped.
    __device__ void store_skipped(unsigned step) {
        for (unsigned half = 0; half < 2; half++) {
            const int first = int(step) - int(threadIdx.x % WARP * 2 + half);
            for (unsigned i = checkpoint; (used >> 16 * half & 1) && arguments.checkpoint_columns[i] != NEVER;
                 i++) {
                const int tile = arguments.checkpoint_columns[i] / COLUMNS;
                if (tile >= first + PIECE) break;
                if (tile >= first) store_checkpoint(i, half);
            }
        }
    }
    // The first piece from `step` on in which a lane stores a checkpoint column, or the last piece.
    __device__ __forceinline__ unsigned next_special(unsigned step) {
        while ((arguments.checkpoint_columns[checkpoint] / COLUMNS + VIRTUAL_LANES - 1) < step) checkpoint++;
        first_checkpoint = arguments.checkpoint_columns[checkpoint];
        return from_first_lane(min(first_checkpoint / (COLUMNS * PIECE), arguments.n_pieces - 1));
    }

    __device__ __forceinline__ bool has_best(unsigned half) const { return best[half].column != NEVER; }
    __device__ __forceinline__ End end(unsigned half) const {
        return End{has_best(half) ? best[half].score : 0, best[half].row, best[half].column};
    }
    __device__ __forceinline__ int best_score() const {
        return max(has_best(0) ? best[0].score : 0, has_best(1) ? best[1].score : 0);
    }
};

// Converts the row above a piece to stored values. Each lane converts its columns.
__device__ __forceinline__ void pack_top_row(const Shared& shared, Base base) {
#pragma unroll
    for (unsigned i = 0; i < LANE_COLUMNS; i++) {
        const unsigned column = i * WARP + threadIdx.x % WARP % PIECE_COLUMNS;
        const unsigned place = column / COLUMNS * 2 * COLUMNS + column % COLUMNS;
        shared.packed_top_row[place] = base.stored_H(shared.top_row[place]) & 0xFFFFu;
        shared.packed_top_row[place + COLUMNS] = base.stored_gap(shared.top_row[place + COLUMNS]) & 0xFFFFu;
    }
}

// Converts the last row of a piece, in one half of the words, to scores that are sent on.
__device__ __forceinline__ void widen_bottom_row(const Shared& shared, unsigned half, Base base) {
    for (unsigned i = threadIdx.x % WARP; i < PIECE * 2 * COLUMNS; i += WARP)
        shared.bottom_row[i] = base.value + Halves::of(shared.packed_bottom_row[i], half);
    __syncwarp();
}

// Kinds of pieces: only cells; the best cell may be there, which is checked in each step; the same, and some
// lanes have not begun; anything, column by column.
enum class Piece { PLAIN, BOUNDED, FIRST, SPECIAL };

// Computes the steps of a piece, which begins with `step`, from the i-th on. Returns the step that comes
// next: PIECE, or with FIRST and BOUNDED the first in which some lane has an H of `threshold` or more beside
// or above its tile.
template <Piece KIND, int N_ROWS>
__device__ __forceinline__ unsigned run_piece(Lane<N_ROWS>& lane, unsigned step, unsigned i,
                                              unsigned last_lane, const Shared& shared, const Tiles& tiles,
                                              int threshold) {
    const unsigned number = threadIdx.x % WARP;
    const int near = threshold == NEVER_NEAR ? NEVER_NEAR : threshold - lane.base.value;
    const unsigned is_below = number == 0 ? 0 : ONE, stride = number == 0 ? 2 * COLUMNS : 0;
    const unsigned* above = number == 0 ? shared.packed_top_row : shared.packed_top_row + PIECE * 2 * COLUMNS;
    PairEdge* bottom = reinterpret_cast<PairEdge*>(shared.packed_bottom_row) + i;
    unsigned tile = step + i - 2 * number;
    above += i * stride;
    uint2 before = tiles.of(tile - 1);
#pragma unroll 1
    for (; i < PIECE; i++, tile++, above += stride, bottom++) {
        const uint2 now = tiles.of(tile);
        const Places places(now, before);
        before = now;
        PairEdge edge;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            edge.H[c] = lane.above.H[c] + above[c], edge.F[c] = lane.above.F[c] + above[COLUMNS + c];
        if (KIND != Piece::PLAIN && KIND != Piece::SPECIAL && lane.is_near(edge, near)) break;
        if (KIND == Piece::SPECIAL) {
            lane.compute_columns(edge, places, tile, threshold != NEVER_NEAR);
        } else if (KIND == Piece::FIRST) {
            lane.compute_begun(edge, places, tile, shared.saved);
            __syncwarp();  // the next lane to begin uses the same memory
        } else {
            lane.compute(edge, places);
        }
        if (number == last_lane) *bottom = edge;
        lane.pass_down(edge, is_below);
    }
    __syncwarp();
    return i;
}

// Computes one strip over all columns; false if the warp must exit.
template <int N_ROWS>
__device__ bool run_strip(const Arguments& arguments, unsigned number, const Strip& strip,
                          const Shared& shared) {
    const unsigned lag = (strip.n_rows - 1) / N_ROWS;  // tiles by which the last virtual lane is behind
    const unsigned last_lane = lag / 2;
    Lane<N_ROWS> lane(arguments, strip, shared);
    __syncwarp();
    lane.store_scores(strip, shared);
    __syncwarp();
    RowReader reader(arguments, number);
    RowWriter writer(arguments, number, lag, strip.checkpoint);
    reader.load(0);
    Tiles tiles(arguments, shared.tiles);
    const GainBound bound(arguments.pruning, strip.first_row);
    int known_best = 0;  // of any strip, some pieces ago
    unsigned n_skipped = 0, special = lane.next_special(0), rare_end = 0;
    const unsigned n_pieces = arguments.n_pieces + (lag + PIECE - 1) / PIECE;
    for (unsigned piece = 0; piece < n_pieces; piece++) {
        const unsigned step = piece * PIECE;
        if (piece < arguments.n_pieces && !reader.take(piece, shared.top_row)) return false;
        if (piece % ACK_PIECES == 0) {
            if (!exchange_progress(reader, writer, piece)) return false;
            if (LOCAL) known_best = max(known_best, from_first_lane(best_so_far(arguments.control)));
        }
        wait_for_copies();
        reader.load(piece + 1);
        tiles.load(piece + 1);
        const int reach = warp_maximum(max(lane.highest(), reader.highest));
        const bool may_end =
            LOCAL && arguments.gain >= 0 && reach + int(arguments.gain) >= max(known_best, 1);
        const bool is_skipped =
            LOCAL && reach < bound.least_start(int(step) - (VIRTUAL_LANES - 1), known_best);
        if (tiles.have_rare(piece)) rare_end = step + PIECE + VIRTUAL_LANES;
        if (is_skipped) {
            lane.reset();
            lane.store_skipped(step);
            if (threadIdx.x % WARP < PIECE)
                store_edge(shared.bottom_row + threadIdx.x % WARP * 2 * COLUMNS, Edge::nothing());
            __syncwarp();
            n_skipped++;
        } else {
            if (!lane.base.fits(reach)) lane.move_base(Base::near(reach));
            pack_top_row(shared, lane.base);
            __syncwarp();
            const int threshold = may_end ? max(known_best, 1) - COLUMNS * HIGHEST : NEVER_NEAR;
            const bool is_special = piece >= special || step < rare_end;
            unsigned done = 0;
            if (!is_special && step < VIRTUAL_LANES) {
                done = run_piece<Piece::FIRST>(lane, step, done, last_lane, shared, tiles, threshold);
            } else if (!is_special && may_end) {
                done = run_piece<Piece::BOUNDED>(lane, step, done, last_lane, shared, tiles, threshold);
            } else if (!is_special) {
                done = run_piece<Piece::PLAIN>(lane, step, done, last_lane, shared, tiles, threshold);
            }
            if (done < PIECE)
                run_piece<Piece::SPECIAL>(lane, step, done, last_lane, shared, tiles, threshold);
            widen_bottom_row(shared, lag % 2, lane.base);
        }
        if (piece >= special) special = lane.next_special(step + PIECE);
        writer.send(shared.bottom_row, step - lag);
        if (may_end && __any_sync(ALL, lane.best_score() > known_best)) {
            known_best = warp_maximum(lane.best_score());
            if (threadIdx.x % WARP == 0) atomicMax(&arguments.control->best, (long long)known_best);
        }
    }
    reader.acknowledge(arguments.n_pieces);
    if (LOCAL) report_end(arguments, number, better_end(lane.end(0), lane.end(1)));
    count_skipped(arguments, strip, n_skipped);
    return true;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    fill_region_packed(const uint4* columns, unsigned n_pieces, unsigned n_columns,
                       const unsigned char* query, const Strip* strips, unsigned n_strips, const int* table,
                       const Score* top_H, const Score* top_F, const Score* left_H, const Score* left_E,
                       Tagged* queues, unsigned queue_pieces, unsigned* consumed, unsigned n_channels,
                       const unsigned* checkpoint_columns, Score* row_H, Score* row_F, Score* column_H,
                       Score* column_E, unsigned long long n_rows, End* ends, long long gain,
                       Control* control, unsigned long long patience, const unsigned* left_rows_ready,
                       long long highest, long long rows_left, long long columns_left) {
    extern __shared__ int4 memory[];
    const Arguments arguments{columns,
                              n_pieces,
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
                              control,
                              patience,
                              left_rows_ready,
                              Pruning{highest, rows_left, columns_left}};
    constexpr unsigned EDGE_WORDS = PIECE * 2 * COLUMNS;
    constexpr unsigned PLAIN_BYTES = ROWS * WARP * sizeof(uint2),
                       SCORE_BYTES = (HAS_RARE ? 2 : 1) * PLAIN_BYTES;
    constexpr unsigned WARP_BYTES =
        SCORE_BYTES + RING * sizeof(uint2) + (4 * EDGE_WORDS + 2 * COLUMNS + SAVED_WORDS) * sizeof(Pair);
    static_assert(WARP_BYTES % sizeof(int4) == 0);
    const unsigned lane = threadIdx.x % WARP;
    char* own = reinterpret_cast<char*>(memory) + threadIdx.x / WARP * WARP_BYTES;
    Pair* edges = reinterpret_cast<Pair*>(own + SCORE_BYTES + RING * sizeof(uint2));
    Score* scores = reinterpret_cast<Score*>(edges + 2 * EDGE_WORDS + 2 * COLUMNS);
    const Shared shared{reinterpret_cast<uint2*>(own) + lane,
                        reinterpret_cast<uint2*>(own + PLAIN_BYTES) + lane,
                        scores,
                        scores + EDGE_WORDS,
                        edges,
                        edges + EDGE_WORDS + 2 * COLUMNS,
                        reinterpret_cast<Pair*>(scores) + 2 * EDGE_WORDS,
                        reinterpret_cast<uint2*>(own + SCORE_BYTES)};
    if (lane < 2 * COLUMNS) shared.packed_top_row[EDGE_WORDS + lane] = 0;
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
