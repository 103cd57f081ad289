"""Alignments drawn: as text with letters, as a plot, and as tables in notebooks."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from exaln.foundation import arguments
from exaln.foundation.html_table import html_table, html_text
from exaln.foundation.plurals import number_of
from exaln.report.clean import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from exaln.pairwise.alignment import Alignment, Alignments
    from exaln.plots.files import PlottedPair

MAX_DRAWN_COLUMNS = 100_000
"""Longer alignments are not drawn with letters in notebooks and beside plots."""

NOTEBOOK_ROWS, NOTEBOOK_CIGAR = 10, 60
"""Limits of a table in a notebook: alignments, and letters of a CIGAR."""


def alignment_text(alignment: Alignment, *, colour: bool, width: int | None) -> str:
    """A heading and the aligned letters; see `Alignment.text`."""
    from exaln.report.drawing import WIDTH, draw

    arguments.flag("colour", colour)
    width = WIDTH if width is None else arguments.integer("width", width, least=1)
    score = f"score {alignment.score}" + ("" if alignment.mode.is_local else f", {alignment.mode}")
    if not alignment.columns:
        return f"{score}: no similarity" if alignment.mode.is_local else f"{score}: no letters are aligned"
    share = f"{alignment.identities}/{alignment.columns} ({100 * alignment.identity:.0f}%)"
    picture = draw(
        alignment.query,
        alignment.target,
        alignment.operations,
        scoring=alignment.scoring,
        query_start=alignment.query_start,
        target_start=alignment.target_start,
        strand=alignment.strand,
        colour=colour,
        width=width,
    )
    minus = "" if alignment.strand > 0 else ", minus strand"
    return f"{score}, identities {share}, gaps {alignment.gaps}{minus}\n\n{picture}"


def alignments_plot(
    alignments: Sequence[Alignment], path: str | os.PathLike[str] | None, *, both_strands: bool = False
) -> Figure:
    """A matplotlib figure, also written to `path`; see `Alignments.plot`. The rest is as in `plotted_pair`."""
    from exaln.plots.files import check_path, draw, save

    if path is not None:
        check_path(arguments.path("path", path, "the path of a file, .svg, .png or .html"))
    pair = plotted_pair(alignments, both_strands=both_strands)
    figure = draw(pair)
    if path is not None:
        save(pair, figure, path)
    return figure


def plotted_pair(alignments: Sequence[Alignment], *, both_strands: bool = False) -> PlottedPair:
    """What a plot of alignments of one pair shows. both_strands: see `PlottedPair`."""
    from exaln.plots.files import PlottedAlignment, PlottedPair

    best_first = sorted(alignments, key=lambda one: -one.score)
    best = best_first[0]
    return PlottedPair(
        query=best.query,
        target=best.target,
        query_name=best.query_id,
        target_name=best.target_id,
        alignments=tuple(
            PlottedAlignment(one.operations, one.query_start, one.target_start, one.strand, one.score)
            for one in best_first
        ),
        scoring=best.scoring,
        mode=best.mode,
        text=_text_of_all(best_first),
        both_strands=both_strands,
    )


def _text_of_all(alignments: Sequence[Alignment]) -> str:
    """The alignments as text, one after the other, up to MAX_DRAWN_COLUMNS in all, and what is left out."""
    ends = list(accumulate(one.columns for one in alignments))
    n_drawn = bisect_right(ends, MAX_DRAWN_COLUMNS)
    texts = [one.text() for one in alignments[:n_drawn]]
    if n_drawn < len(alignments):
        left = sum(one.columns for one in alignments[n_drawn:])
        further = f" of {number_of(len(alignments) - n_drawn, 'further alignment')}" if n_drawn else ""
        texts.append(f"{left:,} columns{further} are too many to be drawn here.")
    return "\n\n\n".join(texts)


def alignment_html(alignment: Alignment) -> str:
    """One alignment for notebooks: drawn, or only described if it is too long."""
    names = f"{one_line(alignment.query_id)} x {one_line(alignment.target_id)}"
    return html_text(names, alignment.text() if alignment.columns <= MAX_DRAWN_COLUMNS else repr(alignment))


def alignments_html(alignments: Alignments) -> str:
    """The first pairs as a table, for notebooks."""
    names = ["query", "target", "score", "identity", "query range", "target range", "cigar"]
    rows = [
        [
            one_line(one.query_id),
            one_line(one.target_id),
            str(one.score),
            f"{100 * one.identity:.1f}%",
            f"{one.query_start}:{one.query_end}",
            f"{one.target_start}:{one.target_end}" + ("" if one.strand > 0 else " minus"),
            one.cigar if len(one.cigar) <= NOTEBOOK_CIGAR else one.cigar[: NOTEBOOK_CIGAR - 3] + "...",
        ]
        for one in alignments[:NOTEBOOK_ROWS]
    ]
    rows += [["..."] + [""] * (len(names) - 1)] if len(alignments) > NOTEBOOK_ROWS else []
    return html_table(repr(alignments).strip("<>"), names, rows)
