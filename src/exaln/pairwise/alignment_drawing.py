"""Alignments drawn: as text with letters, as a plot, and as tables in notebooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from exaln.foundation import arguments
from exaln.foundation.html_table import html_table, html_text
from exaln.report.clean import one_line
from exaln.sequences.strands import reverse_complement

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

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


def alignment_plot(alignment: Alignment, path: str | os.PathLike[str] | None) -> Figure:
    """A matplotlib figure, also written to `path`; see `Alignment.plot`."""
    from exaln.plots.files import check_path, draw, save

    if path is not None:
        check_path(arguments.path("path", path, "the path of a file, .svg, .png or .html"))
    pair = _plotted_pair(alignment)
    figure = draw(pair)
    if path is not None:
        save(pair, figure, path)
    return figure


def _plotted_pair(alignment: Alignment) -> PlottedPair:
    from exaln.plots.files import PlottedPair

    target, target_start = _target_along_query(alignment)
    is_short = alignment.columns <= MAX_DRAWN_COLUMNS
    return PlottedPair(
        query=alignment.query,
        target=target,
        query_name=alignment.query_id,
        target_name=alignment.target_id + ("" if alignment.strand > 0 else " (reverse complement)"),
        operations=alignment.operations,
        query_start=alignment.query_start,
        target_start=target_start,
        score=alignment.score,
        scoring=alignment.scoring,
        mode=alignment.mode,
        text=alignment.text() if is_short else f"{alignment.columns:,} columns are too many to be drawn here.",
    )


def _target_along_query(alignment: Alignment) -> tuple[NDArray[np.uint8], int]:
    """Codes of the strand of the target that is aligned, and the start of the alignment in it."""
    if alignment.strand > 0:
        return alignment.target, alignment.target_start
    target = alignment.target
    return reverse_complement(target, alignment.scoring.alphabet), len(target) - alignment.target_end


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
