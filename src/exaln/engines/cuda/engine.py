"""The cuda engine: NVIDIA GPUs, with databases that stay in their memory or are streamed through it.

Scans, pairs and regions are imported when the first of them comes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, SeveralAligned
from exaln.engines.contracts import Engine, Tuning, exceeds
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.device_pool import DevicePool
from exaln.engines.cuda.runtime import probe
from exaln.engines.cuda.runtime.constants import MIN_MEMORY
from exaln.engines.cuda.runtime.driver_start import start_driver
from exaln.engines.cuda.scan.results import BatchResult, CandidateRows, ScanOptions, ScanTimes
from exaln.engines.cuda.scan.sizes import Sizes
from exaln.engines.tasks import (
    PIECE_SCORES,
    Candidates,
    EncodedSequences,
    PairTask,
    Resident,
    ScanTask,
    ScoreBlock,
    SeveralTask,
    candidates_of,
)
from exaln.errors import EngineError, InputError, OutOfMemoryError
from exaln.foundation.plurals import number_of
from exaln.foundation.resources import usable_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.views import TargetView
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.cuda.scan.job import Job
    from exaln.engines.cuda.scan.plan import PlannedKernel
    from exaln.engines.outline import ScanOutline
    from exaln.engines.regions import PairTable, Region, RegionResult, RegionTask, Traceback

SLAB_CELLS = 35 * 10**12
"""Cells per device of a slab of one pair's table: about ten seconds of work."""

TWICE_CELLS = (10**11, 10**13)
"""In this range of cells a single GPU is opened twice, each context with half of the columns: two smaller regions fill
the GPU with strips sooner. Larger regions fill it anyway.
"""

CHAIN_CELLS = 1 << 42
"""Cells per device of a long pair's table, about a second of work, from which on a lower bound is looked for."""

BLOCK_SHARE = 8
"""Checkpoints of a block on the path take at most 1 / BLOCK_SHARE of the memory of a device."""

SMALL_REGION = 1 << 22
"""Regions with fewer cells are filled by the CPU, which is faster than sending them."""

LEAST_SHARE = 1 << 30
"""Least cells of pairs for each further device: about a millisecond of work."""

HOST_BYTES = 64 << 20
"""Pinned memory and results of a scan on the host, about."""

MAX_COPY_THREADS = 16
"""Threads of the host that copy letters and paths of pairs; more do not copy faster."""

Found = TypeVar("Found", AlignedPairs, "NDArray[np.int64]")

NOTED_SECONDS = 1.0
"""If kernels took longer than this, a note says how to compile them ahead."""

PROCESS_POOL = DevicePool()
"""The opened devices of this process, with what they hold."""

LONG_PAIRS = ((1, 1 << 20), (4, 1 << 22), (16, 1 << 25), (64, 1 << 28), (1 << 62, 1 << 30))
"""Thresholds (max pairs, cells): larger pairs use the region algorithm. The fewer pairs there are, the less of a GPU
they would keep busy side by side.
"""


class CudaEngine(Engine):
    """Scores on NVIDIA GPUs. devices: their numbers, None for all; memory: the most bytes to use on each.

    A number that comes twice opens the GPU twice. threads: for alignments, which the CPU makes. pool: of devices; by
    default that of the process.
    """

    name = "cuda"
    tuning = Tuning(
        scan_pairs=sys.maxsize,
        serves_few_pairs=False,
        scans_beside_cpu=True,
        pair_batches=4,
        windows=1024,
        scores_blocks_of_targets=False,
    )

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
        if pool is None:
            start_driver(self.devices)
        held = [gpus[self.devices[0]].memory_bytes, *([] if memory is None else [memory])]
        self.checkpoint_bytes = min(held) // BLOCK_SHARE

    @staticmethod
    def unavailable_reason() -> str | None:
        """Why no GPU can be used."""
        return probe.unavailable_reason()

    @staticmethod
    def is_expected() -> bool:
        """True if a GPU is present; otherwise `auto` falls back silently."""
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

    def notes(self) -> list[str]:
        """Advice after a scan that had to wait for its kernels."""
        if self.times.compile < NOTED_SECONDS:
            return []
        return [
            f"note: kernels were compiled or loaded in {self.times.compile:.1f} s; exaln warm compiles usual ones ahead"
        ]

    def scan_report(self) -> list[str]:
        """What the last scan did with the database, for --verbose; empty before the first."""
        return self._reports

    def open(self, view: TargetView, budget: int | None = None) -> Resident:
        """The view, which the first scan sends to the devices; later scans find what is still there."""
        return Resident(view, budget)

    def scan(self, task: ScanTask) -> Iterator[Candidates]:
        """Candidates, cut on the device; where too many pass the cutoff, the cut is made here."""
        options = ScanOptions(task.cutoff, task.progress is not None)
        with closing(self._results(task, options)) as results:
            for result in results:
                if isinstance(result.result, CandidateRows):
                    yield from _candidates(result, result.result, task)
                else:
                    yield from candidates_of([_block(result)], task)

    def score_blocks(self, task: ScanTask) -> Iterator[ScoreBlock]:
        """All scores, some queries against the rows of a batch at a time."""
        with closing(self._results(task, ScanOptions(progress=task.progress is not None))) as results:
            for result in results:
                yield _block(result)

    def outline(self, task: ScanTask) -> ScanOutline:
        """The plan of the scan for these devices and their free memory; only contexts are opened."""
        from exaln.engines.cuda.scan.planner import plan_scan
        from exaln.engines.outline import ScanOutline, kernel_uses, target_lengths

        with self.pool.lend(self.devices, self._budget(task)) as workspaces:
            devices = [workspace.device for workspace in workspaces]
            plan = plan_scan(
                [Sizes.of_rows(segment.offsets) for segment in task.view.segments],
                task.queries.lengths.tolist(),
                task.scoring,
                devices[0].properties,
                min(device.budget for device in devices),
                len(devices),
                planner=self.pool.planner,
            )
        lengths = target_lengths(task.view)
        n_short = int(np.searchsorted(lengths, plan.long_length, side="right"))
        uses = [
            (_kernel_name(use), lengths[n_short:] if use.name == "block" else lengths[:n_short]) for use in plan.kernels
        ]
        return ScanOutline(
            kernels=tuple(one for name, own in uses for one in kernel_uses(own, [(name, len(own))])),
            n_batches=len(plan.batches),
            host_bytes=HOST_BYTES,
            seconds=plan.estimated_seconds,
            source="the kernels as planned, without uploads and compilation",
            device_buffers={buffer.name: buffer.n_bytes for buffer in plan.buffers},
        )

    def _budget(self, task: ScanTask) -> int | None:
        """Bytes on each device, or None for all that is free."""
        return min((budget for budget in (self.memory, task.resident.budget) if budget is not None), default=None)

    def align(self, task: PairTask) -> AlignedPairs:
        """On the devices, unless the scores are known: then the CPU makes the paths, while the devices scan.

        Pairs that are too large for 16 bits, or for the directions of all cells, are aligned by the CPU as well, and so
        are pairs with tables of their own.
        """
        task.require_no_forbidden_cells(self.name)
        if task.known_scores is not None or task.tables is not None:
            return self._cpu().align(task)
        from exaln.engines.cuda.pairs.batches import PairBatches

        on_device, found = self._pairs_on_devices(task, PairBatches.align, paths=True)
        aligned = AlignedPairs.joined(found)
        if on_device.all():
            return aligned
        others = self._cpu().align(task.taken(np.flatnonzero(~on_device)))
        order = np.argsort(np.argsort(~on_device, kind="stable"))  # pairs of the device come before the others
        return AlignedPairs.joined([aligned, others]).taken(order)

    def align_several(self, task: SeveralTask) -> SeveralAligned:
        """As the cpu engine, which makes these alignments."""
        return self._cpu().align_several(task)

    def score(self, task: PairTask) -> NDArray[np.int64]:
        """As `align`, without paths."""
        from exaln.engines.cuda.pairs.batches import PairBatches

        task.require_no_forbidden_cells(self.name)
        if task.tables is not None:
            return self._cpu().score(task)
        on_device, found = self._pairs_on_devices(task, PairBatches.score, paths=False)
        if on_device.all() and len(found) == 1:
            return found[0]
        scores = np.empty(len(task), np.int64)
        scores[on_device] = np.concatenate(found)
        if not on_device.all():
            scores[~on_device] = self._cpu().score(task.taken(np.flatnonzero(~on_device)))
        return scores

    def score_ends(self, task: PairTask, columns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As the cpu engine, which computes them."""
        return self._cpu().score_ends(task, columns)

    def is_long(self, task: PairTask) -> NDArray[np.bool_]:
        """By the number of pairs and their cells; by the thresholds of the CPU for pairs that it has to align."""
        if task.known_scores is not None or task.tables is not None:
            return self._cpu().is_long(task)
        from exaln.engines.cuda.pairs.plan import fits_numbers

        is_long = exceeds(task, LONG_PAIRS)
        others = np.flatnonzero(~fits_numbers(*task.shapes, task.bounds, task.scoring, task.mode))
        if len(others):
            is_long[others] |= self._cpu().is_long(task.taken(others))
        return is_long

    def fill(self, task: RegionTask) -> RegionResult:
        """On one device, or where there are many columns on all; small regions on the CPU.

        Checkpoints stay on the first device if they may and there is room; those of a whole table only if one device,
        opened once, is as fast as any.
        """
        if task.region.cells < SMALL_REGION:
            return self._cpu().fill(task)
        from exaln.engines.cuda.long import regions
        from exaln.engines.regions import RegionResult

        openings = self._openings(task.region)
        is_whole = task.region.cells == len(task.pair.query) * len(task.pair.target)
        if task.may_hold and not (is_whole and len(openings) > 1):
            with self.pool.lend(self.devices[:1], self.memory) as (workspace,):
                result = regions.hold_checkpoints(workspace, task)
            if result is not None:
                return result
        checkpoints = task.room()
        memory = None if self.memory is None else self.memory * len(self.devices) // len(openings)
        with self.pool.lend(openings, memory) as workspaces:
            return RegionResult(checkpoints, regions.fill_region(workspaces, task, checkpoints))

    def lower_bound(self, pair: PairTable) -> int:
        """From words that both sequences share, on the CPU, which is done before kernels for it would be loaded. The
        devices, which are needed next, are opened meanwhile.
        """
        if len(pair.query) * len(pair.target) < CHAIN_CELLS * len(self.devices):
            return 0
        with ThreadPoolExecutor(1) as pool:
            opened = pool.submit(self._open)
            score = self._cpu().lower_bound(pair)
            opened.result()
        return score

    def _open(self) -> None:
        """What is open is found again by whoever uses a device next."""
        with self.pool.lend(self.devices, self.memory):
            pass

    def traceback(self, pair: PairTable) -> Traceback:
        """On the CPU."""
        return self._cpu().traceback(pair)

    def _openings(self, region: Region) -> list[int]:
        """Devices for a region; one that comes twice is opened twice."""
        is_twice = len(self.devices) == 1 and TWICE_CELLS[0] <= region.cells < TWICE_CELLS[1]
        return self.devices * (2 if is_twice else 1)

    def slab_rows(self, n_rows: int, n_columns: int) -> int:
        """Ten seconds of work."""
        return max(1, len(self.devices) * SLAB_CELLS // max(1, n_columns))

    def _pairs_on_devices(
        self, task: PairTask, compute: Callable[..., Found], *, paths: bool
    ) -> tuple[NDArray[np.bool_], list[Found]]:
        """Which pairs the devices can align, and what each device computes for them. Each has a share of equal size.

        compute: a method of PairBatches.
        """
        from exaln.engines.cuda.pairs.batches import PairBatches, Pairs

        queries = EncodedSequences(task.queries.codes(self.name), task.queries.offsets)
        targets = EncodedSequences(task.targets.codes, task.targets.offsets)
        shares = _shares(task, len(self.devices))
        threads = max(1, (self._threads or host_threads()) // len(shares))

        def run(workspace: Workspace, share: slice) -> tuple[NDArray[np.bool_], Found]:
            workspace.device.activate()
            batches = PairBatches(workspace, queries, targets, task.scoring, task.mode, paths=paths, threads=threads)
            m, n = task.shapes
            pairs = Pairs(task.query[share], task.target[share], m[share], n[share], task.bounds)
            fits = batches.fits(pairs)
            return fits, compute(batches, pairs if fits.all() else pairs.taken(fits))

        with self.pool.lend(self.devices[: len(shares)], self.memory) as workspaces:
            if len(shares) == 1:
                fits, found = run(workspaces[0], shares[0])
                return fits, [found]
            with ThreadPoolExecutor(len(shares)) as pool:
                results = list(pool.map(run, workspaces, shares))
        return np.concatenate([fits for fits, _ in results]), [found for _, found in results]

    def _cpu(self) -> CpuEngine:
        if self._cpu_engine is None:
            reason = CpuEngine.unavailable_reason()
            if reason is not None:
                raise EngineError(f"alignments are made by the cpu engine: {reason}")
            self._cpu_engine = CpuEngine(self._threads)
        return self._cpu_engine

    def _results(self, task: ScanTask, options: ScanOptions) -> Generator[BatchResult, None, None]:
        """Results, batch by batch. Close the generator: the garbage collector must not end its threads."""
        from exaln.engines.cuda.scan.job import Job

        view, queries, progress = task.view, task.queries, task.progress
        encoded = EncodedSequences(queries.codes(self.name), queries.offsets)
        if not len(queries) or not view.n_targets:
            return
        with self.pool.lend(self.devices, self._budget(task)) as workspaces:
            job = Job(workspaces, view, encoded, task.scoring, options, self.pool.cache, self.pool.planner)
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
                self._reports = _report(job, view)


@cache
def host_threads() -> int:
    """Threads that copy letters and paths, unless a number of threads is given. Read once: it takes a while."""
    return min(MAX_COPY_THREADS, usable_threads(None))


def _kernel_name(use: PlannedKernel) -> str:
    """A kernel of a plan with its queries, for people."""
    shortest, longest = use.query_lengths
    of_length = f"{shortest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"
    queries = f"{number_of(use.n_queries, 'query')} of length {of_length}"
    if use.name == "block":
        return f"block kernel, one pair per block, {queries}"
    return f"stream kernel {use.name}, {number_of(use.n_strips, 'strip')}, {queries}"


def _shares(task: PairTask, n: int) -> list[slice]:
    """The pairs of a task as up to n ranges of about equal work, none of them too small to be worth a device."""
    if n == 1:
        return [slice(0, len(task))]
    ends = np.cumsum(task.cells)
    total = int(ends[-1]) if len(ends) else 0
    n = max(1, min(n, total // LEAST_SHARE))
    edges = [0, *np.searchsorted(ends, [total * k // n for k in range(1, n)], side="right").tolist(), len(task)]
    return [slice(first, end) for first, end in pairwise(edges)]


def _block(result: BatchResult) -> ScoreBlock:
    found = result.result
    assert not isinstance(found, CandidateRows)
    rows = result.view_rows(np.arange(found.scores.shape[1]))
    return ScoreBlock(result.first_query + found.first_query, found.scores, rows, result.lengths.expanded())


def _candidates(result: BatchResult, found: CandidateRows, task: ScanTask) -> Iterator[Candidates]:
    """Candidates of a batch, some at a time."""
    for begin in range(0, len(found.rows), PIECE_SCORES):
        query, row, score = found.rows[begin : begin + PIECE_SCORES].T
        candidates = Candidates(query + np.int32(result.first_query), result.view_rows(row), score.copy())
        if task.first_row is not None:
            candidates = candidates.taken(candidates.row >= task.first_row[candidates.query])
        yield candidates


def _report(job: Job, view: TargetView) -> list[str]:
    times = job.times
    how = "resident" if job.plan.is_resident else "streamed"
    n_batches, n_groups = len(job.plan.division.batches), len(job.groups)
    sent, ratio = f"{times.bytes_sent / 1e6:,.0f} MB", f"{times.bytes_sent / max(1, view.n_residues):.2f}"
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
