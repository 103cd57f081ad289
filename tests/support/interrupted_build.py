"""A process that builds, appends to or compacts a database again and again, and interrupts itself each time later.

Arguments: task, database, input file. For each moment it prints
whether the call was interrupted, whether the old content, the new or none is there, how many threads are left, and the
names of files that no manifest mentions.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
import warnings
from pathlib import Path
from types import FrameType

import pyarrow  # noqa: F401  (before the first moment)
import xxhash  # noqa: F401

from database_samples import files_in, needed_files
from exaln.database.database import Database
from exaln.database.segment_writer import SegmentLimits
from exaln.sequences import chunk_parser, fasta
from threads import all_threads, n_new_threads

INTERRUPTED = 12
TRIES = 200
LIMITS = SegmentLimits(rows=3000)


def main() -> None:
    task, path, source = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    warnings.simplefilter("ignore")
    fasta.LEAST_DIVIDED_BYTES, fasta.BLOCK_BYTES = 1, 1 << 16
    chunk_parser.BYTES_PARSED_AT_ONCE = 1
    signal.signal(signal.SIGALRM, _interrupt)
    prepare(task, path, source)
    started = time.perf_counter()
    work(task, path, source)
    seconds = time.perf_counter() - started
    after = state_of(path)
    n_interrupted = 0
    for moment in range(TRIES):
        prepare(task, path, source)
        before = state_of(path)
        threads = all_threads()
        signal.setitimer(signal.ITIMER_REAL, max(1e-4, seconds * (moment * 0.618 % 1)))
        started = time.perf_counter()
        try:
            work(task, path, source)
            signal.setitimer(signal.ITIMER_REAL, 0)
            interrupted = False
            seconds = min(seconds, time.perf_counter() - started)
        except KeyboardInterrupt:
            interrupted = True
        found = state_of(path)
        extra = sorted(files_in(path) - needed_files(Database.open(path))) if path.exists() else []
        state = "old" if found == before else "new" if found == after else f"{found}"
        print(interrupted, state, n_new_threads(threads), *extra, flush=True)
        n_interrupted += interrupted
        if n_interrupted == INTERRUPTED:
            break


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def prepare(task: str, path: Path, source: str) -> None:
    """The state before the call."""
    shutil.rmtree(path, ignore_errors=True)
    if task != "build":
        Database.build(source, path, limits=SegmentLimits(rows=500))


def work(task: str, path: Path, source: str) -> None:
    """The call that is interrupted."""
    if task == "append":
        Database.open(path).append([source, source], limits=LIMITS, threads=4)
    elif task == "compact":
        Database.open(path).compact(limits=LIMITS, threads=4)
    else:
        Database.build([source, source], path, limits=LIMITS, threads=4, force=True)


def state_of(path: Path) -> tuple[int, int] | None:
    """Sequences and segments of a database; None if there is none."""
    database = Database.open(path) if path.exists() else None
    return None if database is None else (database.n_targets, len(database.segments))


if __name__ == "__main__":
    main()
