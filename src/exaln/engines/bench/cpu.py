"""Speed of the cpu engine on synthetic proteins from a fixed seed, compared with the bound of the machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUERY_LENGTHS = (144, 567, 1000, 2005, 5478)
FREQUENCIES = "7.8 5.1 4.5 5.4 1.9 4.3 6.3 7.4 2.2 5.1 9.0 5.7 2.2 3.9 5.2 7.1 5.8 1.3 3.2 6.4"
"""Percent of A R N D C Q E G H I L K M F P S T W Y V in proteins (Robinson and Robinson, PNAS 1991), rounded."""

LOG_LENGTH, LOG_LENGTH_SPREAD = 5.65, 0.7
"""Lengths are log-normal with median 284 and mean 363, as in Swiss-Prot, clipped to 30 and 5,000."""

MIN_TARGETS, MAX_TARGETS = 512, 20_000
BARE_LOOP_SECONDS = 0.2
MIN_REPEATS = 2
SEED = 1
STEPS = 1 << 14
"""Size of the table from which letters are drawn; it holds each letter in proportion to its frequency."""


@dataclass(frozen=True)
class Measurement:
    """One row of the result. bound_gcups: the cell update alone, in registers, on as many threads."""

    query_length: int
    threads: int
    n_targets: int
    gcups: float
    bound_gcups: float


def measure(threads: int, seconds: float) -> tuple[str, list[Measurement]]:
    """The instruction set, and GCUPS for each query length, on one thread and on `threads`.

    Each measurement takes about `seconds`; the number of targets is chosen accordingly.
    """
    from exaln import _core
    from exaln.engines.cpu.instruction_sets import choose_isa

    isa = choose_isa().name
    bound = _core.bare_loop(isa, 8, min(BARE_LOOP_SECONDS, seconds))
    random = np.random.default_rng(SEED)
    lengths = np.clip(random.lognormal(LOG_LENGTH, LOG_LENGTH_SPREAD, MAX_TARGETS), 30, 5000).astype(np.int64)
    targets = synthetic_proteins(random, lengths)
    results = []
    for n_threads, query_length in product(sorted({1, threads}), QUERY_LENGTHS):
        query = synthetic_proteins(random, np.array([query_length]))
        cells = bound * n_threads * 1e9 * seconds / MIN_REPEATS
        n_targets = int(np.clip(cells / query_length / lengths.mean(), MIN_TARGETS, MAX_TARGETS))
        gcups = _best_rate(query, targets.rows(0, n_targets), n_threads, seconds)
        results.append(Measurement(query_length, n_threads, n_targets, gcups, bound * n_threads))
    return isa, results


def _best_rate(query: Records, targets: Records, threads: int, seconds: float) -> float:
    """GCUPS of the fastest of the runs that fit `seconds`: other programs can only slow a run down."""
    from exaln.database.database import Database
    from exaln.engines.contracts import score_matrix
    from exaln.engines.cpu.engine import CpuEngine
    from exaln.engines.tasks import QueryRows, ScanTask

    engine, scoring = CpuEngine(threads), Scoring()
    resident = engine.open(Database.in_memory([targets]))
    task = ScanTask(QueryRows.of_sequences(query, scoring), resident)
    elapsed: list[float] = []
    while len(elapsed) < MIN_REPEATS or sum(elapsed) < seconds:
        started = time.perf_counter()
        score_matrix(engine, task)
        elapsed.append(time.perf_counter() - started)
    return query.n_residues * targets.n_residues / min(elapsed) / 1e9


def synthetic_proteins(random: np.random.Generator, lengths: NDArray[np.int64]) -> Records:
    """Random proteins of these lengths with the composition of real proteins."""
    weights = np.array([float(percent) for percent in FREQUENCIES.split()])
    letters = np.searchsorted(np.cumsum(weights / weights.sum()), (np.arange(STEPS) + 0.5) / STEPS).astype(np.uint8)
    codes = letters[random.integers(0, STEPS, int(lengths.sum()), np.uint16)]
    return Records.of(PROTEIN, np.split(codes, np.cumsum(lengths)[:-1]))
