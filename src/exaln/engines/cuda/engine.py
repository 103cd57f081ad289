"""NVIDIA GPUs: kernels compiled for the device at hand, databases resident on it or streamed through it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import Paths
from exaln.engines.contracts import (
    NEVER_LONG,
    PIECE_SCORES,
    Candidates,
    Engine,
    Histogram,
    Keep,
    PairList,
    Pairs,
    Placement,
    Progress,
    ScoreBlock,
    Targets,
    Traces,
    require_same_alphabet,
)
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.device_pool import DevicePool
from exaln.engines.cuda.long import regions
from exaln.engines.cuda.long.device_checkpoints import WantedLines
from exaln.engines.cuda.pairs.batches import COUNTS, POSITIONS, PairBatches, PairResults
from exaln.engines.cuda.runtime import probe
from exaln.engines.cuda.runtime.device import MIN_MEMORY
from exaln.engines.cuda.scan.job import Job
from exaln.engines.cuda.scan.results import BatchResult, CandidateRows, ScanOptions, ScanTimes
from exaln.errors import EngineError, InputError, OutOfMemoryError
from exaln.foundation.plurals import number_of
from exaln.foundation.resources import usable_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.regions import Borders, EndCell, Lines, PairTable, Pruning, ReadableLines, Region
    from exaln.pairwise.long.traceback import Walker
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring
    from exaln.sequences.records import Records

SLAB_CELLS = 35 * 10**12
"""Of a slab of one pair's table, on each device: about ten seconds of work."""

TWICE_CELLS = (10**11, 10**13)
"""Of so many cells each half of the columns gets an opening of the device of its own, which is sooner full of strips, and
done. Larger regions fill it anyway."""

CHAIN_CELLS = 1 << 42
"""Of a long pair's table, for each device, about a second: with fewer, a score to prune with is not looked for before."""

BLOCK_SHARE = 8
"""Lines of a block on a path stay on a device, and take one part in so many of its memory: the more there are, the fewer
levels of blocks."""

SMALL_REGION = 1 << 22
"""A region with fewer cells is sooner computed here than sent."""

LEAST_SHARE = 1 << 30
"""Cells of pairs that are worth another device: about a millisecond of its time."""

PROCESS_POOL = DevicePool()
"""The devices of this process. Engines share it unless they are given another."""


@dataclass(frozen=True)
class CudaPlacement(Placement):
    """A database for scans within `budget` bytes of each device, or None for what the engine allows.

    What of it is on a device belongs to the device, and is found there by every engine of the process.
    """

    budget: int | None = None


class CudaEngine(Engine):
    """Scores on NVIDIA GPUs. devices: their numbers, None for all; memory: the most bytes to use on each.

    A number that comes twice opens the GPU twice. threads: for alignments, which the CPU makes. pool: of devices; by
    default that of the process.
    """

    name = "cuda"
    long_pairs = ((1, 1 << 20), (4, 1 << 22), (16, 1 << 25), (64, 1 << 28), (NEVER_LONG, 1 << 30))
    """The fewer pairs there are, the less of a device they would keep busy side by side."""
    block_pairs = sys.maxsize
    is_for_pairs = False
    leaves_cpu_idle = True

    def __init__(
        self,
        devices: Sequence[int] | None = None,
        memory: int | None = None,
        threads: int | None = None,
        *,
        pool: DevicePool | None = None,
    ) -> None:
        self.pool = PROCESS_POOL if pool is None else pool
        threads = None if threads is None else usable_threads(threads)
        if memory is not None and memory < MIN_MEMORY:
            raise OutOfMemoryError(
                f"{memory} bytes of GPU memory are too few; set --gpu-memory to {MIN_MEMORY >> 20}M or more"
            )
        gpus = probe.Driver().gpus()
        self._names = [gpu.name for gpu in gpus]
        self.devices = list(range(len(self._names))) if devices is None else list(devices)
        self.memory, self._threads = memory, threads
        self.times = ScanTimes()
        self._reports: list[str] = []
        self._cpu_engine: CpuEngine | None = None
        if not self.devices:
            raise InputError("no GPU was given; leave the devices out, or name at least one")
        for number in self.devices:
            if not 0 <= number < len(self._names):
                raise EngineError(f"there is no GPU {number}; this machine has 0 to {len(self._names) - 1}")
        held = [gpus[self.devices[0]].memory_bytes, *([] if memory is None else [memory])]
        self.block_bytes = min(held) // BLOCK_SHARE

    @staticmethod
    def unavailable_reason() -> str | None:
        """Why no GPU can be used."""
        return probe.unavailable_reason()

    @staticmethod
    def is_expected() -> bool:
        """Where there is a GPU; that most machines have none is not worth a word."""
        try:
            gpus = probe.Driver().gpus()
        except OSError:
            return False
        except (probe.DriverError, AttributeError):
            return True
        return bool(gpus)

    def describe(self) -> str:
        """For logs."""
        names = Counter(self._names[number] for number in self.devices)
        return ", ".join(["cuda", *(name if n == 1 else f"{n} x {name}" for name, n in names.items())])

    def scan_report(self) -> list[str]:
        """What the last scan did with the database, for --verbose; empty before the first."""
        return self._reports

    def place(self, database: Targets, budget: int | None = None) -> CudaPlacement:
        """Nothing is sent yet: that happens in the first scan, and later ones find what is still on the device."""
        return CudaPlacement(database, budget)

    def scan(
        self,
        queries: Records,
        placement: Placement,
        scoring: Scoring,
        keep: Keep,
        progress: Progress | None = None,
    ) -> Iterator[Candidates]:
        """The candidates, cut on the device; where too many pass the cut, it is made here."""
        options = ScanOptions(keep.minimum, keep.score_bins, progress is not None)
        with closing(self._results(queries, placement, scoring, options, progress)) as results:
            for result in results:
                if isinstance(result.result, CandidateRows):
                    yield from _candidates(result, result.result)
                else:
                    for piece in _block(result).pieces(PIECE_SCORES):
                        yield piece.cut(keep)

    def blocks(
        self, queries: Records, placement: Placement, scoring: Scoring, progress: Progress | None = None
    ) -> Iterator[ScoreBlock]:
        """All scores, some queries against the rows of a batch at a time."""
        options = ScanOptions(progress=progress is not None)
        with closing(self._results(queries, placement, scoring, options, progress)) as results:
            for result in results:
                yield _block(result)

    def align(self, queries: Records, targets: Records, pairs: Pairs, scoring: Scoring) -> Traces:
        """Paths are made by the CPU."""
        return self._cpu().align(queries, targets, pairs, scoring)

    def align_pairs(
        self, queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode
    ) -> tuple[NDArray[np.int64], Traces]:
        """On the devices; what is too large for 16 bits, or for the directions of all cells, on the CPU."""
        on_device, found = self._pairs_on_devices(queries, targets, pairs, scoring, mode, paths=True)
        scores, traces = _as_traces(found)
        if on_device.all():
            return scores, traces
        rest = PairList(pairs.query[~on_device], pairs.target[~on_device])
        others, other_traces = self._cpu().align_pairs(queries, targets, rest, scoring, mode)
        order = np.argsort(np.argsort(~on_device, kind="stable"))  # those of the device, then the others, are at hand
        return np.concatenate([scores, others])[order], Traces.joined([traces, other_traces]).taken(order)

    def score_pairs(
        self, queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode
    ) -> NDArray[np.int64]:
        """The same without paths."""
        on_device, found = self._pairs_on_devices(queries, targets, pairs, scoring, mode, paths=False)
        scores = np.empty(len(pairs), np.int64)
        scores[on_device] = found.result["score"]
        if not on_device.all():
            rest = PairList(pairs.query[~on_device], pairs.target[~on_device])
            scores[~on_device] = self._cpu().score_pairs(queries, targets, rest, scoring, mode)
        return scores

    def fill_region(
        self,
        pair: PairTable,
        region: Region,
        borders: Borders,
        lines: Lines,
        *,
        progress: Progress | None = None,
        wants_end: bool = False,
        pruning: Pruning | None = None,
    ) -> EndCell:
        """On one device, or where there are many columns on all; small ones on the CPU."""
        if region.cells < SMALL_REGION:
            return self._cpu().fill_region(
                pair, region, borders, lines, progress=progress, wants_end=wants_end, pruning=pruning
            )
        openings = self._openings(region)
        memory = None if self.memory is None else self.memory * len(self.devices) // len(openings)
        with self.pool.lend(openings, memory) as workspaces:
            return regions.fill_region(
                workspaces, pair, region, borders, lines, progress=progress, wants_end=wants_end, pruning=pruning
            )

    def hold_lines(
        self,
        pair: PairTable,
        region: Region,
        borders: Borders,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        *,
        progress: Progress | None = None,
        wants_end: bool = False,
        pruning: Pruning | None = None,
    ) -> tuple[ReadableLines, EndCell] | None:
        """On the first device, if it has room; a whole table only if one device, opened once, is as fast as any."""
        is_whole = region.cells == len(pair.query) * len(pair.target)
        if region.cells < SMALL_REGION or (is_whole and len(self._openings(region)) > 1):
            return None
        with self.pool.lend(self.devices[:1], self.memory) as (workspace,):
            return regions.hold_lines(
                workspace,
                pair,
                region,
                borders,
                WantedLines(rows, columns, borders.top_H.dtype),
                progress=progress,
                wants_end=wants_end,
                pruning=pruning,
            )

    def least_score(self, pair: PairTable) -> int:
        """By words that both sequences have, on the CPU: it is done before kernels for it would be loaded. The devices,
        which are needed next, are opened meanwhile.
        """
        if len(pair.query) * len(pair.target) < CHAIN_CELLS * len(self.devices):
            return 0
        with ThreadPoolExecutor(1) as pool:
            opened = pool.submit(self._open)
            score = self._cpu().least_score(pair)
            opened.result()
        return score

    def _open(self) -> None:
        """What is open is found again by whoever uses a device next."""
        with self.pool.lend(self.devices, self.memory):
            pass

    def walker(self, pair: PairTable) -> Walker:
        """On the CPU."""
        return self._cpu().walker(pair)

    def _openings(self, region: Region) -> list[int]:
        """Devices for a region; one that comes twice is opened twice."""
        is_twice = len(self.devices) == 1 and TWICE_CELLS[0] <= region.cells < TWICE_CELLS[1]
        return self.devices * (2 if is_twice else 1)

    def slab_rows(self, n_rows: int, n_columns: int) -> int:
        """Ten seconds of work."""
        return max(1, len(self.devices) * SLAB_CELLS // max(1, n_columns))

    def _pairs_on_devices(
        self, queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode, *, paths: bool
    ) -> tuple[NDArray[np.bool_], PairResults]:
        """Which pairs the devices can do, and what they found for them; each device has a share of equal size."""
        cells = queries.lengths[pairs.query] * targets.lengths[pairs.target]
        shares = _shares(cells, len(self.devices))

        def run(workspace: Workspace, share: slice) -> tuple[NDArray[np.bool_], PairResults]:
            workspace.device.activate()
            (own_queries, query), (own_targets, target) = (
                _used(records, rows[share]) for records, rows in ((queries, pairs.query), (targets, pairs.target))
            )
            batches = PairBatches(workspace, own_queries, own_targets, scoring, mode, paths=paths)
            fits = batches.fits(query, target)
            return fits, batches.align(query[fits], target[fits])

        with self.pool.lend(self.devices[: len(shares)], self.memory) as workspaces:
            if len(shares) == 1:
                return run(workspaces[0], shares[0])
            with ThreadPoolExecutor(len(shares)) as pool:
                found = list(pool.map(run, workspaces, shares))
        results = [result for _, result in found]
        joined = PairResults(
            np.concatenate([result.result for result in results]), Paths.joined([result.paths for result in results])
        )
        return np.concatenate([fits for fits, _ in found]), joined

    def _cpu(self) -> CpuEngine:
        if self._cpu_engine is None:
            reason = CpuEngine.unavailable_reason()
            if reason is not None:
                raise EngineError(f"alignments are made by the cpu engine: {reason}")
            self._cpu_engine = CpuEngine(self._threads)
        return self._cpu_engine

    def _results(
        self,
        queries: Records,
        placement: Placement,
        scoring: Scoring,
        options: ScanOptions,
        progress: Progress | None,
    ) -> Generator[BatchResult, None, None]:
        """What the GPUs find, batch by batch. Close it: its threads must not be ended by the garbage collector."""
        database = placement.database
        require_same_alphabet(queries, database, scoring)
        if not len(queries) or not database.n_targets:
            return
        budgets = [self.memory, placement.budget if isinstance(placement, CudaPlacement) else None]
        memory = min((budget for budget in budgets if budget is not None), default=None)
        with self.pool.lend(self.devices, memory) as workspaces:
            job = Job(workspaces, database, queries, scoring, options, self.pool.cache, self.pool.planner)
            cells = 0
            try:
                with closing(job.results()) as results:
                    for result in results:
                        if isinstance(result, BatchResult):
                            yield result
                        elif progress is not None:
                            cells += result
                            progress(min(cells, job.n_cells))
            finally:
                self.times = job.times
                self._reports = _report(job, database)


def _shares(cells: NDArray[np.int64], n: int) -> list[slice]:
    """Pairs with these cells as up to n ranges of about equal work, none of them too small to be worth a device.

    >>> _shares(np.array([4, 4, 4, 4, 8]) * LEAST_SHARE, 3)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    >>> _shares(np.array([5, 5]), 3), _shares(np.array([], np.int64), 2)
    ([slice(0, 2, None)], [slice(0, 0, None)])
    """
    ends = np.cumsum(cells)
    total = int(ends[-1]) if len(ends) else 0
    n = max(1, min(n, total // LEAST_SHARE))
    edges = [0, *np.searchsorted(ends, [total * k // n for k in range(1, n)], side="right").tolist(), len(cells)]
    return [slice(first, end) for first, end in pairwise(edges)]


def _used(records: Records, rows: NDArray[np.int64]) -> tuple[Records, NDArray[np.int64]]:
    """The part of the records from the first to the last of these rows, and the rows in it: no more is sent."""
    if not len(rows):
        return records.rows(0, 0), rows
    first = int(rows.min())
    return records.rows(first, int(rows.max()) + 1), rows - first


def _as_traces(found: PairResults) -> tuple[NDArray[np.int64], Traces]:
    result = found.result
    positions = np.stack([result[name] for name in POSITIONS], axis=1).astype(np.int64)
    counts = np.stack([result[name] for name in COUNTS], axis=1)
    return result["score"].astype(np.int64), Traces(positions, counts, found.paths)


def _block(result: BatchResult) -> ScoreBlock:
    rows = result.result
    assert not isinstance(rows, CandidateRows)
    return ScoreBlock(result.first_query + rows.first_query, rows.scores, result.ordinals, result.lengths)


def _candidates(result: BatchResult, candidates: CandidateRows) -> Iterator[Candidates]:
    """Candidates of a batch, some at a time; the histogram goes with the first."""
    counts = candidates.histogram
    for begin in range(0, max(1, len(candidates.rows)), PIECE_SCORES):
        query, row, score = candidates.rows[begin : begin + PIECE_SCORES].T
        yield Candidates(
            query=query + result.first_query,
            ordinal=result.ordinals[row],
            length=result.lengths[row],
            score=score.copy(),
            histogram=None if counts is None else Histogram(result.first_query, counts),
        )
        counts = None if counts is None else counts[:0]


def _report(job: Job, database: Targets) -> list[str]:
    times = job.times
    how = "resident" if job.plan.is_resident else "streamed"
    n_batches, n_groups = len(job.plan.division.batches), len(job.groups)
    sent, ratio = f"{times.bytes_sent / 1e6:,.0f} MB", f"{times.bytes_sent / max(1, database.n_residues):.2f}"
    lines = [
        f"database {how} in {n_batches:,} batch{'es' if n_batches > 1 else ''}, "
        f"{number_of(n_groups, 'group')} of queries; sent {sent}, {ratio} x the database",
        f"targets longer than {times.long_length:,} residues have a block of their own: {times.n_long:,}",
        f"kernels: {', '.join(times.kernels)}",
        f"compile {times.compile:.2f} s, upload {times.upload:.2f} s, pack {times.pack:.3f} s, "
        f"scan {times.scan:.3f} s, collect {times.collect:.3f} s",
    ]
    if times.rescored:
        lines.append(f"{number_of(times.rescored, 'pair')} computed again in 32 bits")
    return lines
