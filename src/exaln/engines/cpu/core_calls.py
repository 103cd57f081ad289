"""Calls of the C++ core: tasks become its arrays, and its exceptions become errors of exaln."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs, SeveralAligned
from exaln.alignments.cigar import Paths
from exaln.engines.tasks import SeveralTask
from exaln.errors import EngineError, OutOfMemoryError
from exaln.foundation.distinct import run_offsets
from exaln.foundation.resources import available_memory
from exaln.foundation.thread_pool import ThreadPool
from exaln.sequences.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln._core import BlockWalker, Costs, PairRows, Sequences
    from exaln.engines.regions import (
        Boundary,
        CheckpointGrid,
        Checkpoints,
        EndCell,
        Line,
        PairTable,
        PathState,
        Region,
        RegionTask,
    )
    from exaln.engines.tasks import PairTask, Progress
    from exaln.scoring.scoring import Scoring

Column = TypeVar("Column", np.uint8, np.int64)


@dataclass(frozen=True)
class How:
    """Threads and instruction set of a call. is_forced: no other instruction set may be used."""

    threads: int
    isa: str
    is_forced: bool


def score_arrays(
    queries: tuple[NDArray[np.uint8], NDArray[np.int64]],
    targets: tuple[NDArray[np.uint8], NDArray[np.int64]],
    scoring: Scoring,
    *,
    threads: int,
    isa: str,
    progress: Progress | None = None,
    block_columns: int = 0,
) -> NDArray[np.int32]:
    """int32[n_queries, n_targets]: exact scores of sequences given as (codes, offsets).

    block_columns: a column for each block of so many residues of a target, in place of one for each target.
    """
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
            block_columns,
        )
    except OverflowError:
        raise EngineError("a score does not fit 31 bits; use smaller scores or shorter sequences") from None
    except MemoryError:
        raise OutOfMemoryError("not enough memory for the scores of one block; close other programs") from None
    except RuntimeError as error:
        raise EngineError(f"{threads} threads could not be started ({error}); use fewer threads") from None


def align_pairs(task: PairTask, how: How) -> AlignedPairs:
    """Scores and alignments of all pairs of a task."""
    from exaln import _core

    if task.tables is not None:
        return _align_own_tables(task, how)
    with _translated_errors(how.threads):
        if task.known_scores is not None:
            known = np.require(task.known_scores, np.int32, ["C_CONTIGUOUS", "ALIGNED"])
            columns = _core.trace_all(*_pair_arrays(task), known, how.threads, how.isa, how.is_forced)
            return _alignments(task.known_scores.astype(np.int64), *columns)
        return _alignments(
            *_core.align_pairs(*_pair_arrays(task), task.mode.flags, how.threads, how.isa, how.is_forced)
        )


def align_several(task: SeveralTask, how: How) -> SeveralAligned:
    """Several alignments of each pair. Raises OutOfMemoryError if what is kept of a pair's table does not fit."""
    from exaln import _core

    pairs, room = task.pairs, available_memory() // 2
    _require_room_for_table(pairs, room)
    if pairs.tables is not None:
        return _several_own_tables(task, room, how)
    known = pairs.known_scores
    with _translated_errors(how.threads):
        found = _core.align_several(
            *_pair_arrays(pairs),
            task.most,
            _aligned(task.least),
            None if known is None else np.require(known, np.int32, ["C_CONTIGUOUS", "ALIGNED"]),
            None if task.ends is None else _aligned(task.ends.upper),
            None if task.ends is None else _aligned(task.ends.margin),
            how.threads,
            how.isa,
            how.is_forced,
            room,
        )
    return SeveralAligned(found[1], _alignments(*found[2:]), np.flatnonzero(found[0] == 0))


def _several_own_tables(task: SeveralTask, room: int, how: How) -> SeveralAligned:
    from exaln import _core

    assert task.ends is None or not task.ends.upper.any(), "targets are whole where pairs have tables"
    known = task.pairs.known_scores
    with _translated_errors(how.threads):
        found = _core.align_own_tables(
            *_table_arrays(task.pairs),
            task.most,
            _aligned(task.least),
            None if known is None else np.require(known, np.int32, ["C_CONTIGUOUS", "ALIGNED"]),
            how.threads,
            how.isa,
            how.is_forced,
            room,
        )
    return SeveralAligned(found[1], _alignments(*found[2:]))


def _align_own_tables(task: PairTask, how: How) -> AlignedPairs:
    """One alignment of each pair, by way of several; an empty one where nothing aligns."""
    least = np.ones(len(task), np.int64)
    found = align_several(SeveralTask(task, 1, least), how)
    empty = np.setdiff1d(np.arange(len(task)), found.pair)
    n = len(empty)
    nothing = AlignedPairs(
        np.zeros(n, np.int64),
        np.zeros((n, 4), np.int64),
        np.zeros((n, 6), np.int32),
        Paths(np.empty(0, np.uint32), np.zeros(n + 1, np.int64)),
    )
    return SeveralAligned.joined([found, SeveralAligned(empty, nothing)]).aligned


def _require_room_for_table(task: PairTask, room: int) -> None:
    """Raise OutOfMemoryError if the largest table needs more than `room` bytes."""
    from exaln import _core

    if not len(task):
        return
    largest = int(task.cells.argmax())
    rows, columns = (int(lengths[largest]) for lengths in task.shapes)
    needed = _core.several_bytes(rows, columns, _costs(task))
    if needed > room:
        raise OutOfMemoryError(
            f"several alignments of {rows:,} with {columns:,} letters need {needed / 2**30:,.1f} GiB, and "
            f"{room / 2**30:,.1f} GiB are free for them; close other programs or use shorter sequences"
        )


def score_pairs(task: PairTask, how: How) -> NDArray[np.int64]:
    """int64[n]: scores of all pairs of a task."""
    from exaln import _core

    if task.tables is not None:
        with _translated_errors(how.threads):
            return _core.score_own_tables(*_table_arrays(task), how.threads, how.isa, how.is_forced)
    with _translated_errors(how.threads):
        return _core.score_pairs(*_pair_arrays(task), task.mode.flags, how.threads, how.isa, how.is_forced)


def score_ends(task: PairTask, columns: int, how: How) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The best score of an alignment that ends in each block of columns, pair by pair, and the offsets of each.

    The pairs of a query are scored together; the queries are divided among the threads.
    """
    codes, lengths = task.queries.codes("cpu"), task.shapes[1]
    offsets = offsets_of(-(-lengths // columns))
    order = np.argsort(task.query, kind="stable")
    edges = run_offsets(task.query[order])
    owners = task.query[order][edges[:-1]]
    scores = np.zeros(int(offsets[-1]), np.int64)
    n_at_a_time = min(how.threads, max(1, len(owners)))

    def score_query(number: int) -> None:
        own = order[edges[number] : edges[number + 1]]
        begin, end = task.queries.offsets[owners[number] : owners[number] + 2].tolist()
        targets = [task.targets.sequence(target) for target in task.target[own].tolist()]
        found = score_arrays(
            (codes[begin:end], np.array([0, end - begin])),
            (np.concatenate(targets), offsets_of(map(len, targets))),
            task.scoring,
            threads=how.threads // n_at_a_time,
            isa=how.isa,
            block_columns=columns,
        )
        ends = offsets_of(-(-lengths[own] // columns))
        for place, pair in enumerate(own.tolist()):
            scores[offsets[pair] : offsets[pair + 1]] = found[0, ends[place] : ends[place + 1]]

    with ThreadPool(n_at_a_time) as pool:
        pool.run(score_query, range(len(owners)))
    return scores, offsets


def fill_region(task: RegionTask, checkpoints: Checkpoints, how: How) -> EndCell:
    """Fill a region and write its checkpoints. Returns the best cell if the task asks for it, else NOTHING."""
    from exaln import _core
    from exaln.engines.regions import NOTHING, EndCell

    region, pruning = task.region, task.pruning
    with _translated_errors(how.threads):
        score, row, column, pruned = _core.fill_region(
            *_region_arrays(task.pair, region, task.boundary),
            _aligned(checkpoints.rows - region.first_row),
            checkpoints.row_H,
            checkpoints.row_F,
            _aligned(checkpoints.columns - region.first_column),
            checkpoints.column_H,
            checkpoints.column_E,
            task.finds_end,
            how.threads,
            how.isa,
            task.progress,
            None if pruning is None else (pruning.best, *pruning.left(region)),
        )
    if pruning is not None:
        pruning.cells += pruned
    if score == 0:
        return NOTHING
    return EndCell(score, region.first_row + row, region.first_column + column)


def block_walker(how: How) -> BlockWalker:
    """A thread pool that fills blocks for a traceback."""
    from exaln import _core

    with _translated_errors(how.threads):
        return _core.BlockWalker(how.threads, how.isa)


def trace_blocks(
    walker: BlockWalker, pair: PairTable, how: How, grid: CheckpointGrid, state: PathState
) -> tuple[NDArray[np.uint8], PathState]:
    """Follow a path back through blocks between checkpoints. Returns its steps, backwards, and the state after them."""
    from exaln.engines.regions import PathState

    window = grid.window(state)
    region, parts = window.region, window.parts
    with _translated_errors(how.threads):
        steps, row, column, left, gap = walker.walk(
            *_region_arrays(pair, region, window.boundary),
            window.spacing,
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


@contextmanager
def _translated_errors(threads: int) -> Iterator[None]:
    """Turn exceptions of the core into errors that say what to do."""
    try:
        yield
    except OverflowError:
        raise EngineError("a score does not fit 31 bits; use smaller scores or shorter sequences") from None
    except MemoryError:
        raise OutOfMemoryError("not enough memory to align a pair; use fewer threads") from None
    except RuntimeError as error:
        raise EngineError(f"traceback failed on {threads} threads: {error}") from None


def _pair_arrays(task: PairTask) -> tuple[Sequences, Sequences, PairRows, Costs]:
    """Sequences, pairs and costs as the core takes them."""
    return (
        (_aligned(task.queries.codes("cpu")), _aligned(task.queries.offsets)),
        (_aligned(task.targets.codes), _aligned(task.targets.offsets)),
        (_aligned(task.query), _aligned(task.target)),
        _costs(task),
    )


def _costs(task: PairTask) -> Costs:
    if task.tables is not None:
        highest = task.tables.scores.max(axis=0)  # the widest values that a table of the task needs
        return np.ascontiguousarray(highest), task.tables.gap_first, task.tables.gap_extend
    return task.scoring.matrix, task.scoring.gap_first, task.scoring.gap_extend


def _table_arrays(
    task: PairTask,
) -> tuple[Sequences, Sequences, PairRows, tuple[NDArray[np.int32], int, int]]:
    """Sequences, pairs and their tables as the core takes them."""
    assert task.tables is not None
    queries, targets, pairs, _ = _pair_arrays(replace(task, tables=None))
    scores = np.require(task.tables.scores, np.int32, ["C_CONTIGUOUS", "ALIGNED"])
    return queries, targets, pairs, (scores, task.tables.gap_first, task.tables.gap_extend)


def _region_arrays(
    pair: PairTable, region: Region, boundary: Boundary
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int32], int, int, bool, Line, Line, Line, Line, int]:
    """A region and its boundary as the core takes them."""
    return (
        _aligned(pair.query[region.first_row : region.end_row]),
        _aligned(pair.target[region.first_column : region.end_column]),
        pair.scoring.matrix,
        pair.scoring.gap_first,
        pair.scoring.gap_extend,
        pair.mode.is_local,
        _contiguous(boundary.top_H),
        _contiguous(boundary.top_F),
        _contiguous(boundary.left_H),
        _contiguous(boundary.left_E),
        boundary.corner,
    )


def _alignments(
    scores: NDArray[np.int64],
    positions: NDArray[np.int64],
    counts: NDArray[np.int32],
    operations: NDArray[np.uint32],
    offsets: NDArray[np.int64],
) -> AlignedPairs:
    return AlignedPairs(scores, positions.reshape(-1, 4), counts.reshape(-1, 6), Paths(operations, offsets))


def _contiguous(line: Line) -> Line:
    return line if line.flags.c_contiguous and line.flags.aligned else line.copy()


def _aligned(array: NDArray[Column]) -> NDArray[Column]:
    """An aligned, contiguous array, as the core needs it; columns of a memory-mapped file need not be aligned."""
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])
