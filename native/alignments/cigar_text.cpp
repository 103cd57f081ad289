// CIGAR text of many paths at once; see cigar_text.hpp.
#include "alignments/cigar_text.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "threads/tasks.hpp"

namespace exaln {
namespace {

constexpr char LETTERS[] = "MIDNSHP=X";
constexpr uint32_t N_OPERATIONS = sizeof(LETTERS) - 1, MATCH = 0, EQUAL = 7, DIFFERENT = 8;
constexpr int64_t TASK_RUNS = int64_t(1) << 16;  // about a tenth of a millisecond

// Calls `run(length, code)` for the runs of a path as they are printed.
template <class Run>
void for_each_run(const PathColumn& paths, int64_t row, bool extended, Run run) {
    uint64_t joined = 0;           // length of the runs that are printed as one
    uint32_t kind = N_OPERATIONS;  // their code; none at first
    for (int64_t i = paths.offsets[row]; i < paths.offsets[row + 1]; ++i) {
        const uint32_t code = paths.operations[i] & 15, length = paths.operations[i] >> 4;
        if (code >= N_OPERATIONS)
            throw std::invalid_argument("a path has an operation that SAM does not have");
        const uint32_t own = !extended && (code == EQUAL || code == DIFFERENT) ? MATCH : code;
        if (!extended && own == kind) {
            joined += length;
            continue;
        }
        if (kind < N_OPERATIONS) run(joined, kind);
        kind = own, joined = length;
    }
    if (kind < N_OPERATIONS) run(joined, kind);
}

int n_digits(uint64_t number) {
    if (number < 100) return 1 + (number >= 10);  // most runs; without a branch
    int n = 3;
    for (number /= 1000; number > 0; number /= 10) ++n;
    return n;
}

// Writes a run and returns the place behind it.
char* write_run(char* place, uint64_t length, uint32_t code) {
    const int n = n_digits(length);
    for (int digit = n - 1; digit >= 0; --digit, length /= 10) place[digit] = char('0' + length % 10);
    place[n] = LETTERS[code];
    return place + n + 1;
}

// Calls `work(row)` for all rows, some rows at a time.
template <class Work>
void for_each_row(const PathColumn& paths, int threads, Work work) {
    const int64_t n_runs = paths.offsets[paths.n] - paths.offsets[0];
    const int64_t n_tasks = std::max<int64_t>(1, std::min(paths.n, n_runs / TASK_RUNS));
    run_tasks(
        size_t(n_tasks), threads, [] { return std::make_unique<int>(0); },
        [&](int&, size_t task) {
            const int64_t end = paths.n * (int64_t(task) + 1) / n_tasks;
            for (int64_t row = paths.n * int64_t(task) / n_tasks; row < end; ++row) work(row);
        },
        [](int&) {});
}

}  // namespace

void measure_cigars(const PathColumn& paths, bool extended, int64_t* text_offsets, int threads) {
    text_offsets[0] = 0;
    for_each_row(paths, threads, [&](int64_t row) {
        int64_t n_bytes = 0;
        for_each_run(paths, row, extended,
                     [&](uint64_t length, uint32_t) { n_bytes += n_digits(length) + 1; });
        text_offsets[row + 1] = n_bytes;
    });
    for (int64_t row = 0; row < paths.n; ++row) text_offsets[row + 1] += text_offsets[row];
}

void write_cigars(const PathColumn& paths, bool extended, const int64_t* text_offsets, char* text,
                  int threads) {
    for_each_row(paths, threads, [&](int64_t row) {
        char* place = text + text_offsets[row];
        for_each_run(paths, row, extended,
                     [&](uint64_t length, uint32_t code) { place = write_run(place, length, code); });
    });
}

}  // namespace exaln
