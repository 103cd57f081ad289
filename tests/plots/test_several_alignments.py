"""Plots of several alignments of a pair, on both strands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

import exaln
from exaln.alignments.cigar import DELETION, EQUAL, INSERTION
from exaln.errors import InputError
from exaln.pairwise import alignment_drawing
from exaln.pairwise.alignment_drawing import alignments_plot, plotted_pair
from exaln.plots import files as plots
from exaln.plots import identity, similarity
from exaln.plots.plotted_pair import PlottedAlignment
from exaln.plots.score_matrix import path_cells
from exaln.plots.style import PATH_COLOURS
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA
from exaln.sequences.strands import reverse_complement

RNG = np.random.default_rng(11)
GENE, FILLER = (DNA.decode(RNG.integers(0, 4, n).astype(np.uint8)) for n in (300, 100))
MINUS = DNA.decode(reverse_complement(DNA.encode(GENE), DNA))
TARGET = FILLER + GENE + FILLER + MINUS + FILLER + GENE[50:250]
"""On plus 100 to 400 and 900 to 1100, on minus 500 to 800."""

REVERSE = "the same, reverse complement"


@pytest.fixture(scope="module")
def found() -> exaln.Alignments:
    return exaln.align_many(GENE, TARGET, max_hsps=3, strand="both")


def texts_of(figure: Any) -> list[str]:
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def lines_of(axes: Any) -> list[tuple[str, Any]]:
    """The colour and the points of each line of a panel, in the order in which they are drawn."""
    (lines,) = (one for one in axes.collections if isinstance(one, LineCollection))
    return list(zip(map(to_hex, lines.get_colors()), lines.get_segments(), strict=True))


def single(operations: Sequence[tuple[int, int]], strand: int = 1, target_start: int = 0) -> PlottedAlignment:
    """An alignment with runs (length, code)."""
    runs = np.array([length << 4 | code for length, code in operations], np.uint32)
    return PlottedAlignment(runs, 0, target_start, strand, 1)


def test_every_alignment_is_drawn_and_those_on_the_minus_strand_run_down_the_target(found: exaln.Alignments) -> None:
    figure = found.plot()
    shown = texts_of(figure)
    assert "seq1, position (bp)" not in shown  # both have the same name
    assert "query x target\nlocal, 3 alignments, best score 600, 1 on the minus strand" in shown
    assert {"alike in a window of 9 letters", REVERSE, "plus strand", "minus strand"} <= set(shown)
    assert [(colour, line[[0, -1]].tolist()) for colour, line in lines_of(figure.axes[0])] == [
        (PATH_COLOURS[1], [[100, 0], [400, 300]]),
        (PATH_COLOURS[-1], [[800, 0], [500, 300]]),
        (PATH_COLOURS[1], [[900, 50], [1100, 250]]),
    ]


def test_the_path_of_a_minus_strand_goes_from_the_end_of_the_alignment_to_its_start() -> None:
    target, query = single(
        [(3, EQUAL), (2, DELETION), (1, INSERTION), (4, EQUAL)], strand=-1, target_start=10
    ).corners()
    assert target.tolist() == [19, 16, 14, 14, 10]
    assert query.tolist() == [0, 3, 3, 4, 8]


def test_what_legend_and_summary_say_of_one_strand(found: exaln.Alignments) -> None:
    plus = alignments_plot([found[0], found[2]], None)
    assert "query x target\nlocal, 2 alignments, best score 600" in texts_of(plus)
    assert "the alignments" in texts_of(plus)
    assert REVERSE not in texts_of(plus)
    minus = found[1].plot()
    assert {"the alignment, minus strand", REVERSE} <= set(texts_of(minus))
    said = "local, score 600, identities 300 of 300 (100.0 %), gaps 0, minus strand"
    assert f"query x target\n{said}" in texts_of(minus)


def test_the_reverse_complement_is_shown_where_it_was_asked_for(found: exaln.Alignments) -> None:
    shown = texts_of(alignments_plot([found[0]], None, both_strands=True))
    assert {REVERSE, "the alignment"} <= set(shown)
    assert REVERSE not in texts_of(found[0].plot())
    protein = exaln.align("MKVLAAGIVGHEAGAWGHEE" * 2, "MKVLAAGIVGHEAGAWGHEE" * 2)
    assert REVERSE not in texts_of(alignments_plot([protein], None, both_strands=True))


def test_similarity_with_the_reverse_complement_lies_where_the_target_as_given_has_it() -> None:
    pair = plotted_pair([exaln.align(GENE, TARGET)])
    windows, _ = similarity.windowed_scores(pair, -1)
    middle = np.arange(5, 295)
    assert windows[middle, 799 - middle].min() == 1
    long = DNA.decode(RNG.integers(0, 4, 9000).astype(np.uint8))
    turned = DNA.decode(reverse_complement(DNA.encode(long[:4510]), DNA))
    words, _ = similarity.shared_words(plotted_pair([exaln.align(long, turned)]), -1)
    assert words.shape == (450, 226)
    steps = np.arange(224)
    assert words[steps, 225 - steps].mean() == 1
    assert words.mean() < 0.02


def test_a_far_shorter_sequence_is_drawn_with_squares_and_a_unit_of_its_own() -> None:
    genome = DNA.decode(RNG.integers(0, 4, 100_000).astype(np.uint8))
    found = exaln.align(genome[50_000:51_000], genome)
    image, _ = similarity.shared_words(plotted_pair([found]))
    assert image.shape == (150, 450)
    assert image[:, 225:230].any(axis=1).mean() > 0.9
    assert image.mean() < 0.02
    shown = texts_of(found.plot())
    assert {"query, position (bp)", "target, position (kb)"} <= set(shown)


def test_the_identity_of_the_best_alignment_is_drawn_last() -> None:
    unit = GENE[:60]
    found = exaln.align_many(unit + unit, unit + unit, max_hsps=3)
    assert found.scores.tolist() == [240, 120, 120]
    lines = [line for _, line in lines_of(found.plot().axes[1])]
    assert [(line[:, 0].min(), line[:, 0].max()) for line in lines] == [(60, 120), (0, 60), (0, 120)]


def test_the_identity_of_an_alignment_that_is_far_shorter_than_the_target_is_an_upright_line() -> None:
    one = single([(30, EQUAL), (10, INSERTION)], strand=-1, target_start=500)
    line, window = identity.identity_line(one, 100_000)
    assert line.tolist() == [[515, 0], [515, 75]]
    assert window == 0
    line, window = identity.identity_line(one, 1000)
    assert (line[0].tolist(), line[-1, 0], window) == ([530, 100], 500, 11)


@pytest.mark.parametrize(
    ("length", "note"),
    [
        (200, "windows of 9 to 11 columns; gaps marked below"),
        (20_000, "window of 100 columns; gaps marked below"),
        (60_000, "of each alignment as a whole; gaps marked below"),
    ],
)
def test_what_is_said_of_the_windows(length: int, note: str) -> None:
    pair = plotted_pair([exaln.align("ACGT" * 10, "ACGT" * (length // 4))])
    alignments = (single([(100, EQUAL)]), single([(40, EQUAL), (1, INSERTION)]), single([(9, EQUAL)]))
    assert note in texts_of(plots.draw(replace(pair, alignments=alignments)))


def test_the_score_matrix_shows_all_alignments_on_the_plus_strand() -> None:
    found = exaln.align_many("ACGTTGCAAC", "ACGTTGCATTACGTTGCAG", max_hsps=2)
    pair = plotted_pair(found)
    figure = found.plot()
    assert "query x target\nlocal, 2 alignments, best score 16\nmatch 2, mismatch -3, gaps 5/2: a gap of 1 costs 7" in (
        texts_of(figure)
    )
    from matplotlib.patches import Rectangle

    filled = {(round(cell.get_y() + 0.5), round(cell.get_x() + 0.5)) for cell in figure.axes[0].findobj(Rectangle)[:-1]}
    assert filled == {
        cell for one in pair.alignments for cell in zip(*(part.tolist() for part in path_cells(one)), strict=True)
    }
    assert len(filled) == 18


def test_a_small_pair_with_a_minus_strand_is_a_dot_plot() -> None:
    found = exaln.align_many("ACGTTGCAAC", "ACGTTGCATTACGTTGCAG", max_hsps=3, strand="both")
    assert -1 in found.strands
    assert "identity (%)" in texts_of(found.plot())
    assert "identity (%)" not in texts_of(alignments_plot([found[0]], None, both_strands=True))


def test_the_page_has_all_alignments_as_text(
    found: exaln.Alignments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found.plot(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<h2>Alignments</h2>" in page
    places = [page.index(one.text()) for one in found]
    assert places == sorted(places)
    assert plotted_pair([found[0]]).text == found[0].text()
    assert plotted_pair([found[2], found[0]]).text == "\n\n\n".join([found[0].text(), found[2].text()])
    monkeypatch.setattr(alignment_drawing, "MAX_DRAWN_COLUMNS", 310)
    left_out = "500 columns of 2 further alignments are too many to be drawn here."
    assert plotted_pair(found).text == f"{found[0].text()}\n\n\n{left_out}"
    monkeypatch.setattr(alignment_drawing, "MAX_DRAWN_COLUMNS", 10)
    assert plotted_pair([found[0]]).text == "300 columns are too many to be drawn here."


def test_the_alignments_of_one_pair_only_are_plotted_together() -> None:
    many = exaln.align_many([GENE, GENE], [TARGET, MINUS], max_hsps=2, min_score=100, strand="both")
    said = "a plot shows the alignments of one pair, but these are "
    with pytest.raises(InputError, match=f"^{said}of 2 pairs; a slice has some of them$"):
        many.plot()
    with pytest.raises(InputError, match=f"^{said}none; a slice has some of them$"):
        many[:0].plot()
    assert "query x target\nlocal, 2 alignments, best score 600, 1 on the minus strand" in texts_of(many[:2].plot())


def test_a_pair_where_nothing_aligns_can_be_drawn_on_both_strands(tmp_path: Path) -> None:
    found = exaln.align_many("A" * 40, "C" * 50, max_hsps=3, strand="both", scoring=Scoring.default(DNA))
    pair = plotted_pair(found, both_strands=True)
    assert (len(pair.alignments), pair.drawn, pair.shown_strands) == (1, (), (1, -1))
    plots.save(pair, plots.draw(pair), tmp_path / "pair.svg")
    assert pair.summary == "local, score 0, no letters are aligned"
