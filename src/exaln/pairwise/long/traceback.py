"""Walking a path back over kept lines: blocks that it runs through are computed again, with finer lines each time.

The cells of a block, computed from what surrounds it, are those of the whole table, so the path is that of the direct
method: it depends on nothing but the two sequences, the costs and the mode.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.engines.regions import (
    STEP_QUERY,
    STEP_TARGET,
    Borders,
    EndCell,
    Lines,
    PairTable,
    PathState,
    Pruning,
    ReadableLines,
    Region,
)
from exaln.pairwise.long.checkpoints import KeptLines, RegionSurroundings, grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.modes import Mode


Piece = tuple["NDArray[np.uint8]", PathState]
"""Some steps of a path, backwards, and where it is after them."""

Walker = Callable[[KeptLines, PathState], Piece]
"""From the state of a path on, through at least one block."""


class RegionEngine(Protocol):
    """What an engine does for one long pair: see `exaln.engines.contracts.Engine`."""

    @property
    def block_bytes(self) -> int:
        """What lines of a block may take."""
        ...

    def fill_region(
        self,
        pair: PairTable,
        region: Region,
        borders: Borders,
        lines: Lines,
        *,
        progress: Callable[[int], None] | None = None,
        wants_end: bool = False,
        pruning: Pruning | None = None,
    ) -> EndCell:
        """All cells of a region; its lines are written."""
        ...

    def hold_lines(
        self,
        pair: PairTable,
        region: Region,
        borders: Borders,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        *,
        progress: Callable[[int], None] | None = None,
        wants_end: bool = False,
        pruning: Pruning | None = None,
    ) -> tuple[ReadableLines, EndCell] | None:
        """Lines of a region in the engine's own memory, and its end."""
        ...

    def least_score(self, pair: PairTable) -> int:
        """What some local alignment scores."""
        ...

    def walker(self, pair: PairTable) -> Walker:
        """For walking through blocks between lines."""
        ...

    def slab_rows(self, n_rows: int, n_columns: int) -> int:
        """Rows to be computed at a time."""
        ...


@dataclass
class Work:
    """Cells of the table, and cells that were computed again for the path; how many of them were pruned; seconds that
    the latter took.
    """

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
    """One pair, and who computes it; whether cells that cannot matter are pruned."""

    engine: RegionEngine
    prunes: bool = True
    work: Work = field(default_factory=Work, compare=False)

    @property
    def table(self) -> Region:
        """All cells."""
        return Region(0, len(self.query), 0, len(self.target))

    def pruning(self, best: int, end_row: int, end_column: int) -> Pruning | None:
        """What may be pruned where an alignment that ends in these rows and columns has this score."""
        return Pruning(best, end_row, end_column) if self.prunes and self.mode.is_local else None


class Scratch:
    """What a walk uses again and again. walker: for the last level; room for the lines of one block on each of the
    others: fresh memory takes time.
    """

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self._memory: dict[int, NDArray[np.uint8]] = {}

    def lines(
        self,
        level: int,
        block: Region,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        score: np.dtype[np.generic],
    ) -> Lines:
        """For these lines of a block."""
        shapes = [(len(rows), block.n_columns)] * 2 + [(len(columns), block.n_rows)] * 2
        sizes = [n_lines * length * score.itemsize for n_lines, length in shapes]
        memory = self._memory.get(level)
        if memory is None or len(memory) < sum(sizes):
            memory = self._memory[level] = np.empty(sum(sizes), np.uint8)
        parts = np.split(memory[: sum(sizes)], np.cumsum(sizes)[:-1])
        row_h, row_f, column_h, column_e = (
            part.view(score).reshape(shape) for part, shape in zip(parts, shapes, strict=True)
        )
        return Lines(rows, row_h, row_f, columns, column_h, column_e)


def walk(pair: LongPair, kept: KeptLines, spacings: tuple[int, ...], state: PathState) -> Iterator[Piece]:
    """The path from a cell of a region on, until it leaves the region; spacings are those of further levels."""
    return _walk_region(pair, kept, spacings, state, Scratch(pair.engine.walker(pair)))


def _walk_region(
    pair: LongPair, kept: KeptLines, spacings: tuple[int, ...], state: PathState, scratch: Scratch
) -> Iterator[Piece]:
    while not state.is_complete(pair.mode) and _is_within(kept.region, state):
        for piece in _walk_on(pair, kept, spacings, state, scratch):
            yield piece
            state = piece[1]


def _walk_on(
    pair: LongPair, kept: KeptLines, spacings: tuple[int, ...], state: PathState, scratch: Scratch
) -> Iterator[Piece]:
    """The path through the block that it is in, and on the last level further, as far as the engine goes at a time."""
    if not spacings:
        yield scratch.walker(kept, state)
        return
    block, borders = kept.block_of(state)
    lines = _lines_of(pair, block, borders, spacings, state, scratch)
    finer = KeptLines(block, RegionSurroundings(block, borders), spacings[0])
    finer.add(block.first_row, block.end_row, lambda: lines)
    yield from _walk_region(pair, finer, spacings[1:], state, scratch)


def _lines_of(
    pair: LongPair, block: Region, borders: Borders, spacings: tuple[int, ...], state: PathState, scratch: Scratch
) -> ReadableLines:
    """The lines of a block: held by the engine, of which a walk fetches those it needs, or here.

    The path comes from the block's last cell, with a score that it has from there on back.
    """
    rows = grid(block.first_row, block.end_row, spacings[0], block.first_row)
    columns = grid(block.first_column, block.end_column, spacings[0], block.first_column)
    if not len(rows) and not len(columns):
        return Lines.empty(block, rows, columns, borders.top_H.dtype)
    pruning, began = pair.pruning(state.left, block.end_row, block.end_column), time.perf_counter()
    held = pair.engine.hold_lines(pair, block, borders, rows, columns, pruning=pruning)
    lines: ReadableLines
    if held is not None:
        lines, _ = held
    else:
        lines = room = scratch.lines(len(spacings), block, rows, columns, borders.top_H.dtype)
        pair.engine.fill_region(pair, block, borders, room, pruning=pruning)
    pair.work.again_seconds += time.perf_counter() - began
    pair.work.again += block.cells
    pair.work.again_pruned += 0 if pruning is None else pruning.cells
    return lines


def _is_within(region: Region, state: PathState) -> bool:
    return state.row >= region.first_row and state.column >= region.first_column


def along_border(mode: Mode, state: PathState) -> Piece:
    """From where a path met a border on to its start: at once if that border is free, else in the corner."""
    row, column = state.row, state.column
    if mode.is_local or (row >= 0 and mode.query_start) or (column >= 0 and mode.target_start):
        return np.zeros(0, np.uint8), state
    step = STEP_TARGET if column >= 0 else STEP_QUERY
    return np.full(max(row, column) + 1, step, np.uint8), PathState(-1, -1)
