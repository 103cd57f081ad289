"""The identity along alignments, in windows, and their gaps, over the positions of the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import DELETION, EQUAL, INSERTION
from exaln.plots.style import AREA_COLOURS, FINEST, GAP_COLOUR, PATH_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from exaln.plots.plotted_pair import PlottedAlignment, PlottedPair

NARROWEST = 1 / 400
"""Alignments over a smaller part of the target, about the width of a line, are drawn as one upright line."""


def draw_identity(axes: Axes, pair: PlottedPair, scale: int) -> None:
    """Draw the identity in windows along each alignment, the best on top, with gaps marked below."""
    from matplotlib.collections import LineCollection, PolyCollection

    axes.set_yticks([0, 50, 100])
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow("line")
    if not pair.drawn:
        return
    worst_first = pair.drawn[::-1]
    lines, windows = zip(*(identity_line(one, len(pair.target)) for one in worst_first), strict=True)
    scaled = [line / (scale, 1) for line in lines]
    areas = [np.concatenate([line, [(line[-1, 0], 0), (line[0, 0], 0)]]) for line in scaled]
    axes.add_collection(PolyCollection(areas, facecolors=[AREA_COLOURS[one.strand] for one in worst_first]))
    colours = [PATH_COLOURS[one.strand] for one in worst_first]
    axes.add_collection(LineCollection(scaled, colors=colours, linewidths=1.2))
    gaps = gap_spans(pair)
    spans = [(begin / scale, (end - begin) / scale) for begin, end in gaps]
    axes.broken_barh(spans, (0, 7), facecolor=GAP_COLOUR, edgecolor=GAP_COLOUR, linewidth=0.8)
    axes.set_title(_note(windows, has_gaps=bool(gaps)), fontsize=8, loc="right", color="#555555", pad=3)


def _note(windows: Sequence[int], *, has_gaps: bool) -> str:
    """What the panel shows. windows: the columns of a window of each alignment, 0 for its identity as a whole."""
    least, most = min(filter(None, windows), default=0), max(windows)
    said = f"window of {least:,} columns" if least == most else f"windows of {least:,} to {most:,} columns"
    return (said if most else "of each alignment as a whole") + ("; gaps marked below" if has_gaps else "")


def identity_line(alignment: PlottedAlignment, n: int) -> tuple[NDArray[np.float64], int]:
    """Points (target position, percent identity) of an alignment, float64[k, 2], and the columns of a window.

    n: the length of the target. An alignment that is very short beside it is an upright line, without windows: 0.
    """
    target, _ = alignment.corners()
    if abs(int(target[-1] - target[0])) < n * NARROWEST:
        identities, _, n_columns = alignment.counts()
        middle = (target[0] + target[-1]) / 2
        return np.array([(middle, 0), (middle, 100 * identities / n_columns)]), 0
    place, identity, window = windowed_identity(alignment, n)
    ends = np.concatenate([target[:1], place, target[-1:]])
    return np.column_stack([ends, np.pad(identity, 1, mode="edge")]), window


def windowed_identity(alignment: PlottedAlignment, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Target position and percent identity of each window along the path, and the columns of a window.

    n: the length of the target, of which a window is a hundredth.
    """
    lengths, codes = (alignment.operations >> 4).astype(np.int64), alignment.operations & 15
    column = np.concatenate([[0], np.cumsum(lengths)])  # at the ends of runs; linear in between
    target, _ = alignment.corners()
    equal = np.concatenate([[0], np.cumsum(np.where(codes == EQUAL, lengths, 0))])
    n_columns = int(column[-1])
    window = int(min(n_columns, max(11, round(max(n_columns, n) / 100))))
    first = np.unique(np.linspace(0, n_columns - window, FINEST).astype(np.int64))
    identity = 100 * (np.interp(first + window, column, equal) - np.interp(first, column, equal)) / window
    if len(first) == 1:
        return target[[0, -1]].astype(np.float64), np.repeat(identity, 2), window
    return np.interp(first + window // 2 + 1, column, target), identity, window


def gap_spans(pair: PlottedPair) -> list[tuple[float, float]]:
    """The gaps of all paths as target ranges; if there are very many, the ranges of the axis that have any."""
    spans = np.concatenate([np.empty((0, 2), np.int64), *map(_gaps, pair.drawn)])
    if len(spans) <= FINEST:
        return [(begin, end) for begin, end in spans.tolist()]
    step = len(pair.target) / FINEST
    places = np.minimum(spans / step, FINEST - 1).astype(np.int64)
    changes = np.zeros(FINEST + 2, np.int64)
    np.add.at(changes, places[:, 0], 1)
    np.add.at(changes, places[:, 1] + 1, -1)
    edges = np.flatnonzero(np.diff(np.cumsum(changes) > 0, prepend=False))
    return [(first * step, last * step) for first, last in edges.reshape(-1, 2).tolist()]


def _gaps(alignment: PlottedAlignment) -> NDArray[np.int64]:
    """int64[n, 2]: start and end in the target of each gap of a path."""
    target, _ = alignment.corners()
    is_gap = np.isin(alignment.operations & 15, (INSERTION, DELETION))
    return np.sort(np.column_stack([target[:-1][is_gap], target[1:][is_gap]]), axis=1)
