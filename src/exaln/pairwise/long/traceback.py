"""Traceback over checkpoints: the blocks that the path runs through are filled again, each time with finer checkpoints.

The cells of a block, filled from its boundary, are those of the whole table, so the path is that of the direct method:
it depends on nothing but the two sequences, the costs and the mode.
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
"""Some steps of a path, backwards, and its state after them."""


@dataclass
class Work:
    """Cells of the table, cells filled again for the path, how many of both were pruned; seconds of the latter."""

    scored: int = 0
    scored_pruned: int = 0
    again: int = 0
    again_pruned: int = 0
    again_seconds: float = 0.0

    def __str__(self) -> str:
        parts = []
        if self.scored:
            parts.append(f"{100 * self.scored_pruned / self.scored:.1f} % of {self.scored:.3g} cells were pruned")
        if self.again:
            pruned = 100 * self.again_pruned / self.again
            seconds = f"{self.again_seconds:.2f} s"
            parts.append(f"{self.again:.3g} computed again for the path in {seconds}, {pruned:.1f} % of them pruned")
        return ", ".join(parts)


@dataclass(frozen=True)
class LongPair(PairTable):
    """One pair and the engine that fills it. prunes: whether cells that cannot matter are skipped."""

    engine: RegionEngine
    prunes: bool = True
    work: Work = field(default_factory=Work, compare=False)

    @property
    def table(self) -> Region:
        """All cells."""
        return Region(0, len(self.query), 0, len(self.target))

    def pruning(self, best: int, end_row: int, end_column: int) -> Pruning | None:
        """Permission to prune, in local mode, where an alignment that ends in these rows and columns has this score."""
        return Pruning(best, end_row, end_column) if self.prunes and self.mode.is_local else None


class Scratch:
    """Memory that a traceback uses again: room for the checkpoints of one block on each level but the last, which
    `follow` traces. Fresh memory takes time.
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
    """The path from a cell of a region on, until it leaves the region. spacings: of the checkpoints of finer levels."""
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
    """The path through the block that it is in, and on the last level as far as the engine goes at a time."""
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
    """The checkpoints of a block. The path enters at its last cell, with the score that it has from there on back."""
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
    pair.work.again_seconds += time.perf_counter() - began
    pair.work.again += block.cells
    pair.work.again_pruned += 0 if pruning is None else pruning.cells
    return checkpoints


def _is_within(region: Region, state: PathState) -> bool:
    return state.row >= region.first_row and state.column >= region.first_column


def along_border(mode: Mode, state: PathState) -> Piece:
    """From where a path met a border on to its start: at once if that border is free, else in the corner."""
    row, column = state.row, state.column
    if mode.is_local or (row >= 0 and mode.query_start) or (column >= 0 and mode.target_start):
        return np.zeros(0, np.uint8), state
    step = STEP_TARGET if column >= 0 else STEP_QUERY
    return np.full(max(row, column) + 1, step, np.uint8), PathState(-1, -1)
