"""Formats 6, 7 and 10: texts written by hand, hostile headers, and the parsers that people use."""

import csv
import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaln.alignments import query_hits as hits_module
from exaln.alignments.query_hits import QueryHits
from exaln.report.clean import no_formula
from exaln.report.columns import STD
from hit_samples import GLOBIN, GLOBIN_PAIRS, MINUS, NOTHING, Pair, query_hits, random_hits, report

TABS = (
    "q1\tsp|P1.2|ONE_TEST\t80.000\t5\t0\t1\t5\t9\t2\t5\t1.20e-04\t12.3\n"
    "q1\ttwo\t87.500\t8\t1\t0\t3\t10\t2\t9\t2.5\t123\n"
)
COMMENTED = f"""\
# exaln 0.1.0
# Query: q1 a query
# Database: targets
# Fields: query id, subject id, % identity, alignment length, mismatches, gap opens, q. start, q. end, s. start, \
s. end, evalue, bit score
# 2 hits found
{TABS}# exaln 0.1.0
# Query: q2
# Database: targets
# 0 hits found
# exaln processed 2 queries
"""
HOSTILE = 'a\tb "c" <d> \x00\x01\x1b[31m\r\n\x0b\x0c\x1c\x85\u2028\u2029 , é \ud800 #'


def hostile(text: str) -> QueryHits:
    """A query and a target with this text in every place."""
    pair = Pair("AWHE", "4M", target_id=f"t{text}", target_description=text, bits=10, evalue=1)
    return query_hits("AWHE", [pair, pair], query_id=f"q{text}", query_description=text)


def test_tables_equal_those_written_by_hand() -> None:
    assert report("6", [GLOBIN, NOTHING]) == TABS
    assert report("7", [GLOBIN, NOTHING]) == COMMENTED
    assert report("10", [GLOBIN, NOTHING]) == TABS.replace("\t", ",")
    assert report("6 qseqid sstart send btop", [MINUS]) == "read\t11\t3\t5-T3\n"
    assert report("10 sseqid stitle", [GLOBIN]) == 'sp|P1.2|ONE_TEST,"first, of two"\ntwo,\n'


def test_tables_without_queries() -> None:
    assert report("6", []) == report("10", []) == ""
    assert report("7", []) == "# exaln processed 0 queries\n"


def test_a_single_empty_field_is_still_a_record() -> None:
    hits = query_hits("AWHE", [Pair("AWHE", "4M")])
    assert list(csv.reader(io.StringIO(report("10 evalue", [hits])))) == [[""]]


@pytest.fixture
def long_fields() -> Iterator[None]:
    """Lets the csv module read fields of any length."""
    usual = csv.field_size_limit(1 << 30)
    yield
    csv.field_size_limit(usual)


@pytest.mark.usefixtures("long_fields")
@pytest.mark.parametrize("text", [HOSTILE, "x" * 2_000_000, "\t" * 2_000_000], ids=["odd", "long", "tabs"])
def test_hostile_headers_stay_on_their_line(text: str) -> None:
    hits = hostile(text)
    columns = "qseqid qtitle sseqid stitle salltitles sallseqid sacc evalue"
    lines = report(f"6 {columns}", [hits]).splitlines()
    assert [line.count("\t") for line in lines] == [7, 7]
    assert all(line.endswith("\t1.0") for line in lines)
    commented = report(f"7 {columns}", [hits], database=f"db{text}").splitlines()
    assert [line.startswith("# ") for line in commented] == [True] * 5 + [False] * 2 + [True]
    rows = list(csv.reader(io.StringIO(report(f"10 {columns}", [hits])), strict=True))
    assert rows == [[no_formula(text) for text in line.split("\t")] for line in lines]


def _as_in_csv(fields: list[str]) -> list[str]:
    """Ids and titles of `std stitle qseqid cigar` that look like formulas have an apostrophe."""
    return [no_formula(text) if place in (0, 1, 12, 13) else text for place, text in enumerate(fields)]


@given(st.text(max_size=20), random_hits())
def test_csv_and_tab_separated_fields_agree(text: str, sample: tuple[str, list[Pair], QueryHits]) -> None:
    hits = hostile(text)
    both = [hits, sample[2]]
    lines = report("6 std stitle qseqid cigar", both).split("\n")[:-1]
    csv_lines = list(csv.reader(io.StringIO(report("10 std stitle qseqid cigar", both), newline=""), strict=True))
    assert [_as_in_csv(line.split("\t")) for line in lines] == csv_lines
    assert len(lines) == len(hits) + len(sample[2])


@pytest.mark.parametrize("form", ["6", "7 std qseq btop cigar", "10 std cigarx", "json", "0", "fasta", "fasta aligned"])
def test_tables_do_not_depend_on_how_hits_are_divided(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    whole = report(form, [GLOBIN, NOTHING], pairs=GLOBIN_PAIRS)
    for name, value in (("PART_HITS", 1), ("PART_COLUMNS", 3)):
        with monkeypatch.context() as patch:
            patch.setattr(hits_module, name, value)
            assert len(list(GLOBIN.parts())) == 2
            assert report(form, [GLOBIN, NOTHING], pairs=GLOBIN_PAIRS) == whole


def test_biopython_reads_tables() -> None:
    search = pytest.importorskip("Bio.SearchIO")
    for form, options in (("6", {}), ("7", {"comments": True})):
        text = io.StringIO(report(form, [GLOBIN, NOTHING]))
        queries = list(search.parse(text, "blast-tab", **options))
        assert [query.id for query in queries] == ["q1", "q2"][: len(queries)]
        assert len(queries) == (2 if form == "7" else 1)
        assert [hit.id for hit in queries[0]] == ["sp|P1.2|ONE_TEST", "two"]
        (first,) = queries[0][0].hsps
        assert (first.query_start, first.query_end, first.hit_start, first.hit_end) == (4, 9, 1, 5)
        assert (first.evalue, first.bitscore, first.ident_pct) == (1.2e-4, 12.3, 80)


def test_biopython_reads_columns_and_strands() -> None:
    search = pytest.importorskip("Bio.SearchIO")
    names = "qseqid sseqid qstart qend sstart send qframe sframe qseq sseq btop score nident positive gaps stitle"
    text = io.StringIO(report(f"7 {names}", [MINUS]))
    (query,) = search.parse(text, "blast-tab", comments=True)
    (hsp,) = query.hsps
    assert (hsp.hit_start, hsp.hit_end, hsp.hit_strand, hsp.btop) == (2, 11, -1, "5-T3")
    assert str(hsp.query.seq) == "CGTTG-CAA"


def test_pandas_and_polars_read_tables() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.read_csv(io.StringIO(report("6", [GLOBIN])), sep="\t", names=STD)
    assert frame["evalue"].tolist() == [1.2e-4, 2.5]
    text = report("10 qseqid evalue stitle", [GLOBIN]).encode()
    assert polars.read_csv(text, has_header=False).row(0) == ("q1", 1.2e-4, "first, of two")
