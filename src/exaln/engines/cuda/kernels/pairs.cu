// Batched-pairs kernels: alignments of many pairs, each with a query of its own, in every mode, with paths.
//
// Two pairs of similar size form a couple and share the halves of words. A group of LANES lanes fills the
// table of a couple in strips of LANES * ROWS rows, a tile of ROWS rows x 4 columns per lane and step, as in
// stream.cu, and stores four direction bits per cell. Then one thread per pair finds the end of the best
// alignment, follows the directions back, and writes the path as runs. A last kernel gathers the runs. Four
// kernels in this order: pack_couples, fill_couples, trace_back, gather_runs. Without PATHS only scores and
// ends are computed.
//
// Direction bits of a cell:
//
//     bit 0   H is above the diagonal step
//     bit 1   H is above E
//     bit 2   E of the next column extends a gap, rather than opening one here
//     bit 3   F of the next row extends a gap, rather than opening one here
//
// So the path rule "diagonal, then E, then F; opening before extending" takes the lowest bits that are 0.
//
// Modes are constants: LOCAL, or which of the four ends are free. The borders follow from them:
//
//     H(i, 0) = 0 if QUERY_START or LOCAL, else -(gap_open + i * gap_extend); H(0, j) by TARGET_START.
//
// An alignment ends at the best cell (LOCAL), or else in the corner, in the last column (QUERY_END), or in
// the last row (TARGET_END). So the last column and row are stored; in LOCAL each lane stores its best score,
// and where it first occurred.
//
// Exactness: the host sends only pairs whose values certainly fit 16 bits (pairs/batches.py). A traceback
// subtracts what it finds from the score and must end with 0, so every path proves its score.
//
//   pairs       [n_pairs]: where query and target begin in the codes, and their lengths, none of them 0
//   layouts     [n_couples]: offsets in the arena; pairs 2c and 2c + 1 form couple c
//   table       [2][(LETTERS + 1)^2]: scores of folded letters as low and as high half of a word; 0 is PAD
//   counters    zeros
//   results     [n_pairs]
//   operations  the runs of all paths, each path from its start: length << 4 | operation. A pair takes its
//               place when its path is known, so the order of the paths varies; `results` says where they are
//   runs        for the traceback: the runs of pair p from run_starts[p] on, from the end of the path
//
// Directions are stored as [strip][step][column][8 rows][lane], two words of four rows each. A row takes four
// bits of both halves, the first row the highest.
//
// Tests: tests/engines/cuda/pairs/.

#include "constants.cuh"
#include "packed.cuh"
#include "pairs_table.cuh"
#include "pairs_traceback.cuh"

// --- Packing: letters as offsets into the table

// One warp per couple: folds the letters of both pairs and stores them as offsets into the table.
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

// --- Filling

struct Cell {
    Word t, H, E, F, opened, E_next, F_next;

    __device__ Cell(Word diagonal, Word score, Word E_here, Word F_here) : E(E_here), F(F_here) {
        t = Number::add(diagonal, score);
        H = LOCAL ? Number::cell(t, E, F) : Number::max3(t, E, F);
        opened = Number::add(H, Number::both(-GAP_FIRST));
        E_next = Number::add_max(E, Number::both(-GAP_EXTEND), opened);
        F_next = Number::add_max(F, Number::both(-GAP_EXTEND), opened);
    }
    // 1 in each half where a > b, else 0; requires a >= b.
    static __device__ Word above(Word a, Word b) { return __vminu2(__vsub2(a, b), 0x00010001u); }
    __device__ Word directions() const {
        const Word now = above(H, E) * 2 + above(H, t),
                   next = above(F_next, opened) * 2 + above(E_next, opened);
        return next * 4 + now;
    }
};

// The best score of a lane in LOCAL, and where each half first reached it.
struct BestCell {
    Word score;
    unsigned position[2];  // column * ROWS + row

    // Compares the rows of a column with the best score: bits of both halves, the first row the highest, 0 if
    // equal. A row that exceeds the score, with a value from another lane, is not equal either.
    static __device__ void compare(const Word (&H)[ROWS], Word score, Word (&unequal)[(ROWS + 15) / 16]) {
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            Word& bits = unequal[k / 16];
            bits = bits * 2 + Cell::above(score, H[k]);
        }
    }
    // The first row whose bit in a half is 0.
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
    __device__ void update(const Word (&H)[ROWS], Word of_column, unsigned column) {
        const Word larger = Number::max2(score, of_column), changed = larger ^ score;
        score = larger;
        if (!changed) return;
        Word unequal[(ROWS + 15) / 16] = {};
        compare(H, score, unequal);
        if (changed & 0xFFFFu) position[0] = column * ROWS + first_row(unequal, 0);
        if (changed >> 16) position[1] = column * ROWS + first_row(unequal, 1);
    }
};

__device__ void store_column(const Word (&H)[ROWS], Word* column) {
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
    // H of row 0 in both halves.
    __device__ Word top(unsigned column) const { return Number::both(border(int(column) + 1, TARGET_START)); }

    // Stores the last column and, with TARGET_END, the last row, in modes that are not local.
    __device__ void store_ends(const Word (&H)[ROWS], unsigned strip, unsigned column_number) {
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            if (column_number + 1 == n[half]) store_column(H, column(half, strip));
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
                        size_t(strip) * (layout.n_tiles + LANES - 1) * (COLUMNS * ROW_EIGHTS * LANES) + lane;

    Word letters[ROWS], H[ROWS], E[ROWS];
    const unsigned* rows = reinterpret_cast<const unsigned*>(arena + layout.rows) + first_row;
    const auto begin_row = [&](int k) {
        H[k] = Number::both(border(int(first_row) + k + 1, QUERY_START));
        E[k] = LOCAL ? 0 : Number::add(H[k], Number::both(-GAP_FIRST));
    };
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        letters[k] = is_mine ? rows[k] : 0;
        begin_row(k);
    }
    Word edge_H[COLUMNS] = {}, edge_F[COLUMNS] = {};
    const Word first_diagonal = Number::both(border(int(first_row), QUERY_START));
    Word diagonal = first_diagonal;
    uint4 tile = make_uint4(0, 0, 0, 0), next_tile = tile, next_H = tile, next_F = tile;
    if (is_first && n_tiles > 0) {
        next_tile = tiles[0];
        if (has_top) next_H = boundary[0], next_F = boundary[1];
    }
    BestCell best{0, {0, 0}};

    for (unsigned step = 0; step < n_steps; step++) {
        const int at = int(step) - int(lane);  // tile of this lane
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
                    if (is_inside) directions[((step * COLUMNS + c) * ROW_EIGHTS + k / 8) * LANES] = bits;
                    bits = make_uint2(0, 0);
                }
            }
            diagonal = above;
            edge_H[c] = H[ROWS - 1];
            edge_F[c] = F;
            if (is_inside) {
                if (LOCAL) {
                    best.update(H, of_column, at * COLUMNS + c);
                } else {
                    store_ends(H, strip, at * COLUMNS + c);
                }
            }
        }
        if (at < 0) {  // before its first tile a lane has computed with padding
#pragma unroll
            for (int k = 0; k < ROWS; k++) begin_row(k);
            diagonal = first_diagonal;
        }
        if (is_last && has_bottom && is_inside) {
            boundary[2 * at] = make_uint4(edge_H[0], edge_H[1], edge_H[2], edge_H[3]);
            boundary[2 * at + 1] = make_uint4(edge_F[0], edge_F[1], edge_F[2], edge_F[3]);
        }
    }
    if (LOCAL && is_mine) {
        uint4* bests = reinterpret_cast<uint4*>(arena + layout.bests);
        bests[strip * LANES + lane] = make_uint4(best.score, best.position[0], best.position[1], 0);
    }
}

// A warp takes GROUPS couples at a time by a ticket, and each group of lanes fills one of them.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    fill_couples(const Pair* __restrict__ pairs, unsigned n_pairs, const Layout* __restrict__ layouts,
                 const unsigned* __restrict__ table, Counters* counters, char* arena) {
    __shared__ unsigned scores[2 * TABLE_SIZE];
    for (unsigned i = threadIdx.x; i < 2 * TABLE_SIZE; i += blockDim.x) scores[i] = table[i];
    __syncthreads();
    const unsigned n_couples = (n_pairs + 1) / 2;
    for (;;) {
        unsigned item = 0;
        if (threadIdx.x % WARP == 0) item = atomicAdd(&counters->ticket, 1u);
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

// --- Traceback

// One thread per pair: finds the end, follows the path back, and writes its runs and counts.
extern "C" __global__ void trace_back(
    const unsigned char* __restrict__ queries, const unsigned char* __restrict__ targets,
    const Pair* __restrict__ pairs, unsigned n_pairs, const Layout* __restrict__ layouts,
    const unsigned char* __restrict__ fold, const unsigned* __restrict__ table,
    const unsigned long long* __restrict__ run_starts, unsigned* runs_of_all, Counters* counters,
    Result* __restrict__ results, unsigned* __restrict__ operations, const char* arena) {
    const unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= n_pairs) return;
    const Pair pair = pairs[number];
    const unsigned char *query = queries + pair.query, *target = targets + pair.target;
    const FilledTable filled{arena, layouts[number / 2], number % 2, int(pair.m), int(pair.n)};
    RunWriter runs{runs_of_all + run_starts[number], 0, 0, 0};
    Result result{};
    int i, j;
    int left = result.score = filled.find_end(i, j);
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
            const Diagonal cells(filled, query, target, i, j);
#pragma unroll
            for (int k = 0; k < PREFETCHED_CELLS; k++) {
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
            const bool goes_on = j > 0 && filled.directions(i, j) & 4;
            left += goes_on ? GAP_EXTEND : GAP_FIRST;
            state = goes_on ? IN_E : IN_H;
        } else {
            runs.add(INSERTION);
            i--;
            const bool goes_on = i > 0 && filled.directions(i, j) & 8;
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
    if (left != 0) atomicAdd(&counters->n_wrong, 1u);
    result.n_runs = runs.n, result.first_run = atomicAdd(&counters->n_runs, runs.n);
    unsigned* path = operations + result.first_run;
    for (unsigned run = 0; run < runs.n; run++) {
        const unsigned operation = runs.runs[run] & 15u, length = runs.runs[run] >> 4;
        path[runs.n - 1 - run] = runs.runs[run];
        const bool is_gap = operation == INSERTION || operation == DELETION;
        result.columns += length;
        result.gap_columns += is_gap ? length : 0;
        result.gap_opens += is_gap;
    }
    result.query_start = i, result.target_start = j;
    results[number] = result;
}
