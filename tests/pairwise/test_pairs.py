"""Pairs from Python: what may be passed, which pairs are made, the columns and the objects made of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

import exaln
import golden_data
from exaln.engines.cpu import engine as cpu_engine
from exaln.errors import InputError
from exaln.pairwise import routing
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.inputs import as_records
from exaln.statistics.evalues import format_bits, format_evalue

DEFAULT = Scoring.default(DNA)
READS = ["ACGTT", "TTAC", "GGG"]
GENOME = "CCACGTTCCTTACCC"


def rows(found: exaln.Alignments) -> list[tuple[Any, ...]]:
    return [(one.query_id, one.target_id, one.score, one.cigar) for one in found]


def test_pairs_record_by_record_one_with_many_and_all_with_all() -> None:
    assert rows(exaln.align_many(READS, READS)) == [
        ("seq1", "seq1", 10, "5M"),
        ("seq2", "seq2", 8, "4M"),
        ("seq3", "seq3", 6, "3M"),
    ]
    assert [one.target_id for one in exaln.align_many(GENOME, READS)] == ["seq1", "seq2", "seq3"]
    assert [one.query_id for one in exaln.align_many(READS, [GENOME])] == ["seq1", "seq2", "seq3"]
    every = exaln.align_many(READS, [GENOME, "TTACGTT"], pairs="all")
    assert [(one.query_id, one.target_id) for one in every] == [
        (f"seq{query}", f"seq{target}") for query in (1, 2, 3) for target in (1, 2)
    ]
    assert len(exaln.align_many([], [])) == 0
    assert len(exaln.align_many([], [], pairs="all", scoring=DEFAULT)) == 0
    assert len(exaln.align_many(["ACG"], [])) == 0
    with pytest.raises(InputError, match="there are 3 queries and 2 targets: they go pair by pair"):
        exaln.align_many(READS, READS[:2])
    with pytest.raises(InputError, match="pairs is 'cross'; expected one of zip, all"):
        exaln.align_many(READS, READS, pairs="cross")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal", "overlap", "free:qs,te"])
def test_align_and_align_many_agree_in_every_mode(mode: str) -> None:
    many = exaln.align_many(READS, [GENOME], mode=mode)
    for read, found in zip(READS, many, strict=True):
        one = exaln.align(read, GENOME, mode=mode)
        assert (one.score, one.cigar, one.query_start, one.target_end) == (
            found.score,
            found.cigar,
            found.query_start,
            found.target_end,
        )
        assert exaln.score(read, GENOME, mode=mode) == one.score
        assert one.mode.name == mode
        assert (mode in repr(one)) == (mode in str(one)) == (mode != "local")


def test_sequences_are_accepted_in_every_form(tmp_path: Path) -> None:
    fasta = tmp_path / "reads.fasta"
    fasta.write_text("".join(f">r{number}\n{read}\n" for number, read in enumerate(READS)))
    codes = [DNA.encode(read) for read in READS]
    records = [SeqRecord(Seq(read), id=f"r{number}", description="") for number, read in enumerate(READS)]
    expected = [one[2:] for one in rows(exaln.align_many(READS, [GENOME], scoring=DEFAULT))]
    forms: list[Any] = [READS, [r.encode() for r in READS], iter(READS), fasta, codes, records, as_records(READS)]
    for form in forms:
        assert [one[2:] for one in rows(exaln.align_many(form, GENOME, scoring=DEFAULT))] == expected
    assert rows(exaln.align_many(fasta, as_records(GENOME)))[2][0] == "r2"
    assert rows(exaln.align_many(fasta, GENOME))[0][2:] == expected[0]
    assert exaln.align(records[0], codes[0], scoring=DEFAULT).query_id == "r0"


def test_arrays_of_codes_are_accepted_with_a_scoring() -> None:
    matrix = np.array([[0, 1, 2, 3], [3, 3, 3, 3]], np.uint8)
    found = exaln.align_many(matrix, matrix, scoring=DEFAULT)
    assert rows(found) == [("seq1", "seq1", 8, "4M"), ("seq2", "seq2", 8, "4M")]
    assert exaln.score(matrix[0], matrix[0], scoring=DEFAULT) == 8
    assert len(exaln.align_many(np.empty((0, 5), np.uint8), np.empty((0, 5), np.uint8), scoring=DEFAULT)) == 0
    assert exaln.align_many(np.empty((2, 0), np.uint8), matrix, scoring=DEFAULT, mode="global").scores.tolist() == [
        -13,
        -13,
    ]
    with pytest.raises(InputError, match="the alphabet of codes is unknown; pass a scoring"):
        exaln.align_many(matrix, matrix)
    with pytest.raises(InputError, match="the alphabet of codes is unknown; pass a scoring"):
        exaln.align(matrix[0], matrix[1])
    with pytest.raises(InputError, match="99 is not a code of dna"):
        exaln.align_many(matrix + 96, matrix, scoring=DEFAULT)
    with pytest.raises(InputError, match="codes must be uint8 arrays, not int64 with 1 dimensions"):
        exaln.score(matrix[0].astype(np.int64), matrix[0], scoring=DEFAULT)


def test_the_alphabet_is_detected_from_both_sides() -> None:
    assert exaln.align("ACGT", "HEAGLLLL").scoring == Scoring.default(PROTEIN)
    assert exaln.align_many(["ACGT"], ["ACGA"]).scoring == DEFAULT
    assert exaln.align_many(["ACGT"], as_records(["ACGA"], PROTEIN)).scoring == Scoring.default(PROTEIN)
    with pytest.raises(InputError, match="the targets are dna, but BLOSUM62 scores protein"):
        exaln.align_many(["ACGT"], as_records(["ACGA"], DNA), scoring=Scoring("BLOSUM62"))
    with pytest.raises(InputError, match="unknown mode 'glocal'"):
        exaln.align("ACGT", "ACGT", mode="glocal")


def test_columns_and_slices_of_alignments() -> None:
    found = exaln.align_many(READS, [GENOME], mode="semiglobal")
    assert found.scores.dtype == np.int64
    assert found.positions.shape == (3, 4)
    assert found.counts.shape == (3, 6)
    assert found.cigars == [one.cigar for one in found]
    assert found.cigars_extended == [one.cigar_extended for one in found] == ["5=", "4=", found[2].cigar_extended]
    for part, expected in ((found[1:], [1, 2]), (found[::-1], [2, 1, 0]), (found[:0], []), (found[::2], [0, 2])):
        assert rows(part) == [rows(found)[place] for place in expected]
        assert part.cigars == [found.cigars[place] for place in expected]
    assert found[-1].score == found[2].score
    with pytest.raises(IndexError):
        found[3]
    assert repr(found).startswith("<Alignments: 3 pairs, semiglobal, match 2")


def test_alignments_as_arrow_and_pandas_tables() -> None:
    found = exaln.align_many(READS, [GENOME])
    table = found.to_arrow()
    assert table.column_names[:8] == [
        "query_index", "query_id", "query_length", "target_index", "target_id", "target_length",
        "strand", "query_start",
    ]  # fmt: skip
    frame = found.to_pandas()
    assert frame["cigar"].tolist() == found.cigars
    assert frame["target_id"].tolist() == ["seq1"] * 3
    assert frame["query_length"].tolist() == [5, 4, 3]
    assert frame["score"].tolist() == found.scores.tolist()
    assert frame["columns"].tolist() == [one.columns for one in found]
    water = exaln.align_many(READS, [GENOME], scoring=Scoring(match=2.5, mismatch=-1))
    assert water.scores.tolist() == water.to_pandas()["score"].tolist() == [one.score for one in water]
    assert water[0].score == 12.5
    assert found[1:].to_pandas()["query_id"].tolist() == ["seq2", "seq3"]


def test_a_thousand_alignment_objects_are_made_in_5_milliseconds() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (1000, 8)).astype(np.uint8)
    found = exaln.align_many(codes, codes[::-1], scoring=DEFAULT)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        made = list(found)
        times.append(time.perf_counter() - started)
    assert len(made) == 1000
    assert min(times) < 0.005


def test_batches_change_nothing_and_progress_counts_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, told = exaln.align_many(READS, READS, pairs="all", mode="overlap"), []
    monkeypatch.setattr(routing, "BATCH_PAIRS", 2)
    parts = exaln.align_many(READS, READS, pairs="all", mode="overlap", progress=told.append)
    assert rows(parts) == rows(whole)
    assert parts.cigars == whole.cigars
    assert len(told) == 5
    assert told == sorted(told)
    assert told[-1] == 12 * 12


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal", "overlap"])
def test_scores_alone_are_those_of_alignments(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    codes = [rng.integers(0, 4, length).astype(np.uint8) for length in rng.integers(0, 60, 70)]
    fractions = Scoring(match=2.5, mismatch=-1)
    for first, second, pairs in ((codes, codes[::-1], "zip"), (codes[:3], codes, "all"), (codes, codes[:3], "all")):
        for scoring in (DEFAULT, fractions):
            found = exaln.score_many(first, second, scoring=scoring, mode=mode, pairs=pairs, engine="cpu")
            expected = exaln.align_many(first, second, scoring=scoring, mode=mode, pairs=pairs, engine="cpu").scores
            assert found.dtype == expected.dtype
            assert found.tolist() == expected.tolist()
    told: list[int] = []
    monkeypatch.setattr(routing, "BATCH_PAIRS", 32)
    monkeypatch.setattr(cpu_engine, "LONG_PAIRS", ((1 << 62, 2000),))
    apart = exaln.score_many(codes, codes[:3], mode=mode, pairs="all", scoring=fractions, progress=told.append)
    assert apart.tolist() == found.tolist()
    assert told == sorted(told)
    assert told[-1] == sum(map(len, codes)) * sum(map(len, codes[:3]))


def test_scores_of_no_pairs_and_of_invalid_pairs() -> None:
    assert exaln.score_many([], []).tolist() == []
    assert exaln.score_many([], [], pairs="all", scoring=DEFAULT).dtype == np.int64
    assert exaln.score_many(["ACG"], []).tolist() == []
    with pytest.raises(InputError, match="3 queries and 2 targets"):
        exaln.score_many(READS, READS[:2])
    with pytest.raises(InputError, match="pairs is 'cross'; expected one of zip, all"):
        exaln.score_many(READS, READS, pairs="cross")  # type: ignore[arg-type]


def test_alignment_text_is_plain_or_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    found = exaln.align(*list(golden_data.fasta("hba_hbb.fasta").values()))
    assert "\x1b" not in str(found)
    assert str(found) == found.text()
    assert "\x1b[1;32m" in found.text(colour=True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert str(found) == found.text(colour=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert str(found) == found.text()
    assert len(found.text(width=30).splitlines()) > len(found.text().splitlines())


def test_reports_get_one_entry_per_pair() -> None:
    found = exaln.align_many(["ACGT", "AAAA"], ["ACGT", "CCCC"], pairs="all")
    entries = list(found.query_hits(10, 20))
    assert [(one.index, len(one), one.ordinal.tolist()) for one in entries] == [
        (10, 1, [20]), (10, 1, [21]), (11, 1, [20]), (11, 0, []),
    ]  # fmt: skip
    joined = list(found.query_hits(joined=True))
    assert [(one.index, one.target_ids, one.score.tolist()) for one in joined] == [
        (0, ["seq1", "seq2"], [8, 2]),
        (1, ["seq1"], [2]),
    ]


GLOBINS = list(golden_data.fasta("hba_hbb.fasta").values())


def test_local_alignments_have_the_bits_and_evalue_of_blast() -> None:
    """As blastp -subject -comp_based_stats F -seg no prints them: 114 bits, 2.54e-38."""
    one = exaln.align(*GLOBINS)
    assert (one.score, format_bits(one.bits), format_evalue(one.evalue)) == (285, "114", "2.54e-38")
    many = exaln.align_many(GLOBINS[:1], GLOBINS)
    assert many.evalues[1] == one.evalue
    assert many.bits[1] == one.bits
    assert many.to_pandas()["evalue"].tolist() == many.evalues.tolist()


@pytest.mark.parametrize("mode", ["global", "semiglobal", "overlap"])
def test_other_modes_have_neither_bits_nor_evalue(mode: str) -> None:
    one = exaln.align(*GLOBINS, mode=mode)
    assert (one.bits, one.evalue) == (None, None)
    odd = exaln.align(*GLOBINS, scoring=Scoring("BLOSUM62", gap_open=1, gap_extend=1))
    assert (odd.bits, odd.evalue) == (None, None)
