"""Long targets as overlapping windows, so that all lanes of an engine share one of them.

An alignment spans a bounded number of columns (`alignment_spans`). Where windows overlap by that much, every alignment
lies within a window: the last one that starts no later than the alignment does. So the best score of the windows is
that of the target, and no alignment is lost. A window is a row of a view like any other; no engine knows of windows.

    target   ----------------------------------------------
    windows  [ step      | overlap ]
                         [ step      | overlap ]
                                     [ step      | overlap ]

A table of one window has the values of the whole table wherever they are at least the cutoff and belong to alignments
that begin in the window; the others are no greater. So a traceback takes the same way in both, by the same rule.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exaln.database.views import RowsInMemory, segment_starts
from exaln.sequences.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.views import TargetRows, TargetView
    from exaln.scoring.scoring import Scoring
    from exaln.sequences.alphabet import Alphabet

LONG_TARGET = 1 << 16
"""Targets of at least this many residues may be cut into windows."""

SPANS_PER_STEP = 8
"""A step is this many times the overlap where there are enough windows, so that little is computed twice."""

PIECE_RESIDUES = 64 << 20
"""Residues of the windows of one segment of the view, about: what is held in memory at a time."""


def alignment_spans(
    most_score: NDArray[np.integer], least_score: NDArray[np.integer], query_length: NDArray[np.int64], scoring: Scoring
) -> NDArray[np.int64]:
    """int64[n]: the most columns of a target that a local alignment with at least `least_score` spans.

    -1 if gaps are free. most_score: the sum over the query of the best score that each letter can have, so that aligned
    letters score no more. Gaps in the query of k letters in all cost at least gap_open + k * gap_extend, and what is
    left must reach least_score; the other columns are letters of the query.
    """
    if scoring.gap_extend <= 0:
        return np.full(len(query_length), -1)
    left = most_score.astype(np.int64) - least_score - scoring.gap_open
    in_gaps: NDArray[np.int64] = np.maximum(left // scoring.gap_extend, 0)
    return query_length + in_gaps


class WindowOrigins(NamedTuple):
    """Where windows come from: the row of the stored view, and the part [start, end) of its target; int64[n] each."""

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


class ShortRows(RowsInMemory):
    """The rows of a segment that are not long: the first `n_rows`, because rows are sorted by length."""

    def __init__(self, stored: TargetRows, n_rows: int) -> None:
        self._stored, self._n_rows = stored, n_rows

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._n_rows

    @property
    def codes(self) -> NDArray[np.uint8]:  # type: ignore[override]
        """uint8[n_residues]"""
        return self._stored.codes

    @cached_property
    def offsets(self) -> NDArray[np.int64]:  # type: ignore[override]
        """int64[n_rows + 1]"""
        return self._stored.offsets[: self._n_rows + 1]

    @property
    def ordinals(self) -> NDArray[np.int64]:  # type: ignore[override]
        """int64[n_rows]"""
        return self._stored.ordinals[: self._n_rows]

    def ordinals_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the ordinals of some rows."""
        return self._stored.ordinals_of(rows)

    def used_letters(self) -> NDArray[np.bool_]:
        """bool[256]: the codes that occur in the stored segment."""
        return self._stored.used_letters()

    @property
    def block_offset(self) -> int:
        """The place of the first code in its block of the file."""
        return self._stored.block_offset

    def read_codes(self, begin: int, out: NDArray[np.uint8]) -> None:
        """Fill `out` with the codes from residue `begin` of the rows on."""
        self._stored.read_codes(begin, out)


@dataclass(frozen=True)
class ShortTargets:
    """The targets of a view that are not long. segments: with the numbers of the stored segments."""

    alphabet: Alphabet
    segments: tuple[ShortRows, ...]

    @cached_property
    def n_targets(self) -> int:
        """Rows of all segments."""
        return sum(segment.n_rows for segment in self.segments)

    @cached_property
    def n_residues(self) -> int:
        """Residues of all rows."""
        return sum(int(segment.offsets[-1] - segment.offsets[0]) for segment in self.segments)


class WindowRows(RowsInMemory):
    """Windows of some targets of a segment, sorted by length. Codes are copied when they are read, and not kept.

    rows, starts, ends: int64[n_rows], the row in the stored segment and the part of its target.
    """

    def __init__(
        self, stored: TargetRows, rows: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        order = np.argsort(ends - starts, kind="stable")
        self._stored, self.rows, self.starts, self.ends = stored, rows[order], starts[order], ends[order]
        self.offsets = offsets_of(self.ends - self.starts)

    @property
    def codes(self) -> NDArray[np.uint8]:  # type: ignore[override]
        """uint8[n_residues]: a copy."""
        codes = np.empty(int(self.offsets[-1]), np.uint8)
        self.read_codes(0, codes)
        return codes

    @property
    def ordinals(self) -> NDArray[np.int64]:  # type: ignore[override]
        """int64[n_rows]: of the targets that the windows are parts of."""
        return self._stored.ordinals_of(self.rows)

    def ordinals_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the ordinals of some rows."""
        return self._stored.ordinals_of(self.rows[rows])

    def used_letters(self) -> NDArray[np.bool_]:
        """bool[256]: the codes that occur in the stored segment."""
        return self._stored.used_letters()

    def read_codes(self, begin: int, out: NDArray[np.uint8]) -> None:
        """Fill `out` with the codes from residue `begin` of these rows on."""
        row, done = int(np.searchsorted(self.offsets, begin, side="right")) - 1, 0
        while done < len(out):
            within = begin + done - int(self.offsets[row])
            n = min(len(out) - done, int(self.offsets[row + 1] - self.offsets[row]) - within)
            first = int(self._stored.offsets[self.rows[row]] - self._stored.offsets[0]) + int(self.starts[row])
            if n:
                self._stored.read_codes(first + within, out[done : done + n])
            done, row = done + n, row + 1


class WindowedTargets:
    """The long targets of a view as windows that overlap by `overlap` residues and begin about `step` apart."""

    def __init__(self, stored: TargetView, overlap: int, step: int) -> None:
        self._stored, self.overlap, self.step = stored, overlap, step

    @property
    def alphabet(self) -> Alphabet:
        """What the codes mean."""
        return self._stored.alphabet

    @cached_property
    def segments(self) -> tuple[WindowRows, ...]:
        """Windows of the stored segments, in pieces of about PIECE_RESIDUES."""
        return tuple(piece for pieces in self._pieces for piece in pieces)

    @cached_property
    def n_targets(self) -> int:
        """Windows."""
        return sum(segment.n_rows for segment in self.segments)

    @cached_property
    def n_residues(self) -> int:
        """Residues of all windows; those of overlaps count twice."""
        return sum(int(segment.offsets[-1]) for segment in self.segments)

    @cached_property
    def n_stored_residues(self) -> int:
        """Residues of the targets."""
        return sum(int(lengths.sum()) for _, lengths in map(long_rows, self._stored.segments))

    def origins(self, rows: NDArray[np.int64]) -> WindowOrigins:
        """Where these rows come from."""
        numbers = np.searchsorted(self._starts, rows, side="right") - 1
        found = WindowOrigins(*(np.empty(len(rows), np.int64) for _ in range(3)))
        for number in np.flatnonzero(np.bincount(numbers, minlength=len(self.segments))).tolist():
            own, segment = numbers == number, self.segments[number]
            local = rows[own] - self._starts[number]
            found.row[own] = segment.rows[local] + self._first_rows[number]
            found.start[own], found.end[own] = segment.starts[local], segment.ends[local]
        return found

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return segment_starts(self)

    @cached_property
    def _first_rows(self) -> NDArray[np.int64]:
        """int64[n_segments]: the first row of the stored segment that each segment of this view is made from."""
        return np.repeat(segment_starts(self._stored)[:-1], [len(pieces) for pieces in self._pieces])

    @cached_property
    def _pieces(self) -> list[list[WindowRows]]:
        """For each stored segment, its windows."""
        return [list(self._cut(segment)) for segment in self._stored.segments]

    def _cut(self, segment: TargetRows) -> list[WindowRows]:
        rows, lengths = long_rows(segment)
        if not len(rows):
            return []
        windows = windows_of(lengths, self.overlap, self.step)
        piece = np.cumsum(windows.end - windows.start) // PIECE_RESIDUES
        edges = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(piece)]
        return [
            WindowRows(segment, rows[windows.row[own]], windows.start[own], windows.end[own])
            for own in (slice(first, end) for first, end in pairwise(edges))
        ]


def windows_of(lengths: NDArray[np.int64], overlap: int, step: int) -> WindowOrigins:
    """The windows of targets with these lengths, in order; those of a target begin at equal distances of about `step`.

    >>> windows_of(np.array([100]), overlap=10, step=40)
    WindowOrigins(row=array([0, 0, 0]), start=array([ 0, 30, 60]), end=array([ 40,  70, 100]))
    """
    n_windows = np.maximum(1, -(-(lengths - overlap) // step))
    distance = -(-np.maximum(lengths - overlap, 1) // n_windows)
    row = np.repeat(np.arange(len(lengths)), n_windows)
    place = np.arange(len(row)) - np.repeat(np.cumsum(n_windows) - n_windows, n_windows)
    start = place * distance[row]
    return WindowOrigins(row, start, np.minimum(start + distance[row] + overlap, lengths[row]))


def is_long(length: Any) -> Any:
    """Whether targets of this length may be cut into windows."""
    return length >= LONG_TARGET


def long_rows(segment: TargetRows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64[n] each: the rows of the long targets of a segment, and their lengths."""
    offsets, n_rows = segment.offsets, segment.n_rows
    first = bisect.bisect_left(range(n_rows), LONG_TARGET, key=lambda row: int(offsets[row + 1] - offsets[row]))
    return np.arange(first, n_rows), np.diff(offsets[first:])


def short_targets(view: TargetView) -> ShortTargets:
    """The targets of a view that are not long."""
    segments = (ShortRows(segment, segment.n_rows - len(long_rows(segment)[0])) for segment in view.segments)
    return ShortTargets(view.alphabet, tuple(segments))
