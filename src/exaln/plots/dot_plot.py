"""The dot plot of a pair: where the sequences are similar, the paths of the alignments, and the identity along them.

The size of the figure does not grow with the pair. Alignments on the minus strand of the target run down it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.plots.identity import draw_identity
from exaln.plots.plotted_pair import IN_MILLIONS, IN_THOUSANDS, PlottedAlignment, PlottedPair
from exaln.plots.similarity import similarity
from exaln.plots.style import DOT_COLOURS, FINEST, PATH_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

FAR_SHORTER = 10
"""A sequence with fewer letters than this fraction of the other has a unit of its own."""

SIZE = 6.0
"""Length of the longer side of the dot plot, in inches."""


def draw_dots(pair: PlottedPair) -> Figure:
    """A figure with the dot plot above and the identity below, both over the positions of the target."""
    from matplotlib.figure import Figure

    m, n = max(1, len(pair.query)), max(1, len(pair.target))
    ratio = min(1.6, max(0.35, m / n))
    width, height = (SIZE, SIZE * ratio) if ratio <= 1 else (SIZE / ratio, SIZE)
    width = max(width, 5.5)
    figure = Figure(figsize=(width + 1.2, height + 2.9), layout="constrained")
    dots, along = figure.subplots(2, 1, sharex=True, height_ratios=[height, 1.3])
    figure.suptitle(f"{pair.title}\n{pair.summary}", fontsize=11)
    (x_unit, x_scale), (y_unit, y_scale) = _unit(pair, n, m), _unit(pair, m, n)
    scales = np.array([x_scale, y_scale])
    _draw_legend(dots, pair, [*_draw_similarity(dots, pair, scales), *_draw_paths(dots, pair, scales)])
    dots.set(xlim=(0, n / x_scale), ylim=(m / y_scale, 0), ylabel=f"{pair.query_label}, position ({y_unit})")
    dots.spines[["top", "right"]].set_visible(True)
    draw_identity(along, pair, x_scale)
    along.set(xlabel=f"{pair.target_label}, position ({x_unit})", ylabel="identity (%)", ylim=(0, 104))
    return figure


def _unit(pair: PlottedPair, length: int, other: int) -> tuple[str, int]:
    """The unit of an axis and the number of letters in it. length, other: of its sequence and of the other one.

    Both axes have the unit of the longer sequence, unless the other is far shorter.
    """
    counted = length if length * FAR_SHORTER < other else max(length, other)
    is_dna = pair.scoring.alphabet.is_nucleotide
    letters = "bp" if is_dna else "residues" if pair.scoring.alphabet.name == "protein" else "letters"
    if counted > IN_MILLIONS:
        return "Mb" if is_dna else f"million {letters}", 10**6
    if counted > IN_THOUSANDS:
        return "kb" if is_dna else f"thousand {letters}", 1000
    return letters, 1


def _draw_similarity(axes: Axes, pair: PlottedPair, scales: NDArray[np.int64]) -> list[Any]:
    """Draw the similarity with each strand that is shown, plus above minus, and return the entries of the legend."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Patch

    m, n = len(pair.query), len(pair.target)
    if not m or not n:
        return []
    entries = []
    for strand in pair.shown_strands[::-1]:
        image, note = similarity(pair, strand)
        colour = DOT_COLOURS[strand]
        colours: Any = LinearSegmentedColormap.from_list("dots", [f"{colour}00", colour])
        extent: Any = (0, n / scales[0], m / scales[1], 0)
        axes.imshow(image, cmap=colours, extent=extent, aspect="auto", vmin=0, vmax=1, interpolation="nearest")
        entries.append(Patch(color=colour, label=note if strand > 0 else "the same, reverse complement"))
    return entries[::-1]


def _draw_paths(axes: Axes, pair: PlottedPair, scales: NDArray[np.int64]) -> list[Any]:
    """Draw the path of each alignment, lower scores on top, and return the entries of the legend."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    step = max(1.0, max(len(pair.query), len(pair.target)) / FINEST)
    paths = [np.column_stack(thinned_path(one, step)) / scales for one in pair.drawn]
    colours = [PATH_COLOURS[one.strand] for one in pair.drawn]
    axes.add_collection(LineCollection(paths, colors=colours, linewidths=1.3, capstyle="round"))
    strands = sorted(pair.drawn_strands, reverse=True)
    return [Line2D([], [], color=PATH_COLOURS[strand], label=_path_label(pair, strand)) for strand in strands]


def _path_label(pair: PlottedPair, strand: int) -> str:
    """What the legend calls the paths on a strand."""
    if len(pair.drawn_strands) > 1:
        return "plus strand" if strand > 0 else "minus strand"
    return ("the alignments" if len(pair.drawn) > 1 else "the alignment") + ("" if strand > 0 else ", minus strand")


def _draw_legend(axes: Axes, pair: PlottedPair, entries: list[Any]) -> None:
    """Draw the legend in the corner that a single path on the plus strand leaves free, otherwise above the plot."""
    is_simple = len(pair.alignments) == 1 and pair.shown_strands == (1,)
    inside: dict[str, Any] = {"loc": "upper right", "framealpha": 0.9}
    above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2, "frameon": False}
    if entries:
        axes.legend(handles=entries, fontsize=8, **(inside if is_simple else above))


def thinned_path(alignment: PlottedAlignment, step: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Target and query positions of a path; of those that are drawn at one point, only the first and the last.

    step: letters that are drawn at one point.
    """
    target, query = alignment.corners()
    places = (target / step).astype(np.int64), (query / step).astype(np.int64)
    moves = np.ones(len(target) + 1, np.bool_)
    moves[1:-1] = (places[0][1:] != places[0][:-1]) | (places[1][1:] != places[1][:-1])
    kept = moves[:-1] | moves[1:]
    return target[kept], query[kept]
