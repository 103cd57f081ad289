"""The score matrix as in textbooks: H of every cell, arrows to the cells that it can come from, and the paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.cigar import DELETION, INSERTION
from exaln.engines.reference.path import NEVER, Table, fill_table
from exaln.plots.plotted_pair import PlottedAlignment, PlottedPair
from exaln.plots.style import ARROW_COLOUR, PATH_COLOURS, PATH_FILL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

CELL = 0.52
"""Size of a cell, in inches."""

PATH_COLOUR = PATH_COLOURS[1]
ARROW = 0.42
"""Length of an arrow, in cells."""


def draw_table(pair: PlottedPair) -> Figure:
    """A figure of the score matrix: query downwards, target to the right, the cells of the paths filled."""
    from matplotlib.figure import Figure

    m, n = len(pair.query), len(pair.target)
    width, height = max(4.5, CELL * (n + 2) + 1.1), CELL * (m + 2) + 1.4
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    figure.suptitle(f"{pair.title}\n{pair.summary}\n{pair.scoring.describe()}", fontsize=10)
    scores = pair.scoring.matrix[np.ix_(pair.query, pair.target)]
    table = fill_table(scores, pair.scoring, pair.mode)
    paths = [path_cells(one) for one in pair.drawn]
    cells = {cell for path in paths for cell in zip(*map(np.ndarray.tolist, path), strict=True)}
    _draw_path_cells(axes, cells)
    _draw_arrows(axes, table, scores, pair)
    for rows, columns in paths:
        _arrows(axes, rows[1:], columns[1:], np.diff(rows), np.diff(columns), PATH_COLOUR, 0.06)
    _draw_numbers(axes, table, pair, cells)
    _draw_letters(axes, pair)
    axes.set(xlim=(-1.5, n + 0.5), ylim=(m + 0.5, -1.5), aspect="equal")
    axes.set_axis_off()
    return figure


def path_cells(alignment: PlottedAlignment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64: row and column of every cell of the path, including the cell before its first letter."""
    column = np.repeat(alignment.operations & 15, alignment.operations >> 4)
    rows = np.concatenate([[0], np.cumsum(column != DELETION)]) + alignment.query_start
    columns = np.concatenate([[0], np.cumsum(column != INSERTION)]) + alignment.target_start
    return rows, columns


def sources(table: Table, scores: NDArray[np.int32], *, is_local: bool) -> list[tuple[int, int, int, int]]:
    """Every step that gives a cell its score, as (row, column, rows up, columns left)."""
    h, e, f = table.h, table.e, table.f
    found = []
    for i, j in np.ndindex(*h.shape):
        if is_local and h[i, j] == 0:
            continue
        if i and j and h[i, j] == h[i - 1, j - 1] + scores[i - 1, j - 1]:
            found.append((i, j, 1, 1))
        if h[i, j] == e[i, j] != NEVER:
            found.append((i, j, 0, 1))
        if h[i, j] == f[i, j] != NEVER:
            found.append((i, j, 1, 0))
    return found


def _border_sources(pair: PlottedPair) -> list[tuple[int, int, int, int]]:
    """The steps along the borders where gaps cost, in the form of `sources`."""
    along_top = [] if pair.mode.target_start else [(0, j, 0, 1) for j in range(1, len(pair.target) + 1)]
    down_left = [] if pair.mode.query_start else [(i, 0, 1, 0) for i in range(1, len(pair.query) + 1)]
    return along_top + down_left


def _draw_arrows(axes: Axes, table: Table, scores: NDArray[np.int32], pair: PlottedPair) -> None:
    steps = sources(table, scores, is_local=pair.mode.is_local) + _border_sources(pair)
    if steps:
        i, j, up, left = np.array(steps).T
        _arrows(axes, i, j, up, left, ARROW_COLOUR, 0.035)


def _arrows(
    axes: Axes,
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    up: NDArray[np.int64],
    left: NDArray[np.int64],
    colour: str,
    width: float,
) -> None:
    """Draw arrows between the numbers, each from the edge of its cell to that of the cell it comes from."""
    half = ARROW / 2
    x, y = j - left / 2 + half * left, i - up / 2 + half * up
    style: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "xy", "zorder": 3}
    heads: dict[str, Any] = {"headwidth": 4.5, "headlength": 4.5, "headaxislength": 4.0}
    axes.quiver(x, y, -ARROW * left, -ARROW * up, color=colour, width=width, **style, **heads)


def _draw_path_cells(axes: Axes, cells: set[tuple[int, int]]) -> None:
    from matplotlib.patches import Rectangle

    for row, column in sorted(cells):
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=PATH_FILL, edgecolor="none", zorder=1))


def _draw_numbers(axes: Axes, table: Table, pair: PlottedPair, cells: set[tuple[int, int]]) -> None:
    for (i, j), value in np.ndenumerate(table.h):
        is_on_path = (i, j) in cells
        axes.text(
            j,
            i,
            f"{pair.scoring.unscale(int(value)):g}",
            ha="center",
            va="center",
            fontsize=9,
            zorder=4,
            color=PATH_COLOUR if is_on_path else "#222222",
            fontweight="bold" if is_on_path else "normal",
        )


def _draw_letters(axes: Axes, pair: PlottedPair) -> None:
    decode = pair.scoring.alphabet.decode
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 12, "fontweight": "bold"}
    for j, letter in enumerate(decode(pair.target), start=1):
        axes.text(j, -1, letter, **style)
    for i, letter in enumerate(decode(pair.query), start=1):
        axes.text(-1, i, letter, **style)
    m, n = len(pair.query), len(pair.target)
    line: dict[str, Any] = {"color": "#222222", "linewidth": 1.0, "zorder": 2}
    axes.plot([-1.5, n + 0.5], [-0.5, -0.5], **line)
    axes.plot([-0.5, -0.5], [-1.5, m + 0.5], **line)
    names: dict[str, Any] = {"fontsize": 9, "color": "#555555"}
    axes.text(n / 2, -1.62, pair.target_label, ha="center", va="bottom", **names)
    axes.text(-1.62, m / 2, pair.query_label, ha="right", va="center", rotation=90, **names)
