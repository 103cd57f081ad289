"""Timed and checked scans of a synthetic Swiss-Prot: every standard query on its own, then all as one batch.

The timed part is what a search asks of an engine: a scan with the cutoff of E-value 10, for nucleotides on both
strands. Its candidates must be those that all scores of the engine give, and the scores of a sample of targets must be
those of the cpu engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.engines.contracts import score_matrix
from exaln.engines.tasks import QueryRows, ScanTask
from exaln.errors import EngineError
from exaln.scoring.scoring import Scoring
from exaln.sequences.records import Records
from exaln.sequences.strands import reverse_complement
from exaln.statistics.evalues import Statistics
from exaln.statistics.length_bins import length_bin

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_REPEATS = 2
EVALUE = 10.0
N_SAMPLED = 256
"""Targets whose scores are compared with those of the cpu engine, the longest among them."""

SAMPLE_SEED = 3


@dataclass(frozen=True)
class FoundTargets:
    """Candidates of a scan: query int32[n]; ordinal and length of the target, int64[n] each; score int32[n]."""

    query: NDArray[np.int32]
    ordinal: NDArray[np.int64]
    length: NDArray[np.int64]
    score: NDArray[np.int32]


@dataclass(frozen=True)
class Scan:
    """One scan of all targets: seconds of its parts, bytes sent to the GPUs, cells with padding, and candidates.

    scan: the time in which a GPU computed scores, the mean over GPUs; total: the time of the whole call.
    """

    compile: float
    upload: float
    pack: float
    scan: float
    collect: float
    total: float
    bytes_sent: int
    raw_cells: int
    candidates: FoundTargets


class Scanner(Protocol):
    """An engine that holds the database; tests replace it."""

    def scan(self, queries: Records, cutoff: NDArray[np.int32]) -> Scan:
        """Scan all targets once."""
        ...

    def scores(self, queries: Records) -> NDArray[np.int32]:
        """int32[n_queries, n_targets]: all scores, in the order of the targets."""
        ...


@dataclass(frozen=True)
class Measurement:
    """One row of the result: a query, the sum of all queries, or the batch. TCUPS are 1e12 cells per second.

    Compile, upload, pack and first seconds are those of the first scan; scan, collect and total seconds those of the
    fastest. Useful cells are query residues times target residues; raw cells include padding. total_tcups: useful cells
    per second of the whole call. of_bound: useful TCUPS as a share of the bound. sent: bytes sent per scan, as a
    multiple of the database.
    """

    query: str
    n_queries: int
    query_residues: int
    repeats: int
    compile_seconds: float
    upload_seconds: float
    pack_seconds: float
    first_seconds: float
    scan_seconds: float
    collect_seconds: float
    total_seconds: float
    useful_tcups: float
    raw_tcups: float
    total_tcups: float
    of_bound: float
    bytes_sent: int
    sent: float
    n_candidates: int
    score_sum: int


@dataclass(frozen=True)
class Checks:
    """Numbers of checked scores and candidates. Without a cpu engine none are sampled, and `unchecked` says why."""

    scores: int
    candidates: int
    sampled_targets: int
    sampled_scores: int
    unchecked: str | None


class Bench:
    """The standard queries over a database, on one scanner."""

    def __init__(self, scanner: Scanner, queries: Records, targets: Records, bound_tcups: float) -> None:
        self.scanner, self.targets, self.bound_tcups = scanner, targets, bound_tcups
        self.names = queries.ids.to_list()
        self.queries = both_strands(queries) if queries.alphabet.is_nucleotide else queries
        self.scoring = Scoring.default(queries.alphabet)
        self.minimum = _minimum_scores(self.scoring, self.queries, targets)
        self.scores = np.empty((0, 0), np.int32)
        self._n_candidates = 0
        self._n_passing = np.zeros(len(self.queries), np.int64)

    def run(self, seconds: float, threads: int | None = None) -> tuple[list[Measurement], Checks]:
        """Measure each query and the batch for about `seconds` each. Raises EngineError if a score is wrong."""
        measured = list(self.rows(seconds))
        return measured, self.check(threads)

    def rows(self, seconds: float) -> Iterator[Measurement]:
        """Yield a row for each query, for their sum and for the batch.

        Timing comes first, so that the first timed scan uploads the database.
        """
        n, strands = len(self.queries), len(self.queries) // len(self.names)
        ranges = [(row, row + strands) for row in range(0, n, strands)]
        timed = [self._timed(first, end, seconds) for first, end in [*ranges, (0, n)]]
        self.scores = self.scanner.scores(self.queries)
        for (first, end), scans in zip([*ranges, (0, n)], timed, strict=True):
            for scan in scans:
                self._require_candidates(scan.candidates, first, end)
        for name, (first, end), scans in zip(self.names, ranges, timed, strict=False):
            yield self._measurement(name, first, end, [scans])
        yield self._measurement("one by one", 0, n, timed[:-1])
        yield self._measurement("batch", 0, n, timed[-1:])

    def check(self, threads: int | None) -> Checks:
        """Compare the scores of a sample of targets with the cpu engine. Raises EngineError if one differs."""
        sample, reason = self._sample(), _cpu_unavailable()
        if reason is None:
            self._require_cpu_scores(sample, threads)
        n = 0 if reason else len(sample)
        return Checks(self.scores.size, self._n_candidates, n, n * len(self.queries), reason)

    def _timed(self, first: int, end: int, seconds: float) -> list[Scan]:
        """As many scans as fit `seconds`, at least two. The first one is cold."""
        queries, cutoff = self.queries.rows(first, end), self.minimum[first:end]
        scans: list[Scan] = []
        while len(scans) < MIN_REPEATS or sum(scan.total for scan in scans) < seconds:
            scans.append(self.scanner.scan(queries, cutoff))
        return scans

    def _measurement(self, name: str, first: int, end: int, series: Sequence[Sequence[Scan]]) -> Measurement:
        """The row of queries [first, end). series: one list of scans for all of them, or one for each."""
        cold = _sum([scans[0] for scans in series])
        fastest = _sum([min(scans[1:], key=lambda scan: scan.scan) for scans in series])
        residues = int(self.queries.lengths[first:end].sum())
        cells = residues * self.targets.n_residues
        useful = cells / fastest.scan / 1e12
        return Measurement(
            query=name,
            n_queries=end - first,
            query_residues=residues,
            repeats=min(len(scans) - 1 for scans in series),
            compile_seconds=cold.compile,
            upload_seconds=cold.upload,
            pack_seconds=cold.pack,
            first_seconds=cold.total,
            scan_seconds=fastest.scan,
            collect_seconds=fastest.collect,
            total_seconds=fastest.total,
            useful_tcups=useful,
            raw_tcups=fastest.raw_cells / fastest.scan / 1e12,
            total_tcups=cells / fastest.total / 1e12,
            of_bound=useful / self.bound_tcups,
            bytes_sent=fastest.bytes_sent,
            sent=fastest.bytes_sent / self.targets.n_residues / len(series),
            n_candidates=int(self._n_passing[first:end].sum()),
            score_sum=int(self.scores[first:end].sum(dtype=np.int64)),
        )

    def _passing(self, found: FoundTargets, first: int) -> FoundTargets:
        """The candidates that reach the cutoff; an engine may return more."""
        passes = found.score >= self.minimum[first + found.query, length_bin(found.length)]
        return FoundTargets(found.query[passes], found.ordinal[passes], found.length[passes], found.score[passes])

    def _require_candidates(self, found: FoundTargets, first: int, end: int) -> None:
        """Raise EngineError unless the candidates of a scan are the pairs whose scores reach the cutoff."""
        passing = self._passing(found, first)
        scores = self.scores[first:end]
        query, ordinal = np.nonzero(scores >= self.minimum[first:end][:, length_bin(self.targets.lengths)])
        order = np.lexsort((passing.ordinal, passing.query))
        same = (
            np.array_equal(passing.query[order], query)
            and np.array_equal(passing.ordinal[order], ordinal)
            and np.array_equal(passing.score[order], scores[query, ordinal])
        )
        if not same:
            raise EngineError(f"queries {first} to {end - 1}: the candidates of the scan are not those of all scores")
        self._n_candidates += len(query)
        self._n_passing[first:end] = np.bincount(query, minlength=end - first)

    def _sample(self) -> NDArray[np.int64]:
        """int64[n]: ordinals of the longest target and of random others."""
        n = len(self.targets)
        drawn = np.random.default_rng(SAMPLE_SEED).choice(n, min(n, N_SAMPLED - 1), replace=False)
        return np.union1d(drawn, [np.argmax(self.targets.lengths)])

    def _require_cpu_scores(self, sample: NDArray[np.int64], threads: int | None) -> None:
        from exaln.database.database import Database
        from exaln.engines.cpu.engine import CpuEngine

        engine = CpuEngine(threads)
        chosen = Records.of(self.targets.alphabet, [self.targets.sequence(row) for row in sample.tolist()])
        resident = engine.open(Database.in_memory([chosen]))
        expected = score_matrix(engine, ScanTask(QueryRows.of_sequences(self.queries, self.scoring), resident))
        n_wrong = int((expected != self.scores[:, sample]).sum())
        if n_wrong:
            raise EngineError(f"{n_wrong:,} of {expected.size:,} scores are not those of the cpu engine")


def both_strands(queries: Records) -> Records:
    """Each query followed by its reverse complement."""
    rows = range(len(queries))
    pairs = [(queries.sequence(row), reverse_complement(queries.sequence(row), queries.alphabet)) for row in rows]
    return Records.of(queries.alphabet, [strand for pair in pairs for strand in pair])


def _sum(scans: Sequence[Scan]) -> Scan:
    """The sum of several scans; `candidates` are those of the first."""
    return Scan(
        compile=sum(scan.compile for scan in scans),
        upload=sum(scan.upload for scan in scans),
        pack=sum(scan.pack for scan in scans),
        scan=sum(scan.scan for scan in scans),
        collect=sum(scan.collect for scan in scans),
        total=sum(scan.total for scan in scans),
        bytes_sent=sum(scan.bytes_sent for scan in scans),
        raw_cells=sum(scan.raw_cells for scan in scans),
        candidates=scans[0].candidates,
    )


def _minimum_scores(scoring: Scoring, queries: Records, targets: Records) -> NDArray[np.int32]:
    """int32[n_queries, N_BINS]: the score cutoff of a search with the default E-value."""
    statistics = Statistics.of(scoring, db_residues=targets.n_residues, db_targets=len(targets))
    assert statistics is not None
    return np.array([np.maximum(statistics.minimum_scores(n, EVALUE), 1) for n in queries.lengths.tolist()], np.int32)


def _cpu_unavailable() -> str | None:
    from exaln.engines.cpu.engine import CpuEngine

    return CpuEngine.unavailable_reason()
