"""Ctrl-C in the middle of every stage of a command: one line, exit code 130, and nothing is left."""

from __future__ import annotations

import gzip
import shutil
import signal
from pathlib import Path

import pytest

from exaln.database.database import Database
from interrupts import cpu_seconds_of, interrupted, moments, names_in
from process import EXALN, write_random

N_TARGETS, LENGTH = 20_000, 350


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a FASTA file of 7 million residues, packed and in parts as well, a database of it, and queries."""
    folder = tmp_path_factory.mktemp("inputs")
    whole = write_random(folder / "whole.fasta", N_TARGETS, LENGTH)
    content = whole.read_bytes()
    (folder / "whole.fasta.gz").write_bytes(gzip.compress(content, 1))
    middle = content.index(b">", len(content) // 2)
    (folder / "first.fasta.gz").write_bytes(gzip.compress(content[:middle], 1))
    (folder / "second.fasta").write_bytes(content[middle:])
    write_random(folder / "queries.fasta", 20, 300)
    return folder


def check_every_moment(command: list[object], folder: Path, output: Path) -> None:
    """Interrupt a command at several moments. Its output must not be there, and nothing else may be.

    While the interpreter shuts down, SIGINT kills it in silence: then the output must be complete.
    """
    (folder / "tmp").mkdir()
    at_first = names_in(folder)
    started = cpu_seconds_of([*EXALN, "--version"], folder)  # before that, the interpreter itself is interrupted
    whole = cpu_seconds_of(command, folder)
    complete = content_of(output)
    for after in moments(started, whole):
        remove(output)
        ended = interrupted(command, folder, after)
        assert ended.is_prompt, (after, ended)
        if ended.code in (0, -signal.SIGINT):
            assert content_of(output) == complete, after
            continue
        assert (ended.code, ended.err) == (130, "exaln: interrupted\n"), after
        assert names_in(folder) == at_first, after


def content_of(output: Path) -> object:
    """The content of a report, or of a database without the random names of its segments."""
    if not output.is_dir():
        return output.read_bytes()
    Database.open(output).verify()
    return sorted(path.read_bytes() for path in output.glob("segment-*"))


def remove(output: Path) -> None:
    """Delete a report or a database, if there is one."""
    if output.is_dir():
        shutil.rmtree(output)
    output.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "names",
    [("whole.fasta",), ("whole.fasta.gz",), ("first.fasta.gz", "second.fasta"), ("second.fasta",) * 3],
    ids=["plain", "packed", "several", "repeated"],
)
def test_makedb_can_be_interrupted_at_any_moment(inputs: Path, tmp_path: Path, names: tuple[str, ...]) -> None:
    database = tmp_path / "new.exaln"
    command = [*EXALN, "makedb", "--in", *(inputs / name for name in names), "--db", database, "--quiet"]
    check_every_moment(command, tmp_path, database)


def test_append_can_be_interrupted_at_any_moment(inputs: Path, tmp_path: Path) -> None:
    """The database stays as it was, or has everything."""
    (tmp_path / "tmp").mkdir()
    for name, source in (("old", "second"), ("grown", "second")):
        cpu_seconds_of([*EXALN, "makedb", "--in", inputs / f"{source}.fasta", "--db", tmp_path / name], tmp_path)
    old, command = tmp_path / "old.exaln", [*EXALN, "append", "--in", inputs / "whole.fasta", "--db"]
    whole = cpu_seconds_of([*command, tmp_path / "grown.exaln"], tmp_path)
    n_old, at_first = len(Database.open(old)), names_in(old)
    for after in moments(cpu_seconds_of([*EXALN, "--version"], tmp_path), whole):
        ended = interrupted([*command, old], tmp_path, after)
        assert ended.is_prompt, (after, ended)
        Database.open(old).verify()
        if ended.code == 130:
            assert names_in(old) == at_first, after
            assert len(Database.open(old)) == n_old
        else:
            assert ended.code in (0, -signal.SIGINT), ended
            assert len(Database.open(old)) == n_old + N_TARGETS
            return


@pytest.mark.parametrize("database", ["stored", "in memory"])
@pytest.mark.parametrize("way", ["search", "many hits", "many alignments", "score"])
def test_a_search_can_be_interrupted_at_any_moment(inputs: Path, tmp_path: Path, database: str, way: str) -> None:
    """With few hits scoring takes the time, with many hits or many alignments of each aligning and the report."""
    targets = inputs / "whole.fasta"
    if database == "stored":
        targets = inputs / "whole.exaln"
        if not targets.exists():
            cpu_seconds_of([*EXALN, "makedb", "--in", inputs / "whole.fasta", "--db", targets, "--quiet"], inputs)
    options = {
        "search": ["search"],
        "many hits": ["search", "--evalue", "1e6", "--max-target-seqs", "5000", "--max-hsps", "1", "--outfmt", "sam"],
        "many alignments": ["search", "--evalue", "1e6", "--max-target-seqs", "100", "--outfmt", "sam"],
        "score": ["score"],
    }[way]
    files = ["--query", inputs / "queries.fasta", "--db", targets, "--out", tmp_path / "out.txt"]
    command = [*EXALN, *options, *files, "--engine", "cpu", "--quiet"]
    check_every_moment(command, tmp_path, tmp_path / "out.txt")
