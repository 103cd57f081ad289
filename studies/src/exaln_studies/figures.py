"""Line and bar plots of a study, drawn with matplotlib; equal measurements give equal bytes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.plots.files import SETTINGS, load_matplotlib
from exaln_studies.study import Bars, Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#30638e", "#d1495b", "#3c887e", "#edae49", "#8d6a9f", "#7a7a7a", "#00798c", "#a26769", "#1d1d1d", "#9bc53d")
MARKERS, PAPER_MARKERS = "osD^vPX*<>", "osD^"
SIZE = (7.2, 4.2)
CROWDED = 10
"""With more bars than this, labels are smaller and steeper."""


def rendered(block: Figure | Bars, kind: str = "svg") -> bytes:
    """Draw a plot; return the bytes of an svg or png file."""
    with load_matplotlib().rc_context(SETTINGS):
        from matplotlib.figure import Figure as Drawing

        drawing = Drawing(figsize=SIZE, layout="constrained")
        axes = drawing.add_subplot()
        if isinstance(block, Bars):
            _draw_bars(axes, block)
        else:
            _draw_lines(axes, block)
        buffer = io.BytesIO()
        metadata: dict[str, Any] = {"Date": None, "Creator": None} if kind == "svg" else {}
        drawing.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()


def _draw_lines(axes: Axes, figure: Figure) -> None:
    """A dashed line, a model, has the colour of the line before it; lines of papers are black and dotted."""
    measured = n_papers = 0
    for line in figure.lines:
        if line.is_papers:
            marker = PAPER_MARKERS[n_papers % len(PAPER_MARKERS)]
            style: dict[str, Any] = {"linestyle": ":", "color": "black", "linewidth": 1, "marker": marker}
            style |= {"markersize": 5, "markerfacecolor": "white"}
            n_papers += 1
        elif line.dashed:
            style = {
                "linestyle": "--",
                "color": COLOURS[(measured - 1) % len(COLOURS)],
                "linewidth": 1.2,
            }
        else:
            style = {
                "marker": MARKERS[measured % len(MARKERS)],
                "color": COLOURS[measured % len(COLOURS)],
                "markersize": 5,
            }
            measured += 1
        axes.plot(line.x, line.y, label=line.label, **style)
    if figure.log_x:
        axes.set_xscale("log", base=2)
        ticks = sorted({x for line in figure.lines for x in line.x})
        axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        axes.minorticks_off()
    else:
        axes.xaxis.set_major_formatter(lambda value, place: f"{value:,g}")
    if figure.log_y:
        _scale_log(axes)
    else:
        axes.set_ylim(0, 1.03 * axes.get_ylim()[1])
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _scale_log(axes: Axes) -> None:
    """Logarithmic y axis with plain numbers, also between powers of ten where the axis spans few of them."""
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:,g}" if super().__call__(x, pos) else ""

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, place: f"{value:,g}")
    axes.yaxis.set_minor_formatter(Plain(minor_thresholds=(1.5, 0.5)))


def _draw_bars(axes: Axes, bars: Bars) -> None:
    places, bottom = np.arange(len(bars.labels)), np.zeros(len(bars.labels))
    for number, (name, heights) in enumerate(bars.parts):
        axes.bar(places, heights, bottom=bottom, label=name, color=COLOURS[number % len(COLOURS)], width=0.65)
        bottom = bottom + np.asarray(heights, float)
    if bars.log_y:
        _scale_log(axes)
    is_crowded = len(bars.labels) > CROWDED
    axes.set_xticks(places, bars.labels, rotation=55 if is_crowded else 20, ha="right", fontsize=7 if is_crowded else 8)
    axes.set_ylabel(bars.y)
    axes.set_axisbelow(True)
    axes.grid(axis="y", alpha=0.3)
    if len(bars.parts) > 1:
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
