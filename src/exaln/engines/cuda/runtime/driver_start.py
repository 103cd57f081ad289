"""Starts the driver of the GPUs, and their contexts, on threads that need no Python while they wait.

The driver keeps what was started for the process, so whoever opens a device later finds it, or waits in the driver
until it is there. A failure is left alone here: the same call fails again where its error is reported. Standard
library only: the command line starts the driver before numpy is imported.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from contextlib import suppress

_started: set[int] = set()
_lock = threading.Lock()


def start_driver(devices: Sequence[int] | None = None) -> None:
    """Start the driver and create the contexts of these GPUs, of all if None. Does not wait for them."""
    if devices is None or not _started.issuperset(devices):
        threading.Thread(target=_start, args=(devices,), name="exaln driver", daemon=True).start()


def _start(devices: Sequence[int] | None) -> None:
    with suppress(OSError, AttributeError):  # no driver, or one that lacks a function
        _load_library()
        library, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
        if library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)):
            return
        numbers = _not_started(range(count.value) if devices is None else devices, count.value)
        for number in numbers[1:]:
            threading.Thread(target=_retain, args=(library, number), name="exaln driver", daemon=True).start()
        for number in numbers[:1]:
            _retain(library, number)


def _load_library() -> None:
    """Load the library by a foreign function, because ctypes itself keeps the GIL while it loads one."""
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype = ctypes.c_void_p
    dlopen(b"libcuda.so.1", os.RTLD_NOW)


def _not_started(devices: Sequence[int], count: int) -> list[int]:
    """The devices that exist and have no context yet, each once, from now on counted as started."""
    with _lock:
        new = [number for number in dict.fromkeys(devices) if 0 <= number < count and number not in _started]
        _started.update(new)
        return new


def _retain(library: ctypes.CDLL, number: int) -> None:
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if not library.cuDeviceGet(ctypes.byref(device), number):
        library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
