"""Checkpoints of a region that stay on a device; a traceback fetches the parts that it needs."""

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
"""Parts of checkpoints extend this many times their spacing to both sides of a path's diagonal. Blocks on the diagonal
need one spacing, and a path may leave it by about one."""

ALIGNMENT = 256
"""Bytes."""

MAX_CHECKPOINTS = 256
"""Checkpoint rows, or columns, that are fetched at a time."""

ALONG_GAP, ACROSS_GAP = 64, 3
"""Checkpoints that are fetched around a path in a gap: those that the gap crosses, and those parallel to it."""


@dataclass(frozen=True)
class CheckpointRequest:
    """The rows and columns that become checkpoints, in letters of the whole sequences; and their score type."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    score: np.dtype[np.generic]

    @staticmethod
    def of(checkpoints: Checkpoints) -> CheckpointRequest:
        """The request that these arrays hold the answer of."""
        return CheckpointRequest(checkpoints.rows, checkpoints.columns, checkpoints.row_H.dtype)

    def n_bytes(self, region: Region) -> int:
        """Bytes of all checkpoints of a region."""
        n_scores = len(self.rows) * region.n_columns + len(self.columns) * region.n_rows
        return 2 * self.score.itemsize * n_scores

    def margin_bytes(self, region: Region) -> int:
        """Bytes by which parts near a path may extend beyond the first and the last checkpoint."""
        distances = [
            int(np.diff(np.concatenate([[first], places, [end]])).max())
            for first, places, end in (
                (region.first_row, self.rows, region.end_row),
                (region.first_column, self.columns, region.end_column),
            )
        ]
        return -(-(REACH + 1) * max(distances) * self.score.itemsize // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class PartsNearPath:
    """Parts of checkpoint rows, or of checkpoint columns, that a path may cross.

    own: which checkpoints. firsts: int64[n], the letter that each part begins with; it grows by `step` from one to the
    next. length: letters of each part.
    """

    own: slice
    firsts: NDArray[np.int64]
    length: int
    step: int

    @staticmethod
    def along_diagonal(
        places: NDArray[np.int64], letter: int, other: int, spacing: int, line_length: int
    ) -> PartsNearPath:
        """Parts around the diagonal of a path; whole checkpoints if these are short, as copies cannot overlap.

        places: the letters before each checkpoint. letter, other: the cell of the path, in letters of the sequence that
        `places` counts and of the other one. line_length: letters of a whole checkpoint.

        >>> PartsNearPath.along_diagonal(np.array([10, 20, 30, 40]), 35, 28, 10, 100)
        PartsNearPath(own=slice(0, 3, None), firsts=array([-17,  -7,   3]), length=40, step=10)
        """
        crossings = places + (other - letter)
        end = int(np.searchsorted(places, letter, "right"))
        own = slice(max(int(np.searchsorted(crossings, -spacing, "right")), end - MAX_CHECKPOINTS, 0), end)
        length = 2 * REACH * spacing
        if length > line_length + spacing:
            return PartsNearPath(own, np.zeros_like(places[own]), line_length, 0)
        return PartsNearPath(own, crossings[own] - REACH * spacing, length, spacing)

    @staticmethod
    def straight(places: NDArray[np.int64], letter: int, other: int, n: int, reach: int) -> PartsNearPath:
        """The last n checkpoints before a path, and of each the letters within `reach` before the path.

        >>> PartsNearPath.straight(np.array([10, 20, 30, 40]), 35, 28, 2, 15)
        PartsNearPath(own=slice(1, 3, None), firsts=array([13, 13]), length=16, step=0)
        """
        end = int(np.searchsorted(places, letter, "right"))
        own, first = slice(max(end - n, 0), end), max(other - reach, 0)
        return PartsNearPath(own, np.full(own.stop - own.start, first), other + 1 - first, 0)


def parts_near_path(
    region: Region,
    checkpoints: tuple[NDArray[np.int64], NDArray[np.int64]],
    row: int,
    column: int,
    spacing: int,
    gap: int,
) -> tuple[PartsNearPath, PartsNearPath]:
    """Parts of the checkpoint rows and of the checkpoint columns that a path back from a cell of a region may cross.

    checkpoints: the rows and the columns. row, column: the cell. gap: the gap that the path is in, or NO_GAP.
    """
    rows, columns = checkpoints[0] - region.first_row, checkpoints[1] - region.first_column
    if gap == NO_GAP:
        return (
            PartsNearPath.along_diagonal(rows, row, column, spacing, region.n_columns),
            PartsNearPath.along_diagonal(columns, column, row, spacing, region.n_rows),
        )
    n_rows, n_columns = (ACROSS_GAP, ALONG_GAP) if gap == IN_E else (ALONG_GAP, ACROSS_GAP)
    return (
        PartsNearPath.straight(rows, row, column, n_rows, n_columns * spacing),
        PartsNearPath.straight(columns, column, row, n_columns, n_rows * spacing),
    )


class CheckpointMemory:
    """Memory on a device for checkpoints of several kinds, with a margin on both sides, freed with the object.

    It is one allocation, as allocating and freeing take time. addresses: of each kind.
    """

    def __init__(self, workspace: Workspace, sizes: dict[str, int], margin: int) -> None:
        ends = np.cumsum([-(-size // ALIGNMENT) * ALIGNMENT for size in sizes.values()])
        self._memory = workspace.allocate(int(ends[-1]) + 2 * margin)
        first = self._memory.address + margin
        self.addresses = dict(zip(sizes, [first, *(first + int(end) for end in ends[:-1])], strict=True))


class DeviceCheckpoints:
    """Checkpoints on a device, fetched in parts: a CheckpointReader. They are freed with this object."""

    def __init__(
        self,
        workspace: Workspace,
        region: Region,
        request: CheckpointRequest,
        memory: CheckpointMemory,
        row_bytes: int,
        column_bytes: int,
    ) -> None:
        self.rows, self.columns = request.rows, request.columns
        self._workspace, self._region, self._score, self._memory = workspace, region, request.score, memory
        self._row_bytes, self._column_bytes = row_bytes, column_bytes

    def row(self, place: int, columns: slice) -> tuple[Line, Line]:
        """H and F of the checkpoint row at this place, for these columns of the region."""
        first = self._row_bytes * place
        return self._fetched("row H", first, columns), self._fetched("row F", first, columns)

    def column(self, place: int, rows: slice) -> tuple[Line, Line]:
        """H and E of the checkpoint column at this place, for these rows of the region."""
        first = self._column_bytes * place
        return self._fetched("column H", first, rows), self._fetched("column E", first, rows)

    def near(self, row: int, column: int, spacing: int, gap: int) -> CheckpointParts:
        """The parts that a path back from a cell may cross; see `CheckpointReader.near`.

        Four copies suffice, as the part of each checkpoint begins a fixed distance after that of the one before.
        """
        rows, columns = parts_near_path(self._region, (self.rows, self.columns), row, column, spacing, gap)
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

    def _fetched_parts(self, rows: PartsNearPath, columns: PartsNearPath) -> list[Line]:
        """H and F of rows, H and E of columns, in pinned memory that the next call reuses."""
        device, stream, itemsize = self._workspace.device, self._workspace.side_stream, self._score.itemsize
        kinds = (
            ("row H", rows, self._row_bytes),
            ("row F", rows, self._row_bytes),
            ("column H", columns, self._column_bytes),
            ("column E", columns, self._column_bytes),
        )
        sizes = [len(near.firsts) * near.length * itemsize for _, near, _ in kinds]
        memory = self._workspace.pinned("lines near a path", sum(sizes))
        parts = []
        device.activate()
        for (name, near, line_bytes), end, size in zip(kinds, np.cumsum(sizes), sizes, strict=True):
            part = memory[end - size : end].view(self._score).reshape(len(near.firsts), near.length)
            parts.append(part)
            if size:
                first = self._memory.addresses[name] + near.own.start * line_bytes + int(near.firsts[0]) * itemsize
                device.download_rows(part, first, line_bytes + near.step * itemsize, stream)
        device.wait(device.record(device.event(), stream))
        return parts

    def _fetched(self, name: str, first: int, own: slice) -> Line:
        device = self._workspace.device
        line: Line = np.empty(own.stop - own.start, self._score)
        device.activate()
        address = self._memory.addresses[name] + first + self._score.itemsize * own.start
        device.download(line, address, self._workspace.side_stream)
        return line
