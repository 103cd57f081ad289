"""A process that writes databases and can be killed. For each line of JSON on stdin it forks a child that writes.

Forking after all imports makes each attempt cheap and its timing repeatable.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow  # noqa: F401  (before the fork, for speed)
import xxhash  # noqa: F401

from database_samples import TINY, random_sequences, records_of
from exaln.database.database import Database
from exaln.database.segment_limits import SegmentLimits

OLD = random_sequences(60, seed=10)
NEW = random_sequences(150, seed=11)
COMPACTED = SegmentLimits(rows=25)


def work(task: str, path: Path) -> None:
    """Do the write that a test interrupts; task: "build", "replace", "append" or "compact"."""
    if task == "build":
        Database.build_records([records_of(NEW)], path, limits=TINY)
    elif task == "replace":
        Database.build_records([records_of(NEW)], path, limits=TINY, force=True)
    elif task == "append":
        Database.open(path).append_records([records_of(NEW)], limits=TINY)
    elif task == "compact":
        Database.open(path).compact(limits=COMPACTED)
    else:
        raise ValueError(task)


def die_before_step(step: int) -> None:
    """Kill this process right before its n-th call of a function that changes files durably; step: n, from 1."""
    calls = 0

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)

        return call

    for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (os, "pwrite")):
        setattr(owner, name, counting(getattr(owner, name)))


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            if order.get("step"):
                die_before_step(order["step"])
            work(order["task"], Path(order["path"]))
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
