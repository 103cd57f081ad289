"""What the tests of pairs share: modes, arrays for the core, which width a pair runs in, the answer by definition."""

from itertools import combinations, pairwise

import numpy as np

import oracle
from exaln import _core
from exaln.engines.reference.path import reference_alignment
from exaln.scoring.modes import ENDS, GLOBAL, LOCAL, Mode
from exaln.scoring.scoring import Scoring
from kernel_cases import Costs, join

ALL_MODES = [
    LOCAL,
    GLOBAL,
    *(Mode.parse(f"free:{','.join(ends)}") for n in (1, 2, 3, 4) for ends in combinations(ENDS, n)),
]
COLUMNS_OF_PADDING = 8


def flags(mode):
    """A mode as the core takes it."""
    return mode.is_local, mode.query_start, mode.query_end, mode.target_start, mode.target_end


def oracle_score(query, target, costs, mode):
    gaps = costs.gap_open, costs.gap_extend
    if mode.is_local:
        return oracle.smith_waterman(query.tolist(), target.tolist(), costs.matrix.tolist(), *gaps)
    free = [end for end, attribute in ENDS.items() if getattr(mode, attribute)]
    return oracle.aligned_score(query.tolist(), target.tolist(), costs.matrix.tolist(), *gaps, free=free)


def by_definition(query, target, costs, mode):
    """(score, positions, counts, operations) of the reference engine."""
    found = reference_alignment(query, target, costs, mode)
    return found.score, list(found.positions), list(found.counts), found.operations


def score_pairs(queries, targets, pairs, costs, mode, isa="", threads=1):
    """int64[n] by the core; pairs is a list of (query, target), and `isa`, if given, the only one used."""
    return _core.score_pairs(*_arguments(queries, targets, pairs, costs, mode, isa, threads))


def align_pairs(queries, targets, pairs, costs, mode, isa="", threads=1, max_bytes=1 << 26):
    """[(score, positions, counts, operations)] by the core, which may keep so many bytes of directions."""
    arguments = _arguments(queries, targets, pairs, costs, mode, isa, threads)
    scores, positions, counts, operations, offsets = _core.align_pairs(*arguments, max_bytes)
    return [
        (score, positions[4 * i : 4 * i + 4].tolist(), counts[6 * i : 6 * i + 6].tolist(), operations[a:b].tolist())
        for i, (score, (a, b)) in enumerate(zip(scores.tolist(), pairwise(offsets.tolist()), strict=True))
    ]


def _arguments(queries, targets, pairs, costs, mode, isa, threads):
    pair_queries, pair_targets = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    chosen = (costs.matrix, costs.gap_first, costs.gap_extend)
    return join(queries), join(targets), (pair_queries, pair_targets), chosen, flags(mode), threads, isa, bool(isa)


def table_fits(costs, bits, rows, columns):
    """Whether all values of a table without a floor fit lanes of this width (Range in native/recurrence/ranges.hpp)."""
    max_score, min_score = max(0, int(costs.matrix.max())), min(-1, int(costs.matrix.min()))
    depth = max(costs.gap_first + costs.gap_extend, -min_score)
    lowest = 2 * costs.gap_first + (rows + columns + COLUMNS_OF_PADDING) * costs.gap_extend + depth
    return lowest + min(rows, columns + COLUMNS_OF_PADDING) * max_score <= 2**bits - 1 and lowest < 2 ** (bits - 1)


DNA_COSTS = Costs(np.where(np.eye(4, dtype=bool), 2, -3), 5, 2)
MATRICES = {
    "equal letters": DNA_COSTS,
    "DNA": Costs.of(Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)),
    "BLOSUM62": Costs.of(Scoring("BLOSUM62", gap_open=11, gap_extend=1)),
    "31 letters": Costs(np.random.default_rng(1).integers(-9, 9, (31, 31)), 4, 1),
    "all scores above 0": Costs(np.array([[5, 1], [1, 5]]), 3, 1),
    "linear gaps": Costs(np.where(np.eye(3, dtype=bool), 1, -1), 0, 1),
    "free gaps": Costs(np.where(np.eye(3, dtype=bool), 1, -1), 0, 0),
    "only opening": Costs(np.where(np.eye(3, dtype=bool), 4, -2), 7, 0),
    "nothing matches": Costs(np.full((4, 4), -2), 2, 1),
}
