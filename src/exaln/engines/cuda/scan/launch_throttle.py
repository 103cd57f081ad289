"""How far ahead of the device a scan queues its work, and how it tells of what is done."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from exaln.engines.cuda.scan.pending import Stopped

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import Device, Event

MAX_AHEAD_SECONDS, MARK_SECONDS = 0.2, 0.02
"""How much is queued at most, and how often the device tells how far it is; both by rough estimates of the work."""


class Pace:
    """Marks in the streams of a device. report: gets cells as they are done. stop: when it is set, Stopped is raised."""

    def __init__(self, device: Device, stop: threading.Event, report: Callable[[int], None]) -> None:
        self._device, self._stop, self._report = device, stop, report
        self._marks: deque[tuple[Event, float, int]] = deque()
        self._ahead = 0.0
        self._unmarked_seconds, self._unmarked_cells = 0.0, 0

    def went_on(self, stream: Any, cells: int, seconds: float) -> None:
        """So much was put into a stream. Waits if it is too much, so that an interrupt is obeyed soon."""
        self._unmarked_seconds += seconds
        self._unmarked_cells += cells
        if self._unmarked_seconds > MARK_SECONDS:
            mark = self._device.record(self._device.event(), stream)
            self._marks.append((mark, self._unmarked_seconds, self._unmarked_cells))
            self._ahead += self._unmarked_seconds
            self._unmarked_seconds, self._unmarked_cells = 0.0, 0
        while self._marks and (self._ahead > MAX_AHEAD_SECONDS or self._device.is_done(self._marks[0][0])):
            self._pass_mark()
        if self._stop.is_set():
            raise Stopped

    def batch_done(self, cells: int) -> None:
        """A batch is done, and with it so many cells that nobody was told of."""
        while self._marks and self._device.is_done(self._marks[0][0]):
            self._pass_mark()
        self._unmarked_cells += cells
        if not self._marks:
            self._report(self._unmarked_cells)
            self._unmarked_cells = 0

    def _pass_mark(self) -> None:
        mark, seconds, cells = self._marks.popleft()
        self._device.wait(mark)
        self._ahead -= seconds
        self._report(cells)
