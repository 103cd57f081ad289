"""The recurrence of every mode and the path rule, which chooses the alignment to report among co-optimal ones.

The alignment has the smallest target end, then the smallest query end. The traceback prefers the diagonal to E, E to F,
and opening a gap to extending it. A local path stops at the first zero, any other at the first free border cell or in
the corner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import OPERATIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.tasks import GapCosts
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

NEVER = -(2**62)
"""Below every score: it allows gaps of 2**47 letters at the largest cost."""


@dataclass(frozen=True)
class ReferenceAlignment:
    """One alignment: (query start, end, target start, end), counts as in `AlignedPairs`, operations as in `Paths`."""

    score: int
    positions: tuple[int, int, int, int]
    counts: tuple[int, int, int, int, int, int]
    operations: list[int]


def aligned_letters(alignment: ReferenceAlignment) -> Iterator[tuple[int, int]]:
    """The pairs (query letter, target letter) that an alignment aligns."""
    row, _, column, _ = alignment.positions
    for operation in alignment.operations:
        letter, length = OPERATIONS[operation & 15], operation >> 4
        if letter in "=X":
            yield from zip(range(row, row + length), range(column, column + length), strict=True)
        row += length * (letter != "D")
        column += length * (letter != "I")


@dataclass(frozen=True)
class Table:
    """H, E and F of every cell, with a border row and column: int64[rows + 1, columns + 1]."""

    h: NDArray[np.int64]
    e: NDArray[np.int64]
    f: NDArray[np.int64]


def border(length: int, scoring: GapCosts, *, is_free: bool) -> NDArray[np.int64]:
    """int64[length + 1]: H along an edge of the table: 0 if the end is free, else one gap from the corner."""
    if is_free:
        return np.zeros(length + 1, np.int64)
    costs = scoring.gap_open + scoring.gap_extend * np.arange(length + 1, dtype=np.int64)
    costs[0] = 0
    return -costs


def fill_table(scores: NDArray[np.integer], scoring: GapCosts, mode: Mode) -> Table:
    """Fill the table cell by cell. scores[i, j] is the score of query letter i with target letter j."""
    gap_first, gap_extend = scoring.gap_first, scoring.gap_extend
    rows, columns = scores.shape[0] + 1, scores.shape[1] + 1
    h = np.full((rows, columns), NEVER, np.int64)
    e, f = h.copy(), h.copy()
    h[:, 0] = border(rows - 1, scoring, is_free=mode.query_start)
    h[0, :] = border(columns - 1, scoring, is_free=mode.target_start)
    for i in range(1, rows):
        for j in range(1, columns):
            e[i, j] = max(e[i, j - 1] - gap_extend, h[i, j - 1] - gap_first)
            f[i, j] = max(f[i - 1, j] - gap_extend, h[i - 1, j] - gap_first)
            h[i, j] = max(h[i - 1, j - 1] + scores[i - 1, j - 1], e[i, j], f[i, j])
            if mode.is_local:
                h[i, j] = max(h[i, j], 0)
    return Table(h, e, f)


def end_cell(h: NDArray[np.int64], mode: Mode) -> tuple[int, int]:
    """Row and column of the best cell in which an alignment may end, by the path rule."""
    last_row, last_column = h.shape[0] - 1, h.shape[1] - 1
    may_end = np.full(h.shape, mode.is_local)
    may_end[last_row, last_column] = True
    if mode.target_end:
        may_end[last_row, :] = True
    if mode.query_end:
        may_end[:, last_column] = True
    best = h[may_end].max()
    column, row = min((int(j), int(i)) for i, j in np.argwhere(may_end & (h == best)))
    return row, column


def trace_back(
    table: Table, scores: NDArray[np.integer], gap_first: int, mode: Mode, i: int, j: int
) -> tuple[str, int, int]:
    """The path that ends in cell (i, j) as a string of steps M, D and I, and the cell before its first step."""
    h, e, f = table.h, table.e, table.f
    steps, state = [], "H"
    while i > 0 and j > 0 and not (mode.is_local and state == "H" and h[i, j] == 0):
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
    if i == 0 and not mode.target_start:
        steps += ["D"] * j
        j = 0
    if j == 0 and not mode.query_start:
        steps += ["I"] * i
        i = 0
    return "".join(reversed(steps)), i, j


def reference_alignment(
    query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring, mode: Mode
) -> ReferenceAlignment:
    """The alignment that every engine reports for two encoded sequences."""
    return table_alignment(scoring.matrix[np.ix_(query, target)], np.equal.outer(query, target), scoring, mode)


def table_alignment(
    scores: NDArray[np.integer], is_same: NDArray[np.bool_], scoring: GapCosts, mode: Mode
) -> ReferenceAlignment:
    """The alignment of a pair by the path rule.

    scores: int[rows, columns], the score of each query letter with each target letter. is_same: bool[rows, columns],
    whether the two letters are equal.
    """
    table = fill_table(scores, scoring, mode)
    row, column = end_cell(table.h, mode)
    steps, first_row, first_column = trace_back(table, scores, scoring.gap_first, mode, row, column)
    i, j, letters, positives = first_row, first_column, [], 0
    for step in steps:
        if step == "M":
            letters.append("=" if is_same[i, j] else "X")
            positives += int(is_same[i, j] or scores[i, j] > 0)
        else:
            letters.append(step)
        i, j = i + (step != "D"), j + (step != "I")
    runs = [(letter, len(list(same))) for letter, same in groupby(letters)]
    gaps = letters.count("I") + letters.count("D")
    return ReferenceAlignment(
        score=int(table.h[row, column]),
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
