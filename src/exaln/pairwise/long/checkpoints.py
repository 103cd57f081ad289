"""Checkpoint rows and columns of a region, slab by slab, and the blocks between them with their boundaries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.engines.regions import (
    Boundary,
    CheckpointReader,
    Checkpoints,
    PathState,
    Region,
    TracebackWindow,
    table_left,
    table_top,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.regions import Line
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

    TwoLines = tuple[Line, Line]  # H, and F or E


class BoundarySource(Protocol):
    """The row above a region and the column left of it. Rows and columns count letters of the whole sequences."""

    @property
    def corner(self) -> int:
        """H of the cell above and left of the region."""
        ...

    def top(self, first_column: int, end_column: int) -> TwoLines:
        """H and F above these target letters."""
        ...

    def left(self, first_row: int, end_row: int) -> TwoLines:
        """H and E left of these query letters."""
        ...


@dataclass(frozen=True)
class TableBoundary:
    """The boundary of a whole table, which the mode decides."""

    scoring: Scoring
    mode: Mode
    score: np.dtype[np.generic]
    corner: int = 0

    def top(self, first_column: int, end_column: int) -> TwoLines:
        """H and F above these target letters."""
        h, f = table_top(first_column, end_column, self.scoring, self.mode)
        return h.astype(self.score), f.astype(self.score)

    def left(self, first_row: int, end_row: int) -> TwoLines:
        """H and E left of these query letters."""
        h, e = table_left(first_row, end_row, self.scoring, self.mode)
        return h.astype(self.score), e.astype(self.score)


@dataclass(frozen=True)
class RegionBoundary:
    """The boundary of a part of a table, from arrays."""

    region: Region
    boundary: Boundary

    @property
    def corner(self) -> int:
        """H of the cell above and left of the region."""
        return self.boundary.corner

    def top(self, first_column: int, end_column: int) -> TwoLines:
        """H and F above these target letters."""
        own = slice(first_column - self.region.first_column, end_column - self.region.first_column)
        return self.boundary.top_H[own], self.boundary.top_F[own]

    def left(self, first_row: int, end_row: int) -> TwoLines:
        """H and E left of these query letters."""
        own = slice(first_row - self.region.first_row, end_row - self.region.first_row)
        return self.boundary.left_H[own], self.boundary.left_E[own]


def grid_places(first: int, end: int, spacing: int, origin: int = 0) -> NDArray[np.int64]:
    """int64: places of checkpoints after `first` and before `end`, every `spacing` from `origin` on.

    >>> grid_places(0, 12, 4).tolist(), grid_places(4, 13, 4).tolist(), grid_places(7, 20, 5, origin=7).tolist()
    ([4, 8], [8, 12], [12, 17])
    """
    return np.arange(origin + ((first - origin) // spacing + 1) * spacing, end, spacing, dtype=np.int64)


class SlabCheckpoints:
    """Checkpoints every `spacing` rows and columns of a region, slab by slab, as far as it was filled.

    It is a `CheckpointGrid`, from which an engine reads what a traceback needs.
    """

    def __init__(self, region: Region, source: BoundarySource, spacing: int) -> None:
        self.region, self.source, self.spacing = region, source, spacing
        self._end_rows: list[int] = []
        self._slabs: list[Callable[[], CheckpointReader]] = []
        self._first_rows: list[int] = []

    def add(self, first_row: int, end_row: int, read: Callable[[], CheckpointReader]) -> None:
        """Append the next slab; `read` is called when its checkpoints are used."""
        self._first_rows.append(first_row)
        self._end_rows.append(end_row)
        self._slabs.append(read)

    def block(self, state: PathState) -> tuple[Region, Boundary]:
        """The block from the next checkpoints above and left of a path to its current cell, with its boundary."""
        first_row = self._checkpoint_before(state.row, self.region.first_row)
        first_column = self._checkpoint_before(state.column, self.region.first_column)
        block = Region(first_row, state.row + 1, first_column, state.column + 1)
        top, left = (
            self.row(first_row, first_column, block.end_column),
            self.column(first_column, first_row, block.end_row),
        )
        return block, Boundary(*top, *left, self._corner(first_row, first_column))

    def window(self, state: PathState) -> TracebackWindow:
        """The region through which a path leads back; where there are several slabs, only the block of its cell."""
        if len(self._slabs) != 1:
            block, boundary = self.block(state)
            nowhere = np.zeros(0, np.int64)
            checkpoints: CheckpointReader = Checkpoints.empty(block, nowhere, nowhere, boundary.top_H.dtype)
        else:
            block, checkpoints = self.region, self._slabs[0]()
            boundary = Boundary(
                *self.source.top(block.first_column, block.end_column),
                *self.source.left(block.first_row, block.end_row),
                self.source.corner,
            )
        row, column = state.row - block.first_row, state.column - block.first_column
        parts = checkpoints.near(row, column, self.spacing, state.gap)
        return TracebackWindow(block, boundary, self.spacing, parts)

    def _checkpoint_before(self, cell: int, origin: int) -> int:
        return origin + (cell - origin) // self.spacing * self.spacing

    def row(self, row: int, first_column: int, end_column: int) -> TwoLines:
        """H and F of a checkpoint row, or of the row above the region, for these target letters."""
        if row == self.region.first_row:
            return self.source.top(first_column, end_column)
        checkpoints = self._slabs[bisect_right(self._end_rows, row - 1)]()
        place = int(np.searchsorted(checkpoints.rows, row))
        own = slice(first_column - self.region.first_column, end_column - self.region.first_column)
        return checkpoints.row(place, own)

    def column(self, column: int, first_row: int, end_row: int) -> TwoLines:
        """H and E of a checkpoint column, or of the column left of the region, for these query letters."""
        if column == self.region.first_column:
            return self.source.left(first_row, end_row)
        parts = []
        for slab in range(bisect_right(self._end_rows, first_row), len(self._slabs)):
            begin = self._first_rows[slab]
            if begin >= end_row:
                break
            checkpoints = self._slabs[slab]()
            place = int(np.searchsorted(checkpoints.columns, column))
            own = slice(max(first_row - begin, 0), min(end_row, self._end_rows[slab]) - begin)
            parts.append(checkpoints.column(place, own))
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([h for h, _ in parts]), np.concatenate([e for _, e in parts])

    def _corner(self, row: int, column: int) -> int:
        """H of the cell after `row` query letters and `column` target letters."""
        if row == self.region.first_row and column == self.region.first_column:
            return self.source.corner
        if column == self.region.first_column:
            return int(self.source.left(row - 1, row)[0][0])
        return int(self.row(row, column - 1, column)[0][0])
