"""Hits of all queries, as Python sees them."""

import copy
import importlib
import pickle
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from exaln.alignments.query_hits import QueryHits
from exaln.errors import InputError, OutputError
from exaln.report.arrow import HITS_SCHEMA, hits_schema
from exaln.search import hits as hits_module
from exaln.search.hits import Hit, Hits
from hit_samples import GLOBIN, MINUS, NOTHING, Pair, query_hits, random_hits


def test_hit_has_the_columns_of_the_table() -> None:
    assert [field.name for field in fields(Hit)] == hits_schema(shuffled=True).names
    assert HITS_SCHEMA.names == hits_schema(shuffled=True).names[:-1]


def test_length_indexing_and_iteration_of_hits() -> None:
    hits = Hits.collect([GLOBIN, NOTHING, MINUS])
    assert len(hits) == 3
    assert [hit.target_id for hit in hits] == ["sp|P1.2|ONE_TEST", "two", "chr1"]
    assert hits[0] == next(iter(hits))
    assert hits[-1].strand == -1
    assert (hits[2].target_start, hits[2].target_end, hits[2].cigar) == (2, 11, "5M1D3M")
    assert type(hits[0].score) is int
    for place in (3, -4):
        with pytest.raises(IndexError):
            hits[place]


def test_slices_of_hits_are_hits() -> None:
    hits = Hits.collect([GLOBIN, MINUS])
    for cut in (slice(1, None), slice(None, None, -1), slice(0, 3, 2), slice(5, 9), slice(None)):
        part = hits[cut]
        assert isinstance(part, Hits)
        assert list(part) == list(hits)[cut]
    assert hits[:] == hits
    assert hits[:1] != hits
    assert hits != [*hits]


@given(random_hits())
def test_hits_keep_every_number(sample: tuple[str, list[Pair], QueryHits]) -> None:
    columns = sample[2]
    for place, hit in enumerate(Hits.collect([columns])):
        for name in ("score", "bits", "evalue", "strand", "query_start", "query_end", "target_start", "target_end"):
            assert getattr(hit, name) == getattr(columns, name)[place]
        assert hit.target_ordinal == columns.ordinal[place]
        assert hit.cigar == sample[1][place].cigar


def test_bits_and_evalue_are_none_without_statistics() -> None:
    (hit,) = Hits.collect([query_hits("AWHE", [Pair("AWHE", "4M")])])
    assert hit.bits is None
    assert hit.evalue is None


def test_an_empty_table_of_hits() -> None:
    for hits in (Hits.collect([]), Hits.collect([NOTHING])):
        assert len(hits) == 0
        assert list(hits) == []
        assert not hits
        assert repr(hits) == "Hits: 0 hits"
        assert hits.to_arrow().schema == HITS_SCHEMA


def test_hits_as_pandas_and_polars_frames() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    hits = Hits.collect([GLOBIN, MINUS])
    assert hits.to_pandas()["target_id"].tolist() == ["sp|P1.2|ONE_TEST", "two", "chr1"]
    assert hits.to_polars()["score"].to_list() == hits.to_arrow()["score"].to_pylist() == [16, 41, 9]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_dataframe_package_is_an_input_error(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    real = importlib.import_module

    def without(name: str, *rest: Any) -> Any:
        if name == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(
        InputError, match=f"to_{package} needs {package}, which is not installed: pip install {package}"
    ):
        getattr(Hits.collect([GLOBIN]), f"to_{package}")()


def test_hits_of_a_table_are_written_to_parquet_and_arrow_files(tmp_path: Path) -> None:
    hits = Hits.collect([GLOBIN, query_hits("AWHE", [Pair("AWHE", "4M", target_description='a\tb,"c"\n')])])
    for name in ("h.parquet", "h.arrow", "h.feather"):
        hits.write(tmp_path / name)
    assert Hits(pq.read_table(tmp_path / "h.parquet")) == hits
    for name in ("h.arrow", "h.feather"):
        with pa.ipc.open_file(tmp_path / name) as file:
            assert Hits(file.read_all()) == hits
    with pytest.raises(InputError, match=r"h\.csv: what is written comes from a table, which has no sequences"):
        hits.write(tmp_path / "h.csv")
    assert not (tmp_path / "h.csv").exists()


def test_write_raises_for_bad_formats_and_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"hits\.xlsx: hits are written to \.tsv, .*; outfmt= gives another format"):
        Hits.collect([GLOBIN]).write(tmp_path / "hits.xlsx")
    with pytest.raises(OutputError):
        Hits.collect([GLOBIN]).write(tmp_path / "none" / "hits.parquet")


def test_the_repr_of_hits_is_a_short_table() -> None:
    assert repr(Hits.collect([GLOBIN, MINUS])) == (
        "Hits: 3 hits\n"
        "query_id  target_id         score  bits  evalue    identity  query  target\n"
        "q1        sp|P1.2|ONE_TEST  16     12.3  1.20e-04  80.0%     4:9    1:5\n"
        "q1        two               41     123   2.5       87.5%     2:10   1:9\n"
        "read      chr1              9      20.1  0.020     88.9%     1:9    2:11 minus"
    )
    lines = repr(Hits.collect([GLOBIN] * 500)).split("\n")
    assert lines[0] == "Hits: 1,000 hits"
    assert len(lines) == 13
    assert lines[-2] == "..."
    odd = Hits.collect([query_hits("AWHE", [Pair("AWHE", "4M", target_id="x\n" * 50)])])
    assert len(repr(odd).split("\n")) == 3


SEVERAL = query_hits(
    "HEAGAWGHEE",
    [
        Pair("HEAGAWGHEEWWHEAG", "10M", 0, 0, target_id="a", bits=30.0, evalue=1e-3, ordinal=5),
        Pair("HEAGAWGHEEWWHEAG", "4M", 0, 12, target_id="a", bits=12.0, evalue=2.0, ordinal=5),
        Pair("AWGHE", "5M", 4, 0, target_id="b", bits=20.0, evalue=0.5, ordinal=1),
        Pair("HEAHEA", "3M", 0, 0, target_id="c", bits=9.0, evalue=4.0, ordinal=2),
        Pair("HEAHEA", "3M", 0, 3, target_id="c", bits=9.0, evalue=4.0, ordinal=2),
    ],
)


def test_a_hit_is_a_target_with_its_alignments_best_first() -> None:
    hits = Hits.collect([SEVERAL, NOTHING, MINUS])
    assert (len(hits), hits.n_alignments) == (4, 6)
    assert [(hit.target_id, len(hit.alignments)) for hit in hits] == [("a", 2), ("b", 1), ("c", 2), ("chr1", 1)]
    first = hits[0]
    assert [(one.target_start, one.score, one.cigar) for one in first.alignments] == [(0, 62, "10M"), (12, 23, "4M")]
    assert (first.score, first.evalue, first.cigar) == (62, 1e-3, "10M")
    assert first == hits[0]
    assert first.alignments == hits[0].alignments
    assert [hit.query_covered for hit in hits] == [10, 5, 3, 8]
    assert len(hits.to_arrow()) == len(hits.to_pandas()) == 6
    assert repr(hits).split("\n")[0] == "Hits: 4 hits, 6 alignments"


def test_the_repr_of_hits_counts_the_alignments_of_each() -> None:
    assert repr(Hits.collect([SEVERAL])) == (
        "Hits: 3 hits, 5 alignments\n"
        "query_id  target_id  score  bits  evalue  identity  query  target  alignments\n"
        "q1        a          62     30.0  0.001   100.0%    0:10   0:10    2\n"
        "q1        b          34     20.0  0.50    100.0%    4:9    0:5     1\n"
        "q1        c          17     9.0   4.0     100.0%    0:3    0:3     2"
    )
    assert "<th>alignments</th>" in Hits.collect([SEVERAL])._repr_html_()
    assert "alignments" not in Hits.collect([SEVERAL])[1:2]._repr_html_()


def test_a_hit_and_its_alignments_are_printed_in_a_line_each() -> None:
    hit, minus = Hits.collect([SEVERAL])[0], Hits.collect([MINUS])[0]
    first = "of q1 with a, score 62, E-value 0.001, query 0:10, target 0:10"
    assert repr(hit) == f"<Hit {first}, best of 2 alignments>"
    assert repr(hit.alignments) == (
        f"<HitAlignment {first}>\n<HitAlignment of q1 with a, score 23, E-value 2.0, query 0:4, target 12:16>"
    )
    assert repr(minus) == "<Hit of read with chr1, score 9, E-value 0.020, query 1:9, target 2:11 minus strand>"
    (odd,) = Hits.collect([query_hits("AWHE", [Pair("AWHE", "4M", target_id="x\n" * 50)])])
    assert repr(odd).startswith("<Hit of q1 with x")
    assert "E-value" not in repr(odd)
    assert "\n" not in repr(odd)


def test_slices_and_parts_of_hits_keep_alignments_together() -> None:
    hits = Hits.collect([SEVERAL, MINUS])
    for cut in (slice(1, 3), slice(None, None, -1), slice(0, 3, 2), slice(4, 9), slice(None)):
        part = hits[cut]
        assert list(part) == list(hits)[cut]
        assert [hit.alignments for hit in part] == [hit.alignments for hit in list(hits)[cut]]
    assert [hit.target_id for hit in hits.of("q1")] == ["a", "b", "c"]


def test_iteration_does_not_depend_on_how_many_hits_are_read_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    hits = Hits.collect([SEVERAL, MINUS])
    whole = [hit.alignments for hit in hits]
    monkeypatch.setattr(hits_module, "_HITS_AT_ONCE", 1)
    assert [hit.alignments for hit in hits] == whole


def test_a_pickled_hit_has_its_alignments() -> None:
    hit = Hits.collect([SEVERAL])[0]
    for copied in (pickle.loads(pickle.dumps(hit)), copy.copy(hit), copy.deepcopy(hit)):
        assert copied == hit
        assert copied.alignments == hit.alignments


def test_a_hit_with_a_replaced_number_is_one_alignment() -> None:
    changed = replace(Hits.collect([SEVERAL])[0], score=7)
    assert (changed.score, changed.alignments) == (7, (changed,))


def test_btop_needs_the_sequences() -> None:
    with pytest.raises(InputError, match="btop needs the aligned letters, but this comes from a table"):
        Hits.collect([GLOBIN]).to_arrow(btop=True)
