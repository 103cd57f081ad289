// The table of kernels of one instruction set, instantiated from the kernels of all rooms.
//
// Each target_<isa>.cpp includes it last and is compiled with the flags of that instruction set. So
// everything here and in the headers it includes has internal linkage, and no template of the standard
// library is instantiated: the linker could share such code with CPUs that cannot run it. `make test-native`
// checks it.
#pragma once

#include "long/strip_kernel.hpp"
#include "pairs/column_kernel.hpp"
#include "pairs/kernel.hpp"
#include "pairs/tile_kernel.hpp"
#include "scan/group_kernel.hpp"
#include "scan/striped_kernel.hpp"
#include "sequences/letter_kernel.hpp"
#include "simd/kernels.hpp"

namespace {

// Null at 8 bits, which are too narrow for strips.
template <class V>
constexpr auto strip_runner() -> void (*)(const exaln::StripArgs&) {
    if constexpr (sizeof(typename V::Lane) > 1) {
        return run_strip<V>;
    } else {
        return nullptr;
    }
}

// Null except at 8 bits, and without vector lookups, where a table in memory is faster.
template <class V>
constexpr exaln::LetterKernels letter_kernels() {
    if constexpr (sizeof(typename V::Lane) == 1 && V::has_pick_bytes) {
        return {encode_letters<V>, count_bases<V>};
    } else {
        return {nullptr, nullptr};
    }
}

template <class V>
constexpr exaln::WidthKernels width_kernels() {
    return {8 * int(sizeof(typename V::Lane)),
            V::lanes,
            V::columns,
            V::has_byte_tables,
            sizeof(typename V::ScoreRow) * exaln::MAX_CODES,
            make_score_rows<V>,
            GroupWorkspace<V>::bytes,
            score_group<V>,
            StripedWorkspace<V>::bytes,
            score_striped<V>,
            PairWorkspace<V>::bytes,
            pair_border<V>,
            pair_directions<V>,
            run_pairs<V>,
            search_last_row<V>,
            search_last_column<V>,
            trace_pair<V>,
            ColumnWorkspace<V>::padded,
            ColumnWorkspace<V>::bytes,
            column_directions<V>,
            run_columns<V>,
            trace_columns<V>,
            make_tile_scores<V>,
            fill_tile<V>,
            strip_workspace<V>,
            strip_directions<V>,
            strip_runner<V>(),
            trace_strip<V>,
            bare_loop<V>,
            letter_kernels<V>()};
}

}  // namespace
