"""Scores of a pair column by column, without its path: the best of all, of blocks, and where values become certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.reference.path import NEVER, border
from exaln.scoring.modes import LOCAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.tasks import GapCosts
    from exaln.scoring.modes import Mode

    Column = NDArray[np.int64]
    Columns = Sequence[NDArray[np.integer]] | NDArray[np.integer]


def table_columns(
    columns: Columns, n_rows: int, scoring: GapCosts, mode: Mode, upper: int = 0
) -> Iterator[tuple[Column, Column]]:
    """H, int64[n_rows + 1], of the border column and of each column, with the E that enters the next one.

    columns: for each target letter int[n_rows], its score in each row. upper: H of the border column, below its corner,
    in place of the mode's.

    Within a column F(i) is the maximum over k < i of H'(k) - gap_first - (i - 1 - k) * gap_extend, where H' is H
    without F, because opening a gap where another ends never pays. It is a running maximum of H'(k) + k * gap_extend.
    """
    gap_first, gap_extend = scoring.gap_first, scoring.gap_extend
    rows = np.arange(n_rows + 1, dtype=np.int64) * gap_extend
    top = border(len(columns), scoring, is_free=mode.target_start)
    h = border(n_rows, scoring, is_free=mode.query_start)
    e = np.full(len(h), NEVER, np.int64)
    if upper:
        h[:], e[:] = upper, upper
    for column, above in zip(columns, top[1:], strict=True):
        e = np.maximum(e - gap_extend, h - gap_first)
        yield h, e
        matched = h[:-1] + column
        h = np.concatenate([[above], np.maximum(matched, e[1:])])
        if mode.is_local:
            h = np.maximum(h, 0)
        opened = np.maximum.accumulate(h + rows)[:-1] - gap_first - rows[:-1]
        h[1:] = np.maximum(h[1:], opened)
    yield h, np.maximum(e - gap_extend, h - gap_first)


def table_score(columns: Columns, n_rows: int, scoring: GapCosts, mode: Mode) -> int:
    """The best score of a pair."""
    best = NEVER
    for h, _ in table_columns(columns, n_rows, scoring, mode):
        if mode.is_local:
            best = max(best, int(h.max()))
        elif mode.target_end:
            best = max(best, int(h[-1]))
    if not mode.is_local:
        best = max(best, int(h.max() if mode.query_end else h[-1]))
    return best


def best_in_blocks(columns: NDArray[np.integer], size: int, scoring: GapCosts) -> list[int]:
    """The best local score of an alignment that ends in each block of `size` columns; columns: int[n, n_rows]."""
    best = [0] * -(-len(columns) // size)
    for place, (h, _) in enumerate(table_columns(columns, columns.shape[1], scoring, LOCAL)):
        if place:
            block = (place - 1) // size
            best[block] = max(best[block], int(h.max()))
    return best


def certain_from(columns: NDArray[np.integer], scoring: GapCosts, upper: int) -> int:
    """The first column from which local scores do not depend on whether H is 0 or `upper` before the first column.

    The number of columns and one more if there is none.
    """
    low = table_columns(columns, columns.shape[1], scoring, LOCAL)
    high = table_columns(columns, columns.shape[1], scoring, LOCAL, upper)
    for place, ((h, e), (upper_h, upper_e)) in enumerate(zip(low, high, strict=True)):
        if np.array_equal(h, upper_h) and np.array_equal(np.maximum(e, 0), np.maximum(upper_e, 0)):
            return place
    return len(columns) + 1
