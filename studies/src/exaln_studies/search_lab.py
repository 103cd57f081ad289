"""Queries, targets, timing and rates, as the search studies (Hains et al., Munekawa et al.) use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.bench.cpu import synthetic_proteins
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import Records, Text, offsets_of
from exaln_studies.pairs import SEED
from exaln_studies.searches import GpuSearch, Shape, TargetList, sorted_targets
from exaln_studies.study import Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine

Launch = Callable[[], object]

THRESHOLD = 3072
"""The papers score longer targets with one block each."""

QUERIES, QUICK_QUERIES = (144, 1000, 2005, 3005, 4061, 5478), (144, 1000)
QUICK_TARGETS = 20_000
LONGEST = 35_000
"""About the longest protein of Swiss-Prot; the boundary rows of a group of these take most of a device's memory."""

POOL = 1 << 24
"""Number of random letters; the targets of large synthetic databases are cut from them."""

BEST = Shape(256, 4)


def random_query(length: int) -> NDArray[np.uint8]:
    """Return a random protein."""
    return synthetic_proteins(np.random.default_rng((SEED, length)), np.array([length])).codes


def gcups(query: NDArray[np.uint8], residues: int, seconds: float) -> float:
    """Giga cell updates per second: 1e9 cells per second."""
    return len(query) * residues / seconds / 1e9


def timed(bench: Bench, search: GpuSearch, what: str, launches: Sequence[Launch], expected: NDArray[np.int32]) -> float:
    """Seconds of the launches, whose scores are compared with the expected ones."""
    search.invalidate()
    seconds = search.lab.fastest(lambda: [launch() for launch in launches])
    bench.check(what, search.scores(), expected)
    return seconds


def cut_from(letters: NDArray[np.uint8], lengths: NDArray[np.int64]) -> Records:
    """Targets of these lengths, cut one after another from the letters, which are repeated as needed."""
    n = len(lengths)
    return Records(
        alphabet=PROTEIN,
        ids=Text.numbered("seq", n),
        descriptions=Text(np.empty(0, np.uint8), np.zeros(n + 1, np.int64)),
        codes=np.resize(letters, int(lengths.sum())),
        offsets=offsets_of(lengths),
        mask=np.empty((0, 2), np.int64),
        mask_offsets=np.zeros(n + 1, np.int64),
    )


def every(targets: TargetList, step: int) -> TargetList:
    """Every step-th target."""
    rows = range(0, len(targets), step)
    return sorted_targets(Records.of(targets.records.alphabet, [targets.records.sequence(row) for row in rows]))


def long_lengths(random: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Random lengths of n targets over the threshold."""
    return np.minimum(THRESHOLD + 1 + random.exponential(1500, n), LONGEST).astype(np.int64)


def cuda_engine() -> Engine:
    """exaln's own engine, whose scores all others are compared with."""
    from exaln.engines.cuda.engine import CudaEngine

    return CudaEngine(memory=8 << 30)
