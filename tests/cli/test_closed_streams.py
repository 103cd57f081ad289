"""Commands with stdin, stdout or stderr closed: results are unchanged, and no message gets into them."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from exaln.cli import cli
from golden_data import GOLDEN

EXALN = f"{sys.executable} -m exaln"
QUERY, TARGETS = GOLDEN / "hba_hbb.fasta", GOLDEN / "scop20_part.fasta"
REDIRECTIONS = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}
ALL = [some for n in (1, 2, 3) for some in itertools.combinations(REDIRECTIONS, n)]
IS_WHOLE = bool(os.environ.get("EXALN_ALL_STREAMS"))
FOR_FILES = ALL if IS_WHOLE else [("stderr",), ("stdin", "stdout", "stderr")]
FOR_STDOUT = ALL if IS_WHOLE else [("stdout",), ("stderr",)]
"""A few combinations in `make test`, all of them in `make test-streams`."""

WRITING = {
    "makedb": f"makedb --in {QUERY} --db OUT.exaln",
    "search": f"search --query {QUERY} --db {TARGETS} --outfmt 6 --out OUT",
    "align": f"align {QUERY} {QUERY} --out OUT",
    "score": f"score --query {QUERY} --db {TARGETS} --out OUT",
    "fetch": f"fetch --db {QUERY} HBA_HUMAN --out OUT",
    "export": f"export --db {QUERY} --out OUT",
    "append": f"append --in {QUERY} --db DB",
    "compact": "compact --db DB",
    "mask": f"mask --in {QUERY} --method seg --out OUT",
    "verify": "verify --db DB",
    "merge": "merge PART --outfmt 6 --out OUT",
}
PRINTING = {
    "search to stdout": f"search --query {QUERY} --db {TARGETS} --outfmt 6",
    "align to stdout": f"align {QUERY} {QUERY}",
    "score to stdout": f"score --query {QUERY} --db {TARGETS}",
    "fetch to stdout": f"fetch --db {QUERY} HBA_HUMAN",
    "export to stdout": f"export --db {QUERY}",
    "mask to stdout": f"mask --in {QUERY} --method seg",
    "merge to stdout": "merge PART --outfmt 6",
    "explain": f"explain --query {QUERY} --db {TARGETS} --json --engine reference",
    "dbinfo": f"dbinfo --db {QUERY}",
    "info": "info --json",
    "bench": "bench --seconds 0.01 --engine cpu",
    "worker": "worker --help",
    "warm": "warm --help",
    "study": "study --help",
    "help": "--help",
    "version": "--version",
}
VARYING = ("info", "bench")
"""What these print differs from run to run."""


def in_shell(command: str, redirections: str = "") -> subprocess.CompletedProcess[bytes]:
    line = f"exec {EXALN} {command} {redirections}"
    return subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)


def prepared(tmp_path: Path, command: str) -> str:
    """The command with the files that it needs."""
    if "DB" in command.split():
        subprocess.run(
            ["bash", "-c", f"{EXALN} makedb --in {QUERY} --db {tmp_path}/db"], check=True, capture_output=True
        )
    if "PART" in command.split():
        search = f"{EXALN} search --query {QUERY} --db {tmp_path}/db --shard 1/1 --out {tmp_path}/part.parquet"
        build = f"{EXALN} makedb --in {TARGETS} --db {tmp_path}/db"
        subprocess.run(["bash", "-c", f"{build} && {search}"], check=True, capture_output=True)
    words = {"DB": f"{tmp_path}/db.exaln", "PART": f"{tmp_path}/part.parquet"}
    return " ".join(words.get(word, word) for word in command.split())


def test_all_commands_are_tried() -> None:
    tried = {command.split()[0] for command in [*WRITING.values(), *PRINTING.values()]}
    assert set(cli.commands) <= tried


@pytest.mark.parametrize("name", WRITING)
def test_files_are_the_same_whatever_is_closed(tmp_path: Path, name: str) -> None:
    command = prepared(tmp_path, WRITING[name])

    def written(place: str, redirections: str) -> bytes:
        out = tmp_path / place
        ended = in_shell(command.replace("OUT", str(out)), redirections)
        assert ended.returncode == 0, (redirections, ended.stderr)
        assert ended.stdout == b""
        return out.read_bytes() if out.is_file() else b""

    usual = written("usual", "")
    for number, closed in enumerate(FOR_FILES):
        redirections = " ".join(REDIRECTIONS[stream] for stream in closed)
        assert written(f"closed-{number}", redirections) == usual, redirections
        assert b"exaln:" not in usual


@pytest.mark.parametrize("name", PRINTING)
def test_printing_to_a_closed_stdout_is_an_error_and_messages_stay_out_of_results(tmp_path: Path, name: str) -> None:
    command = prepared(tmp_path, PRINTING[name])
    usual = in_shell(command)
    assert usual.returncode == 0, usual.stderr
    for closed in FOR_STDOUT:
        ended = in_shell(command, " ".join(REDIRECTIONS[stream] for stream in closed))
        if "stdout" in closed:
            says = b"" if "stderr" in closed else b"exaln: error: <stdout>: closed; nothing can be written there\n"
            assert (ended.returncode, ended.stdout) == (6, b""), closed
            assert ended.stderr.endswith(says), closed
            assert b"Traceback" not in ended.stderr
            assert b"Exception" not in ended.stderr
        else:
            assert ended.returncode == 0, (closed, ended.stderr)
            assert name in VARYING or ended.stdout == usual.stdout, closed


def test_a_closed_stdin_cannot_be_read() -> None:
    ended = in_shell(f"search --query - --db {TARGETS}", "<&-")
    assert (ended.returncode, ended.stderr) == (1, b"exaln: error: <stdin>: there is no standard input\n")
