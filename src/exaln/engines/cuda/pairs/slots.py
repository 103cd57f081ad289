"""Slots for batches of pairs in flight. A device keeps its slots between calls, because pinned memory is slow to get.

While one batch is computed, the next is filled and sent, and the results of the one before are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import Event
    from exaln.engines.cuda.runtime.workspace import Workspace


class Slot:
    """Room for one batch: a pinned block, the same block on the device, arena and runs, and a stream.

    block: uint8[n], pinned. device_block, arena, runs: addresses on the device.
    """

    def __init__(self, workspace: Workspace, number: int) -> None:
        self._workspace, self._number = workspace, number
        self.stream: Any = workspace.device.stream()
        self.block = np.empty(0, np.uint8)
        self.device_block = self.arena = self.runs = 0
        self._is_queued = False
        self._done: Event | None = None

    def reserve(self, block: int, device_block: int, arena: int, runs: int) -> None:
        """Get memory of these sizes. The slot must be settled."""
        scratch, number = self._workspace.scratch, self._number
        self.block = self._workspace.pinned(("block of pairs", number), block)
        self.device_block = scratch(("block of pairs", number), device_block)
        self.arena = scratch(("arena of pairs", number), arena)
        self.runs = scratch(("runs of pairs", number), runs)

    @contextmanager
    def queueing(self) -> Iterator[None]:
        """Queue work in the stream; `settle` waits for all of it, even if an exception interrupts the queueing."""
        self._is_queued, self._done = True, None
        yield
        device = self._workspace.device
        self._done = device.record(device.event(), self.stream)

    def settle(self) -> None:
        """Wait until the device no longer uses the slot. May be repeated after an interruption."""
        if not self._is_queued:
            return
        if self._done is None:
            self._workspace.device.synchronize()
        else:
            self._workspace.device.wait(self._done)
        self._is_queued = False


def slots_of(workspace: Workspace, n: int) -> list[Slot]:
    """n slots of a device, none of them in use."""
    slots: list[Slot] = workspace.kept("slots of pairs", list)
    while len(slots) < n:
        slots.append(Slot(workspace, len(slots)))
    for slot in slots:
        slot.settle()
    return slots[:n]
