"""Pairs on both strands: the better one is aligned, positions are those of a search, and reports say which it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exaln as package
from command import Exaln, write
from exaln.errors import InputError
from exaln.sequences.alphabet import DNA
from exaln.sequences.strands import reverse_complement

RNG = np.random.default_rng(11)
TARGET = DNA.decode(RNG.integers(0, 4, 300).astype(np.uint8))
PLUS = TARGET[40:90] + "AC" + TARGET[94:140]
MINUS = DNA.decode(reverse_complement(DNA.encode(TARGET[150:200] + TARGET[203:260]), DNA))
COLUMNS = ["6", "std", "cigar", "sstrand", "qseq", "sseq", "btop"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path / "q.fa", plus=PLUS, minus=MINUS), write(tmp_path / "t.fa", t=TARGET)


@pytest.mark.parametrize("strand", ["both", "plus", "minus"])
@pytest.mark.parametrize("outfmt", [COLUMNS, ["paf"], ["sam"], ["7", "std"], ["10", "std", "sstrand"]])
def test_align_and_search_write_the_same(
    exaln: Exaln,
    files: tuple[Path, Path],
    strand: str,
    outfmt: list[str],
) -> None:
    """Of one target, with E-values: the search space of a pair is that of a database of one sequence."""
    query, target = files
    found = exaln(
        "search", "-q", query, "-d", target, "--strand", strand, "--evalue", "1e9", "--max-hsps", 1, "--outfmt", *outfmt
    )
    aligned = exaln("align", query, target, "--strand", strand, "--outfmt", *outfmt)
    assert aligned.code == found.code == 0
    assert aligned.out == found.out
    if strand == "both" and outfmt is COLUMNS:
        assert [row[13] for row in aligned.rows] == ["plus", "minus"]


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal", "overlap", "free:qs,te"])
def test_strand_both_takes_the_better_strand(mode: str) -> None:
    other = [DNA.decode(reverse_complement(DNA.encode(query), DNA)) for query in (PLUS, MINUS)]
    plus = package.align_many([PLUS, MINUS], [TARGET], mode=mode)
    minus = package.align_many(other, [TARGET], mode=mode)
    both = package.align_many([PLUS, MINUS], [TARGET], mode=mode, strand="both")
    assert both.scores.tolist() == np.maximum(plus.scores, minus.scores).tolist()
    assert both.strands.tolist() == np.where(minus.scores > plus.scores, -1, 1).tolist()
    only = package.align_many([PLUS, MINUS], [TARGET], mode=mode, strand="minus")
    assert only.scores.tolist() == minus.scores.tolist()
    assert only.strands.tolist() == [-1, -1]
    for one, mirrored in zip(only, minus, strict=True):
        length = len(one.query)
        assert (one.query_start, one.query_end) == (length - mirrored.query_end, length - mirrored.query_start)
        assert (one.target_start, one.target_end) == (mirrored.target_start, mirrored.target_end)
        assert one.operations.tolist() == mirrored.operations[::-1].tolist()


def test_equal_scores_are_on_the_plus_strand() -> None:
    assert package.align("ACGT", "ACGT", strand="both").strand == 1


def test_an_alignment_on_the_minus_strand_can_be_drawn_plotted_and_converted(tmp_path: Path) -> None:
    one = package.align(MINUS, TARGET, strand="both")
    assert (one.strand, one.query_start, one.query_end, one.target_start, one.target_end) == (-1, 0, 107, 150, 260)
    assert "minus strand" in repr(one)
    last = one.text().splitlines()[-1].split()
    assert (last[0], last[-1]) == ("Sbjct", "151")
    biopython = one.to_biopython()
    assert str(biopython.query.seq) == MINUS
    assert biopython.coordinates[0, [0, -1]].tolist() == [150, 260]
    assert biopython.coordinates[1, [0, -1]].tolist() == [107, 0]  # down the query
    assert biopython.counts().identities == one.identities
    assert one.plot(tmp_path / "pair.svg") is not None
    table = package.align_many([MINUS], [TARGET], strand="both").to_arrow()
    assert table["strand"].to_pylist() == [-1]
    assert package.align_many([PLUS, MINUS], [TARGET], strand="both")[1:].strands.tolist() == [-1]


def test_proteins_have_only_the_plus_strand(exaln: Exaln, tmp_path: Path) -> None:
    one = write(tmp_path / "p.fa", p="MKVLAAGIVGHEAGAWGHEE")
    code, message = exaln.error("align", one, one, "--strand", "minus")
    assert (code, message) == (
        1, "exaln: error: strand is minus, but protein sequences have one strand; leave it out\n",
    )  # fmt: skip
    assert exaln("align", one, one, "--strand", "both", "--outfmt", "6").rows[0][2] == "100.000"
    with pytest.raises(InputError, match="strand is 'up'; expected one of both, plus, minus"):
        package.align("ACGT", "ACGT", strand="up")  # type: ignore[arg-type]


def test_a_hint_when_the_other_strand_is_clearly_better(exaln: Exaln, files: tuple[Path, Path]) -> None:
    hint = "align clearly better on the other strand"
    query, target = files
    said = exaln("align", query, target).err
    assert said == (
        "exaln: note: 1 of 2 pairs aligns clearly better on the other strand (minus with t: score 203 instead of "
        f"{package.align(MINUS, TARGET).score}); --strand both takes the better one\n"
    )
    for strand in ("plus", "both", "minus"):
        assert hint not in exaln("align", query, target, "--strand", strand).err.replace("aligns", "align")
    assert exaln("align", query, target, "--quiet").err == ""


def test_the_hint_looks_at_the_first_pairs_only(
    exaln: Exaln,
    files: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("exaln.cli.hints.HINT_CELLS", len(MINUS) * len(TARGET))
    assert exaln("align", *files).err == ""
    monkeypatch.setattr("exaln.cli.hints.HINT_CELLS", (len(MINUS) + len(PLUS)) * len(TARGET))
    assert "1 of 2 pairs aligns clearly better" in exaln("align", *files).err
    with files[0].open("a") as file:
        file.write(f">third\n{PLUS}\n")
    assert "1 of the first 2 pairs aligns clearly better" in exaln("align", *files).err
