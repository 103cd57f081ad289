"""Files that the command line reads and writes: no input is overwritten, and hostile headers stay harmless."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import click
import pytest

import exaln
from exaln.__main__ import run
from exaln.cli import cli
from golden_data import GOLDEN

SEQUENCES = (GOLDEN / "hba_hbb.fasta").read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("q.fasta", "t.fasta", "other.fasta"):
        (tmp_path / name).write_text(SEQUENCES)
    (tmp_path / "ids.txt").write_text("HBA_HUMAN\n")
    (tmp_path / "link.fasta").symlink_to("q.fasta")
    (tmp_path / "m.txt").write_text((Path(exaln.__file__).parent / "scoring/data/BLOSUM62.txt").read_text())
    exaln.Database.build(tmp_path / "t.fasta", tmp_path / "db.exaln")
    shard = "search --query q.fasta --db db --shard 1/1 --out part.parquet --quiet"
    assert run(shard.split()) == 0
    return tmp_path


CLASHES = [
    "search --query q.fasta --db t.fasta --out q.fasta",
    "search --query q.fasta --db t.fasta --out t.fasta",
    "search --query q.fasta --db t.fasta --out link.fasta",
    "search --query link.fasta --db t.fasta --out ./q.fasta",
    "search --query q.fasta --db db --out db.exaln/manifest.json",
    "search --query q.fasta --db db.exaln --out db.exaln/hits.tsv",
    "search --query q.fasta --db db --ids ids.txt --outfmt 6 --out ids.txt",
    "search --query q.fasta --db db --exclude-ids ids.txt --outfmt 6 --out ids.txt",
    "search --query q.fasta --db db --matrix m.txt --out m.txt",
    "score --query q.fasta --db db --out q.fasta",
    "score --query q.fasta --db db --out db.exaln/scores.tsv",
    "align q.fasta t.fasta --out t.fasta",
    "align q.fasta t.fasta --out q.fasta",
    "align q.fasta t.fasta --out pair.html --outfmt 0 --plot pair.html",
    "fetch --db t.fasta HBA_HUMAN --out t.fasta",
    "fetch --db db --ids ids.txt --out ids.txt",
    "export --db t.fasta --out t.fasta",
    "merge part.parquet --out part.parquet",
]


@pytest.mark.parametrize("command", CLASHES)
def test_a_file_that_is_read_is_not_replaced(folder: Path, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run(command.split()) == 1
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert "name another" in error
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_every_option_that_names_a_file_says_whether_it_is_read_or_written() -> None:
    """A new option or argument with a file must take part in the check."""
    silent = []
    for name, command in cli.commands.items():
        for parameter in command.params:
            if not isinstance(parameter, click.Argument | click.Option) or getattr(parameter, "is_flag", False):
                continue
            metavar = (parameter.metavar or "").rstrip(".")
            if metavar in ("FILE", "DB", "FIRST", "SECOND", "PART") and not (
                getattr(parameter, "reads", False) or getattr(parameter, "writes", False)
            ):
                silent.append(f"{name} {parameter.opts[0]}")
    assert silent == []


def test_devices_may_be_named_twice(folder: Path) -> None:
    assert run(["search", "--query", "q.fasta", "--db", "db", "--out", "/dev/null", "--quiet"]) == 0


@pytest.mark.parametrize(
    "command",
    [
        "search --query q.fasta --db db --out x.asn",
        "search --query q.fasta --db db --out x.bam",
        "search --query q.fasta --db db --shard 1/1 --out part-1.tsv",
        "search --query q.fasta --db db -outfmt 14",
        "align q.fasta t.fasta --out x.xml",
        "merge part.parquet --out x.xlsx",
        "align q.fasta t.fasta --out x.docx",
        "score --query q.fasta --db db --out x.csv",
        "score --query q.fasta --db db --out x.tsv.bz2",
        "export --db db --out x.json",
        "fetch --db db HBA_HUMAN --out x.fastq",
    ],
)
def test_a_name_that_promises_another_format_is_refused(
    folder: Path, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(command.split()) == 1
    assert capfd.readouterr().err.count("\n") == 1
    assert not list(folder.glob("x.*"))


@pytest.mark.parametrize("command", ["export --db db", "fetch --db db HBA_HUMAN HBB_HUMAN"])
def test_fasta_is_compressed_by_name(folder: Path, command: str) -> None:
    assert run([*command.split(), "--out", "x.fasta.gz"]) == 0
    assert run([*command.split(), "--out", "x.fasta"]) == 0
    unpacked = subprocess.run(["gzip", "-dc", "x.fasta.gz"], capture_output=True, check=True).stdout
    assert unpacked == (folder / "x.fasta").read_bytes()


def test_a_newline_in_a_name_gives_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "--query", "q.fasta", "--db", "two\nlines"]) == 2
    assert capfd.readouterr().err.count("\n") == 1


HOSTILE = ">=cmd|calc \u202egnirts \x1b[2J title\n" + SEQUENCES.splitlines()[1] + "\n"


def test_ids_are_no_formulas_in_csv_and_no_controls_in_tables(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evil.fasta").write_text(HOSTILE, encoding="utf-8")
    search = ["search", "--query", str(tmp_path / "evil.fasta"), "--db", str(tmp_path / "evil.fasta"), "--quiet"]
    assert run([*search, "--outfmt", "10 qseqid sseqid stitle sframe score"]) == 0
    assert capfd.readouterr().out.startswith("'=cmd|calc,'=cmd|calc, gnirts  [2J title,")
    for form in ("table", "0", "6 sseqid stitle", "7 sseqid stitle"):
        assert run([*search, "--outfmt", form]) == 0
        out = capfd.readouterr().out
        assert "=cmd|calc" in out
        assert not {"\u202e", "\x1b"} & set(out)


@pytest.mark.parametrize("command", ["export", "fetch =cmd|calc"])
def test_headers_reach_files_whole_and_terminals_without_controls(tmp_path: Path, command: str) -> None:
    (tmp_path / "evil.fasta").write_text(HOSTILE, encoding="utf-8")
    words = [sys.executable, "-m", "exaln", *command.split(), "--db", str(tmp_path / "evil.fasta"), "--width", "0"]
    piped = subprocess.run(words, capture_output=True, check=True, timeout=60).stdout
    assert piped.decode("utf-8") == HOSTILE
    ours, theirs = pty.openpty()
    process = subprocess.Popen(words, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            shown += os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert process.wait(30) == 0
    assert shown.decode().startswith(">=cmd|calc  gnirts  [2J title\r\n")
    assert b"\x1b" not in shown
