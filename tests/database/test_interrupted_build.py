"""Ctrl-C while a database is built, at every stage: the old content or none, no thread, no file, and no lost signal."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from database_samples import random_sequences

SUPPORT = Path(__file__).parents[1] / "support"


def large_fasta(n: int = 12_000) -> bytes:
    return "".join(f">{id_} {words}\n{text}\n" for id_, words, text in random_sequences(n, 5)).encode()


@pytest.mark.parametrize("form", ["plain", "packed"])
@pytest.mark.parametrize("task", ["build", "replace", "append", "compact"])
def test_an_interrupt_leaves_the_old_database_and_nothing_else(tmp_path: Path, task: str, form: str) -> None:
    if (task, form) == ("compact", "packed"):
        pytest.skip("compact reads no sequence files")
    source = tmp_path / "source"
    source.write_bytes(large_fasta() if form == "plain" else gzip.compress(large_fasta(), 1))
    command = [sys.executable, str(SUPPORT / "interrupted_build.py"), task, str(tmp_path / "db.exaln"), str(source)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    moments = [line.split() for line in run.stdout.splitlines()]
    for interrupted, state, n_threads, *files in moments:
        assert n_threads == "0"
        assert not files or (interrupted, state) == ("True", "new"), "the next writer deletes what was replaced"
        assert state in (("old", "new") if interrupted == "True" else ("new",))
    assert [moment[0] for moment in moments].count("True") == 12
    assert ["True", "old", "0"] in moments


READ_STDIN = """
import os, sys
from exaln.sequences.byte_streams import ByteStream
stream = ByteStream("-")
os.write(1, b"ready")
try:
    for chunk in stream:
        pass
except KeyboardInterrupt:
    os._exit(42)
"""


def test_an_interrupt_right_after_the_last_bytes_of_a_pipe_is_not_lost() -> None:
    """The signal comes while the process reads what is there, just before it would wait for more."""
    for _ in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", READ_STDIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            os.write(process.stdin.fileno(), b">a\n" + b"MKV" * 20)
            assert process.stdout.read(5) == b"ready"
            for _ in range(6):
                os.write(process.stdin.fileno(), b"MKVLAAGIVG\n" * 5900)
            process.send_signal(signal.SIGINT)
            deadline = time.monotonic() + 20
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            code = process.poll()
            if code is None:
                process.kill()
            assert code == 42
