"""Regions of the table of one long pair: what an engine fills at a time, its boundary, and the checkpoints it keeps.

A checkpoint row or column holds what the next cell needs. Checkpoint row i, after i letters of the query, is H(i, j)
and F as row i + 1 takes it, max(F(i, j) - gap_extend, H(i, j) - gap_first), for columns j = 1..n. Checkpoint column j
is H(i, j) and E as column j + 1 takes it, for rows i = 1..m. All values of one pair are int32, or int64 where its
scores could pass 31 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

    Line = NDArray[np.int32] | NDArray[np.int64]

HEAD_ROOM = 1 << 20
"""Scores of a pair are int32 if all stay this far from its limits: engines add letter scores, gaps and bases."""


@dataclass(frozen=True)
class PairTable:
    """What the table of one pair is made from: two whole sequences as codes, and how they are compared."""

    query: NDArray[np.uint8]
    target: NDArray[np.uint8]
    scoring: Scoring
    mode: Mode


@dataclass(frozen=True)
class Region:
    """Cells of a table: query letters [first_row, end_row) with target letters [first_column, end_column)."""

    first_row: int
    end_row: int
    first_column: int
    end_column: int

    @property
    def n_rows(self) -> int:
        """Query letters."""
        return self.end_row - self.first_row

    @property
    def n_columns(self) -> int:
        """Target letters."""
        return self.end_column - self.first_column

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.n_rows * self.n_columns


@dataclass(frozen=True)
class Boundary:
    """The row above a region and the column left of it, of one score type.

    top_H, top_F: [n_columns], as a checkpoint row; left_H, left_E: [n_rows], as a checkpoint column; corner: H of the
    cell above and left of the region.
    """

    top_H: Line
    top_F: Line
    left_H: Line
    left_E: Line
    corner: int


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoint rows and columns of a region, in C-contiguous arrays, memory-mapped or not.

    rows: int64[k], ascending: the number of query letters before each checkpoint, first_row < row <= end_row. row_H,
    row_F: [k, n_columns] of the region. columns: int64[c], in letters of the target; column_H, column_E: [c, n_rows].
    """

    rows: NDArray[np.int64]
    row_H: Line
    row_F: Line
    columns: NDArray[np.int64]
    column_H: Line
    column_E: Line

    def row(self, place: int, columns: slice) -> tuple[Line, Line]:
        """H and F of the checkpoint row at this place, for these columns of the region."""
        return self.row_H[place, columns], self.row_F[place, columns]

    def column(self, place: int, rows: slice) -> tuple[Line, Line]:
        """H and E of the checkpoint column at this place, for these rows of the region."""
        return self.column_H[place, rows], self.column_E[place, rows]

    def near(self, row: int, column: int, spacing: int, gap: int) -> CheckpointParts:
        """All of them; see `CheckpointReader.near`."""
        starts = np.zeros(len(self.rows), np.int64), np.zeros(len(self.columns), np.int64)
        return CheckpointParts(
            self.rows, starts[0], self.row_H, self.row_F, self.columns, starts[1], self.column_H, self.column_E
        )

    @staticmethod
    def empty(
        region: Region, rows: NDArray[np.int64], columns: NDArray[np.int64], score: np.dtype[np.generic]
    ) -> Checkpoints:
        """Uninitialised checkpoints at these rows and columns, in memory."""
        across, down = (len(rows), region.n_columns), (len(columns), region.n_rows)
        return Checkpoints(
            rows=np.asarray(rows, np.int64),
            row_H=np.empty(across, score),
            row_F=np.empty(across, score),
            columns=np.asarray(columns, np.int64),
            column_H=np.empty(down, score),
            column_E=np.empty(down, score),
        )


@dataclass(frozen=True)
class CheckpointParts:
    """Parts of checkpoints, as in Checkpoints. All parts of rows have one length, and all parts of columns have one.

    row_firsts: int64[k], the first column of the region in each part of a row; values outside the region have no
    meaning. column_firsts: int64[c], the first row of the region in each part of a column.
    """

    rows: NDArray[np.int64]
    row_firsts: NDArray[np.int64]
    row_H: Line
    row_F: Line
    columns: NDArray[np.int64]
    column_firsts: NDArray[np.int64]
    column_H: Line
    column_E: Line


class CheckpointReader(Protocol):
    """Checkpoints as a traceback reads them, in memory or on a device; the members are those of Checkpoints."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """int64[k]: the checkpoint rows."""
        ...

    @property
    def columns(self) -> NDArray[np.int64]:
        """int64[c]: the checkpoint columns."""
        ...

    def row(self, place: int, columns: slice) -> tuple[Line, Line]:
        """H and F of the checkpoint row at this place, for these columns of the region."""
        ...

    def column(self, place: int, rows: slice) -> tuple[Line, Line]:
        """H and E of the checkpoint column at this place, for these rows of the region."""
        ...

    def near(self, row: int, column: int, spacing: int, gap: int) -> CheckpointParts:
        """The parts that a traceback from a cell of the region needs, for checkpoints every `spacing` rows and columns:
        those around the cell, and those further back that a path near its diagonal, or in its gap, would cross. Valid
        until the next call.
        """
        ...


@dataclass
class Pruning:
    """Lets an engine skip cells of a local table that are in no alignment with a score of `best` or more.

    Skipped cells are written as H = 0 and E = F = -gap_first, an alignment that begins there. Cells of optimal
    alignments are never skipped and keep their values; all others have their values or less. So score, end and path do
    not change: cuda/kernels/long_pruning.cuh has the proof.

    best: a score that some alignment reaches. end_row, end_column: alignments gain nothing beyond them. cells: the
    number of skipped cells; the engine adds to it.
    """

    best: int
    end_row: int
    end_column: int
    cells: int = 0

    def left(self, region: Region) -> tuple[int, int]:
        """Rows and columns, counted from the first ones of a region, in which an alignment can gain."""
        return self.end_row - region.first_row, self.end_column - region.first_column


@dataclass(frozen=True)
class EndCell:
    """The end of an alignment: its score, and the numbers of query and target letters up to there."""

    score: int
    row: int
    column: int

    def better(self, other: EndCell) -> EndCell:
        """The end with the higher score; of equal ones the smaller column, then the smaller row.

        >>> EndCell(5, 3, 9).better(EndCell(5, 8, 7))
        EndCell(score=5, row=8, column=7)
        """
        return min(self, other, key=lambda end: (-end.score, end.column, end.row))

    def __post_init__(self) -> None:
        for name in ("score", "row", "column"):  # engines may pass NumPy integers
            object.__setattr__(self, name, int(getattr(self, name)))


NOTHING = EndCell(0, 0, 0)
"""The end of a local alignment if nothing scores above 0."""

STEP_BOTH, STEP_QUERY, STEP_TARGET = 0, 1, 2
"""Steps of a path: a letter of both sequences, of the query only (F, CIGAR I), of the target only (E, CIGAR D)."""

NO_GAP, IN_E, IN_F = 0, 1, 2
"""The gap that a traceback is in."""


@dataclass(frozen=True)
class PathState:
    """The state of a traceback: the next cell as indices, -1 being the border; the score of the part of the path that
    ends there (local mode only); and the gap that it is in.
    """

    row: int
    column: int
    left: int = 0
    gap: int = NO_GAP

    def is_complete(self, mode: Mode) -> bool:
        """Whether the traceback has ended: a local one at its first zero, any other at a border."""
        return (self.gap == NO_GAP and self.left == 0) if mode.is_local else min(self.row, self.column) < 0


@dataclass(frozen=True)
class RegionTask:
    """One region to fill.

    rows, columns: int64, the places of checkpoints, in letters of the whole sequences. room: returns the checkpoints to
    write to, unless the engine holds them itself. may_hold: whether the engine may hold checkpoints in its own memory,
    to be read in parts. finds_end: in local mode, whether to find the best cell. pruning: cells that may be skipped;
    the best cell is then found if its score is at least `pruning.best`. progress: called with the cells of this region
    done so far.
    """

    pair: PairTable
    region: Region
    boundary: Boundary
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    room: Callable[[], Checkpoints]
    may_hold: bool = False
    finds_end: bool = False
    pruning: Pruning | None = None
    progress: Callable[[int], None] | None = None


@dataclass(frozen=True)
class RegionResult:
    """The checkpoints of a region, and its best cell by the path rule: NOTHING unless the task asks for it."""

    checkpoints: CheckpointReader
    end: EndCell


@dataclass(frozen=True)
class TracebackWindow:
    """A region with its boundary, and parts of its checkpoints every `spacing` rows and columns."""

    region: Region
    boundary: Boundary
    spacing: int
    parts: CheckpointParts


class CheckpointGrid(Protocol):
    """Checkpoints every few rows and columns around a path, as a traceback asks for them."""

    def window(self, state: PathState) -> TracebackWindow:
        """The region through which a path leads back, with parts of its checkpoints."""
        ...

    def block(self, state: PathState) -> tuple[Region, Boundary]:
        """The block from the next checkpoints above and left of a path to its current cell, with its boundary."""
        ...


Traceback = Callable[[CheckpointGrid, PathState], "tuple[NDArray[np.uint8], PathState]"]
"""Follows a path back through at least one block. Returns its steps, uint8, backwards, and the state after them."""


def score_type(n_rows: int, n_columns: int, scoring: Scoring) -> np.dtype[np.generic]:
    """int32 where it holds every value of such a table in any mode, otherwise int64.

    Two gaps reach every cell, so no H is below -(2 gap_first + (rows + columns) gap_extend); E and F are less by a gap.
    No cell is above min(rows, columns) times the highest score of two letters.
    """
    lowest = 4 * scoring.gap_first + (n_rows + n_columns + 2) * scoring.gap_extend - scoring.min_score
    highest = (min(n_rows, n_columns) + 1) * scoring.max_score
    return np.dtype(np.int32 if max(lowest, highest) <= np.iinfo(np.int32).max - HEAD_ROOM else np.int64)


def border_score(letters: NDArray[np.int64], scoring: Scoring, *, is_free: bool) -> NDArray[np.int64]:
    """H of border cells, after `letters` letters of one sequence and none of the other: 0 if free, else one gap."""
    gap = scoring.gap_open + scoring.gap_extend * letters
    return np.where(letters == 0, 0, 0 if is_free else -gap)


def table_top(first_column: int, end_column: int, scoring: Scoring, mode: Mode) -> tuple[NDArray[np.int64], ...]:
    """H and F of the row above the table, for these target letters."""
    h = border_score(np.arange(first_column + 1, end_column + 1), scoring, is_free=mode.target_start)
    return h, h - scoring.gap_first


def table_left(first_row: int, end_row: int, scoring: Scoring, mode: Mode) -> tuple[NDArray[np.int64], ...]:
    """H and E of the column left of the table, for these query letters."""
    h = border_score(np.arange(first_row + 1, end_row + 1), scoring, is_free=mode.query_start)
    return h, h - scoring.gap_first
