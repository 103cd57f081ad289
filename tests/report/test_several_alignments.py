"""Reports of targets with several alignments: what is counted, what is named once, and what every row says."""

import csv
import io
import json
import shutil
import subprocess
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exaln.alignments import query_hits as hits_module
from exaln.alignments.query_hits import QueryHits
from exaln.report.formats import KINDS, parse_outfmt
from exaln.report.summary import SearchSummary
from exaln.report.writing import write_report
from exaln.statistics.evalues import Statistics
from golden_data import GOLDEN
from hit_samples import DNA, Pair, other_strand, query_hits, random_pairs, report, whole_of

QUERY = "ACGTTGCAACGGATCCAATGACCA"
CHR1 = "TTTT" + QUERY + "CCC" + other_strand(QUERY[:15]) + "GG" + QUERY[12:] + "TT"
CHR2 = "GGG" + QUERY[4:20] + "AAAA"
CHR3 = QUERY[:10] + "TTT" + QUERY[14:24]
PAIRS = [
    Pair(CHR1, "24M", 0, 4, 1, "chr1", "first", 44.5, 1e-9, ordinal=3),
    Pair(CHR1, "15M", 0, 31, -1, "chr1", "first", 28.0, 1e-4, ordinal=3),
    Pair(CHR1, "12M", 12, 48, 1, "chr1", "first", 22.5, 1e-2, ordinal=3),
    Pair(CHR2, "16M", 4, 3, 1, "chr2", "", 30.0, 1e-5, ordinal=0),
    Pair(CHR3, "10M", 0, 0, 1, "chr3", "third", 19.0, 0.5, ordinal=7),
    Pair(CHR3, "10M", 14, 13, 1, "chr3", "third", 19.0, 0.5, ordinal=7),
]
HITS = query_hits(QUERY, PAIRS, scoring=DNA, query_id="gene")
EMPTY = query_hits("ACGT", scoring=DNA, query_id="none", index=1)


def of(form: str) -> str:
    return report(form, [HITS, EMPTY], scoring=DNA, pairs=PAIRS)


def test_a_table_has_a_row_per_alignment_and_coverage_of_the_target() -> None:
    rows = [line.split("\t") for line in of("6 sseqid hsp sstart send qcovs qcovhsp qcovus score").splitlines()]
    assert rows == [
        ["chr1", "1", "5", "28", "100", "100", "100", "48"],
        ["chr1", "2", "46", "32", "100", "63", "100", "30"],
        ["chr1", "3", "49", "60", "100", "50", "100", "24"],
        ["chr2", "1", "4", "19", "67", "67", "67", "32"],
        ["chr3", "1", "1", "10", "83", "42", "83", "20"],
        ["chr3", "2", "14", "23", "83", "42", "83", "20"],
    ]
    assert "# 6 hits found\n" in of("7")


def test_coverage_is_that_of_blastn() -> None:
    """The ranges of blastn's HSPs, with letters of ours."""
    with (GOLDEN / "blastn_subject_besthit.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    pairs = []
    for row in rows:
        n = int(row["qend"]) - int(row["qstart"]) + 1
        pairs.append(Pair("A" * n, f"{n}M", int(row["qstart"]) - 1, ordinal=int(row["sseqid"][1:])))
    found = report("6 qcovs qcovhsp qcovus", [query_hits("A" * 900, pairs, scoring=DNA)], scoring=DNA)
    assert found.splitlines() == [f"{row['qcovs']}\t{row['qcovhsp']}\t{row['qcovs']}" for row in rows]
    assert len({row["qcovs"] for row in rows}) > 1


def test_the_screen_names_a_target_once_and_says_where_its_alignments_are() -> None:
    lines = of("table").splitlines()
    assert lines[0] == "gene (24 nt): 3 hits, 6 alignments"
    assert lines[1].split() == [
        "target",
        "E-value",
        "bits",
        "identity",
        "coverage",
        "strand",
        "in",
        "query",
        "in",
        "target",
        "description",
    ]
    assert [line.split()[0] for line in lines[2:8]] == ["chr1", "1.00e-04", "0.010", "chr2", "chr3", "0.50"]
    assert lines[3].split() == ["1.00e-04", "28.0", "100.0%", "62%", "minus", "1-15", "46-32"]
    assert lines[8:] == ["", "none (4 nt): no hits"]
    one = report("table", [query_hits(QUERY, PAIRS[3:5], scoring=DNA)], scoring=DNA)
    assert "in target" not in one
    assert "2 hits\n" in one


def test_the_pairwise_text_has_a_header_per_target_and_a_score_per_alignment() -> None:
    text = of("0")
    assert [line[1:].split()[0] for line in text.splitlines() if line.startswith(">")] == ["chr1", "chr2", "chr3"]
    assert text.count(" Score = ") == 6
    assert text.count("Strand=Plus/Minus") == 1
    table = text.split("Value\n\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in table] == ["chr1", "chr2", "chr3"]
    assert table[0].split()[-2:] == ["44.5", "1e-09"]


def rows_of_6() -> list[list[str]]:
    names = "sseqid hsp qstart qend sstart send score nident gaps length qseq sseq"
    return [line.split("\t") for line in of(f"6 {names}").splitlines()]


HSP = ("query_from", "query_to", "hit_from", "hit_to", "score", "identity", "gaps", "align_len", "qseq", "hseq")


def test_blast_json_and_xml_have_a_hit_per_target_and_the_rows_of_the_table() -> None:
    first, second = (one["report"]["results"]["search"] for one in json.loads(of("15"))["BlastOutput2"])
    assert [(hit["num"], [hsp["num"] for hsp in hit["hsps"]]) for hit in first["hits"]] == [
        (1, [1, 2, 3]),
        (2, [1]),
        (3, [1, 2]),
    ]
    assert second["hits"] == []
    in_json = [
        [hit["description"][0]["id"], str(hsp["num"]), *(str(hsp[name]) for name in HSP)]
        for hit in first["hits"]
        for hsp in hit["hsps"]
    ]
    in_xml = [
        [str(hit.findtext("Hit_id")), str(hsp.findtext("Hsp_num"))]
        + [str(hsp.findtext(f"Hsp_{name.replace('_', '-')}")) for name in HSP]
        for hit in ElementTree.fromstring(of("5")).iter("Hit")
        for hsp in hit.iter("Hsp")
    ]
    assert in_json == in_xml == rows_of_6()


@pytest.mark.parametrize("program", ["blastn", "blastp"])
def test_every_hit_and_alignment_has_the_keys_and_types_of_blast(program: str) -> None:
    def shape(values: dict[str, Any]) -> list[tuple[str, str]]:
        kinds = {name: type(value).__name__ for name, value in values.items() if name != "hsps"}
        return [(name, "number" if kind in ("int", "float") else kind) for name, kind in kinds.items()]

    def shapes(text: str) -> tuple[set[str], set[str]]:
        found = [one["report"]["results"]["search"] for one in json.loads(text)["BlastOutput2"]]
        hits = [hit for one in found for hit in one["hits"]]
        return {str(shape(hit)) for hit in hits}, {str(shape(hsp)) for hit in hits for hsp in hit["hsps"]}

    ours = of("15")
    if program == "blastp":
        pairs = [Pair("HEAGAWGHEE" * 2, "10M", 0, start, bits=30.0, evalue=0.1) for start in (0, 10)]
        ours = report("15", [query_hits("HEAGAWGHEE", pairs)])
    assert shapes(ours) == shapes((GOLDEN / f"{program}_report.json").read_text())


def test_biopython_reads_all_alignments_of_a_target() -> None:
    blast, search_io = pytest.importorskip("Bio.Blast"), pytest.importorskip("Bio.SearchIO")
    first, _ = blast.parse(io.BytesIO(of("5").encode()))
    assert [len(hit) for hit in first] == [3, 1, 2]
    queries = list(search_io.parse(io.StringIO(of("5")), "blast-xml"))
    assert [[len(hit) for hit in query] for query in queries] == [[3, 1, 2], []]
    ranges = [(hsp.query_start, hsp.query_end, hsp.hit_start, hsp.hit_end) for hsp in queries[0].hsps]
    assert ranges == [
        (pair.query_start, pair.query_start + n, pair.target_start, pair.target_start + n)
        for pair, n in zip(PAIRS, (24, 15, 12, 16, 10, 10), strict=True)
    ]


def test_json_nests_further_alignments_and_counts_both() -> None:
    document = json.loads(of("json"))
    assert (document["n_queries"], document["n_hits"], document["n_alignments"]) == (2, 3, 6)
    hits = document["queries"][0]["hits"]
    assert [len(hit.get("further_alignments", [])) for hit in hits] == [2, 0, 1]
    assert "further_alignments" not in hits[1]
    further = hits[0]["further_alignments"][0]
    assert (further["strand"], further["target_start"], further["cigar"]) == (-1, 31, "15M")
    assert set(hits[1]) - set(further) == {"target_ordinal", "target_id", "target_description", "target_length"}
    assert "n_alignments" not in json.loads(report("json", [query_hits(QUERY, PAIRS[3:5], scoring=DNA)], scoring=DNA))


def sam_lines(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if not line.startswith("@")]


def test_sam_has_one_primary_line_supplementary_ones_and_secondary_ones() -> None:
    lines = sam_lines(of("sam"))
    assert [(line[0], int(line[1]), line[2], line[3]) for line in lines] == [
        ("gene", 0, "chr1", "5"),
        ("gene", 2048 | 16, "chr1", "32"),
        ("gene", 2048, "chr1", "49"),
        ("gene", 256, "chr2", "4"),
        ("gene", 256, "chr3", "1"),
        ("gene", 256, "chr3", "14"),
        ("none", 4, "*", "0"),
    ]
    chimeric = [[tag for tag in line[11:] if tag.startswith("SA:Z:")] for line in lines]
    assert chimeric[0] == ["SA:Z:chr1,32,-,9S15M,255,0;chr1,49,+,12S12M,255,0;"]
    assert chimeric[1] == chimeric[2] == ["SA:Z:chr1,5,+,24M,255,0;"]
    assert chimeric[3:] == [[]] * 4


def test_pairs_of_align_have_supplementary_lines_of_the_best_target() -> None:
    file = io.BytesIO()
    hits = query_hits(QUERY, [PAIRS[3], PAIRS[0], PAIRS[1]], scoring=DNA, query_id="gene")
    write_report(parse_outfmt("sam"), [hits], SearchSummary("t", 0, 0, DNA, is_pairs=True), file)
    lines = sam_lines(file.getvalue().decode())
    assert [(int(line[1]), line[2]) for line in lines] == [(256, "chr2"), (0, "chr1"), (2064, "chr1")]


@pytest.mark.skipif(shutil.which("samtools") is None, reason="samtools is not installed")
@pytest.mark.parametrize("form", ["sam", "sam extended"])
def test_samtools_reads_the_sam(tmp_path: Path, form: str) -> None:
    def samtools(*arguments: object) -> str:
        run = subprocess.run(["samtools", *map(str, arguments)], capture_output=True, text=True, check=True)
        assert run.stderr == ""
        return run.stdout

    (tmp_path / "hits.sam").write_text(of(form))
    (tmp_path / "targets.fa").write_text(f">chr1\n{CHR1}\n>chr2\n{CHR2}\n>chr3\n{CHR3}\n")
    samtools("sort", "-O", "bam", "-o", tmp_path / "hits.bam", tmp_path / "hits.sam")
    assert [
        samtools("view", "-c", *flags, tmp_path / "hits.bam").strip()
        for flags in (
            [],
            ["-F", "0x904"],
            ["-f", "0x800"],
            ["-f", "0x100"],
            ["-f", "4"],
        )
    ] == ["7", "1", "2", "3", "1"]
    again = samtools("calmd", tmp_path / "hits.bam", tmp_path / "targets.fa")
    assert [tag for line in sam_lines(again) for tag in line if tag.startswith("NM:i:")] == ["NM:i:0"] * 6
    assert "2 + 0 supplementary" in samtools("flagstat", tmp_path / "hits.sam")


def test_gff_paf_and_parquet_have_a_row_per_alignment(tmp_path: Path) -> None:
    features = [line.split("\t") for line in of("gff").splitlines()[1:]]
    assert [(line[0], line[3], line[4], line[6]) for line in features] == [
        (row[0], *sorted(row[4:6], key=int), "+" if int(row[4]) < int(row[5]) else "-") for row in rows_of_6()
    ]
    paf = [line.split("\t") for line in of("paf").splitlines()]
    assert [(line[5], line[7]) for line in paf] == [(pair.target_id, str(pair.target_start)) for pair in PAIRS]
    path = tmp_path / "hits.parquet"
    summary = SearchSummary("targets", 3, 300, DNA, Statistics.of(DNA, db_residues=300, db_targets=3))
    write_report(parse_outfmt("parquet"), [HITS, EMPTY], summary, path)
    assert pq.read_table(path)["target_start"].to_pylist() == [pair.target_start for pair in PAIRS]


def test_fasta_has_whole_targets_once_and_every_aligned_part() -> None:
    assert [line for line in of("fasta").splitlines() if line.startswith(">")] == [
        ">chr1 first",
        ">chr2",
        ">chr3 third",
    ]
    parts = of("fasta aligned").split(">")[1:]
    assert [part.split()[0] for part in parts] == [
        "chr1:5-28",
        "chr1:46-32",
        "chr1:49-60",
        "chr2:4-19",
        "chr3:1-10",
        "chr3:14-23",
    ]
    assert parts[1].split("\n")[1] == QUERY[:15]


FORMS = sorted({*KINDS, "6 std qcovs hsp btop", "fasta aligned"} - {"parquet", "arrow"})


@pytest.mark.parametrize("form", FORMS)
def test_reports_do_not_depend_on_how_hits_are_divided(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    whole = of(form)
    for size in (1, 2, 4):
        monkeypatch.setattr(hits_module, "PART_HITS", size)
        assert of(form) == whole


@st.composite
def several_hits(draw: st.DrawFn) -> tuple[list[Pair], QueryHits]:
    """Alignments of a query, some with the same targets, which only have to be shown, not to be optimal."""
    query = draw(st.text("ACGT", min_size=1, max_size=30))
    pairs = draw(st.lists(random_pairs(query, DNA), max_size=6))
    ordinals = sorted(draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs))))
    first: dict[int, Pair] = {}
    for place, (pair, ordinal) in enumerate(zip(pairs, ordinals, strict=True)):
        named = first.setdefault(ordinal, pair)
        values: dict[str, Any] = {"ordinal": ordinal, "target_id": named.target_id}
        values["target"] = pair.target.ljust(1000, "A")
        pairs[place] = Pair(**(vars(pair) | values))
    return pairs, query_hits(query, pairs, scoring=DNA)


@given(several_hits())
def test_every_target_is_covered_by_the_letters_of_its_alignments(drawn: tuple[list[Pair], QueryHits]) -> None:
    pairs, hits = drawn
    letters: dict[int, set[int]] = {}
    for pair, start, end in zip(pairs, hits.query_start.tolist(), hits.query_end.tolist(), strict=True):
        letters.setdefault(pair.ordinal, set()).update(range(start, end))
    assert hits.query_covered.tolist() == [len(letters[pair.ordinal]) for pair in pairs]
    numbers = [number for _, run in groupby(pair.ordinal for pair in pairs) for number, _ in enumerate(run)]
    assert hits.places_in_target.tolist() == numbers
    for start, end in pairwise((0, len(hits) // 2, len(hits))):
        part = hits.part(start, end)
        assert part.query_covered.tolist() == hits.query_covered[start:end].tolist()
        assert part.part(0, len(part)).places_in_target.tolist() == numbers[start:end]


@given(several_hits())
def test_sam_of_a_query_has_one_line_that_is_neither_secondary_nor_supplementary(
    drawn: tuple[list[Pair], QueryHits],
) -> None:
    flags = [int(line[1]) for line in sam_lines(report("sam", [drawn[1]], scoring=DNA))]
    assert sum(not flag & 0x900 for flag in flags) == 1
    assert len(flags) == max(1, len(drawn[0]))


def test_whole_targets_are_read_once_each() -> None:
    read: list[int] = []

    def whole(ordinals: Any) -> Any:
        read.extend(ordinals.tolist())
        return whole_of(PAIRS, DNA)(ordinals)

    write_report(parse_outfmt("fasta"), [HITS], SearchSummary("t", 3, 300, DNA), io.BytesIO(), whole=whole)
    assert read == [3, 0, 7]
