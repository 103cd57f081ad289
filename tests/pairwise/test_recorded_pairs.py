"""Pairs against SSW, biotite and parasail. A part of their answers ships, all of them are outside the repository."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from itertools import groupby
from typing import Any

import pytest

import exaln
import golden_data
import real_data
from exaln.scoring.scoring import Scoring

SSW = Scoring(match=2, mismatch=-2, gap_open=2, gap_extend=1)
HIFI = Scoring(match=1, mismatch=-3, gap_open=3, gap_extend=2)
BIOTITE_GAPS = {"affine": {"gap_open": 9, "gap_extend": 1}, "linear": {"gap_open": 0, "gap_extend": 10}}


def test_shipped_reads_agree_with_ssw() -> None:
    """Reads, each with a part of the chromosome around the place where SSW has put it."""
    rows = golden_data.rows("ssw_part.tsv")
    found = exaln.align_many([row[0] for row in rows], [row[1] for row in rows], scoring=SSW)
    assert [[str(one.score), str(one.query_end), str(one.target_end)] for one in found] == [row[2:] for row in rows]


def test_shipped_alignments_agree_with_biotite() -> None:
    sequences = list(golden_data.fasta("cas9_part.fasta").values())
    rows = golden_data.rows("biotite_part.tsv")
    assert len(rows) == 18
    for first, second, mode, gaps, score in rows:
        scoring = Scoring("BLOSUM62", **BIOTITE_GAPS[gaps])
        pair = sequences[int(first)], sequences[int(second)]
        assert exaln.score(*pair, scoring=scoring, mode=mode) == int(score), (first, second, mode, gaps)


@real_data.needs_real_data
def test_all_reads_agree_with_ssw() -> None:
    reads, (chromosome,) = (
        real_data.fasta("dna/ssw_demo/54mer_hap1_1.100.fa"),
        real_data.fasta("dna/ssw_demo/1M.fa.gz").values(),
    )
    expected = ssw_results()
    assert len(reads) == len(expected) == 100
    found = exaln.align_many(list(reads.values()), chromosome, scoring=SSW)
    agree = [
        (one.score, one.target_end, one.query_end) == expected[name] for name, one in zip(reads, found, strict=True)
    ]
    assert sum(agree) == 100


def ssw_results() -> dict[str, tuple[int, int, int]]:
    """Score, target end and query end of each read, from the text that SSW prints."""
    text = (real_data.FOLDER / "dna/ssw_demo/expected_54mer_x_1M.txt").read_text()
    found = {}
    for block in text.strip().split("\n\n"):
        fields = dict(field.split(": ", 1) for line in block.splitlines() for field in line.split("\t"))
        assert fields["strand"] == "+"
        numbers = (int(fields[name]) for name in ("optimal_alignment_score", "target_end", "query_end"))
        found[fields["query_name"]] = tuple(numbers)
    return found  # type: ignore[return-value]


@real_data.needs_real_data
def test_all_long_reads_agree_with_the_recorded_scores() -> None:
    with gzip.open(real_data.FOLDER / "dna/hifi/hifi_50pairs.1_-3_5_2.tsv.gz", "rt") as lines:
        expected = [int(line.split("\t")[3]) for line in lines if not line.startswith("#")]
    folder = real_data.FOLDER / "dna/hifi"
    found = exaln.align_many(folder / "test_hifi.query.fasta.gz", folder / "test_hifi.target.fasta.gz", scoring=HIFI)
    assert found.scores.tolist() == expected
    assert sum(expected) == 622_385


@real_data.needs_real_data
def test_all_alignments_agree_with_biotite() -> None:
    """Its optimal alignments, scored from the printed rows alone: 180 local ones, 90 global, 90 with free ends."""
    sequences = list(real_data.fasta("oracle/biotite/cas9.fasta").values())
    cases = biotite_cases()
    assert len(cases) == 360
    for mode, gaps in sorted({case[2:4] for case in cases}):
        some = [case for case in cases if case[2:4] == (mode, gaps)]
        scoring = Scoring("BLOSUM62", **BIOTITE_GAPS[gaps])
        queries, targets = ([sequences[case[side]] for case in some] for side in (0, 1))
        found = exaln.align_many(queries, targets, scoring=scoring, mode=mode).scores.tolist()
        assert found == [row_score(*case[4], scoring, free_ends=mode == "overlap") for case in some]


def biotite_cases() -> list[tuple[int, int, str, str, list[str]]]:
    """First and second sequence, mode, gap model, and the two rows with gaps."""
    folder = real_data.FOLDER / "oracle/biotite"
    chosen: dict[str, Any] = json.loads(gzip.decompress((folder / "params.json.gz").read_bytes()))
    cases = []
    with tarfile.open(folder / "legacy_alignments.tar.gz") as archive:
        for name, case in chosen.items():
            if case["method"] != "align_optimal":
                continue
            options = case["params"]
            mode = "local" if options["local"] else "global" if options["terminal_penalty"] else "overlap"
            gaps = "affine" if isinstance(options["gap_penalty"], list) else "linear"
            file = archive.extractfile(name)
            assert file is not None
            cases.append((*case["seq_indices"], mode, gaps, rows_of_fasta(file.read().decode())))
    return cases


def rows_of_fasta(text: str) -> list[str]:
    rows: list[str] = []
    for line in io.StringIO(text):
        if line.startswith(">"):
            rows.append("")
        else:
            rows[-1] += line.strip()
    return rows


def row_score(first: str, second: str, scoring: Scoring, *, free_ends: bool) -> int:
    """What two rows with gaps score; gaps at the ends cost nothing where ends are free."""
    code = scoring.alphabet.table
    columns = list(zip(first, second, strict=True))
    if free_ends:
        inner = [place for place, column in enumerate(columns) if "-" not in column]
        columns = columns[inner[0] : inner[-1] + 1]
    kinds = ["first" if a == "-" else "second" if b == "-" else "pair" for a, b in columns]
    pairs = sum(int(scoring.matrix[code[ord(a)], code[ord(b)]]) for a, b in columns if "-" not in (a, b))
    gaps = [len(list(run)) for kind, run in groupby(kinds) if kind != "pair"]
    return pairs - sum(scoring.gap_open + length * scoring.gap_extend for length in gaps)


@real_data.needs_real_data
@pytest.mark.parametrize(
    ("first", "second", "score", "ends"),
    [
        ("MT-human.fa", "MT-orang.fa", 6_680, (596, 16569, 21, 16025)),
        ("AF133821.1.fasta", "AY352275.1.fasta", 5_091, (362, 9418, 35, 9114)),
    ],
)
def test_long_pairs_agree_with_the_recorded_scores(
    first: str, second: str, score: int, ends: tuple[int, int, int, int]
) -> None:
    (query,), (target,) = (real_data.fasta(f"dna/{name}").values() for name in (first, second))
    found = exaln.align(query, target, scoring=HIFI)
    assert found.score == score
    assert (found.query_start, found.query_end, found.target_start, found.target_end) == ends
