"""Traceback over checkpoints: blocks on the path are filled again, level by level, with finer checkpoints.

A block that is filled from its boundary has the cells of the whole table, so the path is that of the direct method. It
depends only on the two sequences, the scoring and the mode.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.regions import (
    STEP_QUERY,
    STEP_TARGET,
    Boundary,
    CheckpointReader,
    Checkpoints,
    PairTable,
    PathState,
    Pruning,
    Region,
    RegionTask,
    Traceback,
)
from exaln.pairwise.long.checkpoints import RegionBoundary, SlabCheckpoints, grid_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import RegionEngine
    from exaln.scoring.modes import Mode


Piece = tuple["NDArray[np.uint8]", PathState]
"""Steps of a path, uint8, backwards, and the state of the traceback after them."""


@dataclass
class Work:
    """Counts of cells: those of the table, those of blocks filled again for the path, and how many of each were pruned.

    refill_seconds: the time that filling blocks again took.
    """

    scored: int = 0
    scored_pruned: int = 0
    refilled: int = 0
    refilled_pruned: int = 0
    refill_seconds: float = 0.0

    def __str__(self) -> str:
        parts = []
        if self.scored:
            parts.append(f"{100 * self.scored_pruned / self.scored:.1f} % of {self.scored:.3g} cells were pruned")
        if self.refilled:
            pruned = 100 * self.refilled_pruned / self.refilled
            seconds = f"{self.refill_seconds:.2f} s"
            parts.append(f"{self.refilled:.3g} computed again for the path in {seconds}, {pruned:.1f} % of them pruned")
        return ", ".join(parts)


@dataclass(frozen=True)
class LongPair(PairTable):
    """One pair and the engine that fills its table. prunes: whether cells that cannot matter are skipped."""

    engine: RegionEngine
    prunes: bool = True
    work: Work = field(default_factory=Work, compare=False)

    @property
    def table(self) -> Region:
        """The region of all cells."""
        return Region(0, len(self.query), 0, len(self.target))

    def pruning(self, best: int, end_row: int, end_column: int) -> Pruning | None:
        """What an engine may prune in local mode if some alignment within these rows and columns scores `best`."""
        return Pruning(best, end_row, end_column) if self.prunes and self.mode.is_local else None


class Scratch:
    """Memory for the checkpoints of one block per level, reused from block to block because fresh memory is slow.

    follow: traces the blocks of the last level, which need no checkpoints.
    """

    def __init__(self, follow: Traceback) -> None:
        self.follow = follow
        self._memory: dict[int, NDArray[np.uint8]] = {}

    def checkpoints(
        self,
        level: int,
        block: Region,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        score: np.dtype[np.generic],
    ) -> Checkpoints:
        """Uninitialised checkpoints of a block."""
        shapes = [(len(rows), block.n_columns)] * 2 + [(len(columns), block.n_rows)] * 2
        sizes = [n_lines * length * score.itemsize for n_lines, length in shapes]
        memory = self._memory.get(level)
        if memory is None or len(memory) < sum(sizes):
            memory = self._memory[level] = np.empty(sum(sizes), np.uint8)
        parts = np.split(memory[: sum(sizes)], np.cumsum(sizes)[:-1])
        row_h, row_f, column_h, column_e = (
            part.view(score).reshape(shape) for part, shape in zip(parts, shapes, strict=True)
        )
        return Checkpoints(rows, row_h, row_f, columns, column_h, column_e)


def trace(pair: LongPair, grid: SlabCheckpoints, spacings: tuple[int, ...], state: PathState) -> Iterator[Piece]:
    """Yield the path backwards from a cell of a region until it leaves the region, in pieces.

    spacings: of the checkpoints on the finer levels.
    """
    return _trace_region(pair, grid, spacings, state, Scratch(pair.engine.traceback(pair)))


def _trace_region(
    pair: LongPair, grid: SlabCheckpoints, spacings: tuple[int, ...], state: PathState, scratch: Scratch
) -> Iterator[Piece]:
    while not state.is_complete(pair.mode) and _is_within(grid.region, state):
        for piece in _trace_block(pair, grid, spacings, state, scratch):
            yield piece
            state = piece[1]


def _trace_block(
    pair: LongPair, grid: SlabCheckpoints, spacings: tuple[int, ...], state: PathState, scratch: Scratch
) -> Iterator[Piece]:
    """Yield the path through its current block; on the last level, as far as one call of the engine goes."""
    if not spacings:
        yield scratch.follow(grid, state)
        return
    block, boundary = grid.block(state)
    checkpoints = _filled_block(pair, block, boundary, spacings, state, scratch)
    finer = SlabCheckpoints(block, RegionBoundary(block, boundary), spacings[0])
    finer.add(block.first_row, block.end_row, lambda: checkpoints)
    yield from _trace_region(pair, finer, spacings[1:], state, scratch)


def _filled_block(
    pair: LongPair, block: Region, boundary: Boundary, spacings: tuple[int, ...], state: PathState, scratch: Scratch
) -> CheckpointReader:
    """Fill a block and return its checkpoints. The path enters at its last cell."""
    rows = grid_places(block.first_row, block.end_row, spacings[0], block.first_row)
    columns = grid_places(block.first_column, block.end_column, spacings[0], block.first_column)
    score = boundary.top_H.dtype
    if not len(rows) and not len(columns):
        return Checkpoints.empty(block, rows, columns, score)
    pruning, began = pair.pruning(state.left, block.end_row, block.end_column), time.perf_counter()
    task = RegionTask(
        pair,
        block,
        boundary,
        rows,
        columns,
        room=lambda: scratch.checkpoints(len(spacings), block, rows, columns, score),
        may_hold=True,
        pruning=pruning,
    )
    checkpoints = pair.engine.fill(task).checkpoints
    pair.work.refill_seconds += time.perf_counter() - began
    pair.work.refilled += block.cells
    pair.work.refilled_pruned += 0 if pruning is None else pruning.cells
    return checkpoints


def _is_within(region: Region, state: PathState) -> bool:
    return state.row >= region.first_row and state.column >= region.first_column


def along_border(mode: Mode, state: PathState) -> Piece:
    """The rest of a path that has met a border: nothing if that border is free, else a gap to the corner."""
    row, column = state.row, state.column
    if mode.is_local or (row >= 0 and mode.query_start) or (column >= 0 and mode.target_start):
        return np.zeros(0, np.uint8), state
    step = STEP_TARGET if column >= 0 else STEP_QUERY
    return np.full(max(row, column) + 1, step, np.uint8), PathState(-1, -1)
