"""One long pair from sequences to alignment, in stages. With a work directory, interrupted runs resume.

scores   fill the whole table, slab by slab of rows: the score, the end of the alignment, and checkpoints
path     trace back from there, block by block between checkpoints
result   operations and counts; the path is re-scored and must give the score
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.regions import (
    Boundary,
    Checkpoints,
    EndCell,
    PathState,
    Pruning,
    Region,
    RegionResult,
    RegionTask,
    border_score,
)
from exaln.foundation.mapped_file import unchanged
from exaln.foundation.output_file import output_errors
from exaln.foundation.paths import checked_path
from exaln.foundation.resources import available_memory
from exaln.pairwise.long.checkpoints import SlabCheckpoints, TableBoundary, grid_places
from exaln.pairwise.long.options import IN_MEMORY, PATH, SCORES, LongOptions, Watch
from exaln.pairwise.long.plan import Plan, Room, plan_path, plan_score
from exaln.pairwise.long.result import LongAlignment, rescored
from exaln.pairwise.long.store import DirectoryStore, MemoryStore, Store, pair_name
from exaln.pairwise.long.traceback import LongPair, along_border, trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import RegionEngine
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring


def score_long(
    engine: RegionEngine,
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: Scoring,
    mode: Mode,
    options: LongOptions = IN_MEMORY,
) -> int:
    """The exact score of one pair, without checkpoints."""
    pair = LongPair(query, target, scoring, mode, engine, options.prunes)
    store = MemoryStore(plan_score(len(query), len(target), scoring))
    score = fill(pair, store, options.watch).score
    _report_work(pair, options)
    return score


def align_long(
    engine: RegionEngine,
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: Scoring,
    mode: Mode,
    options: LongOptions,
) -> LongAlignment:
    """The alignment of one pair by the path rule. Neither sequence may be empty."""
    pair = LongPair(query, target, scoring, mode, engine, options.prunes)
    alignment = _align_long(pair, options)
    _report_work(pair, options)
    return alignment


def _report_work(pair: LongPair, options: LongOptions) -> None:
    if options.detail is not None and str(pair.work):
        options.detail(str(pair.work))


def _align_long(pair: LongPair, options: LongOptions) -> LongAlignment:
    rows, columns = len(pair.query), len(pair.target)
    memory = available_memory() if options.memory is None else options.memory
    slab_rows = pair.engine.slab_rows(rows, columns)
    if options.work_dir is None:
        plan = plan_path(rows, columns, pair.scoring, slab_rows, Room.of(memory), pair.engine.checkpoint_bytes)
        return align_with(pair, MemoryStore(plan), options.watch)
    with _work_directory(options.work_dir, pair, memory, slab_rows) as store:
        if options.tell is not None:
            options.tell(f"{store.directory}: {store.progress(rows)}")
        return align_with(pair, store, options.watch)


@contextmanager
def _work_directory(work_dir: Path, pair: LongPair, memory: int, slab_rows: int) -> Iterator[DirectoryStore]:
    work_dir = checked_path(work_dir, "the work directory")
    with output_errors(work_dir):
        work_dir.mkdir(parents=True, exist_ok=True)
        directory = work_dir / pair_name(pair)
        stored = sum(path.stat().st_size for path in directory.glob("*.lines"))
        disk = shutil.disk_usage(work_dir).free + stored
    rows, columns = len(pair.query), len(pair.target)
    plan = plan_path(rows, columns, pair.scoring, slab_rows, Room.of(memory, disk), pair.engine.checkpoint_bytes)
    store = DirectoryStore(directory, plan, rows, columns)
    try:
        yield store
    finally:
        store.close()


def align_with(pair: LongPair, store: Store, watch: Watch | None = None) -> LongAlignment:
    """The alignment of a pair, resumed from the state of the store. `watch` is first called with that state."""
    with unchanged(store.require_unchanged):
        return _align_with(pair, store, watch)


def _align_with(pair: LongPair, store: Store, watch: Watch | None) -> LongAlignment:
    if watch is not None:
        rows_done = store.rows_done if store.state is None else len(pair.query)
        watch(SCORES, rows_done * len(pair.target), pair.table.cells)
    if store.state is None:
        end = fill(pair, store, watch)
        store.start_path(end, PathState(end.row - 1, end.column - 1, end.score if pair.mode.is_local else 0))
    if not store.is_complete:
        trace_path(pair, store, watch)
    return rescored(pair, store.end, store.path())


def fill(pair: LongPair, store: Store, watch: Watch | None) -> EndCell:
    """Fill the rest of the table, slab by slab. Returns the end of the alignment."""
    table, n_columns = pair.table, len(pair.target)
    bound = pair.engine.lower_bound(pair) if pair.prunes and pair.mode.is_local else 0
    while store.rows_done < table.end_row:
        first_row = store.rows_done
        region = Region(first_row, min(table.end_row, first_row + store.plan.slab_rows), 0, n_columns)
        progress = None if watch is None else _after(watch, first_row * n_columns, table.cells)
        boundary = _slab_boundary(pair, store, region)
        pruning = pair.pruning(max(bound, store.end.score), table.end_row, table.end_column)
        filled = _filled(pair, store, region, boundary, progress, pruning)
        checkpoints, end = filled.checkpoints, filled.end.better(store.end)
        pair.work.scored += region.cells
        pair.work.scored_pruned += 0 if pruning is None else pruning.cells
        carry = checkpoints.row(len(checkpoints.rows) - 1, slice(0, n_columns))
        store.add_slab(region, checkpoints, carry, end)
        if watch is not None:
            watch(SCORES, region.end_row * n_columns, table.cells)
    return store.end if pair.mode.is_local else _end_on_borders(pair, store)


def trace_path(pair: LongPair, store: Store, watch: Watch | None) -> None:
    """Trace the rest of the path and store its steps."""
    assert store.state is not None
    total = store.end.row + store.end.column
    for piece in trace(pair, _checkpoint_grid(pair, store), store.plan.spacings[1:], store.state):
        store.add_steps(*piece, is_last=False)
        if watch is not None:
            watch(PATH, total - (store.state.row + store.state.column + 2), total)
    store.add_steps(*along_border(pair.mode, store.state), is_last=True)
    if watch is not None:
        watch(PATH, total, total)


def _after(watch: Watch, done: int, total: int) -> Callable[[int], None]:
    return lambda cells: watch(SCORES, done + cells, total)


def _table_boundary(pair: LongPair, plan: Plan) -> TableBoundary:
    return TableBoundary(pair.scoring, pair.mode, plan.score)


def _slab_boundary(pair: LongPair, store: Store, region: Region) -> Boundary:
    """The last row of the slab before, or the top of the table; and the left edge of the table."""
    table = _table_boundary(pair, store.plan)
    left = table.left(region.first_row, region.end_row)
    if store.carry is None:
        return Boundary(*table.top(0, region.end_column), *left, corner=0)
    corner = border_score(np.array([region.first_row]), pair.scoring, is_free=pair.mode.query_start)
    return Boundary(*store.carry, *left, corner=int(corner[0]))


def _filled(
    pair: LongPair,
    store: Store,
    region: Region,
    boundary: Boundary,
    progress: Callable[[int], None] | None,
    pruning: Pruning | None,
) -> RegionResult:
    """Fill a slab. Returns its checkpoints, which the engine may hold if the store allows it, and its best cell."""
    rows, columns = _slab_places(pair, store.plan, region)
    task = RegionTask(
        pair,
        region,
        boundary,
        rows,
        columns,
        room=lambda: Checkpoints.empty(region, rows, columns, store.plan.score),
        may_hold=bool(store.plan.spacings) and store.engine_may_hold,
        finds_end=pair.mode.is_local,
        pruning=pruning,
        progress=progress,
    )
    return pair.engine.fill(task)


def _slab_places(pair: LongPair, plan: Plan, region: Region) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64 each: the checkpoint rows and columns of a slab. They are those of the grid, the last row, and the last
    column where an alignment may end in it.
    """
    rows = columns = np.zeros(0, np.int64)
    if plan.spacings:
        rows = grid_places(region.first_row, region.end_row, plan.spacings[0])
        columns = grid_places(0, region.end_column, plan.spacings[0])
    if pair.mode.query_end and not pair.mode.is_local:
        columns = np.append(columns, region.end_column)
    return np.append(rows, region.end_row), columns


def _checkpoint_grid(pair: LongPair, store: Store) -> SlabCheckpoints:
    """The checkpoints of all slabs in the store."""
    spacing = store.plan.spacings[0] if store.plan.spacings else len(pair.query) + len(pair.target)
    grid = SlabCheckpoints(pair.table, _table_boundary(pair, store.plan), spacing)
    store.add_checkpoints_to(grid)
    return grid


def _end_on_borders(pair: LongPair, store: Store) -> EndCell:
    """The end of an alignment that is not local: the best cell of the last row and column in which it may end."""
    mode, rows, columns = pair.mode, len(pair.query), len(pair.target)
    assert store.carry is not None
    first = 0 if mode.target_end else columns
    left = border_score(np.array([rows]), pair.scoring, is_free=mode.query_start)
    in_row = np.concatenate([left, store.carry[0]])[first:]
    best = int(in_row.argmax())
    end = EndCell(int(in_row[best]), rows, first + best)
    if mode.query_end:
        top = border_score(np.array([columns]), pair.scoring, is_free=mode.target_start)
        in_column = np.concatenate([top, _checkpoint_grid(pair, store).column(columns, 0, rows)[0]])
        best = int(in_column.argmax())
        end = end.better(EndCell(int(in_column[best]), best, columns))
    return end
