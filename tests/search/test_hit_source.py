"""Hits that know their sequences: their alignments, and reports with the bytes of the command line."""

from __future__ import annotations

import io
import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import exaln
from command import Exaln
from exaln.errors import DatabaseError, ExalnWarning, InputError
from exaln.pairwise.alignment_drawing import plotted_pair
from exaln.report.formats import EXTENSIONS, KINDS, SEARCH_ONLY
from golden_data import GOLDEN
from hit_samples import other_strand

QUERIES, TARGETS = GOLDEN / "cudasw4q_part.fasta", GOLDEN / "scop20_part.fasta"
FORMATS = [
    *KINDS,
    "7 std qcovs btop cigar",
    "fasta aligned",
    "sam extended",
    "paf extended",
    "10 qseqid sseqid qseq sseq",
]


def dna_files(folder: Path) -> tuple[Path, Path]:
    """Reads of both strands of two chromosomes, one with a gap, one unrelated."""
    chance = random.Random(17)
    first, second = ("".join(chance.choices("ACGT", k=n)) for n in (3000, 500))
    reads = {
        "plus": first[100:220],
        "minus": other_strand(first[1000:1060] + "GATTACA" + first[1060:1130]),
        "nothing": "ACACACACAC",
        "<b>second</b>": other_strand(second[30:90])[:40] + "N" + other_strand(second[30:90])[41:],
    }
    query, target = folder / "reads.fasta", folder / "chromosomes.fasta"
    query.write_text("".join(f">{name} a read\n{letters}\n" for name, letters in reads.items()))
    target.write_text(f">chr1 long & <i>odd</i>\n{first}\n>chr2\n{second.lower()}\n")
    return query, target


CASES: dict[str, dict[str, Any]] = {
    "protein": {"evalue": 1.0, "max_target_seqs": 4},
    "fractions": {"evalue": 10.0, "min_score": 45},
    "dna": {"evalue": 1e-3},
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path, dict[str, Any], Any]:
    options = CASES[request.param]
    if request.param == "dna":
        return *dna_files(tmp_path), options, None
    scoring = exaln.Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5) if request.param == "fractions" else None
    return QUERIES, TARGETS, options, scoring


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Exaln:
    return Exaln(capsys)


@pytest.mark.filterwarnings("ignore::exaln.errors.ExalnWarning")
def test_write_gives_the_bytes_of_the_command_line_in_every_format(
    run: Exaln, case: tuple[Path, Path, dict[str, Any], Any], tmp_path: Path
) -> None:
    query, target, options, scoring = case
    chosen = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    chosen += ["--gap-open", 9.5, "--gap-extend", 0.5] if scoring is not None else []
    hits = exaln.search(query, str(target), scoring=scoring, **options)
    assert len(hits) >= 3
    ways = [(f"report{number}", outfmt) for number, outfmt in enumerate(FORMATS)]
    ways += [(f"report{extension}", None) for extension in EXTENSIONS]
    ways += [("report.tsv.gz", None), ("report.json.zst", None)]
    if scoring is not None:  # without E-values BLAST's formats are refused
        ways = [(name, outfmt) for name, outfmt in ways if outfmt not in SEARCH_ONLY and not name.endswith(".xml")]
    for name, outfmt in ways:
        theirs, ours = tmp_path / f"cli-{name}", tmp_path / f"python-{name}"
        words = ["--outfmt", *outfmt.split()] if outfmt else []
        result = run("search", "--query", query, "--db", target, "--quiet", *chosen, "--out", theirs, *words)
        assert result.code == 0, result.err
        hits.write(ours, outfmt)
        assert ours.read_bytes() == theirs.read_bytes(), (name, outfmt)
        file = io.BytesIO()
        if not name.endswith((".gz", ".zst")):
            hits.write(file, outfmt or EXTENSIONS[theirs.suffix])
            assert file.getvalue() == theirs.read_bytes()


def test_alignments_of_hits_are_those_of_the_pairs(case: tuple[Path, Path, dict[str, Any], Any]) -> None:
    query, target, options, scoring = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)
        hits = exaln.search(query, target, scoring=scoring, **options)
    queries = {one.id: one.sequence for one in exaln.Database.open(query)}
    targets = {one.id: one.sequence.upper() for one in exaln.Database.open(target)}
    assert {hit.strand for hit in hits} == ({1, -1} if "chromosomes" in target.name else {1})
    for hit in hits:
        found = hit.alignment()
        assert (found.score, found.cigar, found.strand) == (hit.score, hit.cigar, hit.strand)
        assert (found.query_sequence, found.target_sequence) == (queries[hit.query_id], targets[hit.target_id])
        assert (found.query_id, found.target_id) == (hit.query_id, hit.target_id)
        assert (found.bits, found.evalue) == (hit.bits, hit.evalue)  # of the search, not of this pair alone
        turned = other_strand_with_gaps if hit.strand < 0 else str
        pair = exaln.align(turned(queries[hit.query_id]), targets[hit.target_id], scoring=found.scoring)
        assert (turned(found.query_aligned), turned(found.target_aligned)) == (pair.query_aligned, pair.target_aligned)
        assert found.query_aligned.replace("-", "") == queries[hit.query_id][hit.query_start : hit.query_end]
        assert found.identities == hit.identities == sum(map(str.__eq__, found.query_aligned, found.target_aligned))
        assert len(found.query_aligned) == hit.columns


def test_reads_keep_their_qualities_in_sam(run: Exaln, tmp_path: Path) -> None:
    query, target = dna_files(tmp_path)
    reads = tmp_path / "reads.fastq"
    records = list(exaln.Database.open(query))
    reads.write_text("".join(f"@{one.id}\n{one.sequence}\n+\n{'5' * len(one.sequence)}\n" for one in records))
    exaln.search(reads, str(target)).write(tmp_path / "python.sam")
    assert run("search", "--query", reads, "--db", target, "--out", tmp_path / "cli.sam", "--quiet").code == 0
    assert (tmp_path / "python.sam").read_bytes() == (tmp_path / "cli.sam").read_bytes()
    assert "5" * 20 in (tmp_path / "cli.sam").read_text()


def test_a_database_that_changed_gives_no_alignment_and_no_report(tmp_path: Path) -> None:
    query, target = dna_files(tmp_path)
    database = exaln.Database.build(target, tmp_path / "db")
    hits = exaln.search(query, database)
    segment = Path(database.segments[0].name)
    segment.write_bytes(segment.read_bytes())
    for call in (hits[0].alignment, lambda: hits.write(tmp_path / "x.tsv")):
        with pytest.raises(DatabaseError, match=r"\.arrow: changed while it was in use"):
            call()
    assert not (tmp_path / "x.tsv").exists()


def test_an_alignment_on_the_minus_strand_draws_plots_and_goes_to_biopython(tmp_path: Path) -> None:
    hits = exaln.search(*dna_files(tmp_path), evalue=1e-3)
    (hit,) = hits.of("minus")
    alignment = hit.alignment()
    lines = str(alignment).split("\n")
    assert lines[0].endswith(", minus strand")
    assert lines[2].split()[:2] == ["Query", "1"]
    assert lines[4].split()[:2] == ["Sbjct", str(hit.target_end)]
    pair = plotted_pair([alignment])
    target, query = pair.alignments[0].corners()
    assert (target[0], target[-1]) == (hit.target_end, hit.target_start)
    assert (query[0], query[-1]) == (hit.query_start, hit.query_end)
    assert pair.summary.endswith(", minus strand")
    alignment.plot(tmp_path / "minus.svg")
    assert (tmp_path / "minus.svg").stat().st_size > 1000
    bio = alignment.to_biopython()
    target_row, query_row = str(bio[0]), str(bio[1])
    assert query_row == other_strand_with_gaps(alignment.query_aligned)
    assert target_row == other_strand_with_gaps(alignment.target_aligned)


def test_a_plot_of_a_hit_has_all_its_alignments(tmp_path: Path) -> None:
    unit = "ACGTTGCATGCATTTACGGACCATCGGATTACGATCGATT"
    target = unit + "CCCCC" + other_strand(unit) + "GGGGG" + unit[:35]
    fasta = tmp_path / "t.fasta"
    fasta.write_text(f">t\n{target}\n")
    (hit,) = exaln.search({"q": unit}, fasta, max_hsps=5, evalue=1e-3)
    assert [one.strand for one in hit.alignments] == [1, -1, 1]
    hit.plot(tmp_path / "hit.html")
    page = (tmp_path / "hit.html").read_text()
    assert "q x t" in page
    assert "local, 3 alignments, best score 80, 1 on the minus strand" in page
    assert [one.alignment().text() in page for one in hit.alignments] == [True, True, True]
    with pytest.raises(InputError, match="comes from a table, which has no sequences"):
        exaln.Hits(exaln.search({"q": unit}, fasta).to_arrow())[0].plot()


def other_strand_with_gaps(row: str) -> str:
    return "".join("-" if letter == "-" else other_strand(letter) for letter in reversed(row))


def test_hits_of_one_query_by_index_or_id() -> None:
    hits = exaln.search({"a": "HEAGAWGHEE", "b": "MKVLAAGIVG", "c": "PAWHEAE"}, TARGETS, evalue=1e4, max_hsps=1)
    for number, name in enumerate("abc"):
        own = hits.of(number)
        assert own == hits.of(name)
        assert list(own) == [hit for hit in hits if hit.query_id == name]
    assert sum(len(hits.of(name)) for name in "abc") == len(hits)
    assert len(exaln.search({"a": "HEAGAWGHEE", "b": "GG"}, TARGETS).of("b")) == 0
    for wrong in (3, "d", -1, None, 1.5):
        with pytest.raises(InputError, match=r"^query is .*; expected"):
            hits.of(wrong)  # type: ignore[arg-type]
    assert len(exaln.Hits(hits.to_arrow()).of("d")) == 0


def test_a_report_of_some_hits_names_only_their_queries(tmp_path: Path) -> None:
    hits = exaln.search(*dna_files(tmp_path), evalue=1e-3)
    assert {hit.query_id for hit in hits} == {"plus", "minus", "<b>second</b>"}
    file = io.BytesIO()
    hits.of("minus").write(file, "7")
    assert [line for line in file.getvalue().decode().split("\n") if "# Query" in line] == ["# Query: minus a read"]
    hits[:].write(tmp_path / "all.json")
    hits.write(tmp_path / "same.json")
    assert (tmp_path / "all.json").read_bytes() == (tmp_path / "same.json").read_bytes()
    assert b"nothing" in (tmp_path / "all.json").read_bytes()
    hits[::-1].write(tmp_path / "reverse.tsv")
    hits.write(tmp_path / "forward.tsv")
    reverse, forward = ((tmp_path / name).read_text().splitlines() for name in ("reverse.tsv", "forward.tsv"))
    assert reverse == forward[::-1]


def test_hits_without_sequences_raise_a_one_line_error(tmp_path: Path) -> None:
    hits = exaln.search("HEAGAWGHEE", TARGETS, evalue=1e4, max_hsps=1)
    hits.write(tmp_path / "hits.parquet")
    assert pickle.loads(pickle.dumps(hits)) == hits
    for copy in (
        pickle.loads(pickle.dumps(hits))[0],
        exaln.Hits(pq.read_table(tmp_path / "hits.parquet"))[0],
        exaln.Hits(hits.to_arrow())[0],
        pickle.loads(pickle.dumps(hits[0])),
    ):
        assert copy == hits[0]
        with pytest.raises(InputError, match="comes from a table, which has no sequences"):
            copy.alignment()


def test_notebooks_get_tables_whose_texts_are_escaped(tmp_path: Path) -> None:
    query, target = dna_files(tmp_path)
    hits = exaln.search(query, target, evalue=1e-3)
    alignment = hits.of("<b>second</b>")[0].alignment()
    many = exaln.align_many({"<script>": "ACGT", "b": "AC"}, {"&amp;": "ACGT"})
    for shown, needed in (
        (hits, ["&lt;b&gt;second&lt;/b&gt;", "<td>chr2</td>", "Hits: 3 hits"]),
        (alignment, ["&lt;b&gt;second&lt;/b&gt; x chr2", "<pre>score", "Sbjct"]),
        (many, ["&lt;script&gt;", "&amp;amp;", "2 pairs"]),
        (exaln.Database.open(target), ["long &amp; &lt;i&gt;odd&lt;/i&gt;", "<td>3000</td>"]),
    ):
        html = shown._repr_html_()  # type: ignore[attr-defined]
        assert all(text in html for text in needed), html
        assert not any(text in html for text in ("<b>", "<script>", "<i>"))
    assert "..." in exaln.search(QUERIES, TARGETS, evalue=1e3, max_hsps=1)._repr_html_()
    assert "..." in exaln.align_many(["ACGT"] * 11, ["ACGT"])._repr_html_()
    assert "0 hits" in exaln.search("GG", TARGETS)._repr_html_()


def test_btop_is_that_of_the_tabular_report(tmp_path: Path) -> None:
    query, target = dna_files(tmp_path)
    hits = exaln.search(query, str(target), evalue=1e-3)
    file = io.BytesIO()
    hits.write(file, "6 btop")
    wanted = file.getvalue().decode().splitlines()
    assert hits.to_arrow(btop=True)["btop"].to_pylist() == wanted
    assert [hit.alignment().btop for hit in hits] == wanted
    backwards = hits[::-1].to_arrow(btop=True)
    assert backwards["btop"].to_pylist() == wanted[::-1]
    assert backwards.column_names[:-1] == hits.to_arrow().column_names
