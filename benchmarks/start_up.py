"""Show where a fresh `exaln` process spends its time: a timeline of every thread, beside the floor of the machine.

    python benchmarks/start_up.py search --query q.fasta --db proteins.exaln --engine cuda --out hits.tsv

The command runs three times as it is, and once more with a thread that samples what all threads do. The floor is a
process that only starts the interpreter, the driver of the GPUs and the context of GPU 0.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

STEP_SECONDS = 0.002
LEAST_SECONDS = 0.004
"""Spans that are shorter are not printed."""

FLOOR = """
import ctypes, os
library, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
library.cuInit(0)
library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
os._exit(0)
"""

Span = tuple[float, float, str]


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--sampled"]:
        run_sampled(float(arguments[1]), arguments[2:])
        return
    command = [sys.executable, "-m", "exaln", *arguments]
    for name, words in (("interpreter", [sys.executable, "-c", ""]), ("floor", [sys.executable, "-c", FLOOR])):
        print(f"{name}: {min(seconds_of(words) for _ in range(3)):.3f} s")
    print("whole process:", ", ".join(f"{seconds_of(command):.3f} s" for _ in range(3)), flush=True)
    subprocess.run([sys.executable, __file__, "--sampled", str(time.monotonic()), *arguments], check=True)


def seconds_of(command: list[str]) -> float:
    """The wall time of a process."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def run_sampled(started: float, arguments: list[str]) -> None:
    """Run a command line in this process, and print what its threads did. started: when the process was."""
    samples: list[tuple[float, int, str]] = []
    names: dict[int, str] = {}
    is_over = threading.Event()

    def sample() -> None:
        while not is_over.wait(STEP_SECONDS):
            now = time.monotonic() - started
            names.update({thread.ident or 0: thread.name for thread in threading.enumerate()})
            for thread, frame in sys._current_frames().items():
                if thread != threading.get_ident():
                    samples.append((now, thread, place_of(frame)))

    sampler = threading.Thread(target=sample, name="sampler", daemon=True)
    sampler.start()
    from exaln.__main__ import run

    code = run(arguments)
    end = time.monotonic() - started
    is_over.set()
    sampler.join()
    print(f"sampled: {end:.3f} s, exit code {code}")
    for thread in dict.fromkeys(thread for _, thread, _ in reversed(samples)):
        print(f"thread {names.get(thread, '?')}")
        for begin, until, what in spans([(now, what) for now, own, what in samples if own == thread]):
            if until - begin >= LEAST_SECONDS:
                print(f"  {begin * 1e3:7.0f} ms {1e3 * (until - begin):6.0f} ms  {what}")


def place_of(frame: FrameType) -> str:
    """The functions of exaln that a thread is in, the last two, and what they call."""
    inner, own = frame, []
    walked: FrameType | None = frame
    while walked is not None:
        if "/exaln/" in walked.f_code.co_filename:
            file = walked.f_code.co_filename.rpartition("/exaln/")[2]
            own.append(f"{file}:{walked.f_lineno} {walked.f_code.co_name}")
        walked = walked.f_back
    called = "" if "/exaln/" in inner.f_code.co_filename else f" -> {inner.f_code.co_name}"
    if own and own[0].endswith("<module>"):  # an import: which step of it is of no interest
        called = ""
    return " < ".join(own[:2]) + called if own else f"{inner.f_code.co_filename}:{inner.f_lineno}"


def spans(samples: list[tuple[float, str]]) -> Iterator[Span]:
    """Samples as (begin, end, what): consecutive equal ones together."""
    begin, last, what = 0.0, 0.0, ""
    for now, seen in samples:
        if seen != what:
            if what:
                yield begin, now, what
            begin, what = now, seen
        last = now
    if what:
        yield begin, last, what


if __name__ == "__main__":
    main(sys.argv[1:])
