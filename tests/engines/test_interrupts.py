"""Long calls: Ctrl-C ends them, other Python threads go on, progress is reported, a failing callback stops the work."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from kernel_cases import diagonal_costs, random_codes, score_all

COSTS = diagonal_costs([1000] * 20, 10, 1)

INTERRUPTED = """
import sys, time
import numpy as np
from exaln import _core

rng = np.random.default_rng(1)
n_targets, length = int(sys.argv[1]), int(sys.argv[2])
matrix = np.where(np.eye(20, dtype=bool), 5, -4).astype(np.int32)
codes = rng.integers(0, 20, 1_000_000).astype(np.uint8)
offsets = np.arange(0, n_targets * length + 1, length)
targets = np.resize(codes, offsets[-1])
print("started", flush=True)
try:
    _core.score_all(codes, np.array([0, len(codes)]), targets, offsets, matrix, 12, 1, 2, sys.argv[3])
except KeyboardInterrupt:
    print("interrupted", flush=True)
codes = codes[:3]
print(_core.score_all(codes, np.array([0, 3]), codes, np.array([0, 3]), matrix, 12, 1).tolist(), flush=True)
"""


@pytest.mark.parametrize(
    ("n_targets", "length", "isa"),
    [(1, 1_000_000, ""), (1, 1_000_000, "portable"), (2000, 10_000, ""), (2000, 10_000, "portable")],
)
def test_ctrl_c_ends_a_long_call_and_leaves_the_process_usable(n_targets, length, isa):
    """Hours of work or nearly so: one target (striped), and many (groups)."""
    command = [sys.executable, "-c", INTERRUPTED, str(n_targets), str(length), isa]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "started\n"
            time.sleep(0.4)
            assert process.poll() is None
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
            assert time.monotonic() - start < 3  # a second, and some for a busy machine
            assert process.stdout.readline() == "[[15]]\n"
            assert process.wait(10) == 0
        finally:
            process.kill()


def long_call(on_progress=None, threads=1):
    """A good second of work."""
    rng = np.random.default_rng(1)
    query, targets = random_codes(rng, 4000, 20), [random_codes(rng, 4000, 20) for _ in range(100)]
    return score_all([query], targets, COSTS, threads=threads, on_progress=on_progress)


def test_other_python_threads_run_during_a_call():
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.005):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        start = time.monotonic()
        long_call()
        end = time.monotonic()
    finally:
        done.set()
        thread.join()
    during = [t for t in ticks if start < t < end]
    assert end - start > 0.1
    assert len(during) > 0.1 * (end - start) / 0.005


def test_calls_from_several_threads_at_once_are_correct():
    expected, found = long_call(), {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: long_call(threads=2)})) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for scores in found.values():
        np.testing.assert_array_equal(scores, expected)


def test_progress_grows_and_never_passes_the_number_of_cells():
    cells = []
    long_call(cells.append)
    assert cells
    assert cells == sorted(cells)
    assert 0 < cells[-1] <= 4000 * 4000 * 100


def test_an_exception_in_the_progress_callback_stops_the_scan():
    class StopNow(Exception):
        pass

    def stop(cells):
        raise StopNow(cells)

    with pytest.raises(StopNow):
        long_call(stop)
    assert long_call().shape == (1, 100)


def test_an_invalid_code_at_the_end_is_an_error_of_a_long_call():
    rng = np.random.default_rng(1)
    targets = [random_codes(rng, 5000, 20) for _ in range(100)]
    targets[50][-1] = 77
    with pytest.raises(ValueError, match="a code of 32 or more"):
        score_all([targets[0]], targets, COSTS, threads=2)


REFUSED = """
import resource, sys
import numpy as np
from exaln.engines.cpu.core_calls import score_arrays
from exaln.errors import EngineError
from types import SimpleNamespace

scoring = SimpleNamespace(matrix=np.eye(4, dtype=np.int32) * 2 - 1, gap_first=2, gap_extend=1)
rng = np.random.default_rng(1)
many = (rng.integers(0, 4, 4_000_000).astype(np.uint8), np.arange(0, 4_000_001, 100))
few = (many[0], many[1][:40])
expected = score_arrays(few, many, scoring, threads=2, isa="")
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20), resource.RLIM_INFINITY))
try:
    score_arrays(few, many, scoring, threads=5000, isa="")
except (EngineError, MemoryError) as error:
    print("refused:", error)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert (score_arrays(few, many, scoring, threads=3, isa="") == expected).all()
print("still usable")
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_threads_that_cannot_be_started_are_an_error():
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "refused: " in done.stdout
    assert done.stdout.endswith("still usable\n")
