"""The C++ core: SIMD lanes and threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from exaln.alignments.cigar import Paths
from exaln.database.row_ranges import query_blocks, row_ranges
from exaln.engines.contracts import (
    NEVER_LONG,
    Engine,
    PairList,
    Pairs,
    Placement,
    Progress,
    ScoreBlock,
    Traces,
    require_same_alphabet,
)
from exaln.engines.regions import NOTHING, EndCell, PathState, Region
from exaln.errors import EngineError, OutOfMemoryError
from exaln.foundation.plurals import number_of
from exaln.foundation.resources import usable_threads
from exaln.pairwise.long.seed_chain import chain_score
from exaln.pairwise.routing import align_apart, score_apart
from exaln.scoring.modes import LOCAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln._core import BlockWalker, Costs, PairRows, Sequences
    from exaln.database.row_ranges import RowRange
    from exaln.engines.contracts import TargetRows
    from exaln.engines.regions import Borders, Line, Lines, PairTable, Pruning
    from exaln.pairwise.long.checkpoints import KeptLines
    from exaln.pairwise.long.traceback import Walker
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring
    from exaln.sequences.records import Records

BLOCK_SCORES = 16 << 20
"""Scores in a block: 64 MiB, so that memory stays bounded and a block is still seconds of work."""

CHAIN_CELLS = 1 << 33
"""Of a long pair's table, for each thread: with fewer, a score to prune with is not looked for beforehand."""

MAX_BLOCK_QUERIES = 1024

SLAB_CELLS = 10**11
"""Of one thread's share of a slab of one pair's table: about ten seconds of work."""

REGION_STRIP_ROWS = 8192
"""Rows that a thread takes at a time, or a multiple of them."""

Column = TypeVar("Column", np.uint8, np.int64)


class CpuEngine(Engine):
    """Scores on `threads` threads with the fastest instruction set of this CPU, or the one that EXALN_ISA names."""

    name = "cpu"
    long_pairs = ((4, 1 << 18), (16, 1 << 22), (NEVER_LONG, 1 << 27))
    """Measured: the fewer pairs there are, the more lanes they would leave empty side by side."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = usable_threads(threads)
        self.isa = choose_isa()

    @staticmethod
    def unavailable_reason() -> str | None:
        """Why the C++ core is missing."""
        try:
            from exaln import _core  # noqa: F401
        except ImportError as error:
            return f"the C++ core is not built ({error}); install exaln with pip"
        return None

    def describe(self) -> str:
        """For logs."""
        return f"cpu, {self.isa}, {number_of(self.threads, 'thread')}"

    def blocks(
        self, queries: Records, placement: Placement, scoring: Scoring, progress: Progress | None = None
    ) -> Iterator[ScoreBlock]:
        """Some queries against some rows of a segment, as many as a block can hold."""
        require_same_alphabet(queries, placement.database, scoring)
        segments = placement.database.segments
        cells = 0
        max_queries = min(max(len(queries), 1), MAX_BLOCK_QUERIES)
        for rows in row_ranges(segments, BLOCK_SCORES // max_queries):
            for first, end in query_blocks(len(queries), max_queries):
                done = cells
                report = None if progress is None else lambda new, done=done: progress(done + new)
                yield self._block(queries, first, end, segments[rows.segment], rows, scoring, report)
                cells += int(queries.offsets[end] - queries.offsets[first]) * rows.n_residues
                if progress:
                    progress(cells)

    def align(self, queries: Records, targets: Records, pairs: Pairs, scoring: Scoring) -> Traces:
        """Groups of pairs side by side, on all threads; long ones one by one."""
        from exaln import _core

        def together(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Traces]:
            with _translated_errors(self.threads):
                columns = _core.trace_all(
                    *_arrays(queries, targets, PairList(pairs.query[rows], pairs.target[rows]), scoring),
                    np.require(pairs.score[rows], np.int32, ["C_CONTIGUOUS", "ALIGNED"]),
                    *self._how(),
                )
            return pairs.score[rows].astype(np.int64), _traces(*columns)

        scores, traces = align_apart(self, queries, targets, pairs, scoring, LOCAL, together)
        if not np.array_equal(scores, pairs.score):
            raise EngineError("traceback failed: a pair has not the score that it should have")
        return traces

    def align_pairs(
        self, queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode
    ) -> tuple[NDArray[np.int64], Traces]:
        """Score and path in one pass where that can be, groups of pairs side by side; long ones one by one."""
        from exaln import _core

        require_same_alphabet(queries, targets, scoring)

        def together(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Traces]:
            some = PairList(pairs.query[rows], pairs.target[rows])
            with _translated_errors(self.threads):
                scores, positions, counts, operations, offsets = _core.align_pairs(
                    *_arrays(queries, targets, some, scoring), _flags(mode), *self._how()
                )
            return scores, _traces(positions, counts, operations, offsets)

        return align_apart(self, queries, targets, pairs, scoring, mode, together)

    def score_pairs(
        self, queries: Records, targets: Records, pairs: PairList, scoring: Scoring, mode: Mode
    ) -> NDArray[np.int64]:
        """Groups of pairs side by side; long ones one by one."""
        from exaln import _core

        require_same_alphabet(queries, targets, scoring)

        def together(rows: NDArray[np.int64]) -> NDArray[np.int64]:
            some = PairList(pairs.query[rows], pairs.target[rows])
            with _translated_errors(self.threads):
                return _core.score_pairs(*_arrays(queries, targets, some, scoring), _flags(mode), *self._how())

        return score_apart(self, queries, targets, pairs, scoring, mode, together)

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
        """Strips of rows that follow one another, on all threads."""
        from exaln import _core

        with _translated_errors(self.threads):
            score, row, column, pruned = _core.fill_region(
                *_region_arrays(pair, region, borders),
                _aligned(lines.rows - region.first_row),
                lines.row_H,
                lines.row_F,
                _aligned(lines.columns - region.first_column),
                lines.column_H,
                lines.column_E,
                wants_end,
                self.threads,
                self.isa,
                progress,
                None if pruning is None else (pruning.best, *pruning.left(region)),
            )
        if pruning is not None:
            pruning.cells += pruned
        if score == 0:
            return NOTHING
        return EndCell(score, region.first_row + row, region.first_column + column)

    def least_score(self, pair: PairTable) -> int:
        """By words that both sequences have."""
        is_large = len(pair.query) * len(pair.target) >= CHAIN_CELLS * self.threads
        return chain_score(self, pair) if is_large else 0

    def walker(self, pair: PairTable) -> Walker:
        """Blocks along the diagonal are filled on threads, which last as long as the walker."""
        from exaln import _core

        with _translated_errors(self.threads):
            return partial(self._walk, _core.BlockWalker(self.threads, self.isa), pair)

    def _walk(
        self, walker: BlockWalker, pair: PairTable, kept: KeptLines, state: PathState
    ) -> tuple[NDArray[np.uint8], PathState]:
        near = kept.near(state)
        region, parts = near.region, near.parts
        with _translated_errors(self.threads):
            steps, row, column, left, gap = walker.walk(
                *_region_arrays(pair, region, near.borders),
                near.spacing,
                _aligned(parts.rows - region.first_row),
                parts.row_firsts,
                parts.row_H,
                parts.row_F,
                _aligned(parts.columns - region.first_column),
                parts.column_firsts,
                parts.column_H,
                parts.column_E,
                state.row - region.first_row,
                state.column - region.first_column,
                state.left,
                state.gap,
            )
        return steps, PathState(region.first_row + row, region.first_column + column, left, gap)

    def slab_rows(self, n_rows: int, n_columns: int) -> int:
        """Whole strips, several for each thread."""
        strips = max(4 * self.threads, SLAB_CELLS * self.threads // (REGION_STRIP_ROWS * max(1, n_columns)))
        return strips * REGION_STRIP_ROWS

    def _how(self) -> tuple[int, str, bool]:
        """Threads, instruction set, and whether it is the only one that may be used."""
        return self.threads, self.isa, bool(os.environ.get("EXALN_ISA"))

    def _block(
        self,
        queries: Records,
        first: int,
        end: int,
        segment: TargetRows,
        rows: RowRange,
        scoring: Scoring,
        progress: Progress | None,
    ) -> ScoreBlock:
        offsets = np.array(segment.offsets[rows.first : rows.end + 1])  # a copy, which the core checks and then uses
        ordinals = np.array(segment.ordinals[rows.first : rows.end])
        scores = score_arrays(
            (queries.codes, queries.offsets[first : end + 1]),
            (segment.codes, offsets),
            scoring,
            threads=self.threads,
            isa=self.isa,
            progress=progress,
        )
        return ScoreBlock(first, scores, ordinals, np.diff(offsets))


def score_arrays(
    queries: tuple[NDArray[np.uint8], NDArray[np.int64]],
    targets: tuple[NDArray[np.uint8], NDArray[np.int64]],
    scoring: Scoring,
    *,
    threads: int,
    isa: str,
    progress: Progress | None = None,
) -> NDArray[np.int32]:
    """int32[n_queries, n_targets]: exact scores of sequences given as (codes, offsets)."""
    from exaln import _core

    try:
        return _core.score_all(
            _aligned(queries[0]),
            _aligned(queries[1]),
            _aligned(targets[0]),
            _aligned(targets[1]),
            scoring.matrix,
            scoring.gap_first,
            scoring.gap_extend,
            threads,
            isa,
            progress,
        )
    except OverflowError:
        raise EngineError("a score does not fit 31 bits; use smaller scores or shorter sequences") from None
    except MemoryError:
        raise OutOfMemoryError("not enough memory for the scores of one block; close other programs") from None
    except RuntimeError as error:
        raise EngineError(f"{threads} threads could not be started ({error}); use fewer threads") from None


@contextmanager
def _translated_errors(threads: int) -> Iterator[None]:
    """What the core throws, as errors that say what to do."""
    try:
        yield
    except OverflowError:
        raise EngineError("a score does not fit 31 bits; use smaller scores or shorter sequences") from None
    except MemoryError:
        raise OutOfMemoryError("not enough memory to align a pair; use fewer threads") from None
    except RuntimeError as error:
        raise EngineError(f"traceback failed on {threads} threads: {error}") from None


def _arrays(
    queries: Records, targets: Records, pairs: Pairs | PairList, scoring: Scoring
) -> tuple[Sequences, Sequences, PairRows, Costs]:
    """Sequences, pairs and costs as the core takes them."""
    return (
        (_aligned(queries.codes), _aligned(queries.offsets)),
        (_aligned(targets.codes), _aligned(targets.offsets)),
        (_aligned(pairs.query), _aligned(pairs.target)),
        (scoring.matrix, scoring.gap_first, scoring.gap_extend),
    )


def _flags(mode: Mode) -> tuple[bool, bool, bool, bool, bool]:
    return mode.is_local, mode.query_start, mode.query_end, mode.target_start, mode.target_end


def _whole_line(line: Line) -> Line:
    return line if line.flags.c_contiguous and line.flags.aligned else line.copy()


def _region_arrays(
    pair: PairTable, region: Region, borders: Borders
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int32], int, int, bool, Line, Line, Line, Line, int]:
    """A region and what surrounds it, as the core takes them."""
    return (
        _aligned(pair.query[region.first_row : region.end_row]),
        _aligned(pair.target[region.first_column : region.end_column]),
        pair.scoring.matrix,
        pair.scoring.gap_first,
        pair.scoring.gap_extend,
        pair.mode.is_local,
        _whole_line(borders.top_H),
        _whole_line(borders.top_F),
        _whole_line(borders.left_H),
        _whole_line(borders.left_E),
        borders.corner,
    )


def _traces(
    positions: NDArray[np.int64], counts: NDArray[np.int32], operations: NDArray[np.uint32], offsets: NDArray[np.int64]
) -> Traces:
    return Traces(positions.reshape(-1, 4), counts.reshape(-1, 6), Paths(operations, offsets))


def _aligned(array: NDArray[Column]) -> NDArray[Column]:
    """Columns of a memory-mapped file need not be aligned; the core wants them to be."""
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])


def choose_isa() -> str:
    """The instruction set to use; EXALN_ISA forces one, and an unknown or missing one is an error."""
    from exaln import _core

    wanted = os.environ.get("EXALN_ISA", "")
    built = dict(_core.isas())
    usable = [name for name, is_usable in built.items() if is_usable]
    if not wanted:
        return usable[0]
    if wanted not in built:
        raise EngineError(f"EXALN_ISA={wanted} is unknown; built in are {', '.join(built)}")
    if wanted not in usable:
        raise EngineError(f"EXALN_ISA={wanted}: this CPU does not have it; usable are {', '.join(usable)}")
    return wanted
