"""Checkpoints of a region that stay on a device: a walk back fetches what it needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.regions import IN_E, NO_GAP, CheckpointParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.regions import Checkpoints, Line, Region

REACH = 2
"""Parts of lines near a path reach so many times the distance of two lines to both sides of its diagonal: blocks on the
diagonal need one, and a path may leave it by about one."""

ALIGNMENT = 256
"""Bytes."""

MOST_LINES = 256
"""Fetched at a time."""

ALONG_GAP, ACROSS_GAP = 64, 3
"""Around a path in a gap so many lines of each kind are fetched, in place of those along its diagonal."""


@dataclass(frozen=True)
class WantedLines:
    """Which rows and columns are kept, and of what type."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    score: np.dtype[np.generic]

    @staticmethod
    def of(lines: Checkpoints) -> WantedLines:
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
        return -(-(REACH + 1) * max(distances) * self.score.itemsize // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class LinesAhead:
    """Parts of lines that a path may meet. own: of which lines; firsts: the letter that each part begins with, `step`
    further from line to line; length: letters of each part.
    """

    own: slice
    firsts: NDArray[np.int64]
    length: int
    step: int

    @staticmethod
    def along_diagonal(
        places: NDArray[np.int64], letter: int, other: int, spacing: int, line_length: int
    ) -> LinesAhead:
        """Around the diagonal of a path; of short lines all of it, as a copy cannot take parts that overlap.

        places: after how many letters each line is; letter, other: those of the path; line_length: of all letters.

        >>> LinesAhead.along_diagonal(np.array([10, 20, 30, 40]), 35, 28, 10, 100)
        LinesAhead(own=slice(0, 3, None), firsts=array([-17,  -7,   3]), length=40, step=10)
        """
        crossings = places + (other - letter)
        end = int(np.searchsorted(places, letter, "right"))
        own = slice(max(int(np.searchsorted(crossings, -spacing, "right")), end - MOST_LINES, 0), end)
        length = 2 * REACH * spacing
        if length > line_length + spacing:
            return LinesAhead(own, np.zeros_like(places[own]), line_length, 0)
        return LinesAhead(own, crossings[own] - REACH * spacing, length, spacing)

    @staticmethod
    def straight(places: NDArray[np.int64], letter: int, other: int, most: int, reach: int) -> LinesAhead:
        """The last lines before a path, and of each what is no further from it than `reach`.

        >>> LinesAhead.straight(np.array([10, 20, 30, 40]), 35, 28, 2, 15)
        LinesAhead(own=slice(1, 3, None), firsts=array([13, 13]), length=16, step=0)
        """
        end = int(np.searchsorted(places, letter, "right"))
        own, first = slice(max(end - most, 0), end), max(other - reach, 0)
        return LinesAhead(own, np.full(own.stop - own.start, first), other + 1 - first, 0)


def lines_ahead(
    region: Region, lines: tuple[NDArray[np.int64], NDArray[np.int64]], row: int, column: int, spacing: int, gap: int
) -> tuple[LinesAhead, LinesAhead]:
    """Of these rows and of these columns of a region, what a path from a cell of it on may meet."""
    rows, columns = lines[0] - region.first_row, lines[1] - region.first_column
    if gap == NO_GAP:
        return (
            LinesAhead.along_diagonal(rows, row, column, spacing, region.n_columns),
            LinesAhead.along_diagonal(columns, column, row, spacing, region.n_rows),
        )
    n_rows, n_columns = (ACROSS_GAP, ALONG_GAP) if gap == IN_E else (ALONG_GAP, ACROSS_GAP)
    return (
        LinesAhead.straight(rows, row, column, n_rows, n_columns * spacing),
        LinesAhead.straight(columns, column, row, n_columns, n_rows * spacing),
    )


class LineMemory:
    """Room on a device for lines, one kind behind the other, with a margin on both sides, until the object dies.

    In one piece, as to get memory and to give it back takes its time. addresses: of each kind.
    """

    def __init__(self, workspace: Workspace, sizes: dict[str, int], margin: int) -> None:
        ends = np.cumsum([-(-size // ALIGNMENT) * ALIGNMENT for size in sizes.values()])
        self._memory = workspace.allocate(int(ends[-1]) + 2 * margin)
        first = self._memory.address + margin
        self.addresses = dict(zip(sizes, [first, *(first + int(end) for end in ends[:-1])], strict=True))


class DeviceLines:
    """Checkpoints that stay on a device until this object dies, and are fetched piece by piece: CheckpointReader."""

    def __init__(
        self,
        workspace: Workspace,
        region: Region,
        wanted: WantedLines,
        memory: LineMemory,
        row_bytes: int,
        column_bytes: int,
    ) -> None:
        self.rows, self.columns = wanted.rows, wanted.columns
        self._workspace, self._region, self._score, self._memory = workspace, region, wanted.score, memory
        self._row_bytes, self._column_bytes = row_bytes, column_bytes

    def row(self, place: int, columns: slice) -> tuple[Line, Line]:
        """As in Checkpoints."""
        first = self._row_bytes * place
        return self._fetched("row H", first, columns), self._fetched("row F", first, columns)

    def column(self, place: int, rows: slice) -> tuple[Line, Line]:
        """As in Checkpoints."""
        first = self._column_bytes * place
        return self._fetched("column H", first, rows), self._fetched("column E", first, rows)

    def near(self, row: int, column: int, spacing: int, gap: int) -> CheckpointParts:
        """Four copies: what the diagonal meets of each line lies as far behind that of the line before."""
        rows, columns = lines_ahead(self._region, (self.rows, self.columns), row, column, spacing, gap)
        row_h, row_f, column_h, column_e = self._fetched_parts(rows, columns)
        return CheckpointParts(
            rows=self.rows[rows.own],
            row_firsts=rows.firsts,
            row_H=row_h,
            row_F=row_f,
            columns=self.columns[columns.own],
            column_firsts=columns.firsts,
            column_H=column_h,
            column_E=column_e,
        )

    def _fetched_parts(self, rows: LinesAhead, columns: LinesAhead) -> list[Line]:
        """H and F of rows, H and E of columns, in pinned memory that is used again."""
        device, stream, itemsize = self._workspace.device, self._workspace.side_stream, self._score.itemsize
        kinds = (
            ("row H", rows, self._row_bytes),
            ("row F", rows, self._row_bytes),
            ("column H", columns, self._column_bytes),
            ("column E", columns, self._column_bytes),
        )
        sizes = [len(ahead.firsts) * ahead.length * itemsize for _, ahead, _ in kinds]
        memory = self._workspace.pinned("lines near a path", sum(sizes))
        parts = []
        device.activate()
        for (name, ahead, line_bytes), end, size in zip(kinds, np.cumsum(sizes), sizes, strict=True):
            part = memory[end - size : end].view(self._score).reshape(len(ahead.firsts), ahead.length)
            parts.append(part)
            if size:
                first = self._memory.addresses[name] + ahead.own.start * line_bytes + int(ahead.firsts[0]) * itemsize
                device.download_rows(part, first, line_bytes + ahead.step * itemsize, stream)
        device.wait(device.record(device.event(), stream))
        return parts

    def _fetched(self, name: str, first: int, own: slice) -> Line:
        device = self._workspace.device
        line: Line = np.empty(own.stop - own.start, self._score)
        device.activate()
        address = self._memory.addresses[name] + first + self._score.itemsize * own.start
        device.download(line, address, self._workspace.side_stream)
        return line
