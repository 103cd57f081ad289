"""A process that aligns a long pair in a work directory and is killed before a given step; see crashing_writer.py."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import xxhash  # noqa: F401  (before the fork, for speed)

from crashing_writer import die_before_step
from exaln.scoring.modes import Mode
from long_cases import align_in, long_pair


def main() -> None:
    os.fsync = lambda file: None  # slow, and a killed process loses no data without it
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            die_before_step(order["step"])
            align_in(Path(order["path"]), long_pair(Mode.parse(order["mode"])))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
