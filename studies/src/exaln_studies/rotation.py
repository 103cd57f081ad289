"""The rotation of Chaibou and Sie: the table of scores turned so that a diagonal becomes a column.

The paper counts cells from 1 and has no border: f(i, j) = (i, i + j - 1). The tables of exaln._core have a border of
zeros, row and column 0, so that H(i, j) stands in column i + j of row i.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring

ORIGINAL, ROTATED, BY_DIAGONALS = "by rows", "rotated", "by diagonals"
"""Layouts: as usual; rotated as in the paper, so that the cells of a step lie a row apart; the same turned again, so
that they lie side by side."""

LAYOUTS = (ORIGINAL, ROTATED, BY_DIAGONALS)
DEPENDENCIES = ((-1, -2), (-1, -1), (0, -1))
"""What m[i'][j'] depends on, relative to it: H on the diagonal, above, and to the left."""


def rotate(i: int, j: int) -> tuple[int, int]:
    """The paper's f: where the cell (i, j) is in the rotated table.

    >>> rotate(1, 1), rotate(3, 5)
    ((1, 1), (3, 7))
    """
    return i, i + j - 1


def rotate_back(row: int, column: int) -> tuple[int, int]:
    """Its inverse.

    >>> rotate_back(*rotate(3, 5))
    (3, 5)
    """
    return row, column - row + 1


def cells_of_step(n: int, step: int) -> int:
    """Cells that can be computed at the same time, for two sequences of length n and a step from 1 to 2 n - 1.

    >>> [cells_of_step(3, step) for step in range(1, 6)]
    [1, 2, 3, 2, 1]
    """
    return step if step <= n else 2 * n - step


def strides_of(layout: str, m: int, n: int) -> tuple[int, int]:
    """How far H(i + 1, j) and H(i, j + 1) are from H(i, j), in cells."""
    return {ORIGINAL: (n + 1, 1), ROTATED: (m + n + 2, 1), BY_DIAGONALS: (m + 2, m + 1)}[layout]


def table_size(layout: str, m: int, n: int) -> int:
    """Cells of a table with its border, the corners that no cell falls into included."""
    return (m + 1) * (n + 1 if layout == ORIGINAL else m + n + 1)


def rotated_back(table: NDArray[np.int32], layout: str, m: int, n: int) -> NDArray[np.int32]:
    """H as int32[m + 1, n + 1], whatever the layout: the inverse for all cells at once, as a view."""
    strides = tuple(step * table.itemsize for step in strides_of(layout, m, n))
    return as_strided(table, (m + 1, n + 1), strides, writeable=False)


def walk_back(
    h: NDArray[np.int32], query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring
) -> tuple[int, int, str]:
    """Ends and steps of the best path, for linear gaps, read off the scores alone: no directions are kept.

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
