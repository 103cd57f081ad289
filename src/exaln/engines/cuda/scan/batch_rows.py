"""The rows of a batch: one range of a segment's rows, or several ranges spread over its lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.scan.sizes import PrefixSums, Sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROW_SIZE = 64
"""Residues that a row counts as when work is divided, because rows without residues take memory, too."""


@dataclass(frozen=True)
class BatchRows:
    """Rows [first, end) of each piece, of one segment. Pieces ascend, and so do the lengths of the rows.

    n_residues: residues of all rows.
    """

    segment: int
    pieces: tuple[tuple[int, int], ...]
    n_residues: int

    def __len__(self) -> int:
        return sum(end - first for first, end in self.pieces)

    @property
    def size(self) -> int:
        """Size that is compared when work is divided."""
        return self.n_residues + ROW_SIZE * len(self)

    def sizes(self, lengths: Sizes) -> Sizes:
        """Return the lengths of these rows. lengths: of all rows of the segment."""
        return Sizes.joined([lengths.rows(first, end) for first, end in self.pieces])

    def segment_rows(self, places: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return int64[n]: rows of the segment, from rows of the batch."""
        firsts, ends = np.array(self.pieces).T
        before = np.cumsum(ends - firsts) - (ends - firsts)
        pieces = np.searchsorted(before, places, side="right") - 1
        rows: NDArray[np.int64] = firsts[pieces] + places - before[pieces]
        return rows

    def halves(self, lengths: Sizes) -> tuple[BatchRows, BatchRows]:
        """Split two rows or more into two batches of similar size. lengths: of all rows of the segment."""
        if len(self.pieces) > 1:
            return self._with(self.pieces[::2], lengths), self._with(self.pieces[1::2], lengths)
        first, end = self.pieces[0]
        own = lengths.rows(first, end)
        sums = PrefixSums(own.firsts, len(own), own.values + ROW_SIZE)
        cut = first + int(np.clip(sums.first_at_least(np.array(sums.total // 2)), 1, end - first - 1))
        return self._with(((first, cut),), lengths), self._with(((cut, end),), lengths)

    def _with(self, pieces: tuple[tuple[int, int], ...], lengths: Sizes) -> BatchRows:
        return BatchRows(self.segment, pieces, sum(lengths.rows(first, end).total for first, end in pieces))
