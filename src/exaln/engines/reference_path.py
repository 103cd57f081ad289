"""The path rule in plain Python: among co-optimal local alignments, the one that is reported.

The smallest target end, then the smallest query end; walking back the diagonal before E before F, opening a gap before
extending it, stopping at the first zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from exaln.cigar import OPERATIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring import Scoring

NEVER = -(2**40)


@dataclass(frozen=True)
class ReferenceAlignment:
    """One alignment: (query start, end, target start, end), counts as in `Traces`, operations as in `Paths`."""

    score: int
    positions: tuple[int, int, int, int]
    counts: tuple[int, int, int, int, int, int]
    operations: list[int]


@dataclass(frozen=True)
class Table:
    """H, E and F of every cell, with a border row and column: int64[rows + 1, columns + 1]."""

    h: NDArray[np.int64]
    e: NDArray[np.int64]
    f: NDArray[np.int64]


def fill_table(scores: NDArray[np.int32], gap_first: int, gap_extend: int) -> Table:
    """The recurrence, cell by cell; scores[i, j] is what query letter i and target letter j score."""
    rows, columns = scores.shape[0] + 1, scores.shape[1] + 1
    h = np.zeros((rows, columns), np.int64)
    e = np.full((rows, columns), NEVER, np.int64)
    f = np.full((rows, columns), NEVER, np.int64)
    for i in range(1, rows):
        for j in range(1, columns):
            e[i, j] = max(e[i, j - 1] - gap_extend, h[i, j - 1] - gap_first)
            f[i, j] = max(f[i - 1, j] - gap_extend, h[i - 1, j] - gap_first)
            h[i, j] = max(0, h[i - 1, j - 1] + scores[i - 1, j - 1], e[i, j], f[i, j])
    return Table(h, e, f)


def walk_back(table: Table, scores: NDArray[np.int32], gap_first: int, i: int, j: int) -> tuple[str, int, int]:
    """Steps M, D, I of the path that ends in cell (i, j), from its start on, and the cell before the first one."""
    h, e, f = table.h, table.e, table.f
    steps, state = [], "H"
    while state != "H" or h[i, j] > 0:
        if state == "E":
            steps.append("D")
            state = "H" if e[i, j] == h[i, j - 1] - gap_first else "E"
            j -= 1
        elif state == "F":
            steps.append("I")
            state = "H" if f[i, j] == h[i - 1, j] - gap_first else "F"
            i -= 1
        elif h[i, j] == h[i - 1, j - 1] + scores[i - 1, j - 1]:
            steps.append("M")
            i, j = i - 1, j - 1
        else:
            state = "E" if h[i, j] == e[i, j] else "F"
    return "".join(reversed(steps)), i, j


def local_alignment(query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring) -> ReferenceAlignment:
    """The alignment that every engine reports for this pair."""
    scores = scoring.matrix[np.ix_(query, target)]
    table = fill_table(scores, scoring.gap_first, scoring.gap_extend)
    best = int(table.h.max())
    column, row = min((int(j), int(i)) for i, j in np.argwhere(table.h == best))
    steps, first_row, first_column = walk_back(table, scores, scoring.gap_first, row, column)
    i, j, letters, positives = first_row, first_column, [], 0
    for step in steps:
        if step == "M":
            letters.append("=" if query[i] == target[j] else "X")
            positives += int(scores[i, j] > 0)
        else:
            letters.append(step)
        i, j = i + (step != "D"), j + (step != "I")
    runs = [(letter, len(list(same))) for letter, same in groupby(letters)]
    gaps = letters.count("I") + letters.count("D")
    return ReferenceAlignment(
        score=best,
        positions=(first_row, row, first_column, column),
        counts=(
            letters.count("="),
            positives,
            letters.count("X"),
            sum(letter in "ID" for letter, _ in runs),
            gaps,
            len(letters),
        ),
        operations=[length << 4 | OPERATIONS.index(letter) for letter, length in runs],
    )
