"""Convert alignments of reverse-complemented queries to the coordinates of the queries as given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import Paths

if TYPE_CHECKING:
    from numpy.typing import NDArray


def positions_as_given(
    positions: NDArray[np.int64], lengths: NDArray[np.int64], which: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """int64[n, 4]: positions in which query start and end refer to the query as given.

    positions: int64[n, 4], query start and end, target start and end. lengths: int64[n], those of the queries.
    which: bool[n], the alignments whose query was reverse-complemented.
    """
    flipped = positions.copy()
    flipped[which, 0] = lengths[which] - positions[which, 1]
    flipped[which, 1] = lengths[which] - positions[which, 0]
    return flipped


def reverse_paths(paths: Paths, which: NDArray[np.bool_]) -> Paths:
    """The same paths, with the operations of those chosen by `which` (bool[n]) in reverse order."""
    operations = paths.operations.copy()
    for hit in np.flatnonzero(which).tolist():
        begin, end = paths.offsets[hit], paths.offsets[hit + 1]
        operations[begin:end] = operations[begin:end][::-1]
    return Paths(operations, paths.offsets)
