"""The workers of a cluster as the client sees them: which are present, how fast they are, and which are gone."""

from __future__ import annotations

import queue
import threading
import time
import uuid
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from exaln import __version__
from exaln.cluster.hosts import Cluster
from exaln.cluster.unit_search import introduce
from exaln.cluster.units import Unit
from exaln.errors import EngineError, ExalnWarning
from exaln.foundation.plurals import number_of

TICK_S, SHORT_TICK_S = 0.5, 0.05
LOOK_S = 1.0
"""The scheduler is asked for its workers this often."""

GATHER_S = 10.0
"""How long after the first worker the search begins; others may join later."""

RESULT_S = 30
"""A finished result that does not arrive within this time counts as lost."""


@dataclass(frozen=True)
class Ended:
    """A task that has ended. result: what it returned, an error as `run_unit` returns it, or None if it was lost."""

    key: str
    result: dict[str, Any] | None


@dataclass(eq=False)
class Assigned:
    """A unit that was sent to a worker, until its result arrives."""

    unit: Unit
    worker: WorkerState
    future: Any


@dataclass(eq=False)
class WorkerState:
    """A worker, as the client sees it.

    speed: cells per second. heard_at: when its first assigned unit can have begun. busy_s: seconds of computing.
    began, ended: of the first and the last unit, by the clock of the worker.
    """

    address: str
    name: str
    engine: str
    speed: float
    assigned: list[Assigned] = field(default_factory=list)
    heard_at: float = 0.0
    n_units: int = 0
    cells: int = 0
    busy_s: float = 0.0
    began: float = 0.0
    ended: float = 0.0

    def finished(self, cells: int, times: Sequence[float]) -> None:
        """Record a finished unit; times: the N_TIMES times of `dask_search`."""
        seconds = max(times[3] - times[2], 1e-6)
        self.began = times[2] if not self.n_units else min(self.began, times[2])
        self.ended = max(self.ended, times[3])
        self.n_units, self.cells, self.busy_s = self.n_units + 1, self.cells + cells, self.busy_s + seconds
        self.speed = (self.speed + cells / seconds) / 2

    def describe(self) -> str:
        """The worker's part in the search as text, for --verbose."""
        waited = max(0.0, 1 - self.busy_s / max(self.ended - self.began, 1e-9))
        rate = self.cells / max(self.busy_s, 1e-9) / 1e9
        units = number_of(self.n_units, "unit")
        return f"{self.name} ({self.engine}): {units}, {rate:.3g} GCUPS, waited {waited:.1%} of the time between them"


class Workers:
    """All workers of a cluster. present: by address. advice: for error messages, what to do if the cluster is lost."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.advice = "; --resume DIR would keep finished work"
        self.present: dict[str, WorkerState] = {}
        self.gone: list[WorkerState] = []
        self._run_name = uuid.uuid4().hex[:12]
        self._n_tasks = 0
        self._events: queue.Queue[Ended] = queue.Queue()
        self._introductions: dict[str, Any] = {}
        self._refused: dict[str, str] = {}
        self._refreshed_at, self._empty_since = 0.0, time.monotonic()

    @property
    def speed(self) -> float:
        """Cells per second of all workers."""
        return sum(worker.speed for worker in self.present.values())

    def wait(self, n: int) -> list[WorkerState]:
        """Wait for n workers, but at most GATHER_S after the first; returns those that are present."""
        deadline = float("inf")
        while len(self.present) < n and time.monotonic() < deadline:
            self.refresh()
            self.ended_tasks(SHORT_TICK_S)
            if self.present:
                deadline = min(deadline, time.monotonic() + GATHER_S)
        return list(self.present.values())

    def submit(self, function: Any, address: str, *arguments: Any) -> Any:
        """Run a function on one worker and return its future; `ended_tasks` reports its result."""
        self._n_tasks += 1
        future = self.cluster.client.submit(
            function,
            *arguments,
            key=f"exaln-{self._run_name}-{self._n_tasks}",
            workers=[address],
            allow_other_workers=False,
            pure=False,
        )
        future.add_done_callback(lambda ended: threading.Thread(target=self._fetch, args=(ended,), daemon=True).start())
        return future

    def refresh(self) -> list[WorkerState]:
        """Ask the scheduler for its workers and new ones to introduce themselves; returns those that are lost.

        EngineError if the scheduler is gone, or if there is no worker for too long.
        """
        now = time.monotonic()
        if now - self._refreshed_at < LOOK_S and self.present:
            return []
        self._refreshed_at = now
        self.cluster.check()
        found = self._addresses()
        for address in found - self.present.keys() - self._introductions.keys() - self._refused.keys():
            self._introductions[address] = self.submit(introduce, address, self.cluster.settings)
        for address in self._introductions.keys() - found:
            del self._introductions[address]
        lost = [self.present.pop(address) for address in self.present.keys() - found]
        self.gone += lost
        if len(found) >= self.cluster.n_expected and found <= self._refused.keys():
            raise EngineError(self._refused[min(found)])
        if self.present:
            self._empty_since = now
        elif now - self._empty_since > self.cluster.patience_s:
            raise EngineError(f"{self.cluster.name}: no worker for {self.cluster.patience_s:.0f} s{self.advice}")
        return lost

    def ended_tasks(self, wait_s: float = TICK_S) -> list[Ended]:
        """The tasks of the caller that have ended, after waiting up to `wait_s` for the first."""
        events = list[Ended]()
        with suppress(queue.Empty):
            while True:
                events.append(self._events.get(wait_s > 0, wait_s))
                wait_s = 0.0
        return [ended for ended in events if not self._is_introduction(ended)]

    def _fetch(self, future: Any) -> None:
        """Get the result of a task, on its own thread: a worker that hangs may never send it.

        `future.result` would wait for several results together, so one that hangs would delay the others.
        """
        try:
            if future.status == "finished":
                result = self.cluster.result_of(future.key, RESULT_S)
            elif future.status == "error":
                error = future.exception(timeout=RESULT_S)
                result = {"error": "EngineError", "message": f"unexpected {type(error).__name__}: {error}"}
            else:
                result = None
        except Exception:  # a broken connection can raise anything: the result is lost
            result = None
        self._events.put(Ended(future.key, result))

    def require_scheduler(self) -> None:
        """EngineError if the connection to the scheduler is lost."""
        if self.cluster.client.status != "running":
            raise EngineError(f"{self.cluster.name}: the scheduler is gone{self.advice}")

    def _addresses(self) -> set[str]:
        self.require_scheduler()
        try:
            return self.cluster.addresses
        except (OSError, TimeoutError):
            raise EngineError(f"{self.cluster.name}: the scheduler is gone{self.advice}") from None

    def _is_introduction(self, ended: Ended) -> bool:
        """True if the task was an introduction; adds its worker, or refuses it with a warning."""
        address = next((known for known, waiting in self._introductions.items() if waiting.key == ended.key), None)
        if address is None:
            return False
        del self._introductions[address]
        about = ended.result
        if about is None:
            return True  # the worker is gone again
        problem = about.get("message")
        if problem is None and about["version"] != __version__:
            problem = f"it runs exaln {about['version']}, but this is {__version__}"
        if problem is not None:
            self._refused[address] = f"worker {address} on {about.get('host', '?')} cannot be used: {problem}"
            warnings.warn(self._refused[address], ExalnWarning, stacklevel=2)
            return True
        name = f"{about['host']}:{about['pid']}"
        self.present[address] = WorkerState(address, name, about["engine"], about["speed"])
        return True
