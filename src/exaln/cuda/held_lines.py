"""Lines of a region that stay on a card: a walk back fetches what it needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.longpair.region import LineParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.cuda.batches import Workspace
    from exaln.longpair.region import Line, Lines, Region

REACH = 2
"""Parts of lines near a path reach so many times the distance of two lines to both sides of its diagonal: blocks on the
diagonal need one, and a path may leave it by about one."""

MOST_LINES = 256
LINES_IN_GAP = 16
"""Fetched at a time; a path that is in a gap leaves its diagonal."""


@dataclass(frozen=True)
class WantedLines:
    """Which rows and columns are kept, and of what type."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    score: np.dtype[np.generic]

    @staticmethod
    def of(lines: Lines) -> WantedLines:
        """Those that an engine was given room for."""
        return WantedLines(lines.rows, lines.columns, lines.row_H.dtype)

    def n_bytes(self, region: Region) -> int:
        """Of all of them together."""
        n_scores = len(self.rows) * region.n_columns + len(self.columns) * region.n_rows
        return 2 * self.score.itemsize * n_scores

    def margin_bytes(self, region: Region) -> int:
        """What parts of lines near a path may reach beyond the first and the last line."""
        distances = [
            int(np.diff(np.concatenate([[first], places, [end]])).max())
            for first, places, end in (
                (region.first_row, self.rows, region.end_row),
                (region.first_column, self.columns, region.end_column),
            )
        ]
        return (REACH + 1) * max(distances) * self.score.itemsize // 256 * 256 + 256


class LineMemory:
    """Room on a card for lines of one kind, from `address` on, with a margin on both sides; given back when the object
    dies.
    """

    def __init__(self, workspace: Workspace, n_bytes: int, margin: int) -> None:
        self._memory = workspace.allocate(n_bytes + 2 * margin)
        self.address = self._memory.address + margin


class CardLines:
    """Lines that stay on a card until this object dies, and are fetched piece by piece: ReadableLines."""

    def __init__(
        self,
        workspace: Workspace,
        region: Region,
        wanted: WantedLines,
        memory: dict[str, LineMemory],
        row_bytes: int,
        column_bytes: int,
    ) -> None:
        self.rows, self.columns = wanted.rows, wanted.columns
        self._workspace, self._region, self._score, self._memory = workspace, region, wanted.score, memory
        self._row_bytes, self._column_bytes = row_bytes, column_bytes

    def row(self, place: int, columns: slice) -> tuple[Line, Line]:
        """As in Lines."""
        first = self._row_bytes * place
        return self._fetched("row H", first, columns), self._fetched("row F", first, columns)

    def column(self, place: int, rows: slice) -> tuple[Line, Line]:
        """As in Lines."""
        first = self._column_bytes * place
        return self._fetched("column H", first, rows), self._fetched("column E", first, rows)

    def near(self, row: int, column: int, spacing: int, *, is_in_gap: bool) -> LineParts:
        """Four copies: what the diagonal meets of each line lies as far behind that of the line before."""
        card, stream = self._workspace.card, self._workspace.side_stream
        most = LINES_IN_GAP if is_in_gap else MOST_LINES
        rows, row_firsts = along_diagonal(self.rows - self._region.first_row, row, column, spacing, most)
        columns, column_firsts = along_diagonal(self.columns - self._region.first_column, column, row, spacing, most)
        shapes = [(len(row_firsts), 2 * REACH * spacing)] * 2 + [(len(column_firsts), 2 * REACH * spacing)] * 2
        sizes = [n * width * self._score.itemsize for n, width in shapes]
        memory = self._workspace.pinned("lines near a path", sum(sizes))[: sum(sizes)]
        parts = [
            part.view(self._score).reshape(shape)
            for part, shape in zip(np.split(memory, np.cumsum(sizes)[:-1]), shapes, strict=True)
        ]
        card.activate()
        kinds = (
            ("row H", rows, row_firsts, self._row_bytes),
            ("row F", rows, row_firsts, self._row_bytes),
            ("column H", columns, column_firsts, self._column_bytes),
            ("column E", columns, column_firsts, self._column_bytes),
        )
        for part, (name, own, firsts, line_bytes) in zip(parts, kinds, strict=True):
            if len(firsts):
                address = self._memory[name].address + own.start * line_bytes + int(firsts[0]) * self._score.itemsize
                card.download_rows(part, address, line_bytes + spacing * self._score.itemsize, stream)
        card.wait(card.record(card.event(), stream))
        row_h, row_f, column_h, column_e = parts
        return LineParts(
            self.rows[rows], row_firsts, row_h, row_f, self.columns[columns], column_firsts, column_h, column_e
        )

    def _fetched(self, name: str, first: int, own: slice) -> Line:
        card = self._workspace.card
        line: Line = np.empty(own.stop - own.start, self._score)
        card.activate()
        address = self._memory[name].address + first + self._score.itemsize * own.start
        card.download(line, address, self._workspace.side_stream)
        return line


def along_diagonal(
    places: NDArray[np.int64], letter: int, other: int, spacing: int, most: int
) -> tuple[slice, NDArray[np.int64]]:
    """Which lines the diagonal of a path meets, and the first letter of the other sequence to be had of each.

    places: after how many letters each line is; letter, other: those of the path.

    >>> along_diagonal(np.array([10, 20, 30, 40]), 35, 28, 10, 2)
    (slice(1, 3, None), array([-7,  3]))
    """
    crossings = places + (other - letter)
    end = int(np.searchsorted(places, letter, "right"))
    own = slice(max(int(np.searchsorted(crossings, -spacing, "right")), end - most, 0), end)
    return own, crossings[own] - REACH * spacing
