"""The rotation of Chaibou and Sie: the table of scores, rotated so that a diagonal becomes a column.

The paper counts cells from 1 and has no border: f(i, j) = (i, i + j - 1). The tables of exaln_studies._native have a
border of zeros, row and column 0, so H(i, j) is in column i + j of row i.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring

ORIGINAL, ROTATED, BY_DIAGONALS = "by rows", "rotated", "by diagonals"
"""Layouts: row by row; rotated as in the paper, where the cells of a step are one row apart; and its transpose, where
they are contiguous."""

LAYOUTS = (ORIGINAL, ROTATED, BY_DIAGONALS)
DEPENDENCIES = ((-1, -2), (-1, -1), (0, -1))
"""Offsets of the cells that a rotated cell depends on: on the diagonal, above, and to the left."""


def rotate(i: int, j: int) -> tuple[int, int]:
    """The paper's f: row and column of the cell (i, j) in the rotated table.

    >>> rotate(1, 1), rotate(3, 5)
    ((1, 1), (3, 7))
    """
    return i, i + j - 1


def rotate_back(row: int, column: int) -> tuple[int, int]:
    """The inverse of `rotate`.

    >>> rotate_back(*rotate(3, 5))
    (3, 5)
    """
    return row, column - row + 1


def cells_of_step(n: int, step: int) -> int:
    """Number of cells that step 1 to 2 n - 1 computes, for two sequences of length n.

    >>> [cells_of_step(3, step) for step in range(1, 6)]
    [1, 2, 3, 2, 1]
    """
    return step if step <= n else 2 * n - step


def strides_of(layout: str, m: int, n: int) -> tuple[int, int]:
    """Distances of H(i + 1, j) and H(i, j + 1) from H(i, j), in cells."""
    return {ORIGINAL: (n + 1, 1), ROTATED: (m + n + 2, 1), BY_DIAGONALS: (m + 2, m + 1)}[layout]


def table_size(layout: str, m: int, n: int) -> int:
    """Number of entries of a table with its border, including those that hold no cell."""
    return (m + 1) * (n + 1 if layout == ORIGINAL else m + n + 1)


def rotated_back(table: NDArray[np.int32], layout: str, m: int, n: int) -> NDArray[np.int32]:
    """Return H as a view, int32[m + 1, n + 1], for any layout: the inverse rotation of all cells."""
    strides = tuple(step * table.itemsize for step in strides_of(layout, m, n))
    return as_strided(table, (m + 1, n + 1), strides, writeable=False)


def trace_back(
    h: NDArray[np.int32], query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring
) -> tuple[int, int, str]:
    """Query end, target end and steps of the best path with linear gaps, from the scores alone.

    h: int32[m + 1, n + 1], as `rotated_back` gives it. The rule is that of docs/modes.md.
    """
    best = h.max()
    column = int(np.flatnonzero((h == best).any(axis=0))[0]) if best > 0 else 0
    row = int(np.flatnonzero(h[:, column] == best)[0]) if best > 0 else 0
    i, j, steps = row, column, []
    gap = scoring.gap_extend
    while i > 0 and j > 0 and h[i, j] > 0:
        if h[i, j] == h[i - 1, j - 1] + scoring.matrix[query[i - 1], target[j - 1]]:
            steps.append("M")
            i, j = i - 1, j - 1
        elif h[i, j] == h[i, j - 1] - gap:
            steps.append("D")
            j -= 1
        else:
            steps.append("I")
            i -= 1
    return row, column, "".join(reversed(steps))
