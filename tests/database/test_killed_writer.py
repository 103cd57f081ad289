"""kill -9 during a write: the database is as before or as after, never in between, and nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from crashing_writer import NEW, OLD, work
from database_samples import TINY, Plain, content_of, files_in, needed_files, records_of
from exaln.database.database import Database
from exaln.errors import DatabaseError

TASKS = ["build", "replace", "append", "compact"]
MOMENTS = 20
AFTER = {"build": NEW, "replace": NEW, "append": OLD + NEW, "compact": OLD}


class Writer:
    """Runs writes in separate processes, and kills them."""

    def __init__(self) -> None:
        script = Path(__file__).parents[1] / "support" / "crashing_writer.py"
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, task: str, path: Path, *, step: int = 0, kill_after_s: float | None = None) -> int:
        """The exit code of the write: 0, or -9 when it was killed, by us or by itself before a step."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"task": task, "path": str(path), "step": step}) + "\n")
        stdin.flush()
        pid = int(stdout.readline())
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return int(stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@pytest.fixture(scope="module")
def writer() -> Iterator[Writer]:
    writer = Writer()
    yield writer
    writer.close()


def prepare(task: str, path: Path) -> None:
    """The state before the write: nothing for a build, else a database of many small segments."""
    shutil.rmtree(path, ignore_errors=True)
    if task != "build":
        Database.build_records([records_of(OLD)], path, limits=TINY)


def content_or_none(path: Path) -> list[Plain] | None:
    """What the database contains, all of it verified; None if there is none."""
    try:
        database = Database.open(path)
    except DatabaseError:
        assert not (path / "manifest.json").exists()
        return None
    database.verify()
    return content_of(database)


def check_whole(task: str, path: Path) -> bool:
    """Before or after, and the next writer gets through and leaves only what is needed. True if it was before."""
    before = None if task == "build" else OLD
    n_segments = len(Database.open(path).segments) if (path / "manifest.json").exists() else 0
    found = content_or_none(path)
    assert found in (before, AFTER[task])
    is_before = n_segments == 6 if task == "compact" else found == before
    assert n_segments in (6, 3) or task != "compact"
    if task == "build" and found is not None:
        Database.open(path).append_records([records_of(OLD)])
    else:
        work(task, path)
    database = Database.open(path)
    database.verify()
    assert files_in(path) == needed_files(database)
    return is_before


def usual_duration(task: str, path: Path, writer: Writer) -> float:
    """Seconds that the write takes when nothing interrupts it."""
    durations = []
    for _ in range(3):
        prepare(task, path)
        start = time.monotonic()
        assert writer.run(task, path) == 0
        durations.append(time.monotonic() - start)
    return min(durations)


@pytest.mark.parametrize("task", TASKS)
def test_killed_at_random_moments(task: str, writer: Writer, tmp_path: Path) -> None:
    """Until that many writes were really interrupted: some finish before the signal comes."""
    path = tmp_path / "db.exaln"
    duration = usual_duration(task, path, writer)
    random = np.random.default_rng(TASKS.index(task))
    interrupted = 0
    for _ in range(20 * MOMENTS):
        prepare(task, path)
        code = writer.run(task, path, kill_after_s=random.uniform(0, duration))
        assert code in (0, -signal.SIGKILL)
        check_whole(task, path)
        interrupted += code == -signal.SIGKILL
        if interrupted == MOMENTS:
            return
    pytest.fail(f"only {interrupted} writes could be interrupted")


@pytest.mark.parametrize("task", TASKS)
def test_killed_before_every_step(task: str, writer: Writer, tmp_path: Path) -> None:
    """Each call that changes the disk in turn, so that the moments around the commit are certainly among them."""
    path = tmp_path / "db.exaln"
    outcomes = []
    step = 1
    while True:
        prepare(task, path)
        code = writer.run(task, path, step=step)
        assert code in (0, -signal.SIGKILL)
        outcomes.append(check_whole(task, path))
        if code == 0:
            break
        step += 1
    assert outcomes[0] is True
    assert outcomes[-1] is False
    assert outcomes == sorted(outcomes, reverse=True), "once committed, it stays so"
