"""Threads that a test leaves behind. Those of earlier tests may end at any moment, so only new ones count."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 5
"""Seconds. A thread that has been joined disappears a moment later."""


def all_threads() -> set[int]:
    """The ids of all threads of this process, native ones too, as the system counts them."""
    return {int(thread.name) for thread in Path("/proc/self/task").iterdir()}


def python_threads() -> set[threading.Thread]:
    """All threads that Python code started; a thread of the test runner appears when it looks at them."""
    return {thread for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)}


@contextmanager
def no_new_threads() -> Iterator[None]:
    """The block must leave no thread of Python that was not there before."""
    before = python_threads()
    yield
    deadline = time.monotonic() + PATIENCE
    while (left := python_threads() - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left


def n_new_threads(before: set[int]) -> int:
    """How many threads there are that were not in all_threads() `before`, after a while at most."""
    deadline = time.monotonic() + PATIENCE
    while (left := all_threads() - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(left)
