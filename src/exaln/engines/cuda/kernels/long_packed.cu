// One pair over the whole device, as long.cu, two cells at a time in the halves of a word.
//
// A strip has 64 virtual lanes of ROWS rows, two for each lane of a warp: the low half of a word belongs to
// virtual lane 2 * l, the high half to 2 * l + 1. Each is one tile behind the one above it, so that one
// instruction does a cell of both:
//
//      step s:    lane 0   low half    tile s        rows 0 .. ROWS - 1
//                          high half   tile s - 1    rows ROWS .. 2 * ROWS - 1
//                 lane 1   low half    tile s - 2    ...
//
// The last row of a low half is the row above the high half in the next step; that of a high half goes to the
// next lane. Numbers are stored relative to a base, which all lanes of a warp share: long_range.cuh says why
// 16 bits are enough for any table. Before a piece for which the base is too far off, it is moved.
//
// Scores: the four most frequent letters of the columns are plain. Each row has its scores with them as
// bytes, in a word for each half; one instruction chooses a byte of both and extends their signs. Which
// bytes, a column says: `places` has four digits, of which the lower two are for low halves and the upper two
// for high halves. Up to four letters more are odd: pieces in which some lane has one choose from two more
// words.
//
// The best cell: as in long.cu a piece is not searched where it cannot have one. Where it can, lanes look at
// the H beside and above each tile. No cell is above these by more than COLUMNS * highest; only if that
// reaches the best score so far, and with long sequences that is rare, the rest of the piece is searched.
//
// Pieces with something special are computed column by column: some halves are behind the last column,
// letters are odd, a column is kept, or the best cell may be there.
//
//   columns       [(n_pieces + 2) * PIECE + 64]: tiles, of each column the `places`, 16 bits
//   table         [letters of the query][2]: bytes, the scores with plain letters and with odd ones
//   gain          4 * PIECE * highest, or < 0: ends are not wanted
//
// All else is as in long.cu, and strips are handed on and lines are kept in the same way. Tests:
// tests/test_cuda_long_packed.py.

#include "constants.cuh"
#include "long_range.cuh"
#include "long_rows.cuh"
#include "long_tiles.cuh"
#include "long_turns.cuh"
#include "long_warp.cuh"
#include "packed.cuh"
#include "recurrence.cuh"

static_assert(!LARGE);

constexpr unsigned RING = 128;  // tiles in shared memory
constexpr int NEVER_NEAR = 0x7FFFFFFF;
constexpr unsigned PUT_ASIDE = (2 * ROWS + 2 * COLUMNS + 1 + 3) / 4 * 4;
constexpr bool HAS_ODD = LETTERS > 4;
static_assert(VIRTUAL_LANES - 1 + 2 * PIECE <= RING && LETTERS <= 8);

using Pair = Word;  // of scores, or of what belongs to them

struct Halves : PackedNumber<true> {
    static __device__ Pair minus_first() { return both(-GAP_FIRST); }
    static __device__ Pair minus_extend() { return both(-GAP_EXTEND); }
    static __device__ int of(Pair pair, unsigned half) { return short(pair >> 16 * half); }
    static __device__ int highest(Pair pair) { return max(low(pair), high(pair)); }
    static __device__ Pair join(int low, int high) { return half_of(low) | half_of(high) << 16; }
    // `a` where the mask has ones, else `b`.
    static __device__ Pair merged(Pair mask, Pair a, Pair b) { return (a & mask) | (b & ~mask); }
};

struct alignas(16) PairEdge {
    Pair H[COLUMNS], F[COLUMNS];
};

// What a warp has in shared memory.
struct Shared {
    uint2 *plain, *odd;   // this lane's part, [rows], 32 apart: scores with plain letters and with odd ones
    Score *feed, *tail;   // [PIECE][2][COLUMNS]: the row above a piece; the last row of a piece
    unsigned* pair_feed;  // [PIECE + 1][2][COLUMNS]: as stored, in the low half; the last tile is zeros
    Pair* pair_tail;      // [PIECE][2][COLUMNS]
    Pair* put_aside;      // [PUT_ASIDE]: of the one lane that begins with one half
    uint2* tiles;         // [RING]: a tile in its place modulo RING
};

// Tiles of the next piece travel into shared memory while this one is computed.
struct Tiles {
    const uint2* next;
    uint2* ring;

    __device__ Tiles(const Arguments& arguments, uint2* given)
        : next(reinterpret_cast<const uint2*>(arguments.columns) + threadIdx.x % 32), ring(given) {
        for (unsigned i = threadIdx.x % 32; i < RING; i += 32) ring[i] = make_uint2(0, 0);
        __syncwarp();
        load(0);
    }
    __device__ __forceinline__ void load(unsigned piece) {
        if (threadIdx.x % 32 >= PIECE) return;
        uint2* to = ring + (piece * PIECE + threadIdx.x % 32) % RING;
        start_copy(to, next);
        next += PIECE;
    }
    __device__ __forceinline__ uint2 of(unsigned tile) const { return ring[tile % RING]; }
    // Whether the tiles of a piece have an odd letter.
    __device__ __forceinline__ bool are_odd(unsigned piece) const {
        const uint2 tile = of(piece * PIECE + threadIdx.x % PIECE);
        return HAS_ODD && __any_sync(ALL, ((tile.x | tile.y) & 0x00040004u) != 0);
    }
};

// Which bytes a step chooses: low halves for the columns of one tile, high halves for those of the one
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
struct Best {
    int score;  // what a cell must be above
    unsigned row, column;
};

// A lane and its rows of a strip, N_ROWS in each half.
template <int N_ROWS>
struct Lane {
    const Arguments& arguments;
    Pair H[N_ROWS], E[N_ROWS];  // of the column left of the next tile
    PairEdge above;             // of the row above it; 0 in the low half of the first lane
    Pair diagonal;
    const uint2 *plain, *odd;  // [N_ROWS], 32 apart: scores of the rows of both halves, four bytes
    unsigned row;              // the first one of the low half, in the region
    Pair used;                 // which halves have rows of the strip
    Base base;
    Best best[2];
    int least;                  // what a cell must have that is noted
    unsigned kept, first_kept;  // the first kept column that not all lanes are past, and its place

    __device__ Lane(const Arguments& given, const Strip& strip, const Shared& shared)
        : arguments(given), plain(shared.plain), odd(shared.odd), kept(0), first_kept(0) {
        const unsigned lane = threadIdx.x % 32;
        row = strip.first_row + lane * 2 * N_ROWS;
        used = (is_used(strip, 0) ? 0x0000FFFFu : 0) | (is_used(strip, 1) ? 0xFFFF0000u : 0);
        int highest = given.left_H[strip.first_row];
        for (unsigned i = lane; i < strip.n_rows; i += 32)
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
            best[half] = Best{is_used(strip, half) ? max(known, 1) - 1 : NEVER_NEAR - 1, NEVER, NEVER};
        least = max(known, 1);
    }

    __device__ bool is_used(const Strip& strip, unsigned half) const {
        return (threadIdx.x % 32 * 2 + half) * N_ROWS < strip.n_rows;
    }
    template <class Value>
    __device__ Pair left(Value value) const {
        return Halves::join(used & 1 ? value(row) : 0, used >> 31 ? value(row + N_ROWS) : 0);
    }
    // What the first lane has above its low half comes from elsewhere, and is added.
    __device__ __forceinline__ void clear_first() {
        const Pair mask = threadIdx.x % 32 == 0 ? 0xFFFF0000u : ~0u;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) above.H[c] &= mask, above.F[c] &= mask;
    }

    __device__ void store_scores(const Strip& strip, const Shared& shared) const {
        const uint2* table = reinterpret_cast<const uint2*>(arguments.table);
        const unsigned last = strip.first_row + strip.n_rows - 1;
        for (int k = 0; k < N_ROWS; k++) {
            const uint2 low = table[arguments.query[min(row + k, last)]];
            const uint2 high = table[arguments.query[min(row + N_ROWS + k, last)]];
            shared.plain[k * 32] = make_uint2(low.x, high.x);
            if (HAS_ODD) shared.odd[k * 32] = make_uint2(low.y, high.y);
        }
    }

    // Digits of low halves count from the plain letters on, those of high halves from the odd ones on.
    __device__ __forceinline__ Pair any_score(int k, unsigned places) const {
        const uint2 usual = plain[k * 32], others = HAS_ODD ? odd[k * 32] : usual;
        if (!HAS_ODD) return chosen_bytes(usual.x, usual.y, places);
        return chosen_bytes(chosen_bytes(usual.x, others.x, places), chosen_bytes(others.y, usual.y, places),
                            0x7610);
    }

    // The highest H that anything of the next piece can come from.
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

    // Whether some lane has an H beside or above its tile that is stored as `near` or more.
    __device__ __forceinline__ bool is_near(const PairEdge& edge, int near) const {
        return __any_sync(
            ALL, Halves::highest(Halves::max3(highest_row(), highest_of(edge), diagonal) & used) >= near);
    }

    // Moves the base; what would be below it is raised to it.
    __device__ void move_base(Base to) {
        int delta = to.value - base.value;
        base = to;
        shift(Halves::both(-min(delta, MOST_AT_ONCE)));
        if (delta > MOST_AT_ONCE) shift(Halves::both(-MOST_AT_ONCE));
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

    // As if nothing had been before the next tile. A half that has not begun loses the column left of it: its
    // H was looked at, and is hopeless too.
    __device__ __forceinline__ void forget() {
        base.value = 0;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) H[k] = 0, E[k] = Halves::minus_first();
        diagonal = 0;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) above.H[c] = 0, above.F[c] = Halves::minus_first();
        clear_first();
    }

    __device__ __forceinline__ void hand_down(const PairEdge& edge, unsigned is_below) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            above.H[c] = chosen_bytes(__shfl_up_sync(ALL, edge.H[c], 1) * is_below, edge.H[c], 0x5432);
            above.F[c] = chosen_bytes(__shfl_up_sync(ALL, edge.F[c], 1) * is_below, edge.F[c], 0x5432);
        }
    }

    // A tile of both halves, along its anti-diagonals: cells that wait for one another are far apart. `edge`
    // comes in as the row above and goes out as the last row.
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
            if (d + 1 < N_ROWS) scores[d + 1] = plain[(d + 1) * 32];
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

    // The same in lanes that have begun. In the first step of a low half the high half keeps what it has, and
    // the row above it goes out as it came in.
    __device__ __forceinline__ void compute_begun(PairEdge& edge, const Places& places, unsigned tile,
                                                  Pair* aside) {
        if (int(tile) < 0) return;
        if (tile == 0) each_pair(edge, [&](Pair& pair, unsigned i) { aside[i] = pair; });
        compute(edge, places);
        if (tile == 0)
            each_pair(edge, [&](Pair& pair, unsigned i) { pair = Halves::merged(0xFFFFu, pair, aside[i]); });
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

    // The same, column by column, in the halves that are active; others keep what they have, and the row
    // above them goes out as it came in. `tile` is that of the low half. Columns take turns in the first
    // place of `edge` and `places`: the code is there once.
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
            put_last(edge.H, Halves::merged(active, H[N_ROWS - 1], H_above));
            put_last(edge.F, Halves::merged(active, F, edge.F[0]));
            put_last(places.column, places.column[0]);
            if (column >= first_kept) keep_columns(column, active & used);
            if (!is_searched) continue;
            const Pair highest = highest_row() & active & used;
            if (Halves::highest(highest) + base.value >= least) note(column, highest);
        }
    }
    static __device__ __forceinline__ void put_last(Pair (&of_columns)[COLUMNS], Pair last) {
#pragma unroll
        for (int c = 0; c + 1 < COLUMNS; c++) of_columns[c] = of_columns[c + 1];
        of_columns[COLUMNS - 1] = last;
    }

    // Keeps the columns at which the active halves are, if they are to be kept.
    __device__ void keep_columns(unsigned column, Pair active) {
        for (unsigned half = 0; half < 2; half++, column -= COLUMNS)
            for (unsigned i = kept; (active >> 16 * half & 1) && arguments.kept_columns[i] <= column; i++)
                if (arguments.kept_columns[i] == column) keep_column(i, half);
    }

    // Notes the first cell with the highest score of this column, if it is better than all before.
    __device__ void note(unsigned column, Pair highest_of_column) {
        for (unsigned half = 0; half < 2; half++, column -= COLUMNS) {
            const int highest = Halves::of(highest_of_column, half);
            if (base.value + highest <= best[half].score || column >= arguments.n_columns) continue;
            unsigned first = 0;
#pragma unroll
            for (int k = N_ROWS - 1; k >= 0; k--) first = Halves::of(H[k], half) == highest ? k : first;
            best[half] = Best{base.value + highest, row + half * N_ROWS + first, column};
        }
        least = min(best[0].score, best[1].score) + 1;
    }
    __device__ __forceinline__ void keep_column(unsigned place, unsigned half) {
        const size_t first = size_t(place) * arguments.n_rows + row + half * N_ROWS;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) {
            arguments.column_H[first + k] = base.value + Halves::of(H[k], half);
            arguments.column_E[first + k] = base.value + Halves::of(E[k], half);
        }
    }

    // The kept columns of a piece that is skipped.
    __device__ void keep_skipped(unsigned step) {
        for (unsigned half = 0; half < 2; half++) {
            const int first = int(step) - int(threadIdx.x % 32 * 2 + half);
            for (unsigned i = kept; (used >> 16 * half & 1) && arguments.kept_columns[i] != NEVER; i++) {
                const int tile = arguments.kept_columns[i] / COLUMNS;
                if (tile >= first + PIECE) break;
                if (tile >= first) keep_column(i, half);
            }
        }
    }
    // The first piece that has a kept column in its reach, or the last one, if `step` is the first of the
    // next.
    __device__ __forceinline__ unsigned next_special(unsigned step) {
        while ((arguments.kept_columns[kept] / COLUMNS + VIRTUAL_LANES - 1) < step) kept++;
        first_kept = arguments.kept_columns[kept];
        return from_first(min(first_kept / (COLUMNS * PIECE), arguments.n_pieces - 1));
    }

    __device__ __forceinline__ bool has_best(unsigned half) const { return best[half].column != NEVER; }
    __device__ __forceinline__ End end(unsigned half) const {
        return End{has_best(half) ? best[half].score : 0, best[half].row, best[half].column};
    }
    __device__ __forceinline__ int best_score() const {
        return max(has_best(0) ? best[0].score : 0, has_best(1) ? best[1].score : 0);
    }
};

// The row above a piece, as it is stored: each lane has its columns of it.
__device__ __forceinline__ void store_feed(const Shared& shared, Base base) {
#pragma unroll
    for (unsigned i = 0; i < LANE_COLUMNS; i++) {
        const unsigned column = i * 32 + threadIdx.x % 32 % PIECE_COLUMNS;
        const unsigned place = column / COLUMNS * 2 * COLUMNS + column % COLUMNS;
        shared.pair_feed[place] = base.stored_H(shared.feed[place]) & 0xFFFFu;
        shared.pair_feed[place + COLUMNS] = base.stored_gap(shared.feed[place + COLUMNS]) & 0xFFFFu;
    }
}

// The last row of a piece, in this half of words, as it is handed on.
__device__ __forceinline__ void widen_tail(const Shared& shared, unsigned half, Base base) {
    for (unsigned i = threadIdx.x % 32; i < PIECE * 2 * COLUMNS; i += 32)
        shared.tail[i] = base.value + Halves::of(shared.pair_tail[i], half);
    __syncwarp();
}

// What can happen in a piece: nothing but cells; the end may be there, unless what is beside its tiles says
// that it is not; and some lanes have not begun yet; anything.
enum class Piece { PLAIN, BOUNDED, FIRST, SPECIAL };

// Steps of a piece that begins with `step`, from the i-th on. Gives which one comes next: if BOUNDED, the
// first in which some lane has an H of `threshold` or more beside or above its tile.
template <Piece KIND, int N_ROWS>
__device__ __forceinline__ unsigned run_piece(Lane<N_ROWS>& lane, unsigned step, unsigned i,
                                              unsigned last_lane, const Shared& shared, const Tiles& tiles,
                                              int threshold) {
    const unsigned number = threadIdx.x % 32;
    const int near = threshold == NEVER_NEAR ? NEVER_NEAR : threshold - lane.base.value;
    const unsigned is_below = number == 0 ? 0 : ONE, stride = number == 0 ? 2 * COLUMNS : 0;
    const unsigned* feed = number == 0 ? shared.pair_feed : shared.pair_feed + PIECE * 2 * COLUMNS;
    PairEdge* tail = reinterpret_cast<PairEdge*>(shared.pair_tail) + i;
    unsigned tile = step + i - 2 * number;
    feed += i * stride;
    uint2 before = tiles.of(tile - 1);
#pragma unroll 1
    for (; i < PIECE; i++, tile++, feed += stride, tail++) {
        const uint2 now = tiles.of(tile);
        const Places places(now, before);
        before = now;
        PairEdge edge;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            edge.H[c] = lane.above.H[c] + feed[c], edge.F[c] = lane.above.F[c] + feed[COLUMNS + c];
        if (KIND != Piece::PLAIN && KIND != Piece::SPECIAL && lane.is_near(edge, near)) break;
        if (KIND == Piece::SPECIAL) {
            lane.compute_columns(edge, places, tile, threshold != NEVER_NEAR);
        } else if (KIND == Piece::FIRST) {
            lane.compute_begun(edge, places, tile, shared.put_aside);
            __syncwarp();  // the next lane to begin puts its own there
        } else {
            lane.compute(edge, places);
        }
        if (number == last_lane) *tail = edge;
        lane.hand_down(edge, is_below);
    }
    __syncwarp();
    return i;
}

// The best cell that a strip's lanes have noted.
template <int N_ROWS>
__device__ void report_end(const Lane<N_ROWS>& lane, unsigned strip) {
    const End end = first_best(earlier(lane.end(0), lane.end(1)));
    if (threadIdx.x % 32 == 0) lane.arguments.ends[strip] = end;
}

// One strip over all columns; false if the warp has to leave.
template <int N_ROWS>
__device__ bool run_strip(const Arguments& arguments, unsigned number, const Strip& strip,
                          const Shared& shared) {
    const unsigned lag = (strip.n_rows - 1) / N_ROWS, last_lane = lag / 2;  // of the last virtual lane
    Lane<N_ROWS> lane(arguments, strip, shared);
    __syncwarp();
    lane.store_scores(strip, shared);
    __syncwarp();
    Feed feed(arguments, number);
    Writer writer(arguments, number, lag, strip.line);
    feed.load(0);
    Tiles tiles(arguments, shared.tiles);
    const Hope hope(arguments.pruning, strip.first_row);
    int known_best = 0;  // by any strip, some pieces ago
    unsigned n_skipped = 0, special = lane.next_special(0), odd_end = 0;
    const unsigned n_pieces = arguments.n_pieces + (lag + PIECE - 1) / PIECE;
    for (unsigned piece = 0; piece < n_pieces; piece++) {
        const unsigned step = piece * PIECE;
        if (piece < arguments.n_pieces && !feed.take(piece, shared.feed)) return false;
        if (piece % ACK == 0) {
            if (!look_around(feed, writer, piece)) return false;
            if (LOCAL) known_best = max(known_best, from_first(best_so_far(arguments.control)));
        }
        wait_for_copies();
        feed.load(piece + 1);
        tiles.load(piece + 1);
        const int reach = warp_maximum(max(lane.highest(), feed.highest));
        const bool may_end =
            LOCAL && arguments.gain >= 0 && reach + int(arguments.gain) >= max(known_best, 1);
        const bool is_hopeless = LOCAL && reach < hope.least(int(step) - (VIRTUAL_LANES - 1), known_best);
        if (tiles.are_odd(piece)) odd_end = step + PIECE + VIRTUAL_LANES;
        if (is_hopeless) {
            lane.forget();
            lane.keep_skipped(step);
            if (threadIdx.x % 32 < PIECE) put(shared.tail + threadIdx.x % 32 * 2 * COLUMNS, Edge::nothing());
            __syncwarp();
            n_skipped++;
        } else {
            if (!lane.base.suits(reach)) lane.move_base(Base::near(reach));
            store_feed(shared, lane.base);
            __syncwarp();
            const int threshold = may_end ? max(known_best, 1) - COLUMNS * HIGHEST : NEVER_NEAR;
            const bool is_special = piece >= special || step < odd_end;
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
            widen_tail(shared, lag % 2, lane.base);
        }
        if (piece >= special) special = lane.next_special(step + PIECE);
        writer.hand_on(shared.tail, step - lag);
        if (may_end && __any_sync(ALL, lane.best_score() > known_best)) {
            known_best = warp_maximum(lane.best_score());
            if (threadIdx.x % 32 == 0) atomicMax(&arguments.control->best, (long long)known_best);
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
    fill_region_packed(const uint4* columns, unsigned n_pieces, unsigned n_columns,
                       const unsigned char* query, const Strip* strips, unsigned n_strips, const int* table,
                       const Score* top_H, const Score* top_F, const Score* left_H, const Score* left_E,
                       Tagged* queues, unsigned queue_pieces, unsigned* consumed, unsigned n_channels,
                       const unsigned* kept_columns, Score* row_H, Score* row_F, Score* column_H,
                       Score* column_E, unsigned long long n_rows, End* ends, long long gain,
                       Control* control, unsigned long long patience, const unsigned* left_rows,
                       long long highest, long long rows_left, long long columns_left) {
    extern __shared__ int4 memory[];
    const Arguments arguments{columns,      n_pieces,  n_columns,
                              query,        strips,    n_strips,
                              table,        top_H,     top_F,
                              left_H,       left_E,    queues,
                              queue_pieces, consumed,  n_channels,
                              kept_columns, row_H,     row_F,
                              column_H,     column_E,  n_rows,
                              ends,         gain,      control,
                              patience,     left_rows, Pruning{highest, rows_left, columns_left}};
    constexpr unsigned EDGE_WORDS = PIECE * 2 * COLUMNS;
    constexpr unsigned PLAIN_BYTES = ROWS * 32 * sizeof(uint2), SCORE_BYTES = (HAS_ODD ? 2 : 1) * PLAIN_BYTES;
    constexpr unsigned WARP_BYTES =
        SCORE_BYTES + RING * sizeof(uint2) + (4 * EDGE_WORDS + 2 * COLUMNS + PUT_ASIDE) * sizeof(Pair);
    static_assert(WARP_BYTES % sizeof(int4) == 0);
    const unsigned lane = threadIdx.x % 32;
    char* own = reinterpret_cast<char*>(memory) + threadIdx.x / 32 * WARP_BYTES;
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
    if (lane < 2 * COLUMNS) shared.pair_feed[EDGE_WORDS + lane] = 0;
    for (;;) {
        const unsigned number = from_first(lane == 0 ? atomicAdd(&control->ticket, 1u) : 0);
        if (number >= n_strips) return;
        const Strip strip{from_first(strips[number].first_row), from_first(strips[number].n_rows),
                          from_first(strips[number].line), from_first(strips[number].is_narrow)};
        if (!wait_for_left(arguments, strip.first_row + strip.n_rows)) return;
        const bool is_done = strip.is_narrow ? run_strip<1>(arguments, number, strip, shared)
                                             : run_strip<ROWS>(arguments, number, strip, shared);
        if (!is_done || !publish(arguments, strip)) return;
    }
}
