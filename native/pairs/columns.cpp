// Copies alignments into columns, some thousands per task.
#include "pairs/columns.hpp"

#include <algorithm>
#include <memory>

#include "threads/tasks.hpp"

namespace exaln {
namespace {

constexpr size_t PER_TASK = 2048;

template <class T>
T* room(Buffer<T>& buffer, size_t n) {
    T* const begin = buffer.space(n);
    buffer.advance(n);
    return begin;
}

struct Nothing {};

}  // namespace

AlignmentColumns to_columns(std::vector<Alignment>&& alignments, int threads) {
    AlignmentColumns columns;
    const size_t n = alignments.size();
    int64_t* const offsets = room(columns.offsets, n + 1);
    offsets[0] = 0;
    for (size_t i = 0; i < n; ++i) offsets[i + 1] = offsets[i] + int64_t(alignments[i].operations.size());
    int64_t* const positions = room(columns.positions, N_POSITIONS * n);
    int32_t* const counts = room(columns.counts, N_COUNTS * n);
    uint32_t* const operations = room(columns.operations, size_t(offsets[n]));
    const auto copy = [&](size_t i) {
        Alignment& a = alignments[i];
        const int64_t own_positions[N_POSITIONS] = {a.query_start, a.query_end, a.target_start, a.target_end};
        const int32_t own_counts[N_COUNTS] = {a.identities, a.positives, a.mismatches,
                                              a.gap_opens,  a.gaps,      a.columns};
        std::copy_n(own_positions, N_POSITIONS, positions + N_POSITIONS * i);
        std::copy_n(own_counts, N_COUNTS, counts + N_COUNTS * i);
        std::copy(a.operations.begin(), a.operations.end(), operations + offsets[i]);
        std::vector<uint32_t>().swap(a.operations);
    };
    run_tasks((n + PER_TASK - 1) / PER_TASK, threads, [] { return std::make_unique<Nothing>(); },
              [&](Nothing&, size_t task) {
                  for (size_t i = task * PER_TASK; i < std::min(n, (task + 1) * PER_TASK); ++i) copy(i);
              },
              [](Nothing&) {});
    return columns;
}

}  // namespace exaln
