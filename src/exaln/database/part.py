"""A part of a database that is searched on its own, with the E-values of the whole.

The residues of all segments are numbered from 0 in the order of the segments and their rows. A part is a range of these
numbers and has the rows that begin in it. Ranges that cover the numbers without overlap thus have every row once,
wherever they are cut. An empty row begins where the next one does, so the last number is n_residues itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from exaln.database.checked_file import BLOCK_BYTES
from exaln.database.manifest import Manifest
from exaln.database.segment import Segment
from exaln.foundation.distinct import distinct
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.records import Text

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class SearchSpace:
    """The size of a whole database, from which E-values follow."""

    n_targets: int
    n_residues: int


class SegmentRows:
    """Rows [first, end) of a segment: views of the columns that a search reads."""

    def __init__(self, segment: Segment, first: int, end: int) -> None:
        self._segment, self._first, self._end = segment, first, end
        self.n_rows = end - first
        self.n_residues = int(segment.offsets[end] - segment.offsets[first])

    @property
    def codes(self) -> NDArray[np.uint8]:
        """uint8[n_residues]: the codes of all rows, joined."""
        begin = int(self._segment.offsets[self._first])
        return self._segment.codes[begin : begin + self.n_residues]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """int64[n_rows + 1]: row i is codes[offsets[i]:offsets[i + 1]]; the first offset is 0."""
        offsets = self._segment.offsets[self._first : self._end + 1]
        shifted: NDArray[np.int64] = offsets - offsets[0]
        return shifted

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """int64[n_rows]: position of each row in the input of the whole database."""
        return self._segment.ordinals[self._first : self._end]

    @property
    def masks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The masks of the segment as in `Records`, and int64[n_rows + 1], where those of each row begin."""
        return self._segment.mask, self._segment.mask_offsets[self._first : self._end + 1]

    def used_letters(self) -> NDArray[np.bool_]:
        """bool[256]: the codes that occur in the segment."""
        return self._segment.used_letters()

    @property
    def block_offset(self) -> int:
        """The place of the first code in its block of the file."""
        return (self._segment.block_offset + int(self._segment.offsets[self._first])) % BLOCK_BYTES

    def read_codes(self, begin: int, out: NDArray[np.uint8]) -> None:
        """Fill `out` with the codes from residue `begin` of these rows on."""
        self._segment.read_codes(int(self._segment.offsets[self._first]) + begin, out)

    def ordinals_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the ordinals of some rows."""
        return self._segment.ordinals_of(self._first + rows)

    def sequences_of(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Codes of some rows, joined, and their offsets, int64[n + 1]."""
        return self._segment.sequences_of(self._first + rows)

    def ids_of(self, rows: NDArray[np.int64]) -> Text:
        """The ids of some rows."""
        return self._segment.ids_of(self._first + rows)

    def descriptions_of(self, rows: NDArray[np.int64]) -> Text:
        """The descriptions of some rows."""
        return self._segment.descriptions_of(self._first + rows)

    def require_unchanged(self) -> None:
        """Raise DatabaseError if the segment's file changed after it was opened."""
        self._segment.require_unchanged()

    def rows_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: rows, counted from `first`, of n positions in the input of the segment."""
        return self._segment.input_order[places].astype(np.int64) - self._first


class DatabasePart:
    """The targets of a database whose first residue lies in [first, end).

    segments: open segments by number; only those of `segments_between` are needed.
    """

    def __init__(self, manifest: Manifest, segments: Mapping[int, Segment], first: int, end: int) -> None:
        self._manifest = manifest
        starts = _starts(manifest)
        pieces = [
            (number, _rows_between(segments[number], first - starts[number], end - starts[number]))
            for number in segments_between(manifest, first, end)
        ]
        self._numbers = np.array([number for number, rows in pieces if rows.n_rows], np.int64)
        self.segments = tuple(rows for _, rows in pieces if rows.n_rows)

    @property
    def alphabet(self) -> Alphabet:
        """The letters of all sequences."""
        return self._manifest.alphabet

    @property
    def n_targets(self) -> int:
        """Number of sequences in the part."""
        return sum(rows.n_rows for rows in self.segments)

    @property
    def n_residues(self) -> int:
        """Number of residues in the part."""
        return sum(rows.n_residues for rows in self.segments)

    @property
    def search_space(self) -> SearchSpace:
        """The size of the whole database, from which E-values are computed."""
        return SearchSpace(self._manifest.n_targets, self._manifest.n_residues)

    def require_unchanged(self) -> None:
        """Raise DatabaseError if a file of the part changed after it was opened."""
        for rows in self.segments:
            rows.require_unchanged()

    def locate(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Index into `segments` and row there of each target, int64[n] each; ordinals: int64[n], within the part."""
        ends = np.cumsum([entry.rows for entry in self._manifest.segments])
        numbers = np.searchsorted(ends, ordinals, side="right")
        places = np.searchsorted(self._numbers, numbers)
        rows = np.empty(len(ordinals), np.int64)
        for place in distinct(places).tolist():
            here, number = places == place, int(self._numbers[place])
            rows[here] = self.segments[place].rows_of(ordinals[here] - self._manifest.segments[number].first_ordinal)
        return places.astype(np.int64), rows


def n_places(manifest: Manifest) -> int:
    """The end of the residue numbers: the range [0, n_places) has every row."""
    return manifest.n_residues + 1


def segments_between(manifest: Manifest, first: int, end: int) -> list[int]:
    """Numbers of the segments that have rows beginning in [first, end)."""
    spans = zip(_starts(manifest), manifest.segments, strict=True)
    return [
        number
        for number, (start, entry) in enumerate(spans)
        if start < end and first < start + max(1, entry.residues) and first < end
    ]


def _starts(manifest: Manifest) -> list[int]:
    """The number of the first residue of each segment."""
    return list(accumulate((entry.residues for entry in manifest.segments[:-1]), initial=0))


def _rows_between(segment: Segment, first: int, end: int) -> SegmentRows:
    begins = segment.offsets[:-1]
    return SegmentRows(segment, int(np.searchsorted(begins, first)), int(np.searchsorted(begins, end)))
