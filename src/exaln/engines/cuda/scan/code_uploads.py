"""Residue codes on their way from files to a device, through pinned buffers.

Each thread reads a unit of a few megabytes into a free buffer, where hashes and letters are checked while they are in
the cache, and queues its copy to the device. So reading, checking and copying overlap, and host memory does not grow
with the database.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.database.checked_file import BLOCK_BYTES
from exaln.engines.cuda.scan.buffers import upload_buffer
from exaln.engines.cuda.scan.in_flight import Cancelled
from exaln.foundation.resources import available_threads
from exaln.foundation.thread_pool import ThreadPool

if TYPE_CHECKING:
    from exaln.database.views import TargetRows
    from exaln.engines.cuda.runtime.device import Event
    from exaln.engines.cuda.runtime.workspace import Workspace

UNIT_BYTES = 4 * BLOCK_BYTES
MAX_THREADS = 8
"""More threads wait longer for the GIL, between two hashes, than they read."""

SPARE_BUFFERS = 4
"""Buffers besides those that are being filled, whose copies are under way."""


@dataclass(frozen=True)
class Unit:
    """Codes [begin, begin + size) of a segment, for a place on the device."""

    address: int
    begin: int
    size: int


class CodeUploads:
    """Sends codes to a device. stop: once set, Cancelled is raised. Close it: it has threads."""

    def __init__(self, workspace: Workspace, stop: threading.Event) -> None:
        self._workspace, self._device, self._stop = workspace, workspace.device, stop
        self._n_threads = min(MAX_THREADS, available_threads())
        self._pool: ThreadPool | None = None
        self._free: queue.SimpleQueue[tuple[int, Event | None]] = queue.SimpleQueue()
        for number in range(self._n_threads + SPARE_BUFFERS):
            self._free.put((number, None))

    def send(self, address: int, segment: TargetRows, ranges: Sequence[tuple[int, int]]) -> None:
        """Send the codes [begin, end) of each range to consecutive memory. On return, copies may still be queued."""
        units = list(units_of(address, ranges, segment.block_offset))
        if len(units) == 1:
            self._send(segment, units[0])
            return
        if self._pool is None:
            self._pool = ThreadPool(self._n_threads, self._device.activate)
        self._pool.run(lambda unit: self._send(segment, unit), units)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.close()

    def _send(self, segment: TargetRows, unit: Unit) -> None:
        number, sent = self._free.get()
        try:
            if sent is not None:
                self._device.wait(sent)
            if self._stop.is_set():
                raise Cancelled
            codes = self._workspace.pinned(upload_buffer(number), UNIT_BYTES)[: unit.size]
            segment.read_codes(unit.begin, codes)
            stream = self._workspace.copy_stream
            self._device.upload(unit.address, codes, stream)
            sent = self._device.record(self._device.event(), stream)
        finally:
            self._free.put((number, sent))


def units_of(address: int, ranges: Sequence[tuple[int, int]], block_offset: int) -> Iterator[Unit]:
    """Cut ranges of codes where blocks of the file begin, into units for consecutive memory from `address` on.

    >>> [(unit.begin, unit.size) for unit in units_of(0, [(0, UNIT_BYTES + 5)], 3)]
    [(0, 4194301), (4194301, 8)]
    """
    for begin, end in ranges:
        while begin < end:
            cut = min(end, begin + UNIT_BYTES - (begin + block_offset) % UNIT_BYTES)
            yield Unit(address, begin, cut - begin)
            address, begin = address + cut - begin, cut
