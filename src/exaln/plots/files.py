"""Plots of the alignments of a pair as figures and files: the choice of the plot, and its SVG, PNG or HTML."""

from __future__ import annotations

import html
import io
import os
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from exaln.errors import InputError
from exaln.foundation.output_file import open_output
from exaln.plots.plotted_pair import PlottedAlignment, PlottedPair
from exaln.sequences.byte_streams import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PlottedAlignment", "PlottedPair", "check_path", "draw", "load_matplotlib", "rendered", "save"]

KINDS = (".svg", ".png", ".html")
LARGEST_TABLE = 30
"""If neither sequence is longer than this, the score matrix is drawn, which has the plus strand only."""

PNG_DPI = 120
SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "exaln",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
"""The fixed hash salt makes the ids in an SVG, and so its bytes, the same in every run."""


def draw(pair: PlottedPair) -> Figure:
    """The figure of a pair: the score matrix of a small pair on the plus strand, otherwise the dot plot."""
    matplotlib = load_matplotlib()
    with matplotlib.rc_context(SETTINGS):
        if max(len(pair.query), len(pair.target)) <= LARGEST_TABLE and -1 not in pair.drawn_strands:
            from exaln.plots.score_matrix import draw_table

            return draw_table(pair)
        from exaln.plots.dot_plot import draw_dots

        return draw_dots(pair)


def check_path(path: str | os.PathLike[str]) -> None:
    """InputError if the extension is not one of KINDS, or if matplotlib is missing; called before any work is done."""
    if PurePath(path).suffix.lower() not in KINDS:
        raise InputError(f"{printable(os.fspath(path))}: plots are written to .svg, .png or .html")
    load_matplotlib()


def save(pair: PlottedPair, figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as .svg, .png or .html, by the extension of the path."""
    check_path(path)
    data = rendered(pair, figure, PurePath(path).suffix.lower())
    with open_output(path) as file:
        file.write(data)


def rendered(pair: PlottedPair, figure: Figure, kind: str) -> bytes:
    """The bytes of a plot file; kind: one of KINDS."""
    buffer = io.BytesIO()
    with load_matplotlib().rc_context(SETTINGS):
        if kind == ".png":
            figure.savefig(buffer, format="png", dpi=PNG_DPI, metadata={"Software": None})
            return buffer.getvalue()
        figure.savefig(buffer, format="svg", dpi=PNG_DPI, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return svg if kind == ".svg" else _page(pair, svg)


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }}
svg {{ width: 100%; height: auto; }}
pre {{ overflow-x: auto; font-size: 0.9em; line-height: 1.3; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{summary}</p>
{svg}
<h2>{heading}</h2>
<pre>{text}</pre>
</body>
</html>
"""


def _page(pair: PlottedPair, svg: bytes) -> bytes:
    """A self-contained HTML page with the figure and the alignments as text."""
    drawing = svg.decode("utf-8")
    drawing = drawing[drawing.index("<svg") :]
    return PAGE.format(
        title=html.escape(pair.title),
        summary=html.escape(f"{pair.summary}. {pair.scoring.describe()}."),
        svg=drawing,
        heading="Alignment" if len(pair.alignments) == 1 else "Alignments",
        text=html.escape(pair.text),
    ).encode("utf-8")


def load_matplotlib() -> Any:
    """The module matplotlib; InputError if it is not installed."""
    try:
        return import_module("matplotlib")
    except ImportError:
        raise InputError('plots need matplotlib, which is not installed: pip install "exaln[plots]"') from None
