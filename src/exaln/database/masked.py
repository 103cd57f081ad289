"""The targets of a database with the unknown letter in place of masked ones: a view, for hard masks and soft ones.

Rows, lengths and ordinals are those of the database, so what is found in the view are rows of the database.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from exaln.masking.hard import fill, unknown_code
from exaln.sequences.records import Text, read_only

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.database import Database
    from exaln.database.part import DatabasePart, SearchSpace, SegmentRows
    from exaln.database.segment import Segment
    from exaln.sequences.alphabet import Alphabet


class MaskedRows:
    """The rows of a segment, or of a part of one, with masked letters unknown."""

    def __init__(self, stored: Segment | SegmentRows, code: int) -> None:
        self._stored, self._code = stored, code

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._stored.n_rows

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """uint8[n_residues]: a copy, unless nothing is masked."""
        codes = self._stored.codes
        begins, ends = self._ranges
        if not len(begins):
            return codes
        first = int(self._stored.offsets[0])
        masked = codes.copy()
        fill(masked, first + begins, first + ends, self._code)
        return read_only(masked)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64[n_rows + 1]"""
        return self._stored.offsets

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """int64[n_rows]"""
        return self._stored.ordinals

    def ordinals_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the ordinals of some rows."""
        return self._stored.ordinals_of(rows)

    def used_letters(self) -> NDArray[np.bool_]:
        """bool[256]: the codes that occur in the segment, and the unknown letter."""
        used = self._stored.used_letters().copy()
        used[self._code] = True
        return used

    @property
    def block_offset(self) -> int:
        """The place of the first code in its block of the file."""
        return self._stored.block_offset

    def read_codes(self, begin: int, out: NDArray[np.uint8]) -> None:
        """Fill `out` with the codes from residue `begin` of the rows on."""
        self._stored.read_codes(begin, out)
        begins, ends = self._ranges
        own = slice(
            int(np.searchsorted(ends, begin, side="right")), int(np.searchsorted(begins, begin + len(out), side="left"))
        )
        n = len(out)
        fill(out, np.maximum(begins[own] - begin, 0), np.minimum(ends[own] - begin, n), self._code)

    def sequences_of(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Codes of some rows, joined, and their offsets, int64[n + 1]."""
        codes, offsets = self._stored.sequences_of(rows)
        codes = codes.copy()
        masks, edges = self._stored.masks
        for place, row in enumerate(rows.tolist()):
            for start, end in masks[edges[row] : edges[row + 1]].tolist():
                codes[offsets[place] + start : offsets[place] + end] = self._code
        return codes, offsets

    def ids_of(self, rows: NDArray[np.int64]) -> Text:
        """The ids of some rows."""
        return self._stored.ids_of(rows)

    def descriptions_of(self, rows: NDArray[np.int64]) -> Text:
        """The descriptions of some rows."""
        return self._stored.descriptions_of(rows)

    @cached_property
    def _ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[intervals] each: begins and ends of the masks among the residues of all rows, ascending."""
        masks, edges = self._stored.masks
        offsets = self._stored.offsets
        before = np.repeat(offsets[:-1] - offsets[0], np.diff(edges))
        masks = masks[edges[0] : edges[-1]]
        return before + masks[:, 0], before + masks[:, 1]


class MaskedTargets:
    """A database, or a part of one, with masked letters unknown. InputError if its alphabet has no unknown letter."""

    def __init__(self, stored: Database | DatabasePart) -> None:
        self._stored = stored
        code = unknown_code(stored.alphabet)
        self.segments = tuple(MaskedRows(segment, code) for segment in stored.segments)

    @property
    def alphabet(self) -> Alphabet:
        """What the codes mean."""
        return self._stored.alphabet

    @property
    def n_targets(self) -> int:
        """Number of sequences."""
        return self._stored.n_targets

    @property
    def n_residues(self) -> int:
        """Number of residues, masked ones included."""
        return self._stored.n_residues

    @property
    def search_space(self) -> SearchSpace:
        """The size of the whole database, from which E-values are computed."""
        return self._stored.search_space

    def require_unchanged(self) -> None:
        """Raise DatabaseError if a file changed after it was opened."""
        self._stored.require_unchanged()
