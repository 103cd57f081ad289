"""Send SIGINT to a process at many moments of its run, and see what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MOMENTS = int(os.environ.get("EXALN_INTERRUPTS", "2"))
"""Moments of a run at which it is interrupted; `make test-interrupts` takes more."""

MAX_SECONDS = 5.0
"""From the signal to the end: a second, and some for a busy machine."""

MAX_CPU_SECONDS = 1.5
"""CPU time from the signal to the end, of all threads."""

HANGS_SECONDS = 60.0

TICKS = os.sysconf("SC_CLK_TCK")
POLL_SECONDS = 0.002


@dataclass(frozen=True)
class Interrupted:
    """How a process ended: exit code, what it printed, and seconds from the signal to its end, wall and CPU time."""

    code: int
    out: str
    err: str
    seconds: float
    cpu_seconds: float

    @property
    def is_prompt(self) -> bool:
        """Whether it ended soon after the signal."""
        return self.seconds < MAX_SECONDS and self.cpu_seconds < MAX_CPU_SECONDS


def cpu_seconds_of(command: Sequence[object], folder: Path) -> float:
    """CPU time of an uninterrupted run, which does not depend on what else the machine does."""
    with _start(command, folder) as process:
        out, err, used = _ended(process)
    assert process.returncode == 0, out + err
    return used


def interrupted(command: Sequence[object], folder: Path, after: float) -> Interrupted:
    """Run a command in a folder and interrupt it when it has used `after` seconds of CPU time."""
    with _start(command, folder) as process:
        try:
            while (before := cpu_seconds(process.pid)) < after and not _has_ended(process.pid):
                time.sleep(POLL_SECONDS)
            children = children_of(process.pid)
            sent = time.monotonic()
            os.kill(process.pid, signal.SIGINT)  # unlike send_signal, it leaves a process that has ended to _ended
            out, err, used = _ended(process)
            seconds = time.monotonic() - sent
            assert [child for child in children if Path(f"/proc/{child}").exists()] == []
            return Interrupted(process.returncode, out, err, seconds, used - before)
        finally:
            process.kill()


def moments(first: float, whole: float) -> list[float]:
    """Seconds of CPU time, spread evenly between `first` and `whole`, and not at these ends."""
    return [first + (whole - first) * (number + 0.5) / MOMENTS for number in range(MOMENTS)]


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS


def _has_ended(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def _ended(process: subprocess.Popen[str]) -> tuple[str, str, float]:
    """Wait for the end of a process, which is killed if it hangs. Returns what it printed, and its CPU time."""
    assert process.stdout is not None
    assert process.stderr is not None
    killer = threading.Timer(HANGS_SECONDS, process.kill)
    killer.start()
    out, err = process.stdout.read(), process.stderr.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    used = cpu_seconds(process.pid)
    killer.cancel()
    process.wait()
    return out, err, used


def children_of(pid: int) -> list[int]:
    """Processes that this one has started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def names_in(folder: Path) -> list[str]:
    """Every file and folder below a folder, by relative name."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def _start(command: Sequence[object], folder: Path) -> subprocess.Popen[str]:
    """Start a command with its temporary files in the folder `tmp` beside it."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
