"""Regions of one pair's table in NumPy: the definition of `fill` and `traceback` for all engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.regions import (
    IN_E,
    IN_F,
    NO_GAP,
    NOTHING,
    STEP_BOTH,
    STEP_QUERY,
    STEP_TARGET,
    Boundary,
    Checkpoints,
    EndCell,
    PairTable,
    PathState,
    Region,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.tasks import Progress


def fill_region(
    pair: PairTable, region: Region, boundary: Boundary, checkpoints: Checkpoints, progress: Progress | None = None
) -> EndCell:
    """Fill a region column by column and write its checkpoints. Returns the best cell, in every mode.

    Within a column F(i) is the maximum of F above the region, extended, and of H'(k) - gap_first - (i - 1 - k) *
    gap_extend over k < i, where H' is H without F: a running maximum of H'(k) + k * gap_extend, as in `table_score`.
    """
    first, extend = pair.scoring.gap_first, pair.scoring.gap_extend
    letters = pair.query[region.first_row : region.end_row]
    extended = np.arange(len(letters), dtype=np.int64) * extend
    h, e = boundary.left_H.astype(np.int64), boundary.left_E.astype(np.int64)
    checkpoint_rows = checkpoints.rows - region.first_row - 1
    checkpoint_columns = {int(column): place for place, column in enumerate(checkpoints.columns)}
    diagonal, best = boundary.corner, NOTHING
    for j in range(region.n_columns):
        above = np.concatenate([[diagonal], h[:-1]])
        h = np.maximum(above + pair.scoring.matrix[letters, pair.target[region.first_column + j]], e)
        if pair.mode.is_local:
            h = np.maximum(h, 0)
        f = int(boundary.top_F[j]) - extended
        f[1:] = np.maximum(f[1:], np.maximum.accumulate(h + extended)[:-1] - first - extended[:-1])
        h = np.maximum(h, f)
        e = np.maximum(e - extend, h - first)
        column = region.first_column + j + 1
        checkpoints.row_H[:, j] = h[checkpoint_rows]
        checkpoints.row_F[:, j] = np.maximum(f - extend, h - first)[checkpoint_rows]
        if column in checkpoint_columns:
            checkpoints.column_H[checkpoint_columns[column]] = h
            checkpoints.column_E[checkpoint_columns[column]] = e
        row = int(h.argmax())
        if h[row] > best.score:
            best = EndCell(int(h[row]), region.first_row + row + 1, column)
        diagonal = int(boundary.top_H[j])
        if progress is not None:
            progress((j + 1) * len(letters))
    return best


def trace_block(
    pair: PairTable, region: Region, boundary: Boundary, state: PathState
) -> tuple[NDArray[np.uint8], PathState]:
    """Follow a path back through a region, of which all cells are kept. Returns its steps, and the state after them."""
    h, e, f = _table(pair, region, boundary)
    first, extend = pair.scoring.gap_first, pair.scoring.gap_extend
    i, j = state.row - region.first_row + 1, state.column - region.first_column + 1
    left, gap, steps = state.left, state.gap, []
    while i > 0 and j > 0 and not (pair.mode.is_local and gap == NO_GAP and left == 0):
        score = int(pair.scoring.matrix[pair.query[region.first_row + i - 1], pair.target[region.first_column + j - 1]])
        if gap != NO_GAP:
            extends = (e if gap == IN_E else f)[i, j] - extend > h[i, j] - first
            left += extend if extends else first
            if not extends:
                gap = NO_GAP
                continue
        elif h[i, j] == h[i - 1, j - 1] + score:
            left -= score
            i, j = i - 1, j - 1
            steps.append(STEP_BOTH)
            continue
        else:
            gap = IN_E if h[i, j] == e[i, j] else IN_F
        steps.append(STEP_TARGET if gap == IN_E else STEP_QUERY)
        i, j = i - (gap == IN_F), j - (gap == IN_E)
    left = left if pair.mode.is_local else 0
    return np.array(steps, np.uint8), PathState(region.first_row + i - 1, region.first_column + j - 1, left, gap)


def _table(
    pair: PairTable, region: Region, boundary: Boundary
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """int64[n_rows + 1, n_columns + 1] each: H with its boundary, and E and F as each cell takes them."""
    all_rows = np.arange(region.first_row + 1, region.end_row + 1)
    all_columns = np.arange(region.first_column + 1, region.end_column + 1)
    checkpoints = Checkpoints.empty(region, all_rows, all_columns, np.dtype(np.int64))
    fill_region(pair, region, boundary, checkpoints)
    shape = region.n_rows + 1, region.n_columns + 1
    h, e, f = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    h[0, 0], h[0, 1:], h[1:, 0], h[1:, 1:] = boundary.corner, boundary.top_H, boundary.left_H, checkpoints.row_H
    e[1:, 1], e[1:, 2:] = boundary.left_E, checkpoints.column_E[:-1].T
    f[1, 1:], f[2:, 1:] = boundary.top_F, checkpoints.row_F[:-1]
    return h, e, f
