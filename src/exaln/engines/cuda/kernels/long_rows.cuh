// The rows between the strips of long.cu: how they travel, how to wait for them, and what a warp is told.
//
// A queue is a ring of pieces. A word of it has the tag of its round (long_scores.cuh), so the reader sees by
// itself whether a word is there yet. It says in `consumed`, every ACK pieces, how many it has looked at, and
// the writer uses their places again; neither waits for memory to do so: the words have been looked at before
// that is said, and the writer goes on with what it read ACK pieces ago, as a queue has room for more.

#pragma once

#include "constants.cuh"
#include "flags.cuh"
#include "long_pruning.cuh"
#include "long_scores.cuh"
#include "long_warp.cuh"

constexpr unsigned NEVER = 0xFFFFFFFFu;
constexpr unsigned PIECE_COLUMNS = PIECE * COLUMNS;
constexpr unsigned PIECE_WORDS = PIECE_COLUMNS * Number::WORDS;
constexpr unsigned LANE_COLUMNS = (PIECE_COLUMNS + 31) / 32;  // of a piece, for each lane that loads it
constexpr unsigned ACK = 16;  // pieces between two words to the writer of a queue; a queue has twice as many

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
    Tagged* queues;
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
    Pruning pruning;
};

__device__ __forceinline__ unsigned load_acquire_from_host(const unsigned* address) {
    unsigned value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}
__device__ __forceinline__ Tagged load_word(const Tagged* address) {
    Tagged value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address));
    return value;
}
__device__ __forceinline__ void store_words_if(bool is_wanted, Tagged* address, const Tagged (&words)[1]) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.relaxed.gpu.global.u64 [%1], %2; }" ::"r"(
                     unsigned(is_wanted)),
                 "l"(address), "l"(words[0]));
}
__device__ __forceinline__ void store_words_if(bool is_wanted, Tagged* address, const Tagged (&words)[2]) {
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.relaxed.gpu.global.v2.u64 [%1], {%2, %3}; }" ::"r"(
            unsigned(is_wanted)),
        "l"(address), "l"(words[0]), "l"(words[1]));
}
__device__ __forceinline__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__device__ __forceinline__ Score best_so_far(const Control* control) {
    return Score(load_word(reinterpret_cast<const Tagged*>(&control->best)));
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
    Tagged* queue;
    int capacity, next;  // in words
    unsigned tag;

    __device__ Place(const Arguments& arguments, unsigned channel, unsigned sequence) {
        queue = in_registers(arguments.queues + size_t(channel) * arguments.queue_pieces * PIECE_WORDS);
        const unsigned pieces = pieces_of(arguments, channel);
        capacity = pieces * PIECE_WORDS;
        next = sequence % pieces * PIECE_WORDS, tag = 1 + sequence / pieces % N_TAGS;
    }
    static __device__ unsigned pieces_of(const Arguments& arguments, unsigned channel) {
        return arguments.queue_pieces + (channel == arguments.n_channels - 1 ? arguments.n_pieces : 0);
    }
    __device__ __forceinline__ void advance(int n_words) {
        next += n_words;
        if (next >= capacity) next -= capacity, tag = tag == N_TAGS ? 1 : tag + 1;
    }
};

// The row above a strip, piece by piece: the words of the next piece travel while this one is computed.
struct Feed {
    const Arguments& arguments;
    bool is_top;  // the row above the region
    const Score *top_H, *top_F;
    unsigned n_pieces, channel, sequence;
    Place place;
    Tagged words[LANE_COLUMNS][Number::WORDS];
    Score highest;  // H of this lane's columns of the piece

    __device__ Feed(const Arguments& given, unsigned strip)
        : arguments(given),
          is_top(strip == 0),
          top_H(in_registers(given.top_H)),
          top_F(in_registers(given.top_F)),
          n_pieces(in_registers(given.n_pieces)),
          channel(is_top ? 0 : (strip - 1) % given.n_channels),
          sequence(is_top ? 0 : (strip - 1) / given.n_channels * given.n_pieces),
          place(given, channel, sequence) {}

    // Words of a piece begin to travel, if there is one; where it is short, two lanes load the same.
    __device__ __forceinline__ void load(unsigned piece) {
        if (piece >= n_pieces) return;
        const unsigned lane = threadIdx.x % 32 % PIECE_COLUMNS;
        const Tagged* from = place.queue + (place.next + lane * Number::WORDS);
        const size_t column = size_t(piece) * PIECE_COLUMNS + lane;
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            if (is_top) {
                Number::hold(top_H[column + i * 32], top_F[column + i * 32], words[i]);
                continue;
            }
#pragma unroll
            for (unsigned w = 0; w < Number::WORDS; w++)
                words[i][w] = load_word(from + i * 32 * Number::WORDS + w);
        }
    }

    // Puts a piece into shared memory, [tile][H, F][column]; false if the warp has to leave.
    __device__ __forceinline__ bool take(unsigned piece, Score* shared) {
        Score H[LANE_COLUMNS], F[LANE_COLUMNS];
        for (Patience patience{arguments.control, arguments.patience}; !unpack(H, F);) {
            if (!patience.wait()) return false;
            load(piece);
        }
        highest = H[0];
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            const unsigned column = i * 32 + threadIdx.x % 32 % PIECE_COLUMNS;
            Score* to = shared + column / COLUMNS * 2 * COLUMNS + column % COLUMNS;
            if (threadIdx.x % 32 < PIECE_COLUMNS) to[0] = H[i], to[COLUMNS] = F[i];
            highest = Number::max2(highest, H[i]);
        }
        place.advance(PIECE_WORDS);
        return true;
    }

    // The writer may use the places of these pieces again: all lanes have looked at their words.
    __device__ __forceinline__ void acknowledge(unsigned n_pieces) const {
        if (!is_top && threadIdx.x % 32 == 0)
            store_relaxed(arguments.consumed + channel, sequence + n_pieces);
    }

    __device__ __forceinline__ bool unpack(Score (&H)[LANE_COLUMNS], Score (&F)[LANE_COLUMNS]) const {
        bool is_there = true;
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            is_there &= Number::unpack(words[i], is_top, place.tag, H[i], F[i]);
        }
        return __all_sync(ALL, is_there);
    }
};

constexpr Score NO_GAP = -GAP_FIRST;  // E or F where H is 0

struct alignas(16) Edge {
    Score H[COLUMNS], F[COLUMNS];

    static __device__ __forceinline__ Edge nothing() {
        Edge edge;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) edge.H[c] = 0, edge.F[c] = NO_GAP;
        return edge;
    }
};

__device__ __forceinline__ Edge edge_at(const Score* from) {
    return *reinterpret_cast<const Edge*>(from);
}
__device__ __forceinline__ void put(Score* to, const Edge& edge) {
    *reinterpret_cast<Edge*>(to) = edge;
}

// The last row of a strip, as it is handed on, a piece at a time.
struct Writer {
    const Arguments& arguments;
    bool is_wanted, is_kept;  // there is a strip below; the row is a line
    unsigned channel, sequence, consumed;
    Place place;  // of the first tile of the next piece, which may be before the first one of the row
    unsigned n_columns;
    Score *line_H, *line_F;

    __device__ Writer(const Arguments& given, unsigned strip, unsigned last_lane, int line)
        : arguments(given),
          is_wanted(strip + 1 < given.n_strips),
          is_kept(line >= 0),
          channel(strip % given.n_channels),
          sequence(strip / given.n_channels * given.n_pieces),
          consumed(load_relaxed(given.consumed + channel)),
          place(given, channel, sequence),
          n_columns(in_registers(given.n_pieces * PIECE_COLUMNS)) {
        place.next -= last_lane * COLUMNS * Number::WORDS;
        const size_t first = is_kept ? size_t(line) * given.n_pieces * PIECE_COLUMNS : 0;
        line_H = given.row_H + first, line_F = given.row_F + first;
    }

    // Room for ACK pieces, or those that are left; false if the warp has to leave. What was read when this
    // was called last is enough, if all goes well, and what is read now is not waited for.
    __device__ __forceinline__ bool make_room(unsigned piece) {
        const unsigned end = min(piece + ACK, arguments.n_pieces);
        const unsigned capacity = Place::pieces_of(arguments, channel);
        for (Patience patience{arguments.control, arguments.patience};;) {
            const bool has_room = !is_wanted || from_first(consumed) + capacity >= sequence + end;
            consumed = load_relaxed(arguments.consumed + channel);
            if (has_room) return true;
            if (!patience.wait()) return false;
        }
    }

    // The tiles of a piece, [tile][H, F][column], from `first` on; those before 0 and behind the last are
    // none.
    __device__ __forceinline__ void hand_on(const Score* tail, unsigned first) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            const unsigned number = i * 32 + lane % PIECE_COLUMNS, column = first * COLUMNS + number;
            const Score* of = tail + number / COLUMNS * 2 * COLUMNS + number % COLUMNS;
            const Score H = of[0], F = of[COLUMNS];
            const bool is_there = lane < PIECE_COLUMNS && column < n_columns;
            Place to = place;
            to.advance(number * Number::WORDS);
            Tagged words[Number::WORDS];
            Number::pack(H, F, to.tag, words);
            store_words_if(is_there && is_wanted, to.queue + to.next, words);
            if (is_kept) {
                if (is_there) line_H[column] = H, line_F[column] = F;
            }
        }
        place.advance(PIECE_WORDS);
    }
};
