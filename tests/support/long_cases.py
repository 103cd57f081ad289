"""What the tests of long pairs share: pairs that need several slabs and blocks, and the answer by definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exaln.engines.contracts import Engine
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.reference.path import reference_alignment
from exaln.pairwise.long import store
from exaln.pairwise.long.driver import align_with
from exaln.pairwise.long.plan import Plan
from exaln.pairwise.long.result import LongAlignment
from exaln.pairwise.long.traceback import LongPair
from exaln.scoring.modes import Mode
from exaln.scoring.scoring import Scoring

SMALL_PLAN = Plan(np.dtype(np.int32), slab_rows=15, spacings=(13, 5))
COSTS = Scoring(match=2, mismatch=-3, gap_open=3, gap_extend=1)


def mutated_pair(length: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of DNA: the second is the first with substitutions, a piece that is gone and one that is new."""
    random = np.random.default_rng(seed)
    query = random.integers(0, 4, length).astype(np.uint8)
    target = np.where(random.random(length) < 0.1, random.integers(0, 4, length), query).astype(np.uint8)
    cut = length // 3
    new = random.integers(0, 4, 5).astype(np.uint8)
    return query, np.concatenate([new, target[:cut], target[cut + 4 : 2 * cut], new, target[2 * cut :]])


def long_pair(mode: Mode, engine: Engine | None = None) -> LongPair:
    """A pair of some slabs and blocks."""
    return LongPair(*mutated_pair(40, seed=5), COSTS, mode, engine or CpuEngine(1))


def by_definition(pair: LongPair) -> LongAlignment:
    """The alignment of the reference engine."""
    found = reference_alignment(pair.query, pair.target, pair.scoring, pair.mode)
    return LongAlignment(found.score, found.positions, found.counts, np.array(found.operations, np.uint32))


def same(found: LongAlignment, expected: LongAlignment) -> bool:
    """Whether two alignments are equal."""
    numbers = [(one.score, one.positions, one.counts, one.operations.tolist()) for one in (found, expected)]
    return numbers[0] == numbers[1]


def align_in(directory: Path, pair: LongPair, plan: Plan = SMALL_PLAN) -> LongAlignment:
    """The alignment, with everything that is kept in this directory; the path is saved after every block."""
    store.SECONDS_BETWEEN_SAVES = 0.0
    opened = store.DirectoryStore(directory, plan, len(pair.query), len(pair.target))
    try:
        return align_with(pair, opened)
    finally:
        opened.close()
