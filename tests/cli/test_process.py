"""The command line as a process: start-up, pipes, terminals, signals."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from golden_data import GOLDEN
from process import EXALN, on_terminal, start, write_random

GLOBINS = str(GOLDEN / "hba_hbb.fasta")


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys, exaln.cli.program, exaln.cli.search_command\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60).stdout.split()
    assert b"click" in loaded
    assert not {b"numpy", b"pyarrow", b"rich", b"rich_click", b"xopen", b"zstandard"} & set(loaded)
    program = (
        "import sys, exaln.__main__\nexaln.__main__.run(['score', '--help'])\n"
        "assert 'rich.console' in sys.modules and 'numpy' not in sys.modules and 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)


def test_from_a_fasta_file_to_scores_through_pipes(tmp_path: Path) -> None:
    database = tmp_path / "globins.exaln"
    with Path(GLOBINS).open("rb") as file:
        subprocess.run([*EXALN, "makedb", "--in", "-", "--db", database], stdin=file, check=True, capture_output=True)
        file.seek(0)
        command = [*EXALN, "score", "--query", "-", "--db", database, "--top", "1"]
        ended = subprocess.run(command, stdin=file, capture_output=True, check=True, timeout=60)
    assert ended.stdout == b"HBA_HUMAN\tHBA_HUMAN\t733\nHBB_HUMAN\tHBB_HUMAN\t780\n"
    assert ended.stderr.startswith(b"exaln: 4 pairs in ")
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["score", "export"])
def test_a_closed_pipe_ends_quietly(tmp_path: Path, command: str, unbuffered: str) -> None:
    """Without buffer Python writes to a pipe what fits, and does not say so."""
    sequences = write_random(tmp_path / "many.fasta", 5000, 30)
    query = ["--query", sequences] if command == "score" else []
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with start(command, *query, "--db", sequences, env=environment) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(60) == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["info", "export --db " + GLOBINS, f"score --query {GLOBINS} --db {GLOBINS}"])
def test_a_full_disk_is_exit_code_6(command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run([*EXALN, *command.split(), "--quiet"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert ended.returncode == 6
    assert b"No space left on device" in ended.stderr
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize(("sent", "word"), [(signal.SIGINT, b"interrupted"), (signal.SIGTERM, b"terminated")])
def test_a_signal_ends_score_and_leaves_nothing(tmp_path: Path, engine: str, sent: int, word: bytes) -> None:
    sequences = write_random(tmp_path / "long.fasta", 300, 30_000)
    out = tmp_path / "out.tsv"
    out.write_text("what was there before\n")
    arguments = ["score", "--query", sequences, "--db", sequences, "--out", out, "--engine", engine, "--verbose"]
    process = start(*arguments, "--threads", 1)
    assert process.stderr is not None
    while b"a gap of 1 costs" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(0.5)
    sent_at = time.monotonic()
    process.send_signal(sent)
    _, messages = process.communicate(timeout=30)
    assert time.monotonic() - sent_at < 5
    assert process.returncode == 128 + sent
    assert messages == b"exaln: " + word + b"\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.fasta", "out.tsv"]
    assert out.read_text() == "what was there before\n"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_makedb_and_leaves_nothing(tmp_path: Path, sent: int) -> None:
    database = tmp_path / "new.exaln"
    process = start("makedb", "--in", "-", "--db", database, "--alphabet", "protein", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b">a\n" + b"MKV" * 1000)
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not database.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(sent)
    _, messages = process.communicate(timeout=30)
    assert process.returncode == 128 + sent
    assert messages.startswith(b"exaln: ")
    assert messages.count(b"\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["score", "makedb"])
def test_progress_is_shown_on_a_terminal_only(tmp_path: Path, command: str) -> None:
    sequences = write_random(tmp_path / "some.fasta", 2000, 300)
    arguments = {
        "score": [
            "score",
            "--query",
            write_random(tmp_path / "q.fasta", 20, 1000),
            "--db",
            sequences,
            "--out",
            "/dev/null",
        ],
        "makedb": ["makedb", "--in", sequences, "--db", tmp_path / "new"],
    }[command]
    shown = on_terminal("stderr", *arguments)
    assert {"score": "Scoring", "makedb": "Reading"}[command] in shown
    assert {"score": "GCUPS", "makedb": "MB/s"}[command] in shown
    assert "left" in shown
    ended = subprocess.run(
        [*EXALN, *map(str, arguments), *(["--force"] if command == "makedb" else [])], capture_output=True
    )
    assert ended.stderr.count(b"\n") == 1
    assert b"\x1b" not in ended.stderr


def test_the_best_targets_are_a_table_on_a_terminal() -> None:
    shown = on_terminal("stdout", "score", "--query", GLOBINS, "--db", GLOBINS, "--top", "1", "--quiet")
    assert "description" in shown
    assert "P68871" in shown
    assert "\x1b[" in shown


def test_hits_are_a_table_on_a_terminal_and_tabular_in_a_pipe() -> None:
    arguments = ["search", "--query", GLOBINS, "--db", GLOBINS, "--max-target-seqs", "1", "--max-hsps", "1"]
    shown = on_terminal("stdout", *arguments, "--quiet").replace("\r", "").splitlines()
    assert shown[1].split() == ["target", "E-value", "bits", "identity", "coverage", "description"]
    assert shown[2].split()[0] == "HBA_HUMAN"
    ended = subprocess.run([*EXALN, *arguments], capture_output=True, check=True, timeout=60)
    assert [line.split(b"\t")[1] for line in ended.stdout.splitlines()] == [b"HBA_HUMAN", b"HBB_HUMAN"]
    assert ended.stderr.startswith(b"exaln: 2 hits of 2 queries in ")


@pytest.mark.parametrize(
    "command",
    [
        "search --query {query} --db {targets} --outfmt 6",
        "search --query {query} --db {targets} --outfmt 0",
        "score --query {query} --db {targets}",
        "align --all {query} {targets} --outfmt 6",
        "merge {part} --outfmt 6",
    ],
)
def test_rows_in_a_pipe_are_not_mixed_with_the_bar(tmp_path: Path, command: str) -> None:
    """`exaln ... | cat` on a terminal: whatever the bar has drawn is gone before the first row."""
    files = {"query": GLOBINS, "targets": write_random(tmp_path / "targets.fasta", 300, 400)}
    if command.startswith("merge"):
        database, files["part"] = tmp_path / "db.exaln", tmp_path / "part.parquet"
        subprocess.run([*EXALN, "makedb", "--in", files["targets"], "--db", database], check=True, capture_output=True)
        search = [*EXALN, "search", "-q", GLOBINS, "-d", database, "--shard", "1/1", "-o", files["part"]]
        subprocess.run(search, check=True, capture_output=True)
    words = command.format(**files).split()
    alone = subprocess.run([*EXALN, *words], check=True, capture_output=True, timeout=60).stdout.decode().splitlines()
    ours, theirs = pty.openpty()
    shown = b""
    line = f"{' '.join([*EXALN, *words])} | cat"
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(line, shell=True, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        while True:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:
                break
        assert process.wait(30) == 0
    os.close(ours)
    visible, expected = on_screen(shown.decode()), [row.rstrip() for row in alone if row.strip()]
    assert [row for row in visible if row in set(expected)] == expected
    assert all("spent" not in row for row in visible)


def on_screen(text: str) -> list[str]:
    """The lines that a terminal shows in the end: text, line ends, and the controls that rich uses."""
    lines, row, column = [""], 0, 0
    for control, final, letter in re.findall(r"\x1b\[([0-9;?]*)([A-Za-z])|([^\x1b])", text):
        if letter == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif letter == "\r":
            column = 0
        elif letter:
            lines[row] = lines[row].ljust(column)[:column] + letter + lines[row][column + 1 :]
            column += 1
        elif final == "A":
            row = max(0, row - int(control or 1))
        elif final == "K":
            lines[row] = "" if control == "2" else lines[row][:column]
    return [line.rstrip() for line in lines if line.strip()]


def test_shell_completion() -> None:
    environment = {**os.environ, "_EXALN_COMPLETE": "bash_source"}
    script = subprocess.run(EXALN, env=environment, capture_output=True, timeout=60).stdout
    assert b"complete" in script
    environment |= {"_EXALN_COMPLETE": "bash_complete", "COMP_WORDS": "exaln mak", "COMP_CWORD": "1"}
    assert subprocess.run(EXALN, env=environment, capture_output=True, timeout=60).stdout == b"plain,makedb\n"
    environment |= {"COMP_WORDS": "exaln makedb --al", "COMP_CWORD": "2"}
    assert subprocess.run(EXALN, env=environment, capture_output=True, timeout=60).stdout == b"plain,--alphabet\n"
