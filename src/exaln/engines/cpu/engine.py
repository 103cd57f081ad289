"""The cpu engine: the C++ core, with SIMD lanes and threads."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from exaln.database.row_ranges import query_blocks, row_ranges
from exaln.database.views import segment_starts
from exaln.engines.contracts import Engine, Tuning, exceeds
from exaln.engines.cpu import core_calls
from exaln.engines.cpu.instruction_sets import choose_isa
from exaln.engines.outline import ScanOutline, kernel_uses, target_lengths
from exaln.engines.tasks import (
    Candidates,
    PairTask,
    Resident,
    ScanTask,
    ScoreBlock,
    SeveralTask,
    candidates_of,
)
from exaln.foundation.plurals import number_of
from exaln.foundation.prefetch import prefetch
from exaln.foundation.resources import usable_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.aligned_pairs import AlignedPairs, SeveralAligned
    from exaln.database.row_ranges import RowRange
    from exaln.database.views import TargetRows, TargetView
    from exaln.engines.regions import PairTable, RegionResult, RegionTask, Traceback
    from exaln.engines.tasks import Progress

BLOCK_SCORES = 16 << 20
"""Scores in a block: 64 MiB bound the memory, and a block is still seconds of work."""

MAX_BLOCK_QUERIES = 1024

CHAIN_CELLS = 1 << 33
"""Cells per thread: for larger tables of long pairs, a lower bound of the score is computed first."""

SLAB_CELLS = 10**11
"""Cells per thread of a slab of one pair's table: about ten seconds of work."""

REGION_STRIP_ROWS = 8192
"""Rows of a strip, which one thread fills at a time; strips may be a multiple of it."""

EFFICIENCY, PROBE_SECONDS = 0.75, 0.01
"""For estimates: the speed of a scan as a share of the bare cell update's, and the time to measure the latter."""

LONG_PAIRS = ((4, 1 << 18), (16, 1 << 22), (1 << 62, 1 << 27))
"""Thresholds (max pairs, cells): larger pairs use the region algorithm. Measured: the fewer pairs there are, the more
lanes a batch leaves empty.
"""


class CpuEngine(Engine):
    """An engine on `threads` threads, with the fastest instruction set of this CPU or the one that EXALN_ISA names."""

    name = "cpu"
    tuning = Tuning()
    checkpoint_bytes = 1 << 27

    def __init__(self, threads: int | None = None) -> None:
        self.threads = usable_threads(threads)
        self.tuning = replace(self.tuning, workers=self.threads)
        instructions = choose_isa()
        self.isa, self._is_forced = instructions.name, instructions.is_forced

    @staticmethod
    def unavailable_reason() -> str | None:
        """Why the C++ core cannot be imported; None if it can."""
        try:
            from exaln import _core  # noqa: F401
        except ImportError as error:
            return f"the C++ core is not built ({error}); install exaln with pip"
        return None

    def describe(self) -> str:
        """The engine with its instruction set and threads, for logs."""
        return f"cpu, {self.isa}, {number_of(self.threads, 'thread')}"

    @property
    def _how(self) -> core_calls.How:
        return core_calls.How(self.threads, self.isa, self._is_forced)

    def open(self, view: TargetView, budget: int | None = None) -> Resident:
        """The view itself: segments are read through memory maps."""
        return Resident(view, budget)

    def scan(self, task: ScanTask) -> Iterator[Candidates]:
        """Yield candidates, block by block."""
        return candidates_of(self.score_blocks(task), task)

    def score_blocks(self, task: ScanTask) -> Iterator[ScoreBlock]:
        """Yield blocks of some queries against some rows of a segment, as many as fit BLOCK_SCORES."""
        queries, segments, progress = task.queries, task.view.segments, task.progress
        queries.codes(self.name)
        starts, cells = segment_starts(task.view), 0
        max_queries = min(max(len(queries), 1), MAX_BLOCK_QUERIES)
        max_rows = BLOCK_SCORES // max_queries // _most_blocks(task)
        with closing(_checked(segments, row_ranges(segments, max_rows))) as ranges:
            for rows in ranges:
                for first, end in query_blocks(len(queries), max_queries):
                    done = cells
                    report = None if progress is None else lambda new, done=done: progress(done + new)
                    first_row = int(starts[rows.segment]) + rows.first
                    yield self._block(task, first, end, segments[rows.segment], rows, first_row, report)
                    cells += int(queries.offsets[end] - queries.offsets[first]) * rows.n_residues
                    if progress:
                        progress(cells)

    def _block(
        self,
        task: ScanTask,
        first: int,
        end: int,
        segment: TargetRows,
        rows: RowRange,
        first_row: int,
        progress: Progress | None,
    ) -> ScoreBlock:
        queries = task.queries
        # A copy: offsets in a mapped file could change after the core has checked them.
        offsets = np.array(segment.offsets[rows.first : rows.end + 1])
        scores = core_calls.score_arrays(
            (queries.codes(self.name), queries.offsets[first : end + 1]),
            (segment.codes, offsets),
            queries.scoring,
            threads=self.threads,
            isa=self.isa,
            progress=progress,
            block_columns=task.block_columns,
        )
        return task.score_block(first, scores, first_row, np.diff(offsets))

    def outline(self, task: ScanTask) -> ScanOutline:
        """Groups of targets side by side, and the longest ones striped. The time follows from the bare cell update."""
        from exaln import _core

        lengths = target_lengths(task.view)
        lanes, n_striped = _core.plan_scan(np.sort(task.queries.lengths), lengths, self.threads, self.isa)
        n_queries = min(max(len(task.queries), 1), MAX_BLOCK_QUERIES)
        n_batches = sum(1 for _ in row_ranges(task.view.segments, BLOCK_SCORES // n_queries))
        cells = task.queries.n_rows * int(lengths.sum())
        gcups = EFFICIENCY * self.threads * _core.bare_loop(self.isa, 8, PROBE_SECONDS)
        return ScanOutline(
            kernels=kernel_uses(
                lengths,
                [
                    (f"{self.isa} group kernel, {lanes} targets side by side", len(lengths) - n_striped),
                    (f"{self.isa} striped kernel, one target over {lanes} lanes", n_striped),
                ],
            ),
            n_batches=n_batches,
            host_bytes=4 * min(BLOCK_SCORES, len(task.queries) * len(lengths)),
            seconds=cells / gcups / 1e9,
            source=f"from the cell update alone, measured just now, at {EFFICIENCY:.0%}",
        )

    def align(self, task: PairTask) -> AlignedPairs:
        """Align groups of pairs side by side, on all threads; score and path in one pass where possible."""
        task.require_no_forbidden_cells(self.name)
        return core_calls.align_pairs(task, self._how)

    def align_several(self, task: SeveralTask) -> SeveralAligned:
        """Align first as `align` does, then pair by pair, in a table that is filled again where it has changed."""
        task.pairs.require_no_forbidden_cells(self.name)
        return core_calls.align_several(task, self._how)

    def score(self, task: PairTask) -> NDArray[np.int64]:
        """Score groups of pairs side by side, on all threads."""
        task.require_no_forbidden_cells(self.name)
        return core_calls.score_pairs(task, self._how)

    def score_ends(self, task: PairTask, columns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Score the targets of each query side by side, with a score for each block of columns."""
        task.require_no_forbidden_cells(self.name)
        task.require_one_table(self.name)
        return core_calls.score_ends(task, columns, self._how)

    def is_long(self, task: PairTask) -> NDArray[np.bool_]:
        """bool[n]: whether each pair exceeds the threshold of LONG_PAIRS. Pairs with tables of their own never do."""
        return np.zeros(len(task), np.bool_) if task.tables is not None else exceeds(task, LONG_PAIRS)

    def fill(self, task: RegionTask) -> RegionResult:
        """Fill strips of rows on all threads, each strip a few columns behind the one above."""
        from exaln.engines.regions import RegionResult

        checkpoints = task.room()
        return RegionResult(checkpoints, core_calls.fill_region(task, checkpoints, self._how))

    def traceback(self, pair: PairTable) -> Traceback:
        """A traceback whose threads fill blocks along the diagonal ahead. They run as long as the function exists."""
        return partial(core_calls.trace_blocks, core_calls.block_walker(self._how), pair, self._how)

    def lower_bound(self, pair: PairTable) -> int:
        """The score of a chain of common words if the table is large; otherwise 0."""
        if len(pair.query) * len(pair.target) < CHAIN_CELLS * self.threads:
            return 0
        from exaln.engines.cpu.seed_chain import chain_score

        return chain_score(self, pair)

    def slab_rows(self, n_rows: int, n_columns: int) -> int:
        """Rows of whole strips, several for each thread."""
        strips = max(4 * self.threads, SLAB_CELLS * self.threads // (REGION_STRIP_ROWS * max(1, n_columns)))
        return strips * REGION_STRIP_ROWS


def _most_blocks(task: ScanTask) -> int:
    """The most scores of a query that a row of the view has, at least 1."""
    if not task.block_columns:
        return 1
    return max(1, int(np.diff(task.block_starts).max(initial=1)))


def _checked(segments: Sequence[TargetRows], ranges: Iterable[RowRange]) -> Generator[RowRange, None, None]:
    """The ranges, each after its segment was read and checked, which is done while the range before is scored."""
    if len(segments) == 1:
        yield from ranges
        return
    with closing(prefetch(ranges, lambda rows, check: segments[rows.segment].codes)) as ahead:
        for rows, _ in ahead:
            yield rows
