// The boundary rows between strips of long.cu and long_packed.cu: queues in global memory, bounded waiting,
// and the arguments and control block that all warps share.
//
// A queue is a ring of pieces. Each queue word carries the tag of its round (long_scores.cuh), so readers
// need no flag or fence. Every ACK_PIECES pieces the reader stores in `consumed` how many pieces it has read,
// and the writer reuses their space. Neither waits for memory: the reader has seen the words before it says
// so, and the writer continues with the count that it loaded ACK_PIECES pieces ago, as a queue has room for
// more.

#pragma once

#include "constants.cuh"
#include "long_pruning.cuh"
#include "long_scores.cuh"
#include "long_warp.cuh"
#include "progress_flags.cuh"

constexpr unsigned NEVER = 0xFFFFFFFFu;
constexpr unsigned PIECE_COLUMNS = PIECE * COLUMNS;
constexpr unsigned PIECE_WORDS = PIECE_COLUMNS * Number::WORDS;
constexpr unsigned LANE_COLUMNS = (PIECE_COLUMNS + WARP - 1) / WARP;  // of a piece, loaded by one lane
constexpr unsigned ACK_PIECES =
    16;  // pieces between two acknowledgements; a queue has room for twice as many

enum Stop : unsigned { GO_ON, CANCELLED, LOST };  // by the host; by a warp that waited too long

struct Strip {
    unsigned first_row, n_rows;
    int checkpoint;      // index of the checkpoint row that it ends with, or -1
    unsigned is_narrow;  // one row per lane
};

// A cell, as 0-based row and column of the region; score 0: none.
struct End {
    long long score, row, column;
};

// Shared by all warps and the host, which reads it while the kernel runs.
struct Control {
    unsigned ticket, stop;
    unsigned rows, unused;      // rows whose checkpoint columns are complete
    long long best;             // score of any strip so far
    unsigned long long tiles;   // done by all strips
    unsigned long long pruned;  // cells that were skipped
};

// The arguments of the kernels; long.cu has their shapes.
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
    const unsigned* checkpoint_columns;
    Score *row_H, *row_F, *column_H, *column_E;
    unsigned long long n_rows;
    End* ends;
    long long gain;
    Control* control;
    unsigned long long patience;
    const unsigned* left_rows_ready;
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
__device__ __forceinline__ void store_words_if(bool is_stored, Tagged* address, const Tagged (&words)[1]) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.relaxed.gpu.global.u64 [%1], %2; }" ::"r"(
                     unsigned(is_stored)),
                 "l"(address), "l"(words[0]));
}
__device__ __forceinline__ void store_words_if(bool is_stored, Tagged* address, const Tagged (&words)[2]) {
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.relaxed.gpu.global.v2.u64 [%1], {%2, %3}; }" ::"r"(
            unsigned(is_stored)),
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

// Waiting with a time limit, by all lanes of a warp together.
struct BoundedWait {
    Control* control;
    unsigned long long limit, since = 0;  // nanoseconds; limit 0: none, the host watches the kernel
    unsigned n = 0;                       // polls

    // Pauses between two polls. False if the warp must exit.
    __device__ bool wait() {
        if (++n < 16) return true;
        __nanosleep(n < 256 ? 32 : 256);
        if (n % 256) return true;
        const unsigned long long now = nanoseconds();
        if (since == 0) since = now;
        if (limit > 0 && now - since > limit) atomicCAS(&control->stop, GO_ON, LOST);
        return !is_stopped(control);
    }
    static __device__ bool is_stopped(Control* control) {
        return __any_sync(ALL, *(volatile unsigned*)&control->stop != GO_ON);
    }
};

// A position in a queue, and the tag of its round. sequence: pieces that earlier strips wrote to this queue.
struct QueuePosition {
    Tagged* queue;
    int capacity, next;  // in words
    unsigned tag;

    __device__ QueuePosition(const Arguments& arguments, unsigned channel, unsigned sequence) {
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

// Reads the row above a strip, piece by piece. The words of the next piece are loaded while this one is
// computed.
struct RowReader {
    const Arguments& arguments;
    bool is_top;  // the first strip, which reads the row above the region
    const Score *top_H, *top_F;
    unsigned n_pieces, channel, sequence;
    QueuePosition position;
    Tagged words[LANE_COLUMNS][Number::WORDS];
    Score highest;  // H of the piece in this lane's columns

    __device__ RowReader(const Arguments& given, unsigned strip)
        : arguments(given),
          is_top(strip == 0),
          top_H(in_registers(given.top_H)),
          top_F(in_registers(given.top_F)),
          n_pieces(in_registers(given.n_pieces)),
          channel(is_top ? 0 : (strip - 1) % given.n_channels),
          sequence(is_top ? 0 : (strip - 1) / given.n_channels * given.n_pieces),
          position(given, channel, sequence) {}

    // Starts to load the words of a piece, if it exists. Where a piece is short, two lanes load the same
    // word.
    __device__ __forceinline__ void load(unsigned piece) {
        if (piece >= n_pieces) return;
        const unsigned lane = threadIdx.x % WARP % PIECE_COLUMNS;
        const Tagged* from = position.queue + (position.next + lane * Number::WORDS);
        const size_t column = size_t(piece) * PIECE_COLUMNS + lane;
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            if (is_top) {
                Number::pack_untagged(top_H[column + i * WARP], top_F[column + i * WARP], words[i]);
                continue;
            }
#pragma unroll
            for (unsigned w = 0; w < Number::WORDS; w++)
                words[i][w] = load_word(from + i * WARP * Number::WORDS + w);
        }
    }

    // Stores a piece to shared memory, [tile][H, F][column]; false if the warp must exit.
    __device__ __forceinline__ bool take(unsigned piece, Score* shared) {
        Score H[LANE_COLUMNS], F[LANE_COLUMNS];
        for (BoundedWait waiting{arguments.control, arguments.patience}; !unpack(H, F);) {
            if (!waiting.wait()) return false;
            load(piece);
        }
        highest = H[0];
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            const unsigned column = i * WARP + threadIdx.x % WARP % PIECE_COLUMNS;
            Score* to = shared + column / COLUMNS * 2 * COLUMNS + column % COLUMNS;
            if (threadIdx.x % WARP < PIECE_COLUMNS) to[0] = H[i], to[COLUMNS] = F[i];
            highest = Number::max2(highest, H[i]);
        }
        position.advance(PIECE_WORDS);
        return true;
    }

    // Lets the writer reuse the space of these pieces: all lanes have read their words.
    __device__ __forceinline__ void acknowledge(unsigned n_pieces) const {
        if (!is_top && threadIdx.x % WARP == 0)
            store_relaxed(arguments.consumed + channel, sequence + n_pieces);
    }

    __device__ __forceinline__ bool unpack(Score (&H)[LANE_COLUMNS], Score (&F)[LANE_COLUMNS]) const {
        bool has_arrived = true;
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            has_arrived &= Number::unpack(words[i], is_top, position.tag, H[i], F[i]);
        }
        return __all_sync(ALL, has_arrived);
    }
};

constexpr Score NO_GAP = -GAP_FIRST;  // E or F next to a cell with H = 0

// The last row of a tile.
struct alignas(16) Edge {
    Score H[COLUMNS], F[COLUMNS];

    static __device__ __forceinline__ Edge nothing() {
        Edge edge;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) edge.H[c] = 0, edge.F[c] = NO_GAP;
        return edge;
    }
};

__device__ __forceinline__ Edge load_edge(const Score* from) {
    return *reinterpret_cast<const Edge*>(from);
}
__device__ __forceinline__ void store_edge(Score* to, const Edge& edge) {
    *reinterpret_cast<Edge*>(to) = edge;
}

// Writes the last row of a strip, a piece at a time: to the queue of the strip below, and to a checkpoint.
struct RowWriter {
    const Arguments& arguments;
    bool has_reader, is_checkpoint;  // there is a strip below; the row is a checkpoint
    unsigned channel, sequence, consumed;
    QueuePosition position;  // of the first tile of the next piece, which may lie before the row
    unsigned n_columns;
    Score *checkpoint_H, *checkpoint_F;

    __device__ RowWriter(const Arguments& given, unsigned strip, unsigned last_lane, int checkpoint)
        : arguments(given),
          has_reader(strip + 1 < given.n_strips),
          is_checkpoint(checkpoint >= 0),
          channel(strip % given.n_channels),
          sequence(strip / given.n_channels * given.n_pieces),
          consumed(load_relaxed(given.consumed + channel)),
          position(given, channel, sequence),
          n_columns(in_registers(given.n_pieces * PIECE_COLUMNS)) {
        position.next -= last_lane * COLUMNS * Number::WORDS;
        const size_t first = is_checkpoint ? size_t(checkpoint) * given.n_pieces * PIECE_COLUMNS : 0;
        checkpoint_H = given.row_H + first, checkpoint_F = given.row_F + first;
    }

    // Waits for room for ACK_PIECES pieces, or those that are left; false if the warp must exit. The count
    // loaded by the previous call usually suffices, so the load of this call is not waited for.
    __device__ __forceinline__ bool wait_for_room(unsigned piece) {
        const unsigned end = min(piece + ACK_PIECES, arguments.n_pieces);
        const unsigned capacity = QueuePosition::pieces_of(arguments, channel);
        for (BoundedWait waiting{arguments.control, arguments.patience};;) {
            const bool has_room = !has_reader || from_first_lane(consumed) + capacity >= sequence + end;
            consumed = load_relaxed(arguments.consumed + channel);
            if (has_room) return true;
            if (!waiting.wait()) return false;
        }
    }

    // Sends the tiles of a piece, [tile][H, F][column], from tile `first` on. Tiles outside the row are
    // dropped.
    __device__ __forceinline__ void send(const Score* bottom_row, unsigned first) {
        const unsigned lane = threadIdx.x % WARP;
#pragma unroll
        for (unsigned i = 0; i < LANE_COLUMNS; i++) {
            const unsigned number = i * WARP + lane % PIECE_COLUMNS, column = first * COLUMNS + number;
            const Score* of = bottom_row + number / COLUMNS * 2 * COLUMNS + number % COLUMNS;
            const Score H = of[0], F = of[COLUMNS];
            const bool is_inside = lane < PIECE_COLUMNS && column < n_columns;
            QueuePosition to = position;
            to.advance(number * Number::WORDS);
            Tagged words[Number::WORDS];
            Number::pack(H, F, to.tag, words);
            store_words_if(is_inside && has_reader, to.queue + to.next, words);
            if (is_checkpoint) {
                if (is_inside) checkpoint_H[column] = H, checkpoint_F[column] = F;
            }
        }
        position.advance(PIECE_WORDS);
    }
};
