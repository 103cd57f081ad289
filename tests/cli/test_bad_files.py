"""Files that break readers, through the command line: the outcome, the exit code, and one line per message."""

import csv
import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from exaln.__main__ import run
from exaln.database.database import Database

FOLDER = Path(__file__).parents[1] / "badinput"
with (FOLDER / "EXPECTED.tsv").open(newline="") as table:
    CASES = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
REPEATED_ID = {"dup_ids.fa", "same_first_word.fa"}


def lines_of(capfd: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    return out, err.splitlines()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_makedb_of_every_bad_file(case: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--alphabet", case["alphabet"]] if case["alphabet"] else []
    code = run(["makedb", "--in", str(FOLDER / case["file"]), "--db", str(tmp_path / "db"), "--quiet", *options])
    out, messages = lines_of(capfd)
    assert out == ""
    assert len(messages) == (case["outcome"] != "ok" or case["file"] in REPEATED_ID)
    if case["outcome"] == "error":
        assert code == 1
        assert messages[0].startswith("exaln: error: ")
        assert case["says"] in messages[0]
        assert not (tmp_path / "db.exaln").exists()
    else:
        assert code == 0
        assert all(message.startswith("exaln: warning: ") and case["says"] in message for message in messages)
        assert sorted(Database.open(tmp_path / "db").fetch(set(case["ids"].split())), key=lambda t: t.ordinal) != []
        assert run(["export", "--db", str(tmp_path / "db"), "--width", "0"]) == 0
        headers = [line.split()[0] for line in lines_of(capfd)[0].splitlines() if line.startswith(">")]
        assert headers == [f">{name}" for name in case["ids"].split()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_score_of_every_bad_file(case: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    """As queries and as targets at once; warnings that are the same for both come once."""
    path = str(FOLDER / case["file"])
    options = ["--alphabet", case["alphabet"]] if case["alphabet"] else []
    code = run(["score", "--query", path, "--db", path, "--quiet", *options])
    out, messages = lines_of(capfd)
    names = case["ids"].split()
    if case["outcome"] == "error":
        assert (code, out, len(messages)) == (1, "", 1)
        assert case["says"] in messages[0]
    else:
        assert code == 0
        assert [line.split("\t")[:2] for line in out.splitlines()] == [[q, t] for q in names for t in names]
        assert all(line.count("\t") == 2 and line.split("\t")[2].isdigit() for line in out.splitlines())
        assert len(messages) == (case["outcome"] == "warning" or case["file"] in REPEATED_ID)


def test_files_of_unusual_layout_score_as_the_plain_one(capfd: pytest.CaptureFixture[str]) -> None:
    plain = FOLDER / "ok_two.fa"
    for name in ["ok_two.fa", "crlf.fa", "bom.fa", "lower.fa", "no_final_newline.fa", "blank_inside.fa", "pipe_ids.fa"]:
        assert run(["score", "--query", str(plain), "--db", str(FOLDER / name), "--quiet"]) == 0
        scores = [line.split("\t")[2] for line in lines_of(capfd)[0].splitlines()]
        if name == "ok_two.fa":
            expected = scores
        assert scores == expected


def test_gaps_are_stripped_on_request(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "makedb",
        "--in",
        str(FOLDER / "gap_chars.fa"),
        "--db",
        str(tmp_path / "db"),
        "--strip-gaps",
        "--quiet",
    ]
    assert run(arguments) == 0
    (warning,) = lines_of(capfd)[1]
    assert warning.startswith("exaln: warning: ")
    assert "3 gap characters removed" in warning


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_cut_gzip_file_never_becomes_a_database(cut: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    packed = gzip.compress((FOLDER / "ok_two.fa").read_bytes())
    (tmp_path / "cut.fa.gz").write_bytes(packed[:-cut])
    assert run(["makedb", "--in", str(tmp_path / "cut.fa.gz"), "--db", str(tmp_path / "db")]) == 1
    (message,) = lines_of(capfd)[1]
    assert "cut.fa.gz: truncated or damaged gzip data" in message
    assert [path.name for path in tmp_path.iterdir()] == ["cut.fa.gz"]


@pytest.mark.parametrize("name", ["", "line\nbreak.fa", "\udcff.fa", "\x1b[31m"])
def test_unusual_file_names_give_one_error_line(name: str, tmp_path: Path) -> None:
    """As a process: names that are not UTF-8 have to pass through arguments and messages."""
    command = [sys.executable, "-m", "exaln", "makedb", "--in", str(tmp_path / name), "--db", str(tmp_path / "db")]
    ended = subprocess.run([os.fsencode(word) for word in command], capture_output=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"exaln: error: ")
    assert ended.stderr.count(b"\n") == 1
    assert b"\x1b" not in ended.stderr
