"""BLAST's XML and JSON: the values that blastp and blastn write, and what other programs read in them."""

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given

import exaln
from exaln.alignments import query_hits as hits_module
from exaln.alignments.query_hits import QueryHits
from exaln.errors import InputError
from exaln.report.formats import parse_outfmt
from exaln.report.summary import SearchSummary
from exaln.report.writing import write_report
from exaln.statistics.evalues import Statistics
from hit_samples import BLOSUM, DNA, NOTHING, Pair, query_hits, random_hits, report

GOLDEN = Path(__file__).parents[1] / "golden"
PROGRAMS = {"blastp": {"max_hsps": 1}, "blastn": {"evalue": 1e-6}}
HOSTILE = "\x00<&>\"'\x1b\ufffe é"


def ours(program: str, form: str) -> bytes:
    """The report of the search that the golden files are from."""
    query, targets = (GOLDEN / f"{program}_columns_{name}.fasta" for name in ("query", "targets"))
    file = io.BytesIO()
    exaln.search(query, targets, **PROGRAMS[program]).write(file, form)  # type: ignore[arg-type]
    return file.getvalue()


def comparable(document: Any) -> Any:
    """A document without what differs: who wrote it, the names of files, and the order of equally good hits."""
    if isinstance(document, dict):
        skipped = ("version", "reference", "db", "filter", "num")
        return {name: comparable(value) for name, value in document.items() if name not in skipped}
    if isinstance(document, list):
        return sorted(map(comparable, document), key=json.dumps)
    return document


@pytest.mark.parametrize("program", PROGRAMS)
def test_json_is_that_of_blast(program: str) -> None:
    theirs = json.loads((GOLDEN / f"{program}_report.json").read_text())
    for one in theirs["BlastOutput2"]:  # blastn leaves the title out if it has no description
        search = one["report"]["results"]["search"]
        search.setdefault("query_title", "read2")
    assert comparable(json.loads(ours(program, "15"))) == comparable(theirs)


@pytest.mark.parametrize("program", PROGRAMS)
def test_json_has_the_keys_of_blast_in_their_order(program: str) -> None:
    theirs = json.loads((GOLDEN / f"{program}_report.json").read_text())
    assert keys(json.loads(ours(program, "15"))["BlastOutput2"][0]) == keys(theirs["BlastOutput2"][0])


def keys(document: Any) -> Any:
    """The tree of keys and of the types of values; a list stands for its first item."""
    if isinstance(document, dict):
        return [(name, keys(value)) for name, value in document.items()]
    return [keys(document[0])] if isinstance(document, list) else type(document).__name__


def elements(root: ElementTree.Element) -> Any:
    """The tree of tags and texts, without what differs; hits are sorted."""
    skipped = ("version", "reference", "db", "filter", "num")
    own = [elements(child) for child in root if child.tag.rsplit("_", 1)[-1] not in skipped]
    return (root.tag, (root.text or "").strip(), sorted(own, key=str) if root.tag == "Iteration_hits" else own)


@pytest.mark.parametrize("program", PROGRAMS)
def test_xml_is_that_of_blast(program: str) -> None:
    theirs = ElementTree.fromstring((GOLDEN / f"{program}_report.xml").read_text())
    for tag in ("BlastOutput_query-def", "Iteration_query-def"):
        for element in theirs.iter(tag):
            element.text = (element.text or "").replace("No definition line", "read2")
    assert elements(ElementTree.fromstring(ours(program, "5"))) == elements(theirs)


@given(random_hits())
def test_5_6_and_15_have_the_same_rows(drawn: tuple[str, list[Pair], QueryHits]) -> None:
    hits = drawn[2]
    fields = "evalue qstart qend sstart send score nident gaps length qseq sseq"
    table = [line.split("\t") for line in report(f"6 {fields}", [hits], scoring=hits.scoring).splitlines()]
    for rows in (
        rows_of_json(report("15", [hits], scoring=hits.scoring)),
        rows_of_xml(report("5", [hits], scoring=hits.scoring)),
    ):
        assert [row[1:] for row in rows] == [row[1:] for row in table]
        for (exact, *_), (rounded, *_) in zip(rows, table, strict=True):
            assert float(exact) == pytest.approx(float(rounded), rel=0.1, abs=6e-4)


NAMES = [
    "evalue",
    "query_from",
    "query_to",
    "hit_from",
    "hit_to",
    "score",
    "identity",
    "gaps",
    "align_len",
    "qseq",
    "hseq",
]


def rows_of_json(text: str) -> list[list[str]]:
    (one,) = json.loads(text)["BlastOutput2"]
    found = [hsp for hit in one["report"]["results"]["search"]["hits"] for hsp in hit["hsps"]]
    return [[str(hsp[name]) for name in NAMES] for hsp in found]


def rows_of_xml(text: str) -> list[list[str]]:
    found = ElementTree.fromstring(text).iter("Hsp")
    return [[hsp.findtext(f"Hsp_{name.replace('_', '-')}") or "" for name in NAMES] for hsp in found]


def test_hits_in_several_parts_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Pair("HEAGAWGHEE", "10M", target_id=f"t{n // 2}", ordinal=n // 2, bits=20.0, evalue=1.0) for n in range(6)]
    hits = query_hits("HEAGAWGHEE", pairs)
    whole = report("15", [hits, NOTHING]), report("5", [hits, NOTHING])
    monkeypatch.setattr(hits_module, "PART_HITS", 1)
    assert (report("15", [hits, NOTHING]), report("5", [hits, NOTHING])) == whole
    first, second = (one["report"]["results"]["search"] for one in json.loads(whole[0])["BlastOutput2"])
    assert [[hsp["num"] for hsp in hit["hsps"]] for hit in first["hits"]] == [[1, 2]] * 3
    assert [hit["num"] for hit in first["hits"]] == [1, 2, 3]
    assert second["hits"] == []
    assert second["message"] == "No hits found"
    assert "<Iteration_message>No hits found<" in whole[1]


def test_names_cannot_break_the_documents() -> None:
    pair = Pair("HEAGAWGHEE", "10M", target_id=f"id{HOSTILE}", target_description=HOSTILE, bits=20.0, evalue=1.0)
    hits = query_hits("HEAGAWGHEE", [pair], query_id=HOSTILE, query_description=HOSTILE)
    assert "é" in (ElementTree.fromstring(report("5", [hits], database=HOSTILE)).findtext(".//Hit_def") or "")
    json.loads(report("15", [hits], database=HOSTILE))


def test_entries_that_share_a_sequence_are_all_named() -> None:
    pair = Pair("HEAGAWGHEE", "10M", target_id="a", target_description="one\x01b two\x01c", bits=20.0, evalue=1.0)
    hits = query_hits("HEAGAWGHEE", [pair])
    (one,) = json.loads(report("15", [hits]))["BlastOutput2"]
    described = one["report"]["results"]["search"]["hits"][0]["description"]
    assert [(entry["id"], entry["title"]) for entry in described] == [("a", "one"), ("b", "two"), ("c", "")]
    assert ElementTree.fromstring(report("5", [hits])).findtext(".//Hit_def") == "one >b two >c "


@pytest.mark.parametrize(("form", "name"), [("5", "BLAST's XML"), ("15", "BLAST's JSON")])
def test_a_search_without_evalues_is_refused(form: str, name: str) -> None:
    bare = SearchSummary("targets", 3, 300, BLOSUM)
    with pytest.raises(InputError, match=f"{name} needs E-values, and there are none for .*; use json"):
        write_report(parse_outfmt(form), [NOTHING], bare, io.BytesIO())
    pairs = SearchSummary("targets", 0, 0, BLOSUM, is_pairs=True)
    with pytest.raises(InputError, match=f"{name} describes a search; write pairs as json"):
        write_report(parse_outfmt(form), [NOTHING], pairs, io.BytesIO())


def test_biopython_reads_the_xml() -> None:
    blast, search_io = pytest.importorskip("Bio.Blast"), pytest.importorskip("Bio.SearchIO")
    file = io.BytesIO(ours("blastn", "5"))
    records = list(blast.parse(file))
    assert [len(record) for record in records] == [3, 1] or sum(map(len, records)) == 5
    assert records[0].query.id == "Query_1"
    (first, *_) = search_io.parse(io.StringIO(ours("blastn", "5").decode()), "blast-xml")
    assert first.hsps[0].bitscore == pytest.approx(records[0][0][0].annotations["bit score"])


def test_an_infinite_limit_is_left_out() -> None:
    summary = SearchSummary("t", 3, 300, DNA, Statistics.of(DNA, db_residues=300, db_targets=3), float("inf"))
    file = io.BytesIO()
    write_report(parse_outfmt("15"), [query_hits("ACGT", [], scoring=DNA)], summary, file)
    assert "expect" not in json.loads(file.getvalue())["BlastOutput2"][0]["report"]["params"]
