"""Columns of tables: every number and text against alignments that plain Python wrote out."""

import re

import numpy as np
import pytest
from hypothesis import given

from exaln.alignments.cigar import Paths, cigars, strings
from exaln.alignments.query_hits import QueryHits
from exaln.errors import InputError
from exaln.report.columns import COLUMNS, REFUSED, STD, parse_columns
from exaln.scoring.scoring import Scoring
from exaln.sequences.accessions import accession, accession_with_version
from hit_samples import BLOSUM, DNA, GLOBIN, MINUS, Pair, columns_of, query_hits, random_hits, rows, score_of, steps


def texts(name: str, hits: QueryHits) -> list[str]:
    """One column."""
    return COLUMNS[name].texts(hits)


def test_columns_of_protein_hits_equal_those_written_by_hand() -> None:
    wanted = {
        "qseqid": ["q1", "q1"],
        "qtitle": ["a query", "a query"],
        "qlen": ["10", "10"],
        "sseqid": ["sp|P1.2|ONE_TEST", "two"],
        "sacc": ["P1", "two"],
        "saccver": ["P1.2", "two"],
        "stitle": ["first, of two", ""],
        "slen": ["7", "9"],
        "sordinal": ["3", "1"],
        "qstart": ["5", "3"],
        "qend": ["9", "10"],
        "sstart": ["2", "2"],
        "send": ["5", "9"],
        "evalue": ["1.20e-04", "2.5"],
        "bitscore": ["12.3", "123"],
        "score": ["16", "41"],
        "length": ["5", "8"],
        "pident": ["80.000", "87.500"],
        "nident": ["4", "7"],
        "mismatch": ["0", "1"],
        "positive": ["4", "7"],
        "ppos": ["80.00", "87.50"],
        "gapopen": ["1", "0"],
        "gaps": ["1", "0"],
        "qcovs": ["50", "80"],
        "scovhsp": ["57", "89"],
        "frames": ["1/1", "1/1"],
        "qcovus": ["N/A", "N/A"],
        "sstrand": ["N/A", "N/A"],
        "qseq": ["AWGHE", "AGAWGHEE"],
        "sseq": ["AW-HE", "AGAWGREE"],
        "btop": ["2G-2", "5HR2"],
        "cigar": ["2M1I2M", "8M"],
        "cigarx": ["2=1I2=", "5=1X2="],
    }
    assert {name: texts(name, GLOBIN) for name in wanted} == wanted


def test_columns_of_a_minus_strand_hit_equal_those_written_by_hand() -> None:
    wanted = {
        "qstart": ["2"],
        "qend": ["9"],
        "sstart": ["11"],
        "send": ["3"],
        "sstrand": ["minus"],
        "qframe": ["1"],
        "sframe": ["-1"],
        "frames": ["1/-1"],
        "qseq": ["CGTTG-CAA"],
        "sseq": ["CGTTGTCAA"],
        "btop": ["5-T3"],
        "cigar": ["5M1D3M"],
        "score": ["9"],
    }
    assert {name: texts(name, MINUS) for name in wanted} == wanted


def test_every_column_has_a_text_for_every_hit() -> None:
    for name, column in COLUMNS.items():
        assert len(column.texts(GLOBIN)) == 2, name
        assert all(isinstance(text, str) for text in column.texts(MINUS)), name


def expanded(cigar: str, query: str, target: str) -> tuple[str, str]:
    """The two rows that a CIGAR gives for the aligned letters."""
    above, below = "", ""
    for length, kind in steps(cigar):
        above += "-" * length if kind == "D" else query[:length]
        below += "-" * length if kind == "I" else target[:length]
        query = query if kind == "D" else query[length:]
        target = target if kind == "I" else target[length:]
    assert query == target == ""
    return above, below


def expanded_btop(text: str, query: str) -> tuple[str, str]:
    """The two rows that BTOP gives with the aligned letters of the query."""
    above, below = "", ""
    for number, pair in re.findall(r"([0-9]+)|([^0-9]{2})", text):
        piece = query[: int(number)] if number else pair[0]
        above += piece
        below += piece if number else pair[1]
        query = query[len(piece.replace("-", "")) :]
    assert query == ""
    return above, below


@given(random_hits())
def test_paths_as_text_give_the_alignment_again(sample: tuple[str, list[Pair], QueryHits]) -> None:
    query, pairs, hits = sample
    names = ("qseq", "sseq", "btop", "cigar", "cigarx", "score")
    found = list(zip(*(texts(name, hits) for name in names), strict=True))
    assert len(found) == len(pairs)
    for pair, (qseq, sseq, btop, cigar, cigarx, score) in zip(pairs, found, strict=True):
        row = rows(query, pair)
        letters = (qseq.replace("-", ""), sseq.replace("-", ""))
        assert (qseq, sseq) == (row.query, row.target)
        assert cigar == pair.cigar
        assert expanded(cigarx, *letters) == (qseq, sseq)
        assert [a == b for a, b in columns_of(row)] == [k == "=" for n, k in steps(cigarx) for _ in range(n)]
        assert expanded_btop(btop, letters[0]) == (qseq, sseq)
        assert int(score) == score_of(row, hits.scoring)


@given(random_hits())
def test_columns_do_not_depend_on_how_hits_are_divided(sample: tuple[str, list[Pair], QueryHits]) -> None:
    hits = sample[2]
    cuts = [hits.part(place, place + 1) for place in range(len(hits))]
    for name, column in COLUMNS.items():
        assert column.texts(hits) == [text for cut in cuts for text in column.texts(cut)], name


def test_cigars_of_long_runs_and_empty_paths() -> None:
    operations = np.array([7, 1000000 << 4 | 7, 99 << 4 | 8, 100 << 4 | 2, 10 << 4 | 7], np.uint32)[1:]
    paths = Paths(operations, np.array([0, 0, 3, 4, 4], np.int64))
    assert strings(cigars(paths)) == ["", "1000099M100D", "10M", ""]
    assert strings(cigars(paths, extended=True)) == ["", "1000000=99X100D", "10=", ""]
    assert strings(cigars(Paths(operations[:0], np.array([0], np.int64)))) == []


@pytest.mark.parametrize(
    ("covered", "percent"), [(1, "1"), (5, "3"), (197, "99"), (198, "99"), (199, "99"), (200, "100")]
)
def test_only_full_coverage_is_100_percent(covered: int, percent: str) -> None:
    hits = query_hits("A" * 200, [Pair("A" * 200, f"{covered}M")])
    assert texts("qcovs", hits) == texts("scovhsp", hits) == [percent]


def test_fractional_scores_are_written_in_the_units_of_the_scoring() -> None:
    scoring = Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5)
    hits = query_hits("AWGHE", [Pair("AWHE", "2M1I2M"), Pair("AWGHE", "5M")], scoring=scoring)
    assert texts("score", hits) == ["18", "34"]
    hits = query_hits("AWGGHE", [Pair("AWHE", "2M2I2M")], scoring=scoring)
    assert texts("score", hits) == ["17.5"]


def test_no_statistics_leave_fields_empty() -> None:
    hits = query_hits("AWHE", [Pair("AWHE", "4M")])
    assert texts("evalue", hits) == texts("bitscore", hits) == [""]


def test_merged_headers_of_identical_sequences_are_split() -> None:
    description = "first title\x01gi|1|ref|NP_2.1| second title\x01id3"
    hits = query_hits("AWHE", [Pair("AWHE", "4M", target_id="sp|P5.1|X", target_description=description)])
    assert texts("stitle", hits) == ["first title"]
    assert texts("salltitles", hits) == ["first title<>gi|1|ref|NP_2.1| second title<>id3"]
    assert texts("sallseqid", hits) == ["sp|P5.1|X;gi|1|ref|NP_2.1|;id3"]
    assert texts("sallacc", hits) == ["P5;NP_2;id3"]


def test_std_and_single_columns_can_be_combined() -> None:
    assert tuple(column.name for column in parse_columns([])) == STD
    names = [column.name for column in parse_columns(["qlen", "std", "cigar"])]
    assert names == ["qlen", *STD, "cigar"]


def test_an_unknown_column_is_refused_with_a_list_of_columns() -> None:
    with pytest.raises(InputError, match=r"unknown column 'evalu'; the columns are std qseqid .* cigarx$"):
        parse_columns(["std", "evalu"])


@pytest.mark.parametrize("name", list(REFUSED))
def test_blast_columns_without_counterpart_are_refused_with_a_reason(name: str) -> None:
    assert name not in COLUMNS
    with pytest.raises(InputError, match=f"column '{name}' is not available: "):
        parse_columns([name])


@pytest.mark.parametrize(
    ("identifier", "with_version", "without"),
    [
        ("sp|P02232.2|LGB1_VICFA", "P02232.2", "P02232"),
        ("gi|122087146|sp|P02232.2|LGB1_VICFA", "P02232.2", "P02232"),
        ("tr|A0A023|A0A023_X", "A0A023", "A0A023"),
        ("ref|NP_001.1|", "NP_001.1", "NP_001"),
        ("pdb|2GDM|A", "2GDM_A", "2GDM_A"),
        ("NC_000913.3", "NC_000913.3", "NC_000913"),
        ("contig.1", "contig.1", "contig.1"),
        ("a|b|c", "a|b|c", "a|b|c"),
        ("sp|", "sp|", "sp|"),
        ("", "", ""),
    ],
)
def test_accessions_are_found_within_ids(identifier: str, with_version: str, without: str) -> None:
    assert accession_with_version(identifier) == with_version
    assert accession(identifier) == without


def test_samples_score_as_the_worked_example() -> None:
    assert (
        score_of(rows("HEAGAWGHEE", Pair("PAWHEAE", "2M1I2M", 4, 1)), Scoring("BLOSUM50", gap_open=0, gap_extend=8))
        == 28
    )
    assert BLOSUM.scale == DNA.scale == 1
