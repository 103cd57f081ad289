"""Several databases in one search: the same, byte for byte, as one database of all inputs in their order."""

import json
from pathlib import Path

import pytest

import exaln as package
from command import Exaln
from exaln.database.database import Database
from exaln.errors import DatabaseError, InputError
from exaln.search.options import SearchOptions
from golden_data import GOLDEN

QUERIES = GOLDEN / "cudasw4q_part.fasta"
TARGETS = GOLDEN / "scop20_part.fasta"
ORDINALS = "6 qseqid sseqid sordinal score evalue bitscore cigar stitle"


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """A database, a FASTA file, and a database of two segments: the targets in three parts of different sizes."""
    records = [f">{record}" for record in TARGETS.read_text().split(">")[1:]]
    pieces = [records[:7], records[7:30], records[30:]]
    for number, piece in enumerate(pieces):
        (tmp_path / f"part{number}.fasta").write_text("".join(piece))
    first, third = (Database.build(tmp_path / f"part{number}.fasta", tmp_path / f"part{number}") for number in (0, 2))
    (tmp_path / "more.fasta").write_text("".join(records[-9:]))
    (tmp_path / "less.fasta").write_text("".join(records[30:-9]))
    third = Database.build(tmp_path / "less.fasta", tmp_path / "part2", force=True).append(tmp_path / "more.fasta")
    assert first.path is not None
    assert third.path is not None
    assert len(third.segments) == 2
    return [first.path, tmp_path / "part1.fasta", third.path]


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = Database.build(TARGETS, tmp_path / "whole").path
    assert path is not None
    return path


def given(parts: list[Path]) -> list[object]:
    """--db for each of them."""
    return [word for part in parts for word in ("--db", part)]


@pytest.mark.parametrize("outfmt", [ORDINALS, "0", "7", "10", "json", "table", "sam", "paf", "fasta"])
def test_reports_are_those_of_one_database(exaln: Exaln, parts: list[Path], whole: Path, outfmt: str) -> None:
    one = exaln("search", "--query", QUERIES, "--db", whole, "--evalue", 10, "--outfmt", outfmt)
    several = exaln("search", "--query", QUERIES, *given(parts), "--evalue", 10, "--outfmt", outfmt)
    assert one.code == several.code == 0
    assert several.out.replace(" ".join(map(str, parts)), str(whole)) == one.out != ""


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_tables_in_files_are_those_of_one_database(
    exaln: Exaln, parts: list[Path], whole: Path, tmp_path: Path, suffix: str
) -> None:
    import pyarrow.feather
    import pyarrow.parquet

    read = {"parquet": pyarrow.parquet.read_table, "arrow": pyarrow.feather.read_table}[suffix]
    exaln("search", "--query", QUERIES, "--db", whole, "--out", tmp_path / f"one.{suffix}")
    exaln("search", "--query", QUERIES, *given(parts), "--out", tmp_path / f"several.{suffix}")
    assert read(tmp_path / f"several.{suffix}").equals(read(tmp_path / f"one.{suffix}"))


@pytest.mark.parametrize("options", [["--min-identity", 30], ["--max-target-seqs", 2], ["--engine", "reference"]])
def test_filters_and_engines_see_one_database(
    exaln: Exaln, parts: list[Path], whole: Path, options: list[object], tmp_path: Path
) -> None:
    (tmp_path / "q.fasta").write_text(">" + QUERIES.read_text().split(">")[1])
    search = ["search", "--query", tmp_path / "q.fasta", *options, "--outfmt", ORDINALS]
    assert exaln(*search, *given(parts)).out == exaln(*search, "--db", whole).out != ""


def test_blasts_quoted_names_are_several_databases(exaln: Exaln, parts: list[Path], whole: Path) -> None:
    names = " ".join(str(part).removesuffix(".exaln") for part in parts)
    search = ["search", "-query", QUERIES, "-outfmt", ORDINALS]
    assert exaln(*search, "-db", names).out == exaln(*search, "-db", whole).out != ""


def test_a_name_with_a_blank_is_one_database(exaln: Exaln, parts: list[Path], tmp_path: Path) -> None:
    blank = tmp_path / "my proteins.fasta"
    blank.write_text(TARGETS.read_text())
    search = ["search", "-query", QUERIES, "-outfmt", ORDINALS]
    assert exaln(*search, "-db", blank).out == exaln(*search, "-db", TARGETS).out
    both = exaln("search", "-query", QUERIES, "-db", f"'{blank}' {parts[0]}", "-outfmt", "7")
    assert f"# Database: {blank} {parts[0]}\n" in both.out
    code, message = exaln.error(*search, "-db", "no such proteins")
    assert (code, "no such proteins: no such database" in message) == (2, True)
    code, message = exaln.error(*search, "-db", f"{parts[0]} missing")
    assert (code, "error: missing: no such database" in message) == (2, True)


def test_scores_are_those_of_one_database(exaln: Exaln, parts: list[Path], whole: Path) -> None:
    for options in ([], ["--top", 3]):
        score = ["score", "--query", QUERIES, *options]
        assert exaln(*score, *given(parts)).out == exaln(*score, "--db", whole).out != ""


def test_export_fetch_and_dbinfo_of_several(exaln: Exaln, parts: list[Path], whole: Path) -> None:
    assert exaln("export", *given(parts)).out == exaln("export", "--db", whole).out
    ids = [Database.open(path).segments[0].ids[0] for path in (parts[2], parts[0], parts[1])]
    assert exaln("fetch", *given(parts), *ids).out == exaln("fetch", "--db", whole, *ids).out
    facts = json.loads(exaln("dbinfo", *given(parts), "--json").out)
    assert (facts["sequences"], facts["residues"], facts["segments"]) == (60, 16624, 4)
    assert facts["path"] == " ".join(map(str, parts))


def test_lists_of_ids_hold_for_all_databases(exaln: Exaln, parts: list[Path], whole: Path, tmp_path: Path) -> None:
    ids = [target.split()[0] for target in TARGETS.read_text().split(">")[1:]]
    (tmp_path / "ids.txt").write_text("\n".join(ids[5:40]))
    search = ["search", "--query", QUERIES, "--outfmt", ORDINALS]
    for option in ("--ids", "--exclude-ids"):
        limited = [*search, option, tmp_path / "ids.txt"]
        assert exaln(*limited, *given(parts)).out == exaln(*limited, "--db", whole).out != ""


def test_shards_of_several_databases_merge_to_the_report_of_one(
    exaln: Exaln, parts: list[Path], whole: Path, tmp_path: Path
) -> None:
    code, message = exaln.error(
        "search", "--query", QUERIES, *given(parts), "--shard", "1/3", "--out", tmp_path / "x.parquet"
    )
    assert (code, "--shard needs a database, not a sequence file" in message) == (1, True)
    exaln("makedb", "--in", parts[1], "--db", tmp_path / "part1")
    parts[1] = tmp_path / "part1"
    files = [tmp_path / f"shard-{number}.parquet" for number in (1, 2, 3)]
    for number, file in enumerate(files, start=1):
        shard = ["--shard", f"{number}/3", "--out", file]
        assert exaln("search", "--query", QUERIES, *given(parts), *shard).code == 0
    wanted = exaln("search", "--query", QUERIES, "--db", whole, "--outfmt", ORDINALS).out
    assert exaln("merge", *files, "--outfmt", ORDINALS).out == wanted != ""


def test_python_takes_a_list_of_databases_and_paths(parts: list[Path], whole: Path) -> None:
    database = Database.open(parts[0])
    several = package.search(QUERIES, [database, *map(str, parts[1:])])
    assert several.to_arrow().equals(package.search(QUERIES, whole).to_arrow())
    assert (package.scores(QUERIES, parts) == package.scores(QUERIES, whole)).all()
    assert database.fetch(database.segments[0].ids[0])[0].ordinal < 7, "the database itself is unchanged"


def test_a_joined_database_knows_where_its_targets_are(parts: list[Path], whole: Path) -> None:
    joined, one = Database.open(parts), Database.open(whole)
    ids = [target.split()[0] for target in TARGETS.read_text().split(">")[1:]]
    assert joined.fetch(ids) == one.fetch(ids)
    assert (joined.length_histogram == one.length_histogram).all()
    assert joined.problems() == []
    again = Database.joined([joined, one])
    assert [target.ordinal for target in again.fetch(ids[0])] == [0, 60]
    assert again.info.n_targets == 120


def test_options_of_a_search_hold_for_all_databases(parts: list[Path], whole: Path) -> None:
    options = SearchOptions(max_hits=3, evalue=1.0)
    joined = package.search(QUERIES, Database.open(parts), options=options)
    assert joined.to_arrow().equals(package.search(QUERIES, whole, options=options).to_arrow())


def test_databases_of_different_letters_are_refused(exaln: Exaln, parts: list[Path], tmp_path: Path) -> None:
    bases = tmp_path / "bases.fasta"
    bases.write_text(">b\n" + "ACGT" * 20 + "\n")
    code, message = exaln.error("search", "--query", QUERIES, "--db", parts[0], "--db", bases)
    assert code == 1
    assert f"{parts[0]} has protein sequences, but {bases} has dna sequences" in message
    with pytest.raises(InputError, match="at least one is needed"):
        Database.open([])


def test_a_cluster_searches_one_database(exaln: Exaln, parts: list[Path]) -> None:
    code, message = exaln.error("search", "--query", QUERIES, *given(parts), "--cluster", "local:1")
    assert (code, "--cluster and --resume search one database; combine them with exaln makedb" in message) == (1, True)


@pytest.mark.parametrize("command", [["verify"], ["compact"], ["append", "--in", TARGETS], ["makedb", "--in", TARGETS]])
def test_writers_and_verify_take_one_database(exaln: Exaln, parts: list[Path], command: list[object]) -> None:
    code, message = exaln.error(*command, *given(parts))
    assert (code, f"--db is given 3 times, but {command[0]} takes one" in message) == (1, True)
    with pytest.raises(DatabaseError, match="not a single database on disk; build one with a path first"):
        Database.open(parts).compact()
