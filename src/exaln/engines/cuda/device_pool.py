"""Opened GPUs, kept for the life of the process and lent to one call at a time.

A search finds on a device what the search before left there. A scan that runs while another one uses the device, as
two generators in turn do, gets a workspace of its own.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.cuda.scan.cache import ScanCache
    from exaln.engines.cuda.scan.planner import Planner


class DevicePool:
    """Workspaces on GPUs, and what scans remember. engine.py holds the pool of the process; tests make their own.

    planner: None for the usual one.
    """

    def __init__(self, planner: Planner | None = None) -> None:
        self._planner = planner
        self._idle: dict[int, list[Workspace]] = {}
        self._lock = threading.Lock()

    @cached_property
    def planner(self) -> Planner:
        """The rules by which scans are planned."""
        from exaln.engines.cuda.scan.planner import Planner

        return self._planner or Planner()

    @cached_property
    def cache(self) -> ScanCache:
        """What scans by these rules remember."""
        from exaln.engines.cuda.scan.cache import ScanCache

        return ScanCache()

    def with_planner(self, planner: Planner) -> DevicePool:
        """Return a pool with the same devices, another planner, and an empty cache."""
        pool = DevicePool(planner)
        pool._idle, pool._lock = self._idle, self._lock
        return pool

    @contextmanager
    def lend(self, devices: Sequence[int], memory: int | None) -> Iterator[list[Workspace]]:
        """Lend a workspace on each of these GPUs, with `memory` bytes each, or all free memory if it is None.

        A number that occurs twice gives two workspaces on one GPU.
        """
        n_openings = Counter(devices)
        held = [self._take_idle(number) for number in devices]
        try:
            missing = [number for number, workspace in zip(devices, held, strict=True) if workspace is None]
            opened = iter(_open(missing))
            workspaces = [workspace or next(opened) for workspace in held]
            held = [*workspaces]
            for workspace in workspaces:
                workspace.device.activate()
                workspace.device.set_budget(memory, n_openings[workspace.device.number])
            yield workspaces
        finally:
            with self._lock:
                for lent in reversed(held):
                    if lent is not None and not lent.device.is_broken:
                        self._idle.setdefault(lent.device.number, []).append(lent)

    def idle(self, device: int) -> list[Workspace]:
        """Return the idle workspaces on a GPU, the one that was used last at the end."""
        return self._idle.get(device, [])

    def _take_idle(self, number: int) -> Workspace | None:
        """Return the workspace that was used last, because it may hold what is needed."""
        with self._lock:
            idle = self.idle(number)
            return idle.pop() if idle else None


def _open(devices: Sequence[int]) -> list[Workspace]:
    """Open GPUs in parallel, because opening takes a while."""
    from concurrent.futures import ThreadPoolExecutor

    from exaln.engines.cuda.runtime.device import Device
    from exaln.engines.cuda.runtime.workspace import Workspace

    if len(devices) <= 1:
        return [Workspace(Device(number)) for number in devices]
    with ThreadPoolExecutor(len(devices)) as pool:
        return list(pool.map(lambda number: Workspace(Device(number)), devices))
