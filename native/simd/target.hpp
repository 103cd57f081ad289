// The table of kernels of one instruction set. Included last by each target_<isa>.cpp, which is compiled with
// that instruction set's flags: so everything in it, and in the headers it includes, has internal linkage,
// and nothing from the standard library is instantiated that another file could share.
#pragma once

#include "long/strip_kernel.hpp"
#include "pairs/kernel.hpp"
#include "scan/group_kernel.hpp"
#include "scan/striped_kernel.hpp"

namespace {

// Lanes of 8 bits are too narrow for strips.
template <class V>
constexpr auto strip_runner() -> void (*)(const exaln::StripArgs&) {
    if constexpr (sizeof(typename V::Lane) > 1) {
        return run_strip<V>;
    } else {
        return nullptr;
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
            pair_ends<V>,
            walk_back<V>,
            strip_workspace<V>,
            strip_directions<V>,
            strip_runner<V>(),
            walk_strip<V>,
            bare_loop<V>};
}

}  // namespace
