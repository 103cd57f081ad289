"""exaln mask, makedb --mask, and the masks of searches on the command line."""

from pathlib import Path

import pytest

from command import Exaln
from golden_data import GOLDEN, fasta

QUERIES = GOLDEN / "cudasw4q_part.fasta"
POLY = "MKVLAAGHTWERDNPYFSCIM" + "Q" * 40 + "WHIDEVRKALPTGNSCYMFHE"


@pytest.fixture
def proteins(tmp_path: Path) -> Path:
    path = tmp_path / "p.fasta"
    path.write_text(f">one first\n{POLY}\n>two\nMKVLAAGHTWERDNPYFSCIM\n>three\n{'Q' * 60}\n")
    return path


@pytest.fixture
def dna(tmp_path: Path) -> Path:
    path = tmp_path / "d.fasta"
    path.write_text(f">d\nACGTTGCACTGATCGGATCC{'T' * 30}CGATAGCTTGCCAGTACGAT\n")
    return path


def test_masked_fasta_has_the_stretches_in_lower_case_or_as_unknown_letters(exaln: Exaln, proteins: Path) -> None:
    lower = exaln("mask", "--in", proteins, "--width", "0")
    assert lower.code == 0
    assert lower.out.splitlines()[1] == POLY.replace("Q" * 40, "q" * 40)
    assert "100 residues masked by seg" in lower.err
    hard = exaln("mask", "--in", proteins, "--width", "0", "--hard")
    assert hard.out.splitlines()[1] == POLY.replace("Q" * 40, "X" * 40)
    assert hard.out.splitlines()[0] == ">one first"


def test_intervals_are_written_as_segmasker_does_and_as_bed(exaln: Exaln, proteins: Path, dna: Path) -> None:
    lines = exaln("mask", "-in", proteins, "-outfmt", "interval").out.splitlines()
    assert lines == [">one first", "21 - 60", ">two", ">three", "0 - 59"]
    assert exaln("mask", "--in", proteins, "--outfmt", "bed").out == "one\t21\t61\nthree\t0\t60\n"
    assert exaln("mask", "--in", dna, "--outfmt", "bed").out == "d\t20\t50\n"
    assert exaln("mask", "--in", dna, "--outfmt", "bed", "--method", "tantan").out.startswith("d\t2")


def test_a_database_is_masked_in_the_order_of_its_input(exaln: Exaln, proteins: Path, tmp_path: Path) -> None:
    exaln("makedb", "--in", proteins, "--db", tmp_path / "p")
    for outfmt in ("fasta", "interval", "bed"):
        of_file = exaln("mask", "--in", proteins, "--outfmt", outfmt)
        assert exaln("mask", "--db", tmp_path / "p", "--outfmt", outfmt).out == of_file.out


def test_masks_are_stored_and_read_again(exaln: Exaln, proteins: Path, tmp_path: Path) -> None:
    built = exaln("makedb", "--in", proteins, "--db", tmp_path / "p", "--mask", "seg")
    assert built.code == 0
    masked = exaln("mask", "--in", proteins).out
    assert exaln("export", "--db", tmp_path / "p").out == masked
    again = exaln("mask", "--db", tmp_path / "p", "--method", "lowercase")
    assert again.out == masked
    exaln("append", "--in", proteins, "--db", tmp_path / "p", "--mask", "seg 12 0 0")
    assert (
        exaln("export", "--db", tmp_path / "p").out
        == masked + exaln("mask", "--in", proteins, "--method", "seg 12 0 0").out
    )
    assert exaln("verify", "--db", tmp_path / "p").code == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--method", "dust"], "dust masks nucleotides, not protein sequences; use seg"),
        (["--method", "sge"], "--method: method is 'sge'; expected one of seg, dust, tantan, lowercase"),
        (["--method", "seg 12 3 2"], "--method: locut is 3, which is above hicut, 2; it must not be"),
        (["--hard", "--outfmt", "bed"], "--hard is for FASTA; leave it out with --outfmt bed"),
        (["--db", "p"], "name sequence files with --in, or a database with --db"),
    ],
)
def test_what_cannot_be_masked_is_one_line(exaln: Exaln, proteins: Path, options: list[str], problem: str) -> None:
    result = exaln("mask", "--in", proteins, *options)
    assert (result.code, result.out) == (1, "")
    assert result.err.strip().endswith(problem)
    assert len(result.err.splitlines()) == 1


def test_seg_on_dna_and_empty_files(exaln: Exaln, dna: Path, tmp_path: Path) -> None:
    assert "seg masks proteins, not dna sequences; use dust" in exaln("mask", "--in", dna, "--method", "seg").err
    (tmp_path / "empty").write_text("")
    assert "no sequences found" in exaln("mask", "--in", tmp_path / "empty").err
    assert "seg masks proteins" in exaln("makedb", "--in", dna, "--db", tmp_path / "d", "--mask", "seg").err


def hits(exaln: Exaln, query: Path, database: Path, *options: str) -> list[str]:
    result = exaln("search", "-query", query, "-db", database, "-outfmt", "6 qseqid sseqid", "-max_hsps", "1", *options)
    assert result.code == 0, result.err
    return [line.replace("\t", " ") for line in result.out.splitlines() if line.startswith("three")]


def test_masks_of_queries_and_targets(exaln: Exaln, proteins: Path, tmp_path: Path) -> None:
    database = tmp_path / "p.exaln"
    exaln("makedb", "--in", proteins, "--db", database, "--mask", "seg")
    both = ["three three", "three one"]
    assert sorted(hits(exaln, proteins, database)) == sorted(both)
    for options in (
        ["--query-mask", "seg"],
        ["-seg", "yes"],
        ["-seg", "12 2.2 2.5"],
        ["-seg", "yes", "-soft_masking", "true"],
        ["--query-mask", "seg", "--query-masking", "soft"],
        ["--target-mask", "hard"],
        ["--target-mask", "soft"],
    ):
        assert hits(exaln, proteins, database, *options) == []
    for options in (["-seg", "no"], ["-dust", "no"], ["--query-mask", "none"], ["-lcase_masking"]):
        assert sorted(hits(exaln, proteins, database, *options)) == sorted(both)


def test_lower_case_queries_are_masked_if_asked_for(exaln: Exaln, proteins: Path, tmp_path: Path) -> None:
    lower = tmp_path / "lower.fasta"
    lower.write_text(f">three\n{'q' * 60}\n")
    assert len(hits(exaln, lower, proteins)) == 2
    assert hits(exaln, lower, proteins, "-lcase_masking") == []
    assert hits(exaln, lower, proteins, "--query-mask", "lowercase", "--query-masking", "soft") == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["-dust", "yes"], "dust masks nucleotides, not protein sequences; use seg"),
        (["-seg", "maybe"], "'seg maybe': seg takes up to 3 numbers"),
        (["-seg", "yes", "--query-mask", "none"], "--query-mask is none, but another option masks the queries"),
        (["--query-masking", "hard", "-soft_masking", "true"], "--query-masking is hard, but -soft_masking true"),
        (["-db_soft_mask", "11"], "use --target-mask soft"),
        (["-db_hard_mask", "11"], "use --target-mask hard"),
    ],
)
def test_masks_that_cannot_be_are_one_line(exaln: Exaln, proteins: Path, options: list[str], problem: str) -> None:
    result = exaln("search", "--query", proteins, "--db", proteins, *options)
    assert (result.code, result.out) == (1, "")
    assert problem in result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    "masks", [["--query-mask", "seg"], ["-seg", "yes", "-soft_masking", "true"], ["--target-mask", "soft"]]
)
def test_shards_and_workers_find_the_same(exaln: Exaln, tmp_path: Path, masks: list[str]) -> None:
    database, report = tmp_path / "t.exaln", ["--outfmt", "6 std qseq sseq"]
    queries = tmp_path / "q.fasta"
    queries.write_text("".join(f">{id_}\n{letters}\n" for id_, letters in fasta(QUERIES.name).items()))
    exaln("makedb", "--in", queries, GOLDEN / "scop20_part.fasta", "--db", database, "--mask", "seg")
    search = ["search", "--query", queries, "--db", database, "--evalue", "1", *masks]
    whole = exaln(*search, *report)
    assert whole.out.count("\n") >= 10
    parts = [tmp_path / f"{number}.parquet" for number in (1, 2)]
    for number, part in enumerate(parts, 1):
        assert exaln(*search, "--shard", f"{number}/2", "--out", part).code == 0
    assert exaln("merge", *parts, *report).out == whole.out
    resumed = exaln(*search, "--resume", tmp_path / "work", *report)
    assert (resumed.code, resumed.out) == (0, whole.out), resumed.err
