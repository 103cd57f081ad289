"""Host memory of a process while it runs, sampled from /proc.

RssAnon counts the pages that the process has written and that no file stands behind. Memory pinned by the CUDA driver
is not in it: depending on the driver it is counted as locked (VmLck, VmPin), as shared (RssShmem), or only as a mapping
of a device file. All of these are sampled; `pinned_shows_in` finds out which one rises on this machine.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from pathlib import Path

COUNTERS = ("RssAnon", "RssShmem", "RssFile", "VmLck", "VmPin", "VmHWM")
DEVICE_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ +(/dev/nvidia\S*|/dev/zero.*)$", re.MULTILINE)
INTERVAL_SECONDS = 0.005

PINNED_BYTES = 256 << 20
ALLOCATE_PINNED = f"""
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
print(flush=True)
sys.stdin.readline()
assert cuda.cuMemHostAlloc(ctypes.byref(address), ctypes.c_size_t({PINNED_BYTES}), 1) == 0
print(flush=True)
sys.stdin.readline()
"""


def counters(pid: int) -> dict[str, int]:
    """Bytes by counter of a process; empty after its end."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return {}
    found = {name: int(kilobytes) << 10 for name, kilobytes in re.findall(r"^(\w+):\s+(\d+) kB", status, re.MULTILINE)}
    mapped = sum(int(end, 16) - int(begin, 16) for begin, end, _, _ in DEVICE_MAPPING.findall(maps))
    return {**{name: found.get(name, 0) for name in COUNTERS}, "device mappings": mapped}


class MemorySampler:
    """A thread that keeps the largest value of each counter of a process, and of RssAnon with what is pinned."""

    def __init__(self, pid: int) -> None:
        self._pid, self._largest, self._is_over = pid, dict[str, int](), threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, int]:
        """End the thread. Returns the largest values."""
        self._is_over.set()
        self._thread.join()
        return self._largest

    def _sample(self) -> None:
        while not self._is_over.wait(INTERVAL_SECONDS):
            for name, value in counters(self._pid).items():
                self._largest[name] = max(self._largest.get(name, 0), value)


def pinned_shows_in() -> dict[str, int]:
    """How much each counter rises when a process pins PINNED_BYTES; empty without a GPU."""
    import sys

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", ALLOCATE_PINNED], **pipes) as process:  # type: ignore[call-overload]
        if not process.stdout.readline():
            return {}
        before = counters(process.pid)
        process.stdin.write(b"\n")
        process.stdin.flush()
        if not process.stdout.readline():
            return {}
        time.sleep(0.1)
        after = counters(process.pid)
        process.stdin.close()
    return {name: after[name] - before[name] for name in after}
