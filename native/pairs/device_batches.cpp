// Fills and empties the blocks of pairs for a GPU; see device_batches.hpp.
#include "pairs/device_batches.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "threads/tasks.hpp"

namespace exaln {
namespace {

constexpr int64_t TASK_BYTES = int64_t(1) << 18;  // copied by a task
constexpr int64_t TASKS_OF_THREAD = 6;            // that are worth another thread

int64_t tasks_for(int64_t n, int64_t bytes) {
    return std::max<int64_t>(1, std::min(n, bytes / TASK_BYTES));
}
int threads_for(int64_t n_tasks, int threads) {
    return int(std::min<int64_t>(threads, (n_tasks + TASKS_OF_THREAD - 1) / TASKS_OF_THREAD));
}

// Calls `work(begin, end)` for ranges of n items that copy about `bytes` in all.
template <class Work>
void in_ranges(int64_t n, int64_t bytes, int threads, Work work) {
    const int64_t n_tasks = tasks_for(n, bytes);
    const int n_threads = threads_for(n_tasks, threads);
    run_tasks(
        size_t(n_tasks), n_threads, [] { return std::make_unique<int>(0); },
        [&](int&, size_t i) { work(n * int64_t(i) / n_tasks, n * (int64_t(i) + 1) / n_tasks); }, [](int&) {});
}

// A part of a block as numbers.
template <class T>
T* part(uint8_t* block, int64_t offset) {
    return reinterpret_cast<T*>(block + offset);
}
template <class T>
const T* part(const uint8_t* block, int64_t offset) {
    return reinterpret_cast<const T*>(block + offset);
}

// Where the letters of a sequence begin on the device; `place` counts the letters sent so far.
uint64_t take_place(const PairSide& side, int64_t pair, int64_t length, int64_t& place) {
    if (!side.is_sent) return uint64_t(side.sequences.offsets[side.rows[pair]] - side.first);
    place += length;
    return uint64_t(place - length);
}

void write_layouts(DeviceLayout* layouts, const DevicePair* pairs, int64_t n_pairs, const DeviceShape& shape,
                   const DeviceTables& tables) {
    int64_t place = 0, bytes[7];
    for (int64_t i = 0; i < n_pairs; i += 2) {
        const int64_t m = std::max(pairs[i].m, i + 1 < n_pairs ? pairs[i + 1].m : 0);
        const int64_t n = std::max(pairs[i].n, i + 1 < n_pairs ? pairs[i + 1].n : 0);
        DeviceLayout& layout = layouts[i / 2];
        layout.n_strips = uint32_t((m + shape.strip_rows() - 1) / shape.strip_rows());
        layout.n_tiles = uint32_t((n + DEVICE_COLUMNS - 1) / DEVICE_COLUMNS);
        tables.part_bytes(shape, layout.n_strips, layout.n_tiles, bytes);
        uint64_t* const offsets[7] = {&layout.rows,     &layout.tiles, &layout.directions, &layout.columns,
                                      &layout.last_row, &layout.bests, &layout.boundary};
        for (int number = 0; number < 7; ++number) *offsets[number] = uint64_t(place), place += bytes[number];
    }
}

void mark_codes(const uint8_t* codes, int64_t n, uint8_t few, bool (&used)[N_BYTES]) {
    uint8_t highest = 0;
    for (int64_t i = 0; i < n; ++i) highest = std::max(highest, codes[i]);
    if (highest < few) {
        std::fill(used, used + few, true);
    } else {
        for (int64_t i = 0; i < n; ++i) used[codes[i]] = true;
    }
}

struct UsedCodes {
    bool used[N_BYTES] = {};
};

}  // namespace

void mark_used_codes(const PairSide& side, int64_t n, uint8_t few, int threads, bool (&used)[N_BYTES]) {
    int64_t n_letters = 0;
    for (int64_t i = 0; i < n; ++i) n_letters += side.length(i);
    const int64_t n_tasks = tasks_for(n, n_letters);
    run_tasks(
        size_t(n_tasks), threads_for(n_tasks, threads), [] { return std::make_unique<UsedCodes>(); },
        [&](UsedCodes& own, size_t task) {
            const int64_t end = n * (int64_t(task) + 1) / n_tasks;
            for (int64_t i = n * int64_t(task) / n_tasks; i < end; ++i)
                mark_codes(side.letters(i), side.length(i), few, own.used);
        },
        [&](const UsedCodes& own) {
            for (int code = 0; code < N_BYTES; ++code) used[code] = used[code] || own.used[code];
        });
}

void fill_block(uint8_t* block, const DeviceBatch& batch, const int64_t* order, const PairSide& queries,
                const PairSide& targets, const DeviceShape& shape, const DeviceTables& tables, int threads) {
    const int64_t n_pairs = batch.end - batch.begin;
    const int64_t* own = order + batch.begin;
    auto* pairs = part<DevicePair>(block, batch.pairs);
    auto* run_starts = part<uint64_t>(block, batch.run_starts);
    uint8_t* letters = block + batch.letters;
    int64_t place = 0, n_runs = 0;
    for (int64_t i = 0; i < n_pairs; ++i) {
        const int64_t m = queries.length(own[i]), n = targets.length(own[i]);
        const uint64_t query = take_place(queries, own[i], m, place);
        pairs[i] = {query, take_place(targets, own[i], n, place), uint32_t(m), uint32_t(n)};
        run_starts[i] = uint64_t(n_runs);
        n_runs += m + n;
    }
    run_starts[n_pairs] = uint64_t(n_runs);
    if (n_runs != batch.n_runs || place > batch.counters - batch.letters)
        throw std::invalid_argument("a batch does not have the letters of its plan");
    write_layouts(part<DeviceLayout>(block, batch.layouts), pairs, n_pairs, shape, tables);
    *part<DeviceCounters>(block, batch.counters) = {0, 0, 0, 0};
    in_ranges(n_pairs, place, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            if (queries.is_sent) std::memcpy(letters + pairs[i].query, queries.letters(own[i]), pairs[i].m);
            if (targets.is_sent) std::memcpy(letters + pairs[i].target, targets.letters(own[i]), pairs[i].n);
        }
    });
}

void collect_block(const uint8_t* block, const DeviceBatch& batch, const int64_t* order,
                   const PairColumns& columns, uint32_t* runs, int64_t n_runs, int64_t first_run,
                   int threads) {
    const int64_t n_pairs = batch.end - batch.begin;
    const int64_t* own = order + batch.begin;
    const auto* results = part<DeviceResult>(block, batch.results);
    const auto* counters = part<DeviceCounters>(block, batch.counters);
    const auto* found = part<uint32_t>(block, batch.runs);
    const auto bytes = n_pairs * int64_t(sizeof(DeviceResult)) + 4 * n_runs;
    in_ranges(n_pairs, bytes, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const DeviceResult& result = results[i];
            if (uint64_t(result.first_run) + result.n_runs > counters->n_runs)
                throw std::out_of_range("a path lies outside its batch");
            const int64_t row = own[i];
            columns.scores[row] = result.score;
            std::copy_n(result.positions, 4, columns.positions + 4 * row);
            std::copy_n(result.counts, 6, columns.counts + 6 * row);
            columns.n_runs[row] = result.n_runs;
            columns.first_runs[row] = first_run + result.first_run;
        }
        const int64_t first = n_runs * begin / n_pairs, last = n_runs * end / n_pairs;
        std::copy(found + first, found + last, runs + first);
    });
}

void collect_scores(const uint8_t* block, const DeviceBatch& batch, const int64_t* order, int64_t* scores) {
    const auto* results = part<DeviceResult>(block, batch.results);
    for (int64_t i = batch.begin; i < batch.end; ++i) scores[order[i]] = results[i - batch.begin].score;
}

void gather_paths(const std::vector<RunPiece>& pieces, const int64_t* first_runs, const int64_t* offsets,
                  int64_t n_pairs, uint32_t* operations, int64_t n_operations, int threads) {
    std::vector<int64_t> starts = {0};
    for (const RunPiece& piece : pieces) starts.push_back(starts.back() + piece.n);
    in_ranges(n_pairs, 4 * offsets[n_pairs], threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            if (offsets[i] < 0 || offsets[i] > offsets[i + 1] || offsets[i + 1] > n_operations)
                throw std::out_of_range("a path lies outside the operations");
            const int64_t first = first_runs[i], n = offsets[i + 1] - offsets[i];
            if (n == 0) continue;
            const auto piece = size_t(std::upper_bound(starts.begin(), starts.end(), first) - starts.begin());
            if (first < 0 || piece == starts.size() || first + n > starts[piece])
                throw std::out_of_range("a path lies outside its batch");
            std::copy_n(pieces[piece - 1].runs + (first - starts[piece - 1]), n, operations + offsets[i]);
        }
    });
}

}  // namespace exaln
