"""Limits how much work is queued ahead of a device, and reports the cells that are done."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from exaln.engines.cuda.scan.in_flight import Cancelled

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import Device, Event

MAX_AHEAD_SECONDS, MARK_SECONDS = 0.2, 0.02
"""Most work in the queue, and work between two marks; both by rough estimates."""


class LaunchThrottle:
    """Counts the work in the streams of a device. report: called with cells that are done. stop: set to cancel."""

    def __init__(self, device: Device, stop: threading.Event, report: Callable[[int], None]) -> None:
        self._device, self._stop, self._report = device, stop, report
        self._marks: deque[tuple[Event, float, int]] = deque()
        self._queued_seconds = 0.0
        self._unmarked_seconds, self._unmarked_cells = 0.0, 0

    def launched(self, stream: Any, cells: int, seconds: float) -> None:
        """Count work that was queued in a stream, and wait if there is too much of it.

        Raises Cancelled if the scan was stopped, so that an interrupt takes effect soon.
        """
        self._unmarked_seconds += seconds
        self._unmarked_cells += cells
        if self._unmarked_seconds > MARK_SECONDS:
            mark = self._device.record(self._device.event(), stream)
            self._marks.append((mark, self._unmarked_seconds, self._unmarked_cells))
            self._queued_seconds += self._unmarked_seconds
            self._unmarked_seconds, self._unmarked_cells = 0.0, 0
        while self._marks and (self._queued_seconds > MAX_AHEAD_SECONDS or self._device.is_done(self._marks[0][0])):
            self._pass_mark()
        if self._stop.is_set():
            raise Cancelled

    def batch_done(self, cells: int) -> None:
        """Count cells of a finished batch that no launch has counted."""
        while self._marks and self._device.is_done(self._marks[0][0]):
            self._pass_mark()
        self._unmarked_cells += cells
        if not self._marks:
            self._report(self._unmarked_cells)
            self._unmarked_cells = 0

    def _pass_mark(self) -> None:
        mark, seconds, cells = self._marks.popleft()
        self._device.wait(mark)
        self._queued_seconds -= seconds
        self._report(cells)
