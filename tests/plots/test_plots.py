"""Plots: the parts of a dot plot and of a score matrix, and files that are the same in every run."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import exaln
import golden_data
from exaln.errors import InputError
from exaln.pairwise.alignment_drawing import plotted_pair
from exaln.plots import dot_plot, similarity
from exaln.plots import files as plots
from exaln.plots import identity as identity_panel
from exaln.plots import score_matrix as table
from exaln.plots.style import FINEST
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA
from exaln.sequences.inputs import as_records

BLOSUM50 = Scoring("BLOSUM50", gap_open=0, gap_extend=8)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def globins() -> exaln.Alignment:
    records = as_records(golden_data.GOLDEN / "hba_hbb.fasta")
    return exaln.align_many(records.rows(0, 1), records.rows(1, 2))[0]


def texts_of(figure: Any) -> list[str]:
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_a_dot_plot_says_what_it_shows(globins: exaln.Alignment) -> None:
    shown = texts_of(globins.plot())
    assert "HBA_HUMAN x HBB_HUMAN\nlocal, score 285, identities 61 of 145 (42.1 %), gaps 8" in shown
    assert {"HBA_HUMAN, position (residues)", "HBB_HUMAN, position (residues)", "identity (%)"} <= set(shown)
    assert {"alike in a window of 9 letters", "the alignment", "window of 11 columns; gaps marked below"} <= set(shown)


def long_plot(length: int, n_gaps: int) -> plots.PlottedPair:
    """Two sequences of DNA that differ by short gaps, and the path through them; every second gap is in the query."""
    random = np.random.default_rng(6)
    query = random.integers(0, 4, length).astype(np.uint8)
    cuts = np.linspace(0, length, 2 * n_gaps + 2).astype(int)[1:-1]
    pieces = np.split(query, cuts)
    target = np.concatenate([piece[1:] if i % 2 else piece for i, piece in enumerate(pieces)])
    runs = [
        run
        for i, piece in enumerate(pieces)
        for run in ([1 << 4 | 1, (len(piece) - 1) << 4 | 7] if i % 2 else [len(piece) << 4 | 7])
    ]
    whole = np.array(runs, np.uint32)
    costs = Scoring(match=1, mismatch=-1)
    only = plots.PlottedAlignment(whole, 0, 0, 1, 1)
    return plots.PlottedPair(query, target, "a", "b", (only,), costs, exaln.scoring.modes.GLOBAL, "")


def test_the_size_of_a_dot_plot_does_not_grow_with_the_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = long_plot(3_000_000, n_gaps=30_000)
    monkeypatch.setattr(similarity, "MOST_WORDS", 1 << 20)
    target, query = dot_plot.thinned_path(pair.alignments[0], len(pair.query) / FINEST)
    assert (target[0], query[0], target[-1], query[-1]) == (0, 0, len(pair.target), len(pair.query))
    assert len(target) <= 4 * FINEST + 2
    assert np.abs(query - target * (len(pair.query) / len(pair.target))).max() < 200
    spans = identity_panel.gap_spans(pair)
    assert len(spans) <= FINEST
    image, note = similarity.shared_words(pair)
    assert image.shape == (450, 446)
    assert note == "words of 17 letters in common"
    square = len(pair.query) / 450
    assert image[(query[:-1] / square).astype(int), (target[:-1] / square).astype(int)].mean() > 0.95
    assert image.mean() < 0.01
    shown = texts_of(plots.draw(pair))
    assert "b, position (Mb)" in shown
    place, identity, window = identity_panel.windowed_identity(pair.alignments[0], len(pair.target))
    assert (len(place), window) == (FINEST, 30_000)
    assert np.abs(identity - 99).max() < 0.1


def test_few_gaps_are_drawn_one_by_one() -> None:
    pair = long_plot(1000, n_gaps=3)
    assert [begin for begin, _ in identity_panel.gap_spans(pair)] == [end for _, end in identity_panel.gap_spans(pair)]
    assert len(identity_panel.gap_spans(pair)) == 3
    assert len(dot_plot.thinned_path(pair.alignments[0], 1)[0]) == len(pair.alignments[0].operations) + 1


def test_a_small_pair_is_drawn_as_score_matrix() -> None:
    found = exaln.align("HEAGAWGHEE", "PAWHEAE", scoring=BLOSUM50)
    shown = texts_of(found.plot())
    assert sum(text.isdigit() for text in shown) == 11 * 8
    assert (shown.count("28"), shown.count("27"), shown.count("26")) == (1, 1, 1)
    assert sorted(text for text in shown if text.isalpha() and len(text) == 1) == sorted("HEAGAWGHEE" + "PAWHEAE")
    rows, columns = table.path_cells(plotted_pair([found]).alignments[0])
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [(4, 1), (5, 2), (6, 3), (7, 3), (8, 4), (9, 5)]


def test_arrows_of_the_score_matrix_are_those_found_by_hand() -> None:
    """By hand: AC with AC, match 2, mismatch -3, gaps 5/2."""
    found = plotted_pair([exaln.align("AC", "AC", mode="global")])
    scores = found.scoring.matrix[np.ix_(found.query, found.target)]
    filled = table.fill_table(scores, found.scoring, found.mode)
    assert filled.h.tolist() == [[0, -7, -9], [-7, 2, -5], [-9, -5, 4]]
    assert sorted(table.sources(filled, scores, is_local=False)) == [
        (1, 1, 1, 1),
        (1, 2, 0, 1),
        (2, 1, 1, 0),
        (2, 2, 1, 1),
    ]
    assert table._border_sources(found) == [(0, 1, 0, 1), (0, 2, 0, 1), (1, 0, 1, 0), (2, 0, 1, 0)]


@pytest.mark.parametrize("kind", [".svg", ".png", ".html"])
def test_the_same_alignment_gives_the_same_file(globins: exaln.Alignment, tmp_path: Path, kind: str) -> None:
    first, second = tmp_path / f"first{kind}", tmp_path / f"second{kind.upper()}"
    globins.plot(first)
    globins.plot(second)
    data = first.read_bytes()
    assert data == second.read_bytes()
    assert sorted(tmp_path.iterdir()) == [first, second]
    if kind == ".png":
        assert data.startswith(b"\x89PNG")
        return
    if kind == ".svg":
        assert ElementTree.fromstring(data).tag == f"{SVG}svg"
        assert b"<dc:date>" not in data
        return
    page = data.decode()
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<svg") == 1
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")
    assert "HBA_HUMAN x HBB_HUMAN" in page
    assert globins.text().splitlines()[2] in page


def test_names_are_escaped_in_html(tmp_path: Path) -> None:
    from Bio.Seq import Seq
    from Bio.SeqRecord import SeqRecord

    first = SeqRecord(Seq("ACGT" * 10), id="<b>$a_{x}$" + "y" * 60, description="")
    exaln.align(first, "ACGT" * 9).plot(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


@pytest.mark.parametrize(
    ("query", "target"),
    [("", "ACGT"), ("ACGT", ""), ("", ""), ("A" * 40, "C" * 31), ("", "A" * 40), ("A" * 40, ""), ("A" * 31, "A"),
     ("A", "A" * 31)],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["local", "global", "overlap"])
def test_empty_and_dissimilar_pairs_can_be_drawn(query: str, target: str, mode: str, tmp_path: Path) -> None:
    found = exaln.align(query, target, mode=mode, scoring=Scoring.default(DNA))
    found.plot(tmp_path / "pair.png")
    assert (tmp_path / "pair.png").read_bytes().startswith(b"\x89PNG")
    shown = texts_of(found.plot())
    counted = f"of {found.columns} (" if found.columns else "no letters are aligned"
    assert sum(counted in text for text in shown) == 1
    is_dot_plot = max(len(query), len(target)) > plots.LARGEST_TABLE
    assert ("identity (%)" in shown) == is_dot_plot


def test_shared_words_fill_the_squares_of_diagonals_and_repeats() -> None:
    """A long pair with a repeat: the squares are those of the two diagonals, and repeats fill theirs."""
    rng = np.random.default_rng(7)
    unit = rng.integers(0, 4, 4500).astype(np.uint8)
    pair = plotted_pair([exaln.align(np.concatenate([unit, unit]), unit, scoring=Scoring.default(DNA))])
    image, note = similarity.shared_words(pair)
    assert note == "words of 10 letters in common"
    assert image.shape == (450, 225)
    both = np.add.outer(np.arange(450), -np.arange(225))
    near = np.isin(both, (-1, 0, 1, 224, 225, 226))
    assert image[np.isin(both, (0, 225))].mean() == 1
    assert image[~near].mean() < 0.01
    poly = np.zeros(3000, np.uint8)
    everywhere, _ = similarity.shared_words(plotted_pair([exaln.align(poly, poly, scoring=Scoring.default(DNA))]))
    assert everywhere.mean() > 0.98


def test_shared_words_do_not_depend_on_the_piece_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    pair = plotted_pair([exaln.align(*rng.integers(0, 2, (2, 2500)).astype(np.uint8), scoring=Scoring.default(DNA))])
    whole, _ = similarity.shared_words(pair)
    monkeypatch.setattr(similarity, "PAIRS_AT_ONCE", 1000)
    pieces, _ = similarity.shared_words(pair)
    np.testing.assert_array_equal(whole, pieces)
    assert 0 < whole.mean() < 1


def test_identity_is_measured_in_windows_along_the_path() -> None:
    pair = plotted_pair([exaln.align("ACGT" * 10, "ACGT" * 5 + "TTTT" * 5, mode="global")])
    place, identity, window = identity_panel.windowed_identity(pair.alignments[0], len(pair.target))
    assert window == 11
    assert identity[0] == 100
    assert identity[-1] < 50
    assert (np.diff(place) >= 0).all()


def test_bad_plot_paths_and_a_missing_matplotlib_are_refused(
    globins: exaln.Alignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"x\.pdf: plots are written to \.svg, \.png or \.html"):
        globins.plot("x.pdf")
    with pytest.raises(exaln.OutputError, match="cannot be written"):
        globins.plot(tmp_path / "none" / "x.svg")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(InputError, match=r'plots need matplotlib.*pip install "exaln\[plots\]"'):
        plots.check_path("x.svg")
