// Alignments of many pairs, each with a query of its own, in every mode, with the path.
//
// Two pairs of similar size are a couple: their scores share the words. A group of LANES lanes fills the
// matrix of a couple in strips of LANES * ROWS rows, a tile of ROWS rows x 4 columns per lane and step, as in
// stream.cu, and keeps four bits per cell: how the walk back goes on from there. Then a thread per pair finds
// the end of the best alignment, walks back, and writes the path as runs; a last kernel gathers the runs.
//
//     bit 0   H is better than the diagonal step
//     bit 1   H is better than E
//     bit 2   E of the next column goes on, it is not opened here
//     bit 3   F of the next row goes on, it is not opened here
//
// So "the diagonal, then E, then F; opening before extending" reads off the lowest bits that are 0.
//
// Without PATHS only scores and ends are found.
//
// Modes are constants: LOCAL, or which of the four ends are free. The borders follow from them:
//     H(i,0) = 0 if QUERY_START or LOCAL, else -(gap_open + i * gap_extend); H(0,j) likewise.
// Where an alignment may end: at the best cell (LOCAL); else in the corner, in the last column (QUERY_END),
// in the last row (TARGET_END). For this the last column and row are kept, and in LOCAL for each lane where
// its best score came up first.
//
// A walk takes the score with it and must end with 0: so every path proves its score. Scores fit 16 bits:
// the host sends only pairs for which that is certain (pair_batches.py).
//
//   pairs       [n_pairs]: where query and target begin in the codes, and their lengths, none of them 0
//   layouts     [n_couples]: where in the arena the parts of a couple lie; pairs 2c and 2c + 1 are couple c
//   table       [2][(LETTERS + 1)^2]: scores of folded letters as low and as high half of a word; 0 is PAD
//   results     [n_pairs]
//   runs        of pair p from run_starts[p] on, in the order of the walk: length << 4 | operation
//
// Directions: [strip][step][column][8 rows][lane], two words of four rows each; a row takes four bits of both
// halves, the first row the highest. Tests: tests/test_cuda_pairs.py.

#include "constants.cuh"
#include "packed.cuh"

using Number = PackedNumber<true>;  // int16 on every device: scores may be far below 0

constexpr int WARP = 32;
constexpr int GROUPS = WARP / LANES;
constexpr int STRIP_ROWS = LANES * ROWS;
constexpr int EIGHTS = ROWS / 8;
constexpr unsigned ALL = 0xFFFFFFFFu;
constexpr int TABLE_SIZE = (LETTERS + 1) * (LETTERS + 1);
constexpr int GAP_OPEN = GAP_FIRST - GAP_EXTEND;
static_assert(ROWS % 8 == 0);

struct Pair {
    unsigned long long query, target;
    unsigned m, n;
};

// Places in the arena, in bytes.
struct Layout {
    unsigned long long rows;        // [n_strips][LANES][ROWS] words: letters of both queries, as offsets
    unsigned long long tiles;       // [n_tiles] of four words: letters of both targets, as offsets
    unsigned long long directions;  // [n_strips][n_tiles + LANES - 1][4][EIGHTS][LANES] of two words
    unsigned long long columns;   // [2][n_strips][LANES][ROWS] words: H of the column that matters to a half
    unsigned long long last_row;  // [2][n_tiles][4] words: H of the last row of a half, for TARGET_END
    unsigned long long bests;     // [n_strips][LANES]: best score, and its places in both halves, for LOCAL
    unsigned long long boundary;  // [n_tiles][2] of four words: H and F between strips
    unsigned n_tiles, n_strips;
};

struct Result {
    int score, query_start, query_end, target_start, target_end;
    int identities, positives, mismatches, gap_opens, gap_columns, columns, n_runs;
};

__device__ int border(int letters, bool is_free) {
    return LOCAL || is_free || letters == 0 ? 0 : -(GAP_OPEN + letters * GAP_EXTEND);
}

// --- letters as offsets into the table

extern "C" __global__ void pack_couples(const unsigned char* __restrict__ queries,
                                        const unsigned char* __restrict__ targets,
                                        const Pair* __restrict__ pairs, unsigned n_pairs,
                                        const Layout* __restrict__ layouts,
                                        const unsigned char* __restrict__ fold, char* arena) {
    const unsigned couple = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (couple >= (n_pairs + 1) / 2) return;
    const Layout layout = layouts[couple];
    const Pair none{0, 0, 0, 0};
    const Pair first = pairs[2 * couple], second = 2 * couple + 1 < n_pairs ? pairs[2 * couple + 1] : none;
    unsigned* rows = reinterpret_cast<unsigned*>(arena + layout.rows);
    for (unsigned i = lane; i < layout.n_strips * STRIP_ROWS; i += WARP) {
        const unsigned low = i < first.m ? fold[queries[first.query + i]] : PAD;
        const unsigned high = i < second.m ? fold[queries[second.query + i]] : PAD;
        rows[i] = (low | high << 16) * ((LETTERS + 1) * 4);
    }
    unsigned* tiles = reinterpret_cast<unsigned*>(arena + layout.tiles);
    for (unsigned j = lane; j < layout.n_tiles * COLUMNS; j += WARP) {
        const unsigned low = j < first.n ? fold[targets[first.target + j]] : PAD;
        const unsigned high = j < second.n ? fold[targets[second.target + j]] : PAD;
        tiles[j] = (low | high << 16) * 4;
    }
}

// --- filling

struct Cell {
    Word t, H, E, F, opened, E_next, F_next;

    __device__ Cell(Word diagonal, Word score, Word E_here, Word F_here) : E(E_here), F(F_here) {
        t = Number::add(diagonal, score);
        H = LOCAL ? Number::cell(t, E, F) : Number::max3(t, E, F);
        opened = Number::add(H, Number::both(-GAP_FIRST));
        E_next = Number::add_max(E, Number::both(-GAP_EXTEND), opened);
        F_next = Number::add_max(F, Number::both(-GAP_EXTEND), opened);
    }
    // 0 or 1 in each half: whether a > b, where a >= b is known
    static __device__ Word above(Word a, Word b) { return __vminu2(__vsub2(a, b), 0x00010001u); }
    __device__ Word directions() const {
        const Word now = above(H, E) * 2 + above(H, t),
                   next = above(F_next, opened) * 2 + above(E_next, opened);
        return next * 4 + now;
    }
};

// What a lane keeps for LOCAL: its best score so far, and where each half came to it first: column and row.
struct Best {
    Word score;
    unsigned place[2];

    // The rows of a column that have the best score, as bits of both halves, the first row the highest; 0 for
    // equal. A row above the best (which came from another lane) is not equal either.
    static __device__ void compare(const Word (&H)[ROWS], Word score, Word (&unequal)[(ROWS + 15) / 16]) {
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            Word& bits = unequal[k / 16];
            bits = bits * 2 + Cell::above(score, H[k]);
        }
    }
    // The first row whose bit is 0 in a half.
    static __device__ unsigned first_row(const Word (&unequal)[(ROWS + 15) / 16], unsigned half) {
        unsigned row = 0;
#pragma unroll
        for (int i = (ROWS + 15) / 16 - 1; i >= 0; i--) {
            constexpr int LAST = ROWS - (ROWS - 1) / 16 * 16;
            const int n = i == (ROWS + 15) / 16 - 1 ? LAST : 16;
            const unsigned equal = ~(unequal[i] >> 16 * half) & ((1u << n) - 1);
            if (equal) row = i * 16 + n - 1 - (31 - __clz(equal));
        }
        return row;
    }
    __device__ void take(const Word (&H)[ROWS], Word of_column, unsigned column) {
        const Word larger = Number::max2(score, of_column), changed = larger ^ score;
        score = larger;
        if (!changed) return;
        Word unequal[(ROWS + 15) / 16] = {};
        compare(H, score, unequal);
        if (changed & 0xFFFFu) place[0] = column * ROWS + first_row(unequal, 0);
        if (changed >> 16) place[1] = column * ROWS + first_row(unequal, 1);
    }
};

__device__ void keep_column(const Word (&H)[ROWS], Word* column) {
#pragma unroll
    for (int k = 0; k < ROWS; k += 4) {
        reinterpret_cast<uint4*>(column)[k / 4] = make_uint4(H[k], H[k + 1], H[k + 2], H[k + 3]);
    }
}

__device__ Word at_row(const Word (&H)[ROWS], int row) {
    Word value = H[0];
#pragma unroll
    for (int k = 1; k < ROWS; k++) value = k == row ? H[k] : value;
    return value;
}

struct Group {
    Layout layout;
    unsigned m[2], n[2];
    char* arena;
    const char* table;  // in shared memory
    unsigned lane;

    __device__ Word score(unsigned place) const {
        const unsigned low = place & 0xFFFFu, high = place >> 16;
        return *reinterpret_cast<const Word*>(table + low) |
               *reinterpret_cast<const Word*>(table + TABLE_SIZE * 4 + high);
    }
    __device__ Word* column(unsigned half, unsigned strip) const {
        Word* columns = reinterpret_cast<Word*>(arena + layout.columns);
        return columns + ((half * layout.n_strips + strip) * LANES + lane) * ROWS;
    }
    // H of row 0, in both halves, and what F of row 1 opens with.
    __device__ Word top(unsigned column) const { return Number::both(border(int(column) + 1, TARGET_START)); }

    // Of modes that are not local: the last column and, where an alignment may end there, the last row.
    __device__ void keep_ends(const Word (&H)[ROWS], unsigned strip, unsigned column_number) {
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            if (column_number + 1 == n[half]) keep_column(H, column(half, strip));
            if (TARGET_END) {
                const unsigned first = strip * STRIP_ROWS + lane * ROWS, last = m[half] - 1;
                if (last >= first && last < first + ROWS && column_number < n[half]) {
                    Word* row = reinterpret_cast<Word*>(arena + layout.last_row);
                    row[half * layout.n_tiles * COLUMNS + column_number] = at_row(H, int(last - first));
                }
            }
        }
    }
    __device__ void fill_strip(unsigned strip, unsigned n_steps);
};

__device__ __forceinline__ unsigned from_above(unsigned value, bool is_first, unsigned own) {
    const unsigned above = __shfl_up_sync(ALL, value, 1, LANES);
    return is_first ? own : above;
}

__device__ __forceinline__ void Group::fill_strip(unsigned strip, unsigned n_steps) {
    const bool is_first = lane == 0, is_last = lane == LANES - 1;
    const bool is_mine = strip < layout.n_strips;
    const unsigned n_tiles = is_mine ? layout.n_tiles : 0;
    const unsigned first_row = strip * STRIP_ROWS + lane * ROWS;
    const bool has_top = strip > 0, has_bottom = strip + 1 < layout.n_strips;
    const uint4* tiles = reinterpret_cast<const uint4*>(arena + layout.tiles);
    uint4* boundary = reinterpret_cast<uint4*>(arena + layout.boundary);
    uint2* directions = reinterpret_cast<uint2*>(arena + layout.directions) +
                        size_t(strip) * (layout.n_tiles + LANES - 1) * (COLUMNS * EIGHTS * LANES) + lane;

    Word letters[ROWS], H[ROWS], E[ROWS];
    const unsigned* rows = reinterpret_cast<const unsigned*>(arena + layout.rows) + first_row;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        letters[k] = is_mine ? rows[k] : 0;
        H[k] = Number::both(border(int(first_row) + k + 1, QUERY_START));
        E[k] = LOCAL ? 0 : Number::add(H[k], Number::both(-GAP_FIRST));
    }
    Word edge_H[COLUMNS] = {}, edge_F[COLUMNS] = {};
    Word diagonal = Number::both(border(int(first_row), QUERY_START));
    uint4 tile = make_uint4(0, 0, 0, 0), next_tile = tile, next_H = tile, next_F = tile;
    if (is_first && n_tiles > 0) {
        next_tile = tiles[0];
        if (has_top) next_H = boundary[0], next_F = boundary[1];
    }
    Best best{0, {0, 0}};

    for (unsigned step = 0; step < n_steps; step++) {
        const int at = int(step) - int(lane);  // the tile of this lane
        tile =
            make_uint4(from_above(tile.x, is_first, next_tile.x), from_above(tile.y, is_first, next_tile.y),
                       from_above(tile.z, is_first, next_tile.z), from_above(tile.w, is_first, next_tile.w));
        const unsigned columns[COLUMNS] = {tile.x, tile.y, tile.z, tile.w};
        const unsigned top_H[COLUMNS] = {next_H.x, next_H.y, next_H.z, next_H.w};
        const unsigned top_F[COLUMNS] = {next_F.x, next_F.y, next_F.z, next_F.w};
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const Word row_0 = top(step * COLUMNS + c);
            const Word F_1 = LOCAL ? 0 : Number::add(row_0, Number::both(-GAP_FIRST));
            edge_H[c] = from_above(edge_H[c], is_first, has_top ? top_H[c] : row_0);
            edge_F[c] = from_above(edge_F[c], is_first, has_top ? top_F[c] : F_1);
        }
        if (is_first && step + 1 < n_tiles) {
            next_tile = tiles[step + 1];
            if (has_top) next_H = boundary[2 * (step + 1)], next_F = boundary[2 * (step + 1) + 1];
        }
        const bool is_inside = at >= 0 && at < int(n_tiles);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            Word F = edge_F[c], above = edge_H[c], of_column = 0, even = 0;
            uint2 bits = make_uint2(0, 0);
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                const Cell cell(diagonal, score(letters[k] + columns[c]), E[k], F);
                diagonal = H[k];
                H[k] = cell.H, E[k] = cell.E_next, F = cell.F_next;
                if (PATHS && k % 8 < 4) bits.x = bits.x * 16 + cell.directions();
                if (PATHS && k % 8 >= 4) bits.y = bits.y * 16 + cell.directions();
                if (LOCAL && k % 2) of_column = Number::max3(of_column, even, cell.t);
                even = cell.t;
                if (PATHS && k % 8 == 7) {
                    if (is_inside) directions[((step * COLUMNS + c) * EIGHTS + k / 8) * LANES] = bits;
                    bits = make_uint2(0, 0);
                }
            }
            diagonal = above;
            edge_H[c] = H[ROWS - 1];
            edge_F[c] = F;
            if (is_inside) {
                if (LOCAL) {
                    best.take(H, of_column, at * COLUMNS + c);
                } else {
                    keep_ends(H, strip, at * COLUMNS + c);
                }
            }
        }
        // Before the first tile a lane has computed with nothing: its rows begin now.
        if (at < 0) {
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                H[k] = Number::both(border(int(first_row) + k + 1, QUERY_START));
                E[k] = LOCAL ? 0 : Number::add(H[k], Number::both(-GAP_FIRST));
            }
            diagonal = Number::both(border(int(first_row), QUERY_START));
        }
        if (is_last && has_bottom && is_inside) {
            boundary[2 * at] = make_uint4(edge_H[0], edge_H[1], edge_H[2], edge_H[3]);
            boundary[2 * at + 1] = make_uint4(edge_F[0], edge_F[1], edge_F[2], edge_F[3]);
        }
    }
    if (LOCAL && is_mine) {
        uint4* bests = reinterpret_cast<uint4*>(arena + layout.bests);
        bests[strip * LANES + lane] = make_uint4(best.score, best.place[0], best.place[1], 0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    fill_couples(const Pair* __restrict__ pairs, unsigned n_pairs, const Layout* __restrict__ layouts,
                 const unsigned* __restrict__ table, unsigned* ticket, char* arena) {
    __shared__ unsigned scores[2 * TABLE_SIZE];
    for (unsigned i = threadIdx.x; i < 2 * TABLE_SIZE; i += blockDim.x) scores[i] = table[i];
    __syncthreads();
    const unsigned n_couples = (n_pairs + 1) / 2;
    for (;;) {
        unsigned item = 0;
        if (threadIdx.x % WARP == 0) item = atomicAdd(ticket, 1u);
        item = __shfl_sync(ALL, item, 0);
        if (item * GROUPS >= n_couples) return;
        const unsigned couple = item * GROUPS + threadIdx.x % WARP / LANES;
        Group group{};
        group.arena = arena, group.table = reinterpret_cast<const char*>(scores);
        group.lane = threadIdx.x % LANES;
        if (couple < n_couples) {
            group.layout = layouts[couple];
            for (unsigned half = 0; half < 2; half++) {
                const bool is_there = 2 * couple + half < n_pairs;
                group.m[half] = is_there ? pairs[2 * couple + half].m : 0;
                group.n[half] = is_there ? pairs[2 * couple + half].n : 0;
            }
        }
        unsigned n_strips = group.layout.n_strips, n_tiles = group.layout.n_tiles;
        for (int distance = LANES; distance < WARP; distance *= 2) {
            n_strips = max(n_strips, __shfl_xor_sync(ALL, n_strips, distance));
            n_tiles = max(n_tiles, __shfl_xor_sync(ALL, n_tiles, distance));
        }
        for (unsigned strip = 0; strip < n_strips; strip++) {
            group.fill_strip(strip, n_tiles + LANES - 1);
            __syncwarp();
        }
    }
}

// --- walking back

constexpr unsigned INSERTION = 1, DELETION = 2, EQUAL = 7, DIFFERENT = 8;  // as in BAM
constexpr int AHEAD = 8;  // cells of a diagonal that are read at a time

struct Runs {
    unsigned* runs;
    unsigned n, operation, length;

    __device__ void add(unsigned next, unsigned times = 1) {
        if (next != operation) {
            flush();
            operation = next;
            length = 0;
        }
        length += times;
    }
    __device__ void flush() {
        if (length) runs[n++] = length << 4 | operation;
    }
};

struct Walk {
    const char* arena;
    Layout layout;
    unsigned half;
    int m, n;

    __device__ int of_half(Word word) const { return half ? Number::high(word) : Number::low(word); }
    // The bits of a cell, counted from 1.
    __device__ unsigned directions(int i, int j) const {
        const unsigned row = i - 1, column = j - 1, strip = row / STRIP_ROWS, lane = row % STRIP_ROWS / ROWS;
        const unsigned k = row % ROWS, step = column / COLUMNS + lane;
        const size_t tile = size_t(strip) * (layout.n_tiles + LANES - 1) + step;
        const size_t two = ((tile * COLUMNS + column % COLUMNS) * EIGHTS + k / 8) * LANES + lane;
        const Word word = reinterpret_cast<const Word*>(arena + layout.directions)[2 * two + k % 8 / 4];
        return word >> (half * 16 + (3 - k % 4) * 4) & 15u;
    }
    __device__ int in_column(int i) const {
        const Word* columns = reinterpret_cast<const Word*>(arena + layout.columns);
        return of_half(columns[half * layout.n_strips * STRIP_ROWS + i - 1]);
    }
    __device__ int in_last_row(int j) const {
        const Word* row = reinterpret_cast<const Word*>(arena + layout.last_row);
        return of_half(row[half * layout.n_tiles * COLUMNS + j - 1]);
    }
    // The best end: the smallest target end of the best, then the smallest query end.
    __device__ int find_end(int& i, int& j) const { return LOCAL ? find_local(i, j) : find_at_ends(i, j); }

    __device__ int find_local(int& i, int& j) const {
        const uint4* bests = reinterpret_cast<const uint4*>(arena + layout.bests);
        int best = 0;
        i = j = 0;
        for (unsigned lane = 0; lane < layout.n_strips * LANES; lane++) {
            const uint4 own = bests[lane];
            const int score = of_half(own.x);
            const unsigned place = half ? own.z : own.y;
            const int column = place / ROWS + 1;
            if (score > best || (score == best && score > 0 && column < j)) {
                best = score, i = lane * ROWS + place % ROWS + 1, j = column;
            }
        }
        return best;
    }
    __device__ int find_at_ends(int& i, int& j) const {
        int best = in_column(m);
        i = m, j = n;
        if (QUERY_END) {
            for (int row = m - 1; row >= 0; row--) {
                const int score = row ? in_column(row) : border(n, TARGET_START);
                if (score >= best) best = score, i = row;
            }
        }
        if (TARGET_END) {
            for (int column = n - 1; column >= 0; column--) {
                const int score = column ? in_last_row(column) : border(m, QUERY_START);
                if (score >= best) best = score, i = m, j = column;
            }
        }
        return best;
    }
};

// Directions and letters of the cells from (i, j) on along the diagonal, where most paths go on: read
// together, so that a walk waits once for all of them. There are n, and whatever beyond.
struct Diagonal {
    int n;
    unsigned bits[AHEAD], a[AHEAD], b[AHEAD];

    __device__ Diagonal(const Walk& walk, const unsigned char* query, const unsigned char* target, int i,
                        int j)
        : n(min(AHEAD, min(i, j))) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int inside = min(k, n - 1);
            bits[k] = walk.directions(i - inside, j - inside);
            a[k] = query[i - 1 - inside], b[k] = target[j - 1 - inside];
        }
    }
};

extern "C" __global__ void walk_back(const unsigned char* __restrict__ queries,
                                     const unsigned char* __restrict__ targets,
                                     const Pair* __restrict__ pairs, unsigned n_pairs,
                                     const Layout* __restrict__ layouts,
                                     const unsigned char* __restrict__ fold,
                                     const unsigned* __restrict__ table,
                                     const unsigned long long* __restrict__ run_starts, unsigned* runs_of_all,
                                     Result* __restrict__ results, unsigned* n_wrong, const char* arena) {
    const unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= n_pairs) return;
    const Pair pair = pairs[number];
    const unsigned char *query = queries + pair.query, *target = targets + pair.target;
    const Walk walk{arena, layouts[number / 2], number % 2, int(pair.m), int(pair.n)};
    Runs runs{runs_of_all + run_starts[number], 0, 0, 0};
    Result result{};
    int i, j;
    int left = result.score = walk.find_end(i, j);
    result.query_end = i, result.target_end = j;
    if (!PATHS) {
        results[number] = result;
        return;
    }
    enum { IN_H, IN_E, IN_F } state = IN_H;
    for (;;) {
        if (state == IN_H) {
            if (LOCAL && left == 0) break;
            if (i == 0 || j == 0) break;
            const Diagonal cells(walk, query, target, i, j);
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                if (k >= cells.n || (LOCAL && left == 0)) break;
                if (cells.bits[k] & 1) {
                    state = cells.bits[k] & 2 ? IN_F : IN_E;
                    break;
                }
                const unsigned a = cells.a[k], b = cells.b[k];
                const int score = short(table[fold[a] * (LETTERS + 1) + fold[b]]);
                left -= score;
                result.identities += a == b, result.positives += a == b || score > 0,
                    result.mismatches += a != b;
                runs.add(a == b ? EQUAL : DIFFERENT);
                i--, j--;
            }
        } else if (state == IN_E) {
            runs.add(DELETION);
            j--;
            const bool goes_on = j > 0 && walk.directions(i, j) & 4;
            left += goes_on ? GAP_EXTEND : GAP_FIRST;
            state = goes_on ? IN_E : IN_H;
        } else {
            runs.add(INSERTION);
            i--;
            const bool goes_on = i > 0 && walk.directions(i, j) & 8;
            left += goes_on ? GAP_EXTEND : GAP_FIRST;
            state = goes_on ? IN_F : IN_H;
        }
    }
    if (!LOCAL && i > 0 && !QUERY_START) {
        runs.add(INSERTION, i);
        left += GAP_OPEN + i * GAP_EXTEND;
        i = 0;
    }
    if (!LOCAL && j > 0 && !TARGET_START) {
        runs.add(DELETION, j);
        left += GAP_OPEN + j * GAP_EXTEND;
        j = 0;
    }
    runs.flush();
    if (left != 0) atomicAdd(n_wrong, 1u);
    for (unsigned run = 0; run < runs.n; run++) {
        const unsigned operation = runs.runs[run] & 15u, length = runs.runs[run] >> 4;
        const bool is_gap = operation == INSERTION || operation == DELETION;
        result.columns += length;
        result.gap_columns += is_gap ? length : 0;
        result.gap_opens += is_gap;
    }
    result.query_start = i, result.target_start = j, result.n_runs = runs.n;
    results[number] = result;
}

// The runs of all pairs one after the other, each path from its start.
extern "C" __global__ void gather_runs(const unsigned* __restrict__ runs,
                                       const unsigned long long* __restrict__ run_starts,
                                       const unsigned long long* __restrict__ offsets, unsigned n_pairs,
                                       unsigned* __restrict__ operations) {
    const unsigned pair = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (pair >= n_pairs) return;
    const unsigned long long begin = offsets[pair], n = offsets[pair + 1] - begin;
    for (unsigned long long run = lane; run < n; run += WARP) {
        operations[begin + run] = runs[run_starts[pair] + n - 1 - run];
    }
}
