"""Kept lines of a region, and the blocks between them with what surrounds them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.engines.regions import Borders, LineParts, Lines, PathState, ReadableLines, Region, table_left, table_top

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.regions import Line
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

    TwoLines = tuple[Line, Line]  # H, and F or E


class Surroundings(Protocol):
    """What is above and left of a region: asked for by absolute letters."""

    @property
    def corner(self) -> int:
        """H of the cell above and left of it."""
        ...

    def top(self, first_column: int, end_column: int) -> TwoLines:
        """H and F above these target letters."""
        ...

    def left(self, first_row: int, end_row: int) -> TwoLines:
        """H and E left of these query letters."""
        ...


@dataclass(frozen=True)
class TableSurroundings:
    """What is above and left of a whole table."""

    scoring: Scoring
    mode: Mode
    score: np.dtype[np.generic]
    corner: int = 0

    def top(self, first_column: int, end_column: int) -> TwoLines:
        """By the mode."""
        h, f = table_top(first_column, end_column, self.scoring, self.mode)
        return h.astype(self.score), f.astype(self.score)

    def left(self, first_row: int, end_row: int) -> TwoLines:
        """By the mode."""
        h, e = table_left(first_row, end_row, self.scoring, self.mode)
        return h.astype(self.score), e.astype(self.score)


@dataclass(frozen=True)
class RegionSurroundings:
    """What is above and left of a part of a table."""

    region: Region
    borders: Borders

    @property
    def corner(self) -> int:
        """H above and left."""
        return self.borders.corner

    def top(self, first_column: int, end_column: int) -> TwoLines:
        """From the row above."""
        own = slice(first_column - self.region.first_column, end_column - self.region.first_column)
        return self.borders.top_H[own], self.borders.top_F[own]

    def left(self, first_row: int, end_row: int) -> TwoLines:
        """From the column to the left."""
        own = slice(first_row - self.region.first_row, end_row - self.region.first_row)
        return self.borders.left_H[own], self.borders.left_E[own]


def grid(first: int, end: int, spacing: int, origin: int = 0) -> NDArray[np.int64]:
    """int64: places of lines after `first` and before `end`, every `spacing` from `origin` on.

    >>> grid(0, 12, 4).tolist(), grid(4, 13, 4).tolist(), grid(7, 20, 5, origin=7).tolist()
    ([4, 8], [8, 12], [12, 17])
    """
    return np.arange(origin + ((first - origin) // spacing + 1) * spacing, end, spacing, dtype=np.int64)


@dataclass(frozen=True)
class Surrounded:
    """A region with what surrounds it, and parts of its lines every `spacing` rows and columns."""

    region: Region
    borders: Borders
    spacing: int
    parts: LineParts


class KeptLines:
    """Lines every `spacing` rows and columns of a region, slab by slab, as far as it was computed."""

    def __init__(self, region: Region, around: Surroundings, spacing: int) -> None:
        self.region, self.around, self.spacing = region, around, spacing
        self._end_rows: list[int] = []
        self._slabs: list[Callable[[], ReadableLines]] = []
        self._first_rows: list[int] = []

    def add(self, first_row: int, end_row: int, lines: Callable[[], ReadableLines]) -> None:
        """The next slab; its lines are asked for when they are used."""
        self._first_rows.append(first_row)
        self._end_rows.append(end_row)
        self._slabs.append(lines)

    def block_of(self, state: PathState) -> tuple[Region, Borders]:
        """The cells between the next lines above and left of a path and the path itself, and what surrounds them."""
        first_row = self._line_before(state.row, self.region.first_row)
        first_column = self._line_before(state.column, self.region.first_column)
        block = Region(first_row, state.row + 1, first_column, state.column + 1)
        top, left = (
            self.row(first_row, first_column, block.end_column),
            self.column(first_column, first_row, block.end_row),
        )
        return block, Borders(*top, *left, self._corner(first_row, first_column))

    def near(self, state: PathState) -> Surrounded:
        """What is needed around a path and on its way back; where there are several slabs, the block that it is in."""
        if len(self._slabs) != 1:
            block, borders = self.block_of(state)
            lines: ReadableLines = Lines.empty(block, *(np.zeros(0, np.int64),) * 2, borders.top_H.dtype)
        else:
            block, lines = self.region, self._slabs[0]()
            borders = Borders(
                *self.around.top(block.first_column, block.end_column),
                *self.around.left(block.first_row, block.end_row),
                self.around.corner,
            )
        row, column = state.row - block.first_row, state.column - block.first_column
        parts = lines.near(row, column, self.spacing, state.gap)
        return Surrounded(block, borders, self.spacing, parts)

    def _line_before(self, cell: int, origin: int) -> int:
        return origin + (cell - origin) // self.spacing * self.spacing

    def row(self, row: int, first_column: int, end_column: int) -> TwoLines:
        """H and F of a kept row, or of the row above the region, for these target letters."""
        if row == self.region.first_row:
            return self.around.top(first_column, end_column)
        lines = self._slabs[bisect_right(self._end_rows, row - 1)]()
        place = int(np.searchsorted(lines.rows, row))
        own = slice(first_column - self.region.first_column, end_column - self.region.first_column)
        return lines.row(place, own)

    def column(self, column: int, first_row: int, end_row: int) -> TwoLines:
        """H and E of a kept column, or of the column left of the region, for these query letters."""
        if column == self.region.first_column:
            return self.around.left(first_row, end_row)
        parts = []
        for slab in range(bisect_right(self._end_rows, first_row), len(self._slabs)):
            begin = self._first_rows[slab]
            if begin >= end_row:
                break
            lines = self._slabs[slab]()
            place = int(np.searchsorted(lines.columns, column))
            own = slice(max(first_row - begin, 0), min(end_row, self._end_rows[slab]) - begin)
            parts.append(lines.column(place, own))
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([h for h, _ in parts]), np.concatenate([e for _, e in parts])

    def _corner(self, row: int, column: int) -> int:
        """H of the cell after so many letters of both."""
        if row == self.region.first_row and column == self.region.first_column:
            return self.around.corner
        if column == self.region.first_column:
            return int(self.around.left(row - 1, row)[0][0])
        return int(self.row(row, column - 1, column)[0][0])
