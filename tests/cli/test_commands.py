"""The command line: what it prints, where, and its exit codes. Processes, signals and pipes: test_process.py."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from command import Exaln
from exaln import __version__
from exaln.cli import about_commands, cli, panels
from exaln.database.database import Database
from golden_data import GOLDEN, fasta, scores

QUERIES = str(GOLDEN / "cudasw4q_part.fasta")
TARGETS = str(GOLDEN / "scop20_part.fasta")
GLOBINS = str(GOLDEN / "hba_hbb.fasta")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return Database.build(TARGETS, tmp_path / "targets").path or tmp_path


# Help


@pytest.mark.parametrize("command", cli.commands)
def test_every_help_page_is_short_and_has_an_example(exaln: Exaln, command: str) -> None:
    result = exaln(command, "--help")
    assert (result.code, result.err) == (0, "")
    assert f"Example: exaln {command} " in " ".join(result.out.split()) + " "
    assert len(result.out.splitlines()) < {"search": 175, "explain": 145, "align": 95, "score": 75, "mask": 55}.get(
        command, 50
    )
    assert exaln(command, "-h").out == result.out


def test_the_main_help_names_all_commands(exaln: Exaln) -> None:
    result = exaln("--help")
    assert result.code == 0
    assert all(f"{command} " in result.out for command in cli.commands)
    assert "_EXALN_COMPLETE" in result.out
    assert exaln().out == result.out
    assert exaln("--version").out == f"exaln, version {__version__}\n"


PANELS = ["Input", "Output", "Scoring", "Filters", "Masks", "Engine", "Cluster", "Messages"]


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("search", []),
        ("align", ["Masks", "Cluster"]),
        ("score", ["Masks", "Cluster"]),
        ("makedb", ["Scoring", "Filters", "Masks", "Cluster"]),
    ],
)
def test_the_help_has_panels_in_this_order(exaln: Exaln, command: str, missing: list[str]) -> None:
    result = exaln(command, "--help")
    titles = [line.split()[1] for line in result.out.splitlines() if line.startswith("╭─")]
    assert titles == [panel for panel in PANELS if panel not in missing]


def test_every_option_of_search_is_in_a_panel(exaln: Exaln) -> None:
    """Options that are in none would be in a panel called Options."""
    command = cli.commands["search"]
    listed = [name for options in panels.PANELS.values() for name in options]
    assert len(listed) == len(set(listed))
    assert {param.opts[0] for param in command.params if not getattr(param, "hidden", False)} <= set(listed)


@pytest.mark.parametrize("command", ["search", "merge", "align"])
def test_the_help_names_sam_and_paf(exaln: Exaln, command: str) -> None:
    text = exaln(command, "--help").out
    assert "sam" in text
    assert "paf" in text


def test_short_names_stand_for_long_ones_in_every_command() -> None:
    for name, command in cli.commands.items():
        options = {long: param.opts for param in command.params for long in param.opts}
        for long, short in (("--query", "-q"), ("--db", "-d"), ("--out", "-o")):
            assert short in options.get(long, [short]), name


def test_short_names_beside_those_of_blast(exaln: Exaln, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    expected = exaln("search", "--query", GLOBINS, "--db", GLOBINS).out
    for words in (
        ["-q", GLOBINS, "-d", GLOBINS, "-o", out],
        [f"-q={GLOBINS}", f"-d={GLOBINS}", f"-o={out}"],
        ["-query", GLOBINS, "-d", GLOBINS, "-out", out],
        ["-q", GLOBINS, "-subject", GLOBINS, "--out", out],
    ):
        out.unlink(missing_ok=True)
        assert exaln("search", *words).code == 0
        assert out.read_text() == expected
    code, message = exaln.error("search", "-q", "-d", GLOBINS)
    assert (code, "option '--query' needs a value, but '-d' follows" in message) == (1, True)


# Databases


def test_makedb_says_what_it_built(exaln: Exaln, tmp_path: Path) -> None:
    result = exaln("makedb", "--in", TARGETS, "--db", tmp_path / "new")
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith(f"exaln: {tmp_path}/new.exaln: 60 protein sequences, 16,624 residues in ")
    assert re.fullmatch(r"[0-9.]+ s( \([0-9.,]+ MB/s\))?\n", result.err.rpartition(" in ")[2])
    assert Database.open(tmp_path / "new").n_targets == 60


def test_makedb_with_the_names_of_makeblastdb(exaln: Exaln, tmp_path: Path) -> None:
    assert exaln("makedb", "-in", TARGETS, "-dbtype", "prot", "-out", tmp_path / "new", "--quiet").err == ""
    assert Database.open(tmp_path / "new").alphabet.name == "protein"


def test_makedb_takes_many_files_in_their_order(exaln: Exaln, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(f">{name}\nMKV\n")
    files = [tmp_path / name for name in "cab"]
    assert exaln("makedb", "--in", *files[:2], "--db", tmp_path / "new", "--in", files[2]).code == 0
    assert [target.id for target in Database.open(tmp_path / "new").fetch(["a", "b", "c"])] == ["a", "b", "c"]
    assert exaln("export", "--db", tmp_path / "new").out == ">c\nMKV\n>a\nMKV\n>b\nMKV\n"


def test_makedb_reads_stdin(exaln: Exaln, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b">a\nHPPH\n")))
    assert exaln("makedb", "--in", "-", "--db", tmp_path / "new", "--alphabet", "HP").code == 0
    assert Database.open(tmp_path / "new").alphabet.letters == "HP"
    code, message = exaln.error("makedb", "--in", "-", "-", "--db", tmp_path / "more")
    assert code == 1
    assert "stdin (-) is named twice" in message


def test_makedb_replaces_only_with_force(exaln: Exaln, database: Path) -> None:
    code, message = exaln.error("makedb", "--in", GLOBINS, "--db", database)
    assert code == 1
    assert "--force" in message
    assert exaln("makedb", "--in", GLOBINS, "--db", database, "--force").code == 0
    assert Database.open(database).n_targets == 2


def test_append_adds_a_segment_and_compact_merges_it(exaln: Exaln, database: Path) -> None:
    assert "2 added, now 62 protein sequences" in exaln("append", "--in", GLOBINS, "--db", database).err
    assert json.loads(exaln("dbinfo", "--db", database, "--json").out)["segments"] == 2
    assert "2 segments before, 1 now" in exaln("compact", "--db", database).err
    assert Database.open(database).n_targets == 62


def test_dbinfo_describes_a_database(exaln: Exaln, database: Path) -> None:
    lines = exaln("dbinfo", "--db", database).out.splitlines()
    assert ["sequences", "60"] in [line.split() for line in lines]
    facts = json.loads(exaln("dbinfo", "--db", database, "--json").out)
    assert (facts["residues"], facts["shortest"], facts["longest"]) == (16624, 21, 1504)
    assert json.loads(exaln("dbinfo", "--db", GLOBINS, "--json").out)["path"] is None


def test_verify_says_what_was_checked(exaln: Exaln, database: Path) -> None:
    result = exaln("verify", "--db", database)
    assert result.code == 0
    assert "fine: 1 segment, 60 protein sequences, 16,624 residues; checked hashes" in result.err


@pytest.mark.parametrize("command", ["verify", "export", "score --query " + GLOBINS])
def test_a_damaged_segment_is_named(exaln: Exaln, database: Path, command: str) -> None:
    (segment,) = database.glob("*.arrow")
    damaged = bytearray(segment.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    segment.write_bytes(damaged)
    code, message = exaln.error(*command.split(), "--db", database)
    assert code == 2
    assert str(segment) in message


def test_fetch_prints_sequences_by_id(exaln: Exaln, database: Path, tmp_path: Path) -> None:
    first, second = list(fasta("scop20_part.fasta"))[:2]
    result = exaln("fetch", "--db", database, second, first, "--width", "0")
    assert [line.split()[0] for line in result.out.splitlines()[::2]] == [f">{second}", f">{first}"]
    assert result.out.splitlines()[1] == fasta("scop20_part.fasta")[second]
    (tmp_path / "ids").write_text(f"{second}\n\n>{first} the rest of a header\n")
    arguments = ["fetch", "-db", database, "-entry_batch", tmp_path / "ids", "-line_length", "0"]
    assert exaln(*arguments).out == result.out
    assert exaln(*arguments, "--out", tmp_path / "out.fasta").out == ""
    assert (tmp_path / "out.fasta").read_text() == result.out


def test_fetch_prints_nothing_if_an_id_is_unknown(exaln: Exaln, database: Path, tmp_path: Path) -> None:
    code, message = exaln.error("fetch", "--db", database, "d1gkma_", "nobody", "--out", tmp_path / "out")
    assert (code, "nobody" in message) == (1, True)
    assert not (tmp_path / "out").exists()
    assert exaln.error("fetch", "--db", database)[0] == 1
    code, message = exaln.error("fetch", "--db", database, "--ids", tmp_path / "missing")
    assert (code, f"{tmp_path}/missing" in message) == (1, True)


def test_export_is_lossless(exaln: Exaln, tmp_path: Path) -> None:
    text = ">one a description\nMKVacdW\n>two\n\n>three\nUOX*\n"
    (tmp_path / "in.fasta").write_text(text)
    assert exaln("makedb", "--in", tmp_path / "in.fasta", "--db", tmp_path / "new").code == 0
    exaln("export", "--db", tmp_path / "new", "--out", tmp_path / "out.fasta")
    assert (tmp_path / "out.fasta").read_text() == text.replace("\n\n", "\n")


# Scores


@pytest.mark.parametrize("engine", ["cpu", "reference", "auto"])
def test_all_scores_are_those_of_the_golden_table(exaln: Exaln, database: Path, engine: str) -> None:
    query = QUERIES if engine != "reference" else GLOBINS
    result = exaln("score", "--query", query, "--db", database, "--engine", engine)
    assert result.code == 0
    names = list(fasta(Path(query).name))
    assert [row[:2] for row in result.rows] == [[q, t] for q in names for t in fasta("scop20_part.fasta")]
    if query == QUERIES:
        assert {(q, t): int(s) for q, t, s in result.rows} == scores()
    else:
        assert result.rows == exaln("score", "--query", query, "--db", database, "--engine", "cpu").rows


def test_scores_with_the_names_of_blastp(exaln: Exaln, tmp_path: Path) -> None:
    options = ["-matrix", "BLOSUM62", "-gapopen", "11", "-gapextend", "1", "-num_threads", "1"]
    arguments = ["score", "-query", GLOBINS, "-subject", GLOBINS, "-out", tmp_path / "out.tsv", *options]
    assert exaln(*arguments).out == ""
    assert (tmp_path / "out.tsv").read_text().splitlines()[1] == "HBA_HUMAN\tHBB_HUMAN\t285"


def test_fractional_scores_are_in_the_units_of_the_user(exaln: Exaln) -> None:
    arguments = ["score", "--query", GLOBINS, "--db", GLOBINS, "--gapopen", "9.5", "--gapextend", "0.5"]
    assert [row[2] for row in exaln(*arguments).rows] == ["733", "293.5", "293.5", "780"]
    assert [row[2] for row in exaln(*arguments, "--min-score", "293.6").rows] == ["733", "780"]
    assert [row[2] for row in exaln(*arguments, "--min-score", "293.5", "--top", "9").rows] == [
        "733",
        "293.5",
        "780",
        "293.5",
    ]


def test_score_of_nucleotides(exaln: Exaln, tmp_path: Path) -> None:
    (tmp_path / "q").write_text(">q\nAGCACACA\n")
    (tmp_path / "t").write_text(">t\nACACACTA\n")
    options = ["-reward", "2", "-penalty", "-1", "--gapopen", "0", "--gapextend", "1"]
    assert exaln("score", "--query", tmp_path / "q", "--db", tmp_path / "t", *options).out == "q\tt\t12\n"


def test_the_alphabet_must_be_that_of_the_database(exaln: Exaln, database: Path) -> None:
    code, message = exaln.error("score", "--query", GLOBINS, "--db", database, "--alphabet", "dna")
    assert (code, "a protein database, but --alphabet says dna" in message) == (1, True)


def test_score_prints_the_best_targets(exaln: Exaln, database: Path) -> None:
    order = {target: place for place, target in enumerate(fasta("scop20_part.fasta"))}
    expected = []
    for query in fasta("cudasw4q_part.fasta"):
        pairs = sorted((-score, order[t], t) for (q, t), score in scores().items() if q == query)
        expected += [[query, target, str(-score)] for score, _, target in pairs[:7]]
    assert exaln("score", "--query", QUERIES, "--db", database, "--top", "7").rows == expected
    assert exaln("score", "--query", QUERIES, "--db", database, "-max_target_seqs", "7").rows == expected


def test_the_score_table_shows_descriptions(exaln: Exaln, database: Path) -> None:
    result = exaln("score", "--query", GLOBINS, "--db", database, "--top", "2", "--format", "table")
    assert "Flavohemoglobin, N-terminal domain" in result.out
    assert max(map(len, result.out.splitlines())) <= 120
    code, message = exaln.error("score", "--query", GLOBINS, "--db", database, "--format", "table")
    assert (code, "--max-target-seqs" in message) == (1, True)


def test_nothing_in_a_header_breaks_the_output(exaln: Exaln, tmp_path: Path) -> None:
    (tmp_path / "odd.fasta").write_bytes(b'>"id"\ttab\x1b[31m [bold]red\nMKVLAW\n>a|b;c,d\nMKV\n')
    arguments = ["score", "--query", tmp_path / "odd.fasta", "--db", tmp_path / "odd.fasta"]
    assert [row[:2] for row in exaln(*arguments).rows] == [
        [q, t] for q in ('"id"', "a|b;c,d") for t in ('"id"', "a|b;c,d")
    ]
    table = exaln(*arguments, "--top", "1", "--format", "table").out
    assert "\x1b" not in table
    assert "tab\\x1b[31m [bold]red" in table


def test_verbose_says_what_a_gap_costs(exaln: Exaln) -> None:
    err = exaln("score", "--query", GLOBINS, "--db", GLOBINS, "--verbose", "--threads", "1").err
    assert "BLOSUM62, gaps 11/1: a gap of 1 costs 12; cpu, " in err
    assert "1 thread)" in err


# Errors


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ("score --query x", 1, "missing option '--db'"),
        ("score --query x --db y --threads 0", 1, "invalid value for '--threads'"),
        ("score --query x --db y --thread 2", 1, "did you mean --threads?"),
        ("score --query --db y", 1, "option '--query' needs a value, but '--db' follows"),
        ("score --query x --db y --engine gpu", 3, "unknown engine 'gpu'"),
        (f"score --query {GLOBINS} --db missing", 2, "missing: no such database or sequence file"),
        (f"score --query missing --db {GLOBINS}", 1, "missing: cannot be read: No such file"),
        (f"score --query {GLOBINS} --db {GLOBINS} --matrix NOSUM", 1, "matrix 'NOSUM' is neither"),
        (f"score --query {GLOBINS} --db {GLOBINS} --gapextend -1", 1, "gap_extend is -1"),
        (f"score --query {GLOBINS} --db {GLOBINS} --gapopen nan", 1, "gap_open is nan"),
        (f"score --query {GLOBINS} --db {GLOBINS} --min-score inf", 1, "--min-score is inf"),
        (f"score --query {GLOBINS} --db {GLOBINS} --out /nowhere/x", 6, "/nowhere/x: cannot be written"),
        ("score --query - --db -", 1, "stdin (-) is named twice"),
        (f"makedb --in {GLOBINS} --db /nowhere/x", 6, "/nowhere/x.exaln: cannot be written"),
        (f"makedb --in {GLOBINS} --db x --alphabet greek", 1, "unknown alphabet 'greek'"),
        (f"append --in {GLOBINS} --db {GLOBINS}", 2, "not a database"),
        (f"verify --db {GLOBINS}", 2, "not a database"),
        ("verify --db -", 2, "not a database"),
        ("export --db missing", 2, "missing: no such database"),
        ("serach --db x", 1, "no such command: 'serach'; did you mean 'search'?"),
        ("makdb", 1, "did you mean 'makedb'?"),
        ("--fast", 1, "no such option"),
        ("info extra", 1, "extra"),
    ],
)
def test_user_errors_are_one_line_with_their_exit_code(exaln: Exaln, arguments: str, code: int, says: str) -> None:
    found, message = exaln.error(*arguments.split())
    assert says in message
    assert found == code


def test_align_draws_pairs_without_speaking_of_a_database(exaln: Exaln, tmp_path: Path) -> None:
    first, second = tmp_path / "a.fasta", tmp_path / "b.fasta"
    first.write_text(">a\nHEAGAWGHEE\n")
    second.write_text(">b1 similar\nPAWHEAE\n>b2\nPPPP\n")
    scoring = ["--matrix", "BLOSUM50", "--gapopen", "0", "--gapextend", "8"]
    result = exaln("align", first, second, *scoring)
    assert (result.code, result.err) == (0, "")
    similar, other = result.out.split("Query= a\n\nLength=10\n\n")[1:]
    assert similar.startswith(">b1 similar\nLength=7\n\n Score = 28\n")
    assert "Query  5  AWGHE  9\n          AW HE\nSbjct  2  AW-HE  5\n" in similar
    assert other == "***** No similarity *****\n\n\n"
    assert exaln("align", first, second, *scoring, "--outfmt", "6 qseqid sseqid score cigar").rows == [
        ["a", "b1", "28", "2M1I2M"]
    ]


def test_a_value_that_looks_like_an_option_is_a_value(exaln: Exaln, tmp_path: Path) -> None:
    assert exaln.error("fetch", "--db", GLOBINS, "--", "-task")[1].endswith("no sequence with the id '-task'\n")
    code, message = exaln.error("score", "--query", "-seg", "--db", GLOBINS)
    assert (code, "-seg: cannot be read" in message) == (1, True)


def test_unexpected_errors_are_one_line_and_debug_shows_more(exaln: Exaln, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(about_commands, "probe_installation", fail)
    code, message = exaln.error("info")
    assert code == 255
    assert message.startswith("exaln: error: unexpected RuntimeError: two lines; ")
    assert "--debug" in message
    assert "Traceback" in exaln("info", "--debug").err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (MemoryError(), 4, "out of memory"),
        (OSError(28, "No space left on device", "big.tsv"), 6, "big.tsv: No space left on device"),
        (PermissionError(13, "Permission denied", "x"), 255, "x: Permission denied"),
    ],
)
def test_system_errors_are_one_line_with_their_exit_code(
    exaln: Exaln, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, says: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(about_commands, "probe_installation", fail)
    found, message = exaln.error("info")
    assert (found, says in message) == (code, True)


# The installation


def test_info_lists_engines_instruction_sets_and_environment(exaln: Exaln, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXALN_ISA", "portable")
    facts = json.loads(exaln("info", "--json").out)
    assert list(facts["engines"]) == ["cuda", "cpu", "reference"]
    assert facts["engines"]["cpu"] == facts["engines"]["reference"] == "usable"
    assert facts["instruction_sets"]["portable"] == "chosen"
    assert facts["environment"] == dict.fromkeys(about_commands.ENVIRONMENT) | {"EXALN_ISA": "portable"}
    assert {"unavailable_reason", "gpus", "driver_cuda", "nvrtc", "cuda_bindings", "cache"} <= set(facts["cuda"])
    text = exaln("info").out
    assert all(name in text for name in ("EXALN_ENGINE", "EXALN_ISA", "portable", __version__))
    monkeypatch.setenv("EXALN_ISA", "mmx")
    assert "EXALN_ISA=mmx is unknown" in exaln("info").out


def test_bench_measures_the_cpu_engine(exaln: Exaln) -> None:
    measured = json.loads(exaln("bench", "--engine", "cpu", "--threads", "1", "--seconds", "0.01", "--json").out)
    assert [result["query_length"] for result in measured["results"]] == [144, 567, 1000, 2005, 5478]
    assert all(result["gcups"] > 0 and result["bound_gcups"] > 0 for result in measured["results"])
    assert "reached" in exaln("bench", "--engine", "cpu", "--threads", "1", "--seconds", "0.01").out
