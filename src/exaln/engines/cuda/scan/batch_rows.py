"""The rows of a batch: one range of a segment's rows, or several ranges spread over its lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)

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

    def of(self, column: NDArray[Number]) -> NDArray[Number]:
        """Return the elements of these rows in a column of the segment."""
        if len(self.pieces) == 1:
            return column[slice(*self.pieces[0])]
        return np.concatenate([column[first:end] for first, end in self.pieces])

    @property
    def numbers(self) -> NDArray[np.int64]:
        """int64[n]: these rows of the segment."""
        return np.concatenate([np.arange(first, end) for first, end in self.pieces])

    def halves(self, lengths: NDArray[np.int64]) -> tuple[BatchRows, BatchRows]:
        """Split two rows or more into two batches of similar size. lengths: of all rows of the segment."""
        if len(self.pieces) > 1:
            return self._with(self.pieces[::2], lengths), self._with(self.pieces[1::2], lengths)
        first, end = self.pieces[0]
        ends = np.cumsum(lengths[first:end] + ROW_SIZE)
        cut = first + int(np.clip(np.searchsorted(ends, ends[-1] // 2) + 1, 1, end - first - 1))
        return self._with(((first, cut),), lengths), self._with(((cut, end),), lengths)

    def _with(self, pieces: tuple[tuple[int, int], ...], lengths: NDArray[np.int64]) -> BatchRows:
        return BatchRows(self.segment, pieces, sum(int(lengths[first:end].sum()) for first, end in pieces))
