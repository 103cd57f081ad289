// One pair over the whole card: all cells of a region of its table, and the lines that are kept of it.
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
// was written in, so that it tells by itself whether it is there yet (long_scores.cuh). A warp loads a piece
// of PIECE tiles at a time, all lanes together and a piece ahead; where a tag is not the expected one it
// loads again. So it comes to run just so far behind the strip above that nothing has to wait.
//
// Queues are short, so that all of them lie in the cache, and rounds begin once the piece that lay there was
// read: the reader says so in `consumed` (release / acquire) every few pieces. Strips are taken in order by a
// ticket, strip s uses queue s % n_channels, and there are n_channels warps, all on the card at once (a
// cooperative launch): whoever waits, waits for a running warp. Strip s + n_channels begins when strip s is
// done; so the last queue holds a whole row, and never makes its writer wait for a strip that has no warp.
// Whoever waits longer than `patience` sets `stop`, and all warps leave.
//
// Kept rows: strips end there. Strips have 32 * ROWS rows, or as many lanes as are left; what is left of a
// lane goes in a narrow strip, one row per lane. Kept columns: a lane writes its rows when it gets there.
//
// The best cell of a local alignment costs nothing where it cannot be. Let M be the largest H that a warp has
// at the beginning of a piece: in its rows, between its lanes, and in the row above the piece. A path gains
// at most the highest score of two letters per column, and a piece has 4 * PIECE columns; E and F, as the
// next cell takes them, are not above the H they come from. So if M + 4 * PIECE * highest < G, the best score
// of any strip so far, nothing in the piece can be the best, nor equal it, and there is nothing to look for.
// Else the piece is computed with care: of each column of a tile a lane knows its highest score and the first
// row that has it, in one number (the score times 32, plus 31 less the row), and notes the first column and
// row where its best was raised. So a lane knows the first cell, by column and then by row, with its highest
// score, if that is the highest of all; and the end is the first of these.
//
// Pruning. With the same M: an alignment that runs through a piece has at most max(0, M) when it comes in or
// begins there, and gains at most `highest`, the highest score of two letters, for each row and for each
// column that is left from the first ones of the piece on. If that is below `best`, which some alignment has,
// none that is optimal, or equals it, has a cell in the piece, and it is skipped: what it hands on and what
// is kept of it is H = 0 and E = F = -gap_first, an alignment that begins there. Nothing that is asked for
// changes:
//   - No number is above the true one: each is what some alignment has, at the least the empty one.
//   - Every cell of an optimal alignment has its true H, and E or F if it is used. For the cell before it on
//     that alignment has its true number, by induction, and so no piece on the way passed the test above:
//     M was at least what the alignment had, and `best` is not above what it ends with.
//   - So the best score, and all cells that have it, are found; and walking back from one of them, a
//     neighbour that gives the number at hand lies on an optimal alignment and has its true number, while one
//     that does not, does not, having less than its true number if anything. The path rule decides the same.
//     Blocks that are computed again from kept lines, which may run through skipped pieces, are no different.
// An older, lower `best` skips less. When a block is computed again for a path that comes from its last cell
// with a known score, that is `best`, and rows and columns are left only up to that cell.
//
//   columns       [(n_pieces + 1) * PIECE + 64]: tiles, four profile offsets each: letter * LETTER_BYTES
//   query         letters of the region's rows
//   strips        [n_strips]
//   table         int[letters of the query][LETTERS]
//   top_H, top_F  [n_pieces * PIECE * 4]: the row above the region, as kept rows are
//   left_H        [1 + n_rows]: the corner, then the column left of the region;  left_E  [n_rows]
//   queues        [(n_channels * queue_pieces + n_pieces) * PIECE_WORDS], zeros;  consumed  [n_channels],
//   zeros kept_columns  ascending, the last columns before lines, and then NEVER row_H, row_F  [kept
//   rows][n_pieces * PIECE * 4];  column_H, column_E  [kept columns][n_rows] ends          [n_strips]: the
//   best cell of a strip, or score 0;  gain: 4 * PIECE * highest, or < 0: not wanted left_rows     rows of
//   left_H and left_E that are there, counted up by the host; null: all of them
//   highest       score of two letters; 0: nothing is pruned.  rows_left, columns_left: from the region's
//   first ones on, in which an alignment can gain
//
// Shared memory: the profile, [letter][rows / 4][lane] for each warp, and a piece of the row above. Scores
// are exact as long as they fit (longpair/region.py); rows and columns that pad may overflow, and nothing
// reads them. Tests: tests/test_cuda_long.py.

#include "constants.cuh"
#include "long_scores.cuh"
#include "recurrence.cuh"

constexpr unsigned ALL = 0xFFFFFFFFu;
constexpr unsigned NEVER = 0xFFFFFFFFu;
constexpr unsigned PIECE_COLUMNS = PIECE * COLUMNS;
constexpr unsigned PIECE_WORDS = PIECE_COLUMNS * Number::WORDS;
constexpr unsigned LANE_COLUMNS = (PIECE_COLUMNS + 31) / 32;  // of a piece, for each lane that loads it
constexpr unsigned CHUNK_BYTES = 32 * sizeof(int4);
constexpr unsigned LETTER_BYTES = ROWS / 4 * CHUNK_BYTES;
constexpr unsigned ACK = 16;  // pieces between two words to the writer of a queue; a queue has twice as many
constexpr unsigned REPORT = 256;  // pieces between two reports to the host

constexpr Key HIGHEST_KEY = sizeof(Key) == 8 ? Key(0x7FFFFFFFFFFFFFFFll) : Key(0x7FFFFFFF);

enum Stop : unsigned { GO_ON, CANCELLED, LOST };

struct Strip {
    unsigned first_row, n_rows;
    int line;            // the kept row that it ends with, or -1
    unsigned is_narrow;  // one row per lane
};

struct End {
    long long score, row, column;
};

struct Control {
    unsigned ticket, stop;
    unsigned rows, unused;      // rows whose kept columns are all there
    long long best;             // of all strips
    unsigned long long tiles;   // done, by all strips
    unsigned long long pruned;  // cells
};

struct Arguments {
    const uint4* columns;
    unsigned n_pieces, n_columns;
    const unsigned char* query;
    const Strip* strips;
    unsigned n_strips;
    const int* table;
    const Score *top_H, *top_F, *left_H, *left_E;
    Word* queues;
    unsigned queue_pieces;
    unsigned* consumed;
    unsigned n_channels;
    const unsigned* kept_columns;
    Score *row_H, *row_F, *column_H, *column_E;
    unsigned long long n_rows;
    End* ends;
    long long gain;
    Control* control;
    unsigned long long patience;
    const unsigned* left_rows;
    long long highest, rows_left, columns_left;
};

__device__ __forceinline__ unsigned load_acquire(const unsigned* address) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}
__device__ __forceinline__ unsigned load_acquire_from_host(const unsigned* address) {
    unsigned value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}
__device__ __forceinline__ void store_release(unsigned* address, unsigned value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
__device__ __forceinline__ Word load_word(const Word* address) {
    Word value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address));
    return value;
}
__device__ __forceinline__ void store_words(Word* address, Word a, Word b) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(a), "l"(b));
}
__device__ __forceinline__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

// Waiting that ends: for all lanes of a warp together.
struct Patience {
    Control* control;
    unsigned long long limit, since = 0;  // nanoseconds; limit 0: whoever started the kernel watches over it
    unsigned n = 0;

    // False if the warp has to leave.
    __device__ bool wait() {
        if (++n < 16) return true;
        __nanosleep(n < 256 ? 32 : 256);
        if (n % 256) return true;
        const unsigned long long now = nanoseconds();
        if (since == 0) since = now;
        if (limit > 0 && now - since > limit) atomicCAS(&control->stop, GO_ON, LOST);
        return !must_leave(control);
    }
    static __device__ bool must_leave(Control* control) {
        return __any_sync(ALL, *(volatile unsigned*)&control->stop != GO_ON);
    }
};

// A place in a queue, and the tag of the round: `sequence` counts the pieces of all strips that use it.
struct Place {
    Word* queue;
    unsigned capacity, next, tag;  // in words

    __device__ Place(const Arguments& arguments, unsigned channel, unsigned sequence) {
        queue = arguments.queues + size_t(channel) * arguments.queue_pieces * PIECE_WORDS;
        const unsigned pieces = pieces_of(arguments, channel);
        capacity = pieces * PIECE_WORDS;
        next = sequence % pieces * PIECE_WORDS, tag = 1 + sequence / pieces % N_TAGS;
    }
    static __device__ unsigned pieces_of(const Arguments& arguments, unsigned channel) {
        return arguments.queue_pieces + (channel == arguments.n_channels - 1 ? arguments.n_pieces : 0);
    }
    __device__ __forceinline__ void advance(unsigned n_words) {
        next += n_words;
        if (next >= capacity) next -= capacity, tag = tag == N_TAGS ? 1 : tag + 1;
    }
};

// The row above a strip, piece by piece: the words of the next piece travel while this one is computed.
struct Feed {
    const Arguments& arguments;
    bool is_top;  // the row above the region
    unsigned channel, sequence;
    Place place;
    Word words[LANE_COLUMNS][Number::WORDS];
    Score highest;  // H of this lane's columns of the piece

    __device__ Feed(const Arguments& given, unsigned strip)
        : arguments(given),
          is_top(strip == 0),
          channel(is_top ? 0 : (strip - 1) % given.n_channels),
          sequence(is_top ? 0 : (strip - 1) / given.n_channels * given.n_pieces),
          place(given, channel, sequence) {}

    __device__ __forceinline__ void load() {
        if (is_top) return;
        const unsigned lane =
            threadIdx.x % 32 % PIECE_COLUMNS;  // where a piece is short, two lanes load the same
        const Word* from = place.queue + (place.next + lane * Number::WORDS);
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++)
#pragma unroll
            for (unsigned w = 0; w < Number::WORDS; w++)
                words[i][w] = load_word(from + i * 32 * Number::WORDS + w);
    }

    // Puts a piece into shared memory, [tile][H, F][column]; false if the warp has to leave.
    __device__ __forceinline__ bool take(unsigned piece, Score* shared) {
        Score H[LANE_COLUMNS], F[LANE_COLUMNS];
        for (Patience patience{arguments.control, arguments.patience}; !unpack(piece, H, F);) {
            if (!patience.wait()) return false;
            load();
        }
        highest = H[0];
        __syncwarp();
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            const unsigned column = i * 32 + threadIdx.x % 32 % PIECE_COLUMNS;
            Score* to = shared + column / COLUMNS * 2 * COLUMNS + column % COLUMNS;
            to[0] = H[i], to[COLUMNS] = F[i];
            highest = Number::max2(highest, H[i]);
        }
        __syncwarp();
        if (!is_top && (piece % ACK == ACK - 1 || piece == arguments.n_pieces - 1) && threadIdx.x % 32 == 0)
            store_release(arguments.consumed + channel, sequence + piece + 1);
        place.advance(PIECE_WORDS);
        return true;
    }

    __device__ __forceinline__ bool unpack(unsigned piece, Score (&H)[LANE_COLUMNS],
                                           Score (&F)[LANE_COLUMNS]) const {
        bool is_there = true;
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            if (is_top) {
                const size_t column =
                    size_t(piece) * PIECE_COLUMNS + i * 32 + threadIdx.x % 32 % PIECE_COLUMNS;
                H[i] = arguments.top_H[column], F[i] = arguments.top_F[column];
            } else {
                is_there &= Number::unpack(words[i], place.tag, H[i], F[i]);
            }
        }
        return __all_sync(ALL, is_there);
    }
};

constexpr Score NO_GAP = -GAP_FIRST;  // E or F where H is 0

struct Edge {
    Score H[COLUMNS], F[COLUMNS];

    __device__ __forceinline__ void forget() {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) H[c] = 0, F[c] = NO_GAP;
    }
};

__device__ __forceinline__ void store_four(int* to, const int (&four)[COLUMNS]) {
    *reinterpret_cast<int4*>(to) = make_int4(four[0], four[1], four[2], four[3]);
}
__device__ __forceinline__ void store_four(long long* to, const long long (&four)[COLUMNS]) {
    reinterpret_cast<longlong2*>(to)[0] = make_longlong2(four[0], four[1]);
    reinterpret_cast<longlong2*>(to)[1] = make_longlong2(four[2], four[3]);
}

// The last row of a strip, as its last lane hands it on.
struct Writer {
    const Arguments& arguments;
    bool is_wanted, is_kept;  // there is a strip below; the row is a line
    unsigned channel, sequence, free_until;
    Place place;
    Score *line_H, *line_F;

    __device__ Writer(const Arguments& given, unsigned strip, int line)
        : arguments(given),
          is_wanted(strip + 1 < given.n_strips),
          is_kept(line >= 0),
          channel(strip % given.n_channels),
          sequence(strip / given.n_channels * given.n_pieces),
          free_until(0),
          place(given, channel, sequence) {
        const size_t first = is_kept ? size_t(line) * given.n_pieces * PIECE_COLUMNS : 0;
        line_H = given.row_H + first, line_F = given.row_F + first;
    }

    // Room for this piece; false if the warp has to leave.
    __device__ __forceinline__ bool make_room(unsigned piece) {
        if (!is_wanted || piece < free_until) return true;
        const unsigned capacity = Place::pieces_of(arguments, channel);
        for (Patience patience{arguments.control, arguments.patience};;) {
            const unsigned read = __shfl_sync(ALL, load_acquire(arguments.consumed + channel), 0) + capacity;
            free_until = read > sequence ? read - sequence : 0;
            if (piece < free_until) return true;
            if (!patience.wait()) return false;
        }
    }

    __device__ __forceinline__ void hand_on(const Edge& edge) {
        Word words[COLUMNS * Number::WORDS];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            Number::pack(edge.H[c], edge.F[c], place.tag, words + c * Number::WORDS);
        Word* to = place.queue + place.next;
#pragma unroll
        for (unsigned i = 0; i < COLUMNS * Number::WORDS; i += 2) store_words(to + i, words[i], words[i + 1]);
        place.advance(COLUMNS * Number::WORDS);
    }

    __device__ __forceinline__ void keep(unsigned tile, const Edge& edge) const {
        store_four(line_H + size_t(tile) * COLUMNS, edge.H);
        store_four(line_F + size_t(tile) * COLUMNS, edge.F);
    }

    // PIECE tiles of a skipped piece, as far as they lie in the region, by all lanes; `place` is the last
    // lane's.
    __device__ __forceinline__ void skip(int first, unsigned last_lane) {
        const int begin = max(first, 0), end = min(first + int(PIECE), int(arguments.n_pieces * PIECE));
        if (begin >= end) return;
        const int tile = begin + int(threadIdx.x % 32);
        Edge nothing;
        nothing.forget();
        if (is_kept && tile < end) keep(tile, nothing);
        if (!is_wanted) return;
        place.next = __shfl_sync(ALL, place.next, last_lane),
        place.tag = __shfl_sync(ALL, place.tag, last_lane);
        const Place from = place;
        place.advance((tile - begin) * COLUMNS * Number::WORDS);
        if (tile < end) hand_on(nothing);
        place = from;
        place.advance((end - begin) * COLUMNS * Number::WORDS);
    }
};

// What a warp has in shared memory.
struct Shared {
    char* profile;  // this lane's part, [letter][rows / 4], 512 bytes apart
    Score* feed;    // [PIECE + 1][2][COLUMNS]: the row above a piece; the last tile is zeros
    uint4* tiles;   // [32 + PIECE + PIECE]: profile offsets: of earlier pieces, this piece, the next one
};

// Tiles of the next piece travel into shared memory while this one is computed.
struct Tiles {
    const uint4* next;
    uint4* shared;

    __device__ Tiles(const Arguments& arguments, uint4* given)
        : next(arguments.columns + threadIdx.x % 32 % PIECE), shared(given) {
        shared[PIECE + threadIdx.x % 32] = make_uint4(0, 0, 0, 0);  // before the first column
        load();
    }
    __device__ __forceinline__ void load() {
        uint4* to = shared + 32 + PIECE + threadIdx.x % 32 % PIECE;
#if __CUDA_ARCH__ >= 800
        asm volatile(
            "cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
            "l"(next)
            : "memory");
#else
        *to = __ldg(next);
#endif
        next += PIECE;
    }
    // Everything moves on by a piece.
    __device__ __forceinline__ void take() {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_all;" ::: "memory");
#endif
        __syncwarp();
        const unsigned lane = threadIdx.x % 32;
        const uint4 older = shared[PIECE + lane], newer = shared[32 + PIECE + lane % PIECE];
        __syncwarp();
        shared[lane] = older, shared[32 + lane % PIECE] = newer;
        __syncwarp();
        load();
    }
};

// The scores of a tile: where they are in the profile; lanes of few rows have the first ones in registers, as
// they have too little to do to hide how long it takes to get them.
template <int N_ROWS>
struct TileScores {
    static constexpr bool HAS_FIRST = N_ROWS <= 12;
    const int4* columns[COLUMNS];
    int4 first[HAS_FIRST ? COLUMNS : 1];

    __device__ __forceinline__ TileScores(const char* profile, uint4 letters) {
        const unsigned offsets[COLUMNS] = {letters.x, letters.y, letters.z, letters.w};
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            columns[c] = reinterpret_cast<const int4*>(profile + offsets[c]);
            if (HAS_FIRST) first[c] = *columns[c];
        }
    }
    __device__ __forceinline__ int4 of(int column, int chunk) const {
        return HAS_FIRST && chunk == 0 ? first[column] : columns[column][chunk * 32];
    }
};

// A lane and its N_ROWS rows of a strip.
template <int N_ROWS>
struct Lane {
    const Arguments& arguments;
    unsigned row;  // its first one, in the region
    Score H[N_ROWS], E[N_ROWS], diagonal;
    Edge edge;
    Key threshold, end_key;  // what a key must have to be better, and the best one
    unsigned end_column;
    const unsigned* kept;
    unsigned next_kept;

    __device__ Lane(const Arguments& given, const Strip& strip, unsigned lane) : arguments(given) {
        row = strip.first_row + lane * N_ROWS;
        const bool is_used = lane * N_ROWS < strip.n_rows;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) {
            H[k] = is_used ? given.left_H[row + k + 1] : 0;
            E[k] = is_used ? given.left_E[row + k] : 0;
        }
        diagonal = is_used ? given.left_H[row] : 0;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) edge.H[c] = 0, edge.F[c] = 0;
        const long long known = *(volatile long long*)&given.control->best;
        threshold = is_used ? Key(max(known, 1ll)) * KEY_ROWS : HIGHEST_KEY;
        end_key = 0, end_column = NEVER;
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
        }
    }

    // As if nothing had been before the next tile.
    __device__ __forceinline__ void forget() {
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) H[k] = 0, E[k] = NO_GAP;
        diagonal = 0;
        edge.forget();
    }

    // The highest H that anything of the next piece can come from.
    __device__ __forceinline__ Score highest() const {
        Score even = diagonal, odd = diagonal;
#pragma unroll
        for (int k = 0; k < N_ROWS; k++) (k % 2 ? odd : even) = Number::max2(k % 2 ? odd : even, H[k]);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) even = Number::max2(even, edge.H[c]);
        return Number::max2(even, odd);
    }

    // The last row of the lane above: its tile of the step before.
    __device__ __forceinline__ Edge from_above() const {
        Edge above;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            above.H[c] = __shfl_up_sync(ALL, edge.H[c], 1);
            above.F[c] = __shfl_up_sync(ALL, edge.F[c], 1);
        }
        return above;
    }

    // Takes that, or in the first lane, where is_below is 0, the row above the strip; `own` is 0 in the
    // others.
    __device__ __forceinline__ void take_edge(const Edge& above, int is_below, const Score* own) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            edge.H[c] = Number::join(above.H[c], is_below, own[c]);
            edge.F[c] = Number::join(above.F[c], is_below, own[COLUMNS + c]);
        }
    }

    // A tile; CAREFUL: looks for the end; KEEPS: for kept columns.
    template <bool CAREFUL, bool KEEPS>
    __device__ __forceinline__ void compute(unsigned tile, const TileScores<N_ROWS>& scores) {
        Key keys[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const Score H_above = edge.H[c];
            Score unused;
            update_column<Number, false>(H, E, edge.F[c], diagonal, unused,
                                         [&scores, c](int chunk) { return scores.of(c, chunk); });
            diagonal = H_above;
            edge.H[c] = H[N_ROWS - 1];
            if (CAREFUL && LOCAL) keys[c] = best_key();
            if (KEEPS && tile * COLUMNS + c == next_kept) keep_column();
        }
        if (CAREFUL && LOCAL)
            if (Keys::max3(Keys::max3(keys[0], keys[1], keys[2]), keys[3], keys[3]) >= threshold)
                note_end(tile, keys);
    }

    __device__ __forceinline__ Key best_key() const {
        Key largest = NO_KEY;
#pragma unroll
        for (int k = 0; k < N_ROWS; k += 2) {
            const Key even = Key(H[k]) * KEY_ROWS + (KEY_ROWS - 1 - k);
            const Key odd = k + 1 < N_ROWS ? Key(H[k + 1]) * KEY_ROWS + (KEY_ROWS - 2 - k) : even;
            largest = Keys::max3(largest, even, odd);
        }
        return largest;
    }

    __device__ __forceinline__ void note_end(unsigned tile, const Key (&keys)[COLUMNS]) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            if (keys[c] < threshold || tile * COLUMNS + c >= arguments.n_columns) continue;
            threshold = (keys[c] | (KEY_ROWS - 1)) + 1;
            end_key = keys[c], end_column = tile * COLUMNS + c;
        }
    }

    __device__ __forceinline__ Score best() const { return Score(end_key / KEY_ROWS); }
    __device__ __forceinline__ unsigned end_row() const {
        return row + KEY_ROWS - 1 - unsigned(end_key % KEY_ROWS);
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

__device__ __forceinline__ Score warp_maximum(Score value) {
#if __CUDA_ARCH__ >= 800
    if (!LARGE) return __reduce_max_sync(ALL, int(value));
#endif
    for (int distance = 16; distance > 0; distance /= 2)
        value = Number::max2(value, __shfl_xor_sync(ALL, value, distance));
    return value;
}

// PIECE steps of a warp, from `step` on. Without care, nothing is looked for, and all lanes are between the
// first and the last column. The last lane hands a tile on in the next step, while that waits for the lanes
// above.
template <bool CAREFUL, int N_ROWS>
__device__ __forceinline__ void run_piece(Lane<N_ROWS>& lane, unsigned step, unsigned last_lane,
                                          const Shared& shared, Writer& writer) {
    const unsigned number = threadIdx.x % 32, n_tiles = lane.arguments.n_pieces * PIECE;
    const int is_below = number == 0 ? 0 : ONE;
    const unsigned stride = number == 0 ? 2 * COLUMNS : 0;
    const Score* own = number == 0 ? shared.feed : shared.feed + PIECE * 2 * COLUMNS;
    const uint4* tiles = shared.tiles + (32 - number);
    const bool hands_on = number == last_lane && writer.is_wanted,
               keeps = number == last_lane && writer.is_kept;
    uint4 letters = tiles[0];
#pragma unroll(CAREFUL || N_ROWS > 12 ? 1 : 2)
    for (unsigned i = 0; i < PIECE; i++, own += stride) {
        const unsigned tile = step + i - number;
        const TileScores<N_ROWS> scores(shared.profile, letters);
        letters = tiles[i + 1];
        const Edge above = lane.from_above();
        const bool has_result = i > 0 && (!CAREFUL || tile - 1 < n_tiles);
        if (hands_on && has_result) writer.hand_on(lane.edge);
        if (keeps && has_result) writer.keep(tile - 1, lane.edge);
        lane.take_edge(above, is_below, own);
        if (!CAREFUL) {
            lane.template compute<false, false>(tile, scores);
        } else if (tile < n_tiles) {
            if (tile == lane.next_kept / COLUMNS && lane.next_kept % COLUMNS != COLUMNS - 1) {
                lane.template compute<true, true>(tile, scores);
            } else {
                lane.template compute<true, false>(tile, scores);
            }
            if (tile * COLUMNS + COLUMNS - 1 == lane.next_kept) lane.keep_column();
        }
    }
    const unsigned tile = step + PIECE - 1 - number;
    if (hands_on && tile < n_tiles) writer.hand_on(lane.edge);
    if (keeps && tile < n_tiles) writer.keep(tile, lane.edge);
    __syncwarp();
}

// What PIECE steps would leave behind if they met nothing.
template <int N_ROWS>
__device__ __forceinline__ void skip_piece(Lane<N_ROWS>& lane, unsigned step, unsigned last_lane,
                                           Writer& writer) {
    lane.forget();
    while (int(lane.next_kept / COLUMNS) < int(step + PIECE) - int(threadIdx.x % 32)) lane.keep_column();
    __syncwarp();
    writer.skip(int(step) - int(last_lane), last_lane);
}

// What an alignment can gain at most from the first row and column of a piece on.
__device__ __forceinline__ long long most_gain(const Arguments& arguments, const Strip& strip,
                                               unsigned piece) {
    const long long first_column = (int(piece * PIECE) - 31) * int(COLUMNS);
    return arguments.highest *
           min(arguments.rows_left - strip.first_row, arguments.columns_left - max(first_column, 0ll));
}

// The best cell that a strip's lanes have noted.
template <int N_ROWS>
__device__ void report_end(const Lane<N_ROWS>& lane, unsigned strip) {
    End end{lane.best(), lane.end_row(), lane.end_column};
    for (int distance = 16; distance > 0; distance /= 2) {
        const End other{__shfl_xor_sync(ALL, end.score, distance), __shfl_xor_sync(ALL, end.row, distance),
                        __shfl_xor_sync(ALL, end.column, distance)};
        const bool is_earlier =
            other.column < end.column || (other.column == end.column && other.row < end.row);
        if (other.score > end.score || (other.score == end.score && is_earlier)) end = other;
    }
    if (threadIdx.x % 32 == 0) lane.arguments.ends[strip] = end;
}

// One strip over all columns; false if the warp has to leave.
template <int N_ROWS>
__device__ bool run_strip(const Arguments& arguments, unsigned number, const Strip& strip,
                          const Shared& shared) {
    const unsigned last_lane = (strip.n_rows - 1) / N_ROWS;
    Lane<N_ROWS> lane(arguments, strip, threadIdx.x % 32);
    __syncwarp();
    lane.fill_profile(strip, shared.profile);
    Feed feed(arguments, number);
    Writer writer(arguments, number, strip.line);
    feed.load();
    Tiles tiles(arguments, shared.tiles);
    long long known_best = *(volatile long long*)&arguments.control->best;
    unsigned n_skipped = 0;
    const unsigned n_pieces = arguments.n_pieces + (last_lane + PIECE - 1) / PIECE;
    for (unsigned piece = 0; piece < n_pieces; piece++) {
        if (piece < arguments.n_pieces) {
            if (!feed.take(piece, shared.feed) || !writer.make_room(piece)) return false;
            if (piece + 1 < arguments.n_pieces) feed.load();
            if (piece % REPORT == REPORT - 1) {
                if (Patience::must_leave(arguments.control)) return false;
                if (threadIdx.x % 32 == 0)
                    atomicAdd(&arguments.control->tiles, (unsigned long long)(REPORT * PIECE));
            }
        }
        tiles.take();
        bool is_careful =
            __any_sync(ALL, int(lane.next_kept / COLUMNS) < int((piece + 1) * PIECE) - int(threadIdx.x % 32));
        bool may_end = false, is_hopeless = false;
        if (LOCAL && (arguments.gain >= 0 || arguments.highest > 0)) {
            const Score reach = warp_maximum(Number::max2(lane.highest(), feed.highest));
            may_end = arguments.gain >= 0 && reach + arguments.gain >= max(known_best, 1ll);
            is_hopeless = arguments.highest > 0 && reach + most_gain(arguments, strip, piece) < known_best;
        }
        const long long next_best = LOCAL ? *(volatile long long*)&arguments.control->best : 0;
        const bool is_whole = piece * PIECE >= 31 && piece < arguments.n_pieces;
        if (is_hopeless) {
            skip_piece(lane, piece * PIECE, last_lane, writer);
            n_skipped++;
        } else if (is_careful || may_end || !is_whole) {
            run_piece<true>(lane, piece * PIECE, last_lane, shared, writer);
            const Score best = warp_maximum(lane.best());
            if (may_end && best > known_best && threadIdx.x % 32 == 0)
                atomicMax(&arguments.control->best, (long long)best);
        } else {
            run_piece<false>(lane, piece * PIECE, last_lane, shared, writer);
        }
        known_best = next_best;
    }
    if (LOCAL) report_end(lane, number);
    if (n_skipped > 0 && threadIdx.x % 32 == 0)
        atomicAdd(&arguments.control->pruned,
                  (unsigned long long)min(n_skipped * PIECE_COLUMNS, arguments.n_columns) * strip.n_rows);
    return true;
}

// Others may fetch the kept columns of a strip: strips are done in order, and say so in order.
__device__ bool publish(const Arguments& arguments, const Strip& strip) {
    __threadfence_system();
    __syncwarp();
    for (Patience patience{arguments.control, arguments.patience};
         !__all_sync(ALL, load_acquire(&arguments.control->rows) == strip.first_row);)
        if (!patience.wait()) return false;
    if (threadIdx.x % 32 == 0) store_release(&arguments.control->rows, strip.first_row + strip.n_rows);
    return true;
}

// Until the column left of this strip is there.
__device__ bool wait_for_left(const Arguments& arguments, unsigned end_row) {
    if (arguments.left_rows == nullptr) return true;
    for (Patience patience{arguments.control, 0};
         !__all_sync(ALL, load_acquire_from_host(arguments.left_rows) >= end_row);)
        if (!patience.wait()) return false;
    return true;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    fill_region(const uint4* columns, unsigned n_pieces, unsigned n_columns, const unsigned char* query,
                const Strip* strips, unsigned n_strips, const int* table, const Score* top_H,
                const Score* top_F, const Score* left_H, const Score* left_E, Word* queues,
                unsigned queue_pieces, unsigned* consumed, unsigned n_channels, const unsigned* kept_columns,
                Score* row_H, Score* row_F, Score* column_H, Score* column_E, unsigned long long n_rows,
                End* ends, long long gain, Control* control, unsigned long long patience,
                const unsigned* left_rows, long long highest, long long rows_left, long long columns_left) {
    extern __shared__ int4 memory[];
    constexpr unsigned PROFILE_BYTES = LETTERS * LETTER_BYTES;
    constexpr unsigned FEED_BYTES = (PIECE + 1) * 2 * COLUMNS * sizeof(Score);
    constexpr unsigned WARP_BYTES = PROFILE_BYTES + FEED_BYTES + (32 + 2 * PIECE) * sizeof(uint4);
    const Arguments arguments{columns,      n_pieces,  n_columns,  query,        strips,      n_strips,
                              table,        top_H,     top_F,      left_H,       left_E,      queues,
                              queue_pieces, consumed,  n_channels, kept_columns, row_H,       row_F,
                              column_H,     column_E,  n_rows,     ends,         gain,        control,
                              patience,     left_rows, highest,    rows_left,    columns_left};
    char* own = reinterpret_cast<char*>(memory) + threadIdx.x / 32 * WARP_BYTES;
    const unsigned lane = threadIdx.x % 32;
    const Shared shared{own + lane * sizeof(int4), reinterpret_cast<Score*>(own + PROFILE_BYTES),
                        reinterpret_cast<uint4*>(own + PROFILE_BYTES + FEED_BYTES)};
    if (lane < 2 * COLUMNS) shared.feed[PIECE * 2 * COLUMNS + lane] = 0;
    for (;;) {
        unsigned number = lane == 0 ? atomicAdd(&control->ticket, 1u) : 0;
        number = __shfl_sync(ALL, number, 0);
        if (number >= n_strips) return;
        const Strip strip = strips[number];
        if (!wait_for_left(arguments, strip.first_row + strip.n_rows)) return;
        const bool is_done = strip.is_narrow ? run_strip<1>(arguments, number, strip, shared)
                                             : run_strip<ROWS>(arguments, number, strip, shared);
        if (!is_done || !publish(arguments, strip)) return;
    }
}
