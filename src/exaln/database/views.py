"""A database seen as letters to be scored: as it is stored, or translated in frames.

Engines know targets only through a view. Its rows are numbered from 0 on, segment after segment; what an engine finds
is a row of the view, and `target_origins` leads back to the stored target. Views of masked letters and of windows have
their place here, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.foundation.thread_pool import run_in_parallel
from exaln.sequences.alphabet import PROTEIN, Alphabet
from exaln.sequences.records import offsets_of
from exaln.sequences.translation import FRAMES, translate
from exaln.sequences.used_letters import used_letters

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TargetRows(Protocol):
    """Rows of one segment, sorted by length. Whatever is read is checked not to be damaged.

    The columns are views, which take time to read and to check as a whole; the methods read what is asked for.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows; known without reading."""
        ...

    @property
    def codes(self) -> NDArray[np.uint8]:
        """uint8[n_residues]"""
        ...

    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64[n_rows + 1]; the first need not be 0."""
        ...

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """int64[n_rows]: the place of each target in the input of the database."""
        ...

    def ordinals_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the ordinals of some rows."""
        ...

    def used_letters(self) -> NDArray[np.bool_]:
        """bool[256]: the codes that occur in the segment, or more."""
        ...

    @property
    def block_offset(self) -> int:
        """Codes are checked in blocks of `checked_file`: the place of the first code in its block."""
        ...

    def read_codes(self, begin: int, out: NDArray[np.uint8]) -> None:
        """Fill `out` with the codes from residue `begin` of the rows on. Several threads may read at a time."""
        ...


class RowsInMemory:
    """The methods of `TargetRows` for columns in memory."""

    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    ordinals: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def ordinals_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the ordinals of some rows."""
        return self.ordinals[rows]

    @property
    def block_offset(self) -> int:
        """There are no blocks."""
        return 0

    def used_letters(self) -> NDArray[np.bool_]:
        """bool[256]: the codes that occur."""
        return used_letters(self.codes)

    def read_codes(self, begin: int, out: NDArray[np.uint8]) -> None:
        """Fill `out` with the codes from residue `begin` of these rows on."""
        first = int(self.offsets[0]) + begin
        out[:] = self.codes[first : first + len(out)]


class TargetView(Protocol):
    """Targets as engines see them. A `Database` is the view of what it stores."""

    @property
    def alphabet(self) -> Alphabet:
        """What the codes mean."""
        ...

    @property
    def segments(self) -> tuple[TargetRows, ...]:
        """All segments, in the order of the manifest."""
        ...

    @property
    def n_targets(self) -> int:
        """Rows of all segments."""
        ...

    @property
    def n_residues(self) -> int:
        """Residues of all rows."""
        ...


def segment_starts(view: TargetView) -> NDArray[np.int64]:
    """int64[n_segments + 1]: the number of the first row of each segment, and the number of all rows."""
    return offsets_of(segment.n_rows for segment in view.segments)


def read_lengths(view: TargetView) -> None:
    """Read and check the offsets of all segments, on all cores: what a scan needs first. The next call is quick."""
    run_in_parallel(lambda segment: segment.offsets, list(view.segments))


@dataclass(frozen=True)
class TargetOrigins:
    """Where rows of a view come from: ordinal int64[n], the place in the input; length int64[n], letters of the row."""

    ordinal: NDArray[np.int64]
    length: NDArray[np.int64]


def target_origins(view: TargetView, rows: NDArray[np.int64], starts: NDArray[np.int64] | None = None) -> TargetOrigins:
    """The stored targets of these rows of a view. starts: its `segment_starts`, if they are known."""
    if len(view.segments) == 1:
        return _origins_in(view.segments[0], rows)
    found = TargetOrigins(np.empty(len(rows), np.int64), np.empty(len(rows), np.int64))
    for segment, own, local in _by_segment(view, rows, segment_starts(view) if starts is None else starts):
        part = _origins_in(segment, local)
        found.ordinal[own], found.length[own] = part.ordinal, part.length
    return found


def target_ordinals(view: TargetView, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: the ordinals of `target_origins` alone, for callers that need those of all rows sooner or later."""
    if len(view.segments) == 1:
        return view.segments[0].ordinals[rows]
    found: NDArray[np.int64] = np.empty(len(rows), np.int64)
    for segment, own, local in _by_segment(view, rows, segment_starts(view)):
        found[own] = segment.ordinals[local]
    return found


def _by_segment(
    view: TargetView, rows: NDArray[np.int64], starts: NDArray[np.int64]
) -> Iterator[tuple[TargetRows, NDArray[np.bool_], NDArray[np.int64]]]:
    """Yield each segment that has some of these rows, bool[n], which of them, and their rows in the segment."""
    numbers = np.searchsorted(starts, rows, side="right") - 1
    for number in np.flatnonzero(np.bincount(numbers, minlength=len(view.segments))).tolist():
        own = numbers == number
        yield view.segments[number], own, rows[own] - starts[number]


def _origins_in(segment: TargetRows, rows: NDArray[np.int64]) -> TargetOrigins:
    return TargetOrigins(segment.ordinals_of(rows), segment.offsets[rows + 1] - segment.offsets[rows])


@dataclass(frozen=True, eq=False)
class TranslatedRows(RowsInMemory):
    """The frames of all targets of a segment as proteins, sorted by length. frames: int8[n_rows]."""

    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    frames: NDArray[np.int8]


class TranslatedView:
    """Nucleotides of a view as proteins: one row for each target and frame.

    A segment is translated as a whole when it is first read, and stays in memory.
    """

    def __init__(self, stored: TargetView, frames: tuple[int, ...] = FRAMES) -> None:
        self._stored, self._frames = stored, frames

    @property
    def alphabet(self) -> Alphabet:
        """Proteins."""
        return PROTEIN

    @cached_property
    def segments(self) -> tuple[TranslatedRows, ...]:
        """One for each stored segment."""
        return tuple(self._translated(segment) for segment in self._stored.segments)

    @property
    def n_targets(self) -> int:
        """Rows: targets times frames."""
        return self._stored.n_targets * len(self._frames)

    @property
    def n_residues(self) -> int:
        """Amino acids of all rows."""
        return sum(int(segment.offsets[-1]) for segment in self.segments)

    def frames(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """int8[n]: the frame of each of these rows."""
        every = np.concatenate([np.empty(0, np.int8), *(segment.frames for segment in self.segments)])
        return every[rows]

    def _translated(self, segment: TargetRows) -> TranslatedRows:
        codes, offsets, n_rows = segment.codes, segment.offsets, len(segment.offsets) - 1
        proteins = [
            translate(codes[offsets[row] : offsets[row + 1]], self._stored.alphabet, frame)
            for row in range(n_rows)
            for frame in self._frames
        ]
        order = np.argsort([len(protein) for protein in proteins], kind="stable")
        return TranslatedRows(
            np.concatenate([np.empty(0, np.uint8), *(proteins[row] for row in order)]),
            offsets_of(len(proteins[row]) for row in order),
            np.repeat(segment.ordinals, len(self._frames))[order],
            np.tile(np.array(self._frames, np.int8), n_rows)[order],
        )
