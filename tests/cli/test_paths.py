"""Paths in options and arguments: an impossible one is refused with exit code 1 or 2 and one line, never as a bug."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

import exaln
from exaln.__main__ import run
from exaln.cli import cli
from exaln.cli.command import is_path
from exaln.database.database import Database
from exaln.errors import DatabaseError, ExalnError, InputError
from exaln.foundation.paths import checked_path, is_folder
from exaln.scoring.scoring import Scoring
from exaln.search.hits import Hits
from exaln.sequences.fasta import read_records

PACKAGE = Path(exaln.__file__).parent
DEMO = Path(__file__).parents[2] / "examples"
QUERY, DOMAINS = str(DEMO / "haemoglobin.fasta"), str(DEMO / "domains.fasta")
NO_PATHS = ["", "x" * 5000, "y" * 300]

COMMANDS = [
    ["makedb", "--in", QUERY, "--db", "new"],
    ["append", "--in", QUERY, "--db", "db"],
    ["compact", "--db", "db"],
    ["dbinfo", "--db", "db"],
    ["verify", "--db", "db"],
    ["fetch", "--db", "db", "--ids", "ids", "--out", "out.fasta"],
    ["export", "--db", "db", "--out", "out.fasta"],
    ["search", "--query", QUERY, "--db", "db", "--out", "o.tsv", "--ids", "ids", "--exclude-ids", "ids"],
    ["score", "--query", QUERY, "--db", "db", "--out", "o.tsv"],
    ["align", QUERY, QUERY, "--out", "o.sam", "--work-dir", "work", "--plot", "o.svg"],
    ["merge", "part"],
]
"""Every path of these commands is replaced by what is none."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Database.build(DOMAINS, "db")
    (tmp_path / "ids").write_text("d1a6ma_\n")
    return tmp_path


def one_line(capfd: pytest.CaptureFixture[str]) -> str:
    out, err = capfd.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("exaln: error")]
    assert len(lines) == 1, err
    return lines[0]


def with_each_path_replaced(command: list[str], other: str) -> Iterator[list[str]]:
    for place in range(1, len(command)):
        if not command[place].startswith("--"):
            yield [*command[:place], other, *command[place + 1 :]]


@pytest.mark.parametrize("other", NO_PATHS, ids=["empty", "far too long", "too long"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_an_impossible_path_is_one_line_and_exit_code_1_or_2(
    folder: Path, capfd: pytest.CaptureFixture[str], command: list[str], other: str
) -> None:
    for words in with_each_path_replaced(command, other):
        assert run([*words, "--quiet"]) in (1, 2), words
        assert "this is a bug" not in one_line(capfd)
    assert sorted(path.name for path in folder.iterdir()) == ["db.exaln", "ids"]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("other", [".", "..", "/", "/dev/null/x", "nothing/there"])
def test_folders_and_missing_files_are_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], command: list[str], other: str
) -> None:
    for words in with_each_path_replaced(command, other):
        if "--work-dir" in words and words[words.index("--work-dir") + 1] in (".", "..", "/", other):
            continue  # any folder will do, and one that is missing is made
        if words[words.index("--db") + 1 if "--db" in words else 0] == "." and words[0] == "compact":
            continue
        assert run([*words, "--quiet"]) in (1, 2, 6), words
        assert "this is a bug" not in one_line(capfd)


def test_a_database_can_be_opened_from_within(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "db.exaln")
    assert Database.open(".").n_targets == 64


@pytest.mark.parametrize("name", [".", "..", "/", "a/.."])
def test_a_new_database_needs_a_name(folder: Path, name: str) -> None:
    with pytest.raises(InputError, match="not a name for a database; choose one"):
        Database.build(QUERY, name)


PATHS = {
    "a\0b": "cannot be a path",
    "": "name a file or a folder",
    "\ud800": "cannot be a path",
    "x" * 5000: "too long",
}


@pytest.mark.parametrize("path", PATHS, ids=["NUL", "empty", "lone surrogate", "too long"])
def test_python_says_what_is_wrong_with_a_path(folder: Path, path: str) -> None:
    for call in (
        lambda: Database.open(path),
        lambda: Database.build(QUERY, path),
        lambda: Database.open("db").export(path),
        lambda: Scoring(path),
        lambda: checked_path(path),
    ):
        with pytest.raises(InputError, match=PATHS[path]):
            call()
    with pytest.raises(InputError):
        read_records(path)
    hits: Hits = exaln.search(Path(QUERY), "db")
    with pytest.raises(ExalnError):
        hits.write(path)


@pytest.mark.parametrize("path", [None, 3, b"bytes", ["list"]])
def test_other_types_are_refused_as_paths(path: object) -> None:
    with pytest.raises(InputError, match=r"a path is needed|name a file"):
        checked_path(path)  # type: ignore[arg-type]


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Root may read everything, so it must not be root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("command", [command for command in COMMANDS if "--db" in command], ids=lambda words: words[0])
def test_a_closed_folder_is_one_line_and_exit_code_1_or_2(
    folder: Path, capfd: pytest.CaptureFixture[str], command: list[str]
) -> None:
    words = [*(str(folder / "db") if word in ("db", "new") else word for word in command), "--quiet"]
    run(words)  # all that is imported is imported now
    capfd.readouterr()
    for closed in (folder / "db.exaln", folder):
        closed.chmod(0)
        try:
            with as_ordinary_user():
                assert run(words) in ((1, 2, 6) if command[0] == "makedb" else (1, 2)), words
        finally:
            closed.chmod(0o700)
        assert "this is a bug" not in one_line(capfd)


def test_is_folder_is_none_for_missing_paths(folder: Path) -> None:
    assert [is_folder(path) for path in (folder, folder / "ids", folder / "ids" / "x", folder / "none")] == [
        True,
        False,
        None,
        None,
    ]
    with pytest.raises(OSError, match="too long"):
        is_folder(folder / ("x" * 300))


NOT_PATHS = {"name", "scheduler"}
PATHS_BY_NAME = {"database", "databases", "query", "target", "inputs", "out", "work_dir", "plot", "parts"}
PATHS_BY_NAME |= {"ids", "ids_file", "exclude_ids", "cluster_config", "resume"}


def test_every_option_that_is_a_path_is_checked() -> None:
    """Its metavar says that it is one; makedb's NAME is checked when the database is built."""
    found = set()
    for command in cli.commands.values():
        for parameter in command.get_params(click.Context(command)):
            if parameter.name in PATHS_BY_NAME and parameter.metavar not in ("NAME", "NAME...", "[ID]..."):
                found.add(parameter.name)
                assert is_path(parameter), f"{command.name}: {parameter.name}"
            elif parameter.name in NOT_PATHS:
                assert not is_path(parameter)
    assert found == PATHS_BY_NAME


JSON_READERS = {
    "foundation/state_file.py",
    "simulation/kept.py",
    "statistics/karlin_altschul.py",
    "statistics/matrix_frequencies.py",
}
NOT_STATE = ("cluster/",)
"""What travels between processes of a cluster."""


def test_no_other_module_reads_json_files() -> None:
    """State files are read by exaln.foundation.state_file, so that every value is checked."""
    for path in PACKAGE.rglob("*.py"):
        name = str(path.relative_to(PACKAGE))
        if name in JSON_READERS or name.startswith(NOT_STATE):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("load", "loads") and isinstance(node.value, ast.Name):
                assert node.value.id != "json", f"{name}: reads JSON; use exaln.foundation.state_file"


def test_a_missing_database_says_what_to_do(folder: Path) -> None:
    with pytest.raises(DatabaseError, match="no such database or sequence file; build a database with makedb"):
        Database.open("nothing")
