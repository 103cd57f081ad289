"""JSON, Parquet, Arrow and FASTA through their parsers; which format is chosen; whole files or none."""

import gzip
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given

from exaln.alignments import query_hits as hits_module
from exaln.alignments.query_hits import QueryHits
from exaln.errors import InputError, OutputError
from exaln.report import arrow, fasta_report
from exaln.report.arrow import HITS_SCHEMA, hits_schema, hits_table
from exaln.report.writing import SearchSummary, parse_outfmt, write_report
from exaln.scoring.scoring import Scoring
from exaln.sequences.fasta import read_records
from exaln.statistics.evalues import Statistics
from hit_samples import (
    BLOSUM,
    DNA,
    GLOBIN,
    GLOBIN_PAIRS,
    MINUS,
    MINUS_PAIRS,
    NOTHING,
    Pair,
    query_hits,
    random_hits,
    report,
    whole_of,
)

SUMMARY = SearchSummary("targets", 3, 300, BLOSUM, Statistics.of(BLOSUM, db_residues=300, db_targets=3))
HOSTILE = '\t"<\x00\x1b\r\n\x85\u2028é'


def file_of(form: str, hits: list[QueryHits]) -> io.BytesIO:
    """A report in memory."""
    file = io.BytesIO()
    write_report(parse_outfmt(form), hits, SUMMARY, file)
    file.seek(0)
    return file


def test_json_equals_that_written_by_hand() -> None:
    document = json.loads(report("json", [GLOBIN, NOTHING]))
    assert document["search"]["database"] == {"name": "targets", "n_targets": 3, "n_residues": 300}
    assert document["search"]["scoring"]["gap_open"] == 11
    assert document["search"]["statistics"]["lambda"] == 0.267
    assert (document["n_queries"], document["n_hits"]) == (2, 2)
    first, second = document["queries"]
    assert second == {
        "query_index": 1,
        "query_id": "q2",
        "query_description": "",
        "query_length": 4,
        "hits": [],
    }
    assert first["hits"][0] == {
        "target_ordinal": 2,
        "target_id": "sp|P1.2|ONE_TEST",
        "target_description": "first, of two",
        "target_length": 7,
        "strand": 1,
        "query_start": 4,
        "query_end": 9,
        "target_start": 1,
        "target_end": 5,
        "score": 16,
        "bits": 12.34,
        "evalue": 0.00012,
        "percent_identity": 80.0,
        "percent_query_coverage": 50.0,
        "percent_target_coverage": 100 * 4 / 7,
        "identities": 4,
        "positives": 4,
        "mismatches": 0,
        "gap_opens": 1,
        "gaps": 1,
        "columns": 5,
        "cigar": "2M1I2M",
        "query_aligned": "AWGHE",
        "target_aligned": "AW-HE",
    }


def test_json_without_queries_and_without_statistics() -> None:
    assert json.loads(report("json", []))["queries"] == []
    text = report("json", [query_hits("AWHE", [Pair("AWHE", "4M")])], scoring=Scoring("BLOSUM62", gap_open=3))
    document = json.loads(text)
    assert document["search"]["statistics"] is None
    assert document["queries"][0]["hits"][0]["evalue"] is None


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE * 200_000])
def test_hostile_headers_survive_json_and_arrow(text: str) -> None:
    pair = Pair("AWHE", "4M", target_id=text, target_description=text)
    hits = query_hits("AWHE", [pair], query_id=text, query_description=text)
    (query,) = json.loads(report("json", [hits]))["queries"]
    assert query["query_id"] == query["query_description"] == query["hits"][0]["target_description"] == text
    (row,) = pq.read_table(file_of("parquet", [hits])).to_pylist()
    assert row["query_id"] == row["target_id"] == row["target_description"] == text


def test_lone_surrogates_are_written_as_question_marks() -> None:
    hits = query_hits("AWHE", [Pair("AWHE", "4M", target_id="t\ud800é")], query_id="q\udfff")
    (row,) = pq.read_table(file_of("parquet", [hits])).to_pylist()
    assert (row["query_id"], row["target_id"]) == ("q?", "t?é")


@given(random_hits())
def test_json_and_arrow_agree(sample: tuple[str, list[Pair], QueryHits]) -> None:
    hits = sample[2]
    table = hits_table([hits, NOTHING])
    assert table.schema == HITS_SCHEMA
    (query, _) = json.loads(report("json", [hits, NOTHING]))["queries"]
    for row, entry in zip(table.to_pylist(), query["hits"], strict=True):
        shared = row.keys() & entry.keys()
        assert row.keys() - shared == {"query_index", "query_id", "query_length"}
        assert {name: row[name] for name in shared} == {name: entry[name] for name in shared}


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_arrow_and_parquet_files_are_written_in_groups(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    hits = [GLOBIN, NOTHING, GLOBIN, GLOBIN]
    whole = hits_table(hits)
    many, huge = 1 << 17, 1 << 26
    for together, rows, size, n_groups in (
        (512, many, huge, 1),
        (1, 4, huge, 2),
        (1, 1, huge, 3),
        (1, many, 1, 3),
        (2, 1, huge, 2),
    ):
        monkeypatch.setattr(arrow, "MANY_BATCHES", together)
        monkeypatch.setattr(arrow, "GROUP_ROWS", rows)
        monkeypatch.setattr(arrow, "GROUP_BYTES", size)
        file = file_of(form, hits)
        if form == "parquet":
            stored = pq.ParquetFile(file)
            assert stored.num_row_groups == n_groups
            table, metadata = stored.read(), stored.schema_arrow.metadata
        else:
            opened = pa.ipc.open_file(file)
            assert opened.num_record_batches == n_groups
            table, metadata = opened.read_all(), opened.schema.metadata
        assert table.equals(whole)
        assert json.loads(metadata[b"exaln"])["database"]["name"] == "targets"


def test_arrow_tables_do_not_depend_on_how_hits_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = hits_table([GLOBIN, NOTHING])
    monkeypatch.setattr(hits_module, "PART_HITS", 1)
    assert hits_table([GLOBIN, NOTHING]).equals(whole)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_no_hits_make_a_table_without_rows(form: str) -> None:
    for hits in ([], [NOTHING]):
        file = file_of(form, hits)
        table = pq.read_table(file) if form == "parquet" else pa.ipc.open_file(file).read_all()
        assert table.num_rows == 0
        assert table.schema == HITS_SCHEMA


def test_scores_with_fractions_are_floats() -> None:
    scoring = Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5)
    hits = query_hits("AWGGHE", [Pair("AWHE", "2M2I2M")], scoring=scoring)
    table = pq.read_table(file_of("parquet", [hits]))
    assert table.schema == hits_schema(fractional=True)
    assert table["score"].to_pylist() == [17.5]


def test_missing_statistics_are_null() -> None:
    table = hits_table([query_hits("AWHE", [Pair("AWHE", "4M")])])
    assert table["evalue"].to_pylist() == table["bits"].to_pylist() == [None]


def test_pandas_and_polars_read_parquet(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    path = tmp_path / "hits.parquet"
    write_report(parse_outfmt(None, path), [GLOBIN, MINUS], SUMMARY, path)
    wanted = ["2M1I2M", "8M", "5M1D3M"]
    for frame in (pandas.read_parquet(path), polars.read_parquet(path)):
        assert list(frame["cigar"]) == wanted
        assert list(frame["target_start"]) == [1, 1, 2]
        assert list(frame["strand"]) == [1, 1, -1]
        assert list(frame["evalue"]) == [0.00012, 2.5, 0.0203]


def test_fasta_of_whole_targets_and_of_aligned_parts() -> None:
    assert (
        report("fasta", [GLOBIN, NOTHING], pairs=GLOBIN_PAIRS)
        == ">sp|P1.2|ONE_TEST first, of two\nPAWHEAE\n>two\nAAGAWGREE\n"
    )
    assert report("fasta aligned", [GLOBIN]) == (">sp|P1.2|ONE_TEST:2-5 first, of two\nAWHE\n>two:2-9\nAGAWGREE\n")
    assert report("fasta", [MINUS], scoring=DNA, pairs=MINUS_PAIRS) == ">chr1 plasmid\nCCTTGACAACGG\n"
    assert report("fasta aligned", [MINUS]) == ">chr1:11-3 plasmid\nCGTTGTCAA\n"


def test_whole_targets_are_read_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fasta_report, "AT_ONCE", 1)
    assert report("fasta", [GLOBIN], pairs=GLOBIN_PAIRS).count(">") == 2


def test_fasta_without_whole_targets_is_refused() -> None:
    with pytest.raises(
        InputError, match="fasta has whole targets, which these hits do not have; write 'fasta aligned'"
    ):
        write_report(parse_outfmt("fasta"), [], SUMMARY, io.BytesIO())


def test_fasta_has_each_target_once_per_query_and_is_read_again(tmp_path: Path) -> None:
    long = Pair("W" * 121, "5M", target_id="long", target_description=HOSTILE, ordinal=7)
    pairs = [long, long, Pair("WWWWW", "5M", target_id="other", ordinal=8)]
    hits = query_hits("WWWWW", pairs)
    path = tmp_path / "hits.fasta"
    write_report(parse_outfmt(None, path), [hits, hits], SUMMARY, path, whole=whole_of(pairs))
    assert max(map(len, path.read_text().splitlines())) == 60
    records = read_records(path, alphabet=BLOSUM.alphabet)
    assert [records.ids[row] for row in range(len(records))] == ["long", "other"] * 2
    assert records.lengths.tolist() == [121, 5] * 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.tsv", "6"),
        ("a.TSV", "6"),
        ("a.csv", "10"),
        ("a.txt", "0"),
        ("a.json.gz", "json"),
        ("a.parquet", "parquet"),
        ("a.arrow", "arrow"),
        ("a.feather", "arrow"),
        ("a.fasta.zst", "fasta"),
        ("a.xml", "5"),
        ("a.XML.gz", "5"),
        ("a.gff3", "gff"),
        ("a.out", "6"),
        ("a", "6"),
        ("-", "6"),
    ],
)
def test_the_extension_chooses_the_format(name: str, kind: str) -> None:
    assert parse_outfmt(None, name).kind == kind
    assert parse_outfmt("7", name).kind == "7"


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("a.bam", "write .sam, and samtools view -b makes BAM of it"),
        ("a.CRAM", "write .sam, and samtools view -C"),
        ("a.daa", "DIAMOND's own format; write .tsv or .xml"),
        ("a.asn", "ASN.1 is not available; write .xml or .json"),
        ("a.BED.gz", "write .gff3 or .paf"),
        ("a.gtf", "write .gff3"),
    ],
)
def test_formats_of_other_tools_are_refused_with_what_to_write_instead(name: str, instead: str) -> None:
    with pytest.raises(InputError, match=rf"^{re.escape(name)}: \.[a-z]+ cannot be written; .*{re.escape(instead)}"):
        parse_outfmt(None, name)
    assert parse_outfmt("6", name).kind == "6"


@pytest.mark.parametrize("name", ["a.xlsx", "a.html", "a.psl", "a.tar.zst", "a.fastq"])
def test_a_name_that_promises_another_format_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"no report format has this extension; use one of \.tsv .*or choose"):
        parse_outfmt(None, name)
    assert parse_outfmt("6", name).kind == "6"  # the user said what is wanted


def test_outfmt_as_words_equals_outfmt_as_one_text() -> None:
    assert parse_outfmt("6 std qcovs") == parse_outfmt(["6", "std", "qcovs"]) == parse_outfmt(["6 std", "qcovs"])
    assert parse_outfmt("JSON").kind == "json"
    assert parse_outfmt("fasta aligned").aligned
    assert not parse_outfmt("fasta whole").aligned
    assert parse_outfmt("parquet").is_binary
    assert parse_outfmt("", "a.csv").kind == "10"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("16", "output format 16 is not available: of BLAST's two kinds of XML, only 5 is available"),
        ("13", "output format 13 is not available: of BLAST's kinds of JSON, only 15 is available"),
        ("paf std", "output format paf cannot be followed by 'std'; it takes extended"),
        ("xlsx", "unknown output format 'xlsx'; choose one of table, 0, 5, 6, 7, 10, 15, json, parquet, arrow, fasta"),
        ("0 std", "output format 0 cannot be followed by 'std'; only 6, 7 and 10 have columns"),
        ("fasta all", "output format fasta cannot be followed by 'all'; it takes whole or aligned"),
        ("6 std staxids", "column 'staxids' is not available"),
    ],
)
def test_formats_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_outfmt(text)


@pytest.mark.parametrize(
    ("name", "form", "message"),
    [
        ("h.parquet.gz", None, "parquet files are compressed inside; use a name without .gz"),
        ("h.tsv.bz2", "6", "text is compressed as .gz or .zst, not as .bz2"),
    ],
)
def test_compressions_that_are_refused(tmp_path: Path, name: str, form: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):  # before anything is searched
        parse_outfmt(form, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_compressed_text_is_the_same_text_and_the_same_bytes(tmp_path: Path) -> None:
    for extension, unpack in ((".gz", gzip.decompress), (".zst", _unpack_zstd)):
        first, second = tmp_path / f"a.tsv{extension}", tmp_path / f"b.tsv{extension}"
        for path in (first, second):
            write_report(parse_outfmt(None, path), [GLOBIN, NOTHING], SUMMARY, path)
        assert unpack(first.read_bytes()).decode() == report("6", [GLOBIN])
        assert first.read_bytes() == second.read_bytes()


def _unpack_zstd(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


@pytest.mark.parametrize(
    "name", ["h.tsv", "h.csv", "h.txt", "h.json", "h.parquet", "h.arrow", "h.fa", "h.tsv.gz", "h.json.zst"]
)
def test_an_error_in_the_middle_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    def failing() -> Iterator[QueryHits]:
        yield GLOBIN
        raise RuntimeError("engine failed")

    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(RuntimeError, match="engine failed"):
        write_report(parse_outfmt(None, path), failing(), SUMMARY, path, whole=whole_of(GLOBIN_PAIRS))
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_missing_folder_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_report(parse_outfmt("6"), [GLOBIN], SUMMARY, tmp_path / "none" / "h.tsv")


@pytest.mark.parametrize("form", ["6", "json", "parquet", "arrow"])
def test_every_format_can_be_written_to_a_pipe(form: str) -> None:
    code = (
        "import hit_samples as s; from exaln.report.writing import *;"
        f"write_report(parse_outfmt({form!r}), [s.GLOBIN], SearchSummary('targets', 3, 300, s.BLOSUM), '-')"
    )
    here = str(Path(__file__).parents[1] / "support")
    run = subprocess.run([sys.executable, "-c", code], cwd=here, stdout=subprocess.PIPE, check=True)
    if form == "parquet":
        assert pq.read_table(io.BytesIO(run.stdout)).num_rows == 2
    elif form == "arrow":
        assert pa.ipc.open_file(io.BytesIO(run.stdout)).read_all().num_rows == 2
    elif form == "json":
        assert json.loads(run.stdout)["n_hits"] == 2
    else:
        assert run.stdout.decode() == report("6", [GLOBIN])


def test_text_reports_do_not_import_pyarrow() -> None:
    code = (
        "import sys, hit_samples as s; s.report('6', [s.GLOBIN]); s.report('json', [s.GLOBIN]);"
        "s.report('0', [s.GLOBIN]); sys.exit('pyarrow' in sys.modules)"
    )
    here = str(Path(__file__).parents[1] / "support")
    assert subprocess.run([sys.executable, "-c", code], cwd=here, check=False).returncode == 0
