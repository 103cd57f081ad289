"""Where a device gets its batches: resident ones that stay on it, or streamed ones that pass through two slots.

While the device scores a streamed batch in one slot, a reader thread lets the next batch be read from its file, which
checks its hashes the first time, and be sent to the other slot.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.engines.cuda.scan.batch_rows import BatchRows
from exaln.engines.cuda.scan.batches import DeviceBatch, HostBatch, keep_batch, upload_batch
from exaln.engines.cuda.scan.buffers import SLOTS

if TYPE_CHECKING:
    from exaln.database.views import TargetRows
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.cuda.scan.code_uploads import CodeUploads
    from exaln.engines.cuda.scan.results import ScanTimes

WAIT_SECONDS = 0.1
"""Time after which a waiting reader checks whether it was closed."""


@dataclass(frozen=True)
class Task:
    """One batch against one group of queries. group: its number."""

    group: int
    rows: BatchRows


class Tasks:
    """Tasks that wait for a device."""

    def __init__(self, tasks: Iterable[Task], split: Callable[[BatchRows], tuple[BatchRows, BatchRows]]) -> None:
        self._waiting = deque(tasks)
        self._split = split
        self._max_size: int | None = None
        self._lock = threading.Lock()

    def take(self, preference: Callable[[BatchRows], int | None] = lambda rows: 0) -> Task | None:
        """Return the next task, or None. preference: the lowest comes first; None leaves a task to other devices."""
        with self._lock:
            ranked = [(preference(task.rows), place) for place, task in enumerate(self._waiting)]
            eligible = [(rank, place) for rank, place in ranked if rank is not None]
            if not eligible:
                return None
            place = min(eligible)[1]
            task = self._waiting[place]
            del self._waiting[place]
            while self._max_size is not None and len(task.rows) > 1 and task.rows.size > self._max_size:
                one, other = self._split(task.rows)
                self._waiting.appendleft(Task(task.group, other))
                task = Task(task.group, one)
            return task

    def put_back(self, tasks: Iterable[Task]) -> None:
        """Put tasks that were taken and not done before all others."""
        with self._lock:
            self._waiting.extendleft(reversed(list(tasks)))

    def halve(self) -> None:
        """Split tasks, when they are taken, until they are at most half as large as the largest, or single rows."""
        with self._lock:
            largest = max((task.rows.size for task in self._waiting if len(task.rows) > 1), default=1)
            self._max_size = min(largest, self._max_size or largest) // 2


@dataclass(frozen=True)
class Loaded:
    """A task whose batch is on the device or being sent there. slot: of a streamed batch."""

    task: Task
    batch: DeviceBatch
    slot: int | None = None


class ResidentBatches:
    """Batches that stay on the device, sent when they are first needed. taken: tasks that are not done."""

    def __init__(
        self,
        workspace: Workspace,
        uploads: CodeUploads,
        segments: Sequence[TargetRows],
        take: Callable[[], Task | None],
        read: Callable[[Task], HostBatch],
        times: ScanTimes,
    ) -> None:
        self._workspace, self._uploads, self._segments = workspace, uploads, segments
        self._take, self._read, self._times = take, read, times
        self.taken: list[Task] = []

    def next(self) -> Loaded | None:
        """Return the next batch, or None after the last one."""
        task = self._take()
        if task is None:
            return None
        self.taken.append(task)
        segment = self._segments[task.rows.segment]
        batch = self._workspace.residents.get(segment, task.rows)
        if batch is None:
            started = time.perf_counter()
            host = self._read(task)
            batch = keep_batch(self._workspace, self._uploads, segment, host)
            self._times.upload += time.perf_counter() - started
            self._times.bytes_sent += host.sent_bytes
        return Loaded(task, batch)

    def done(self, loaded: Loaded) -> None:
        """Count a task as done."""
        self.taken.remove(loaded.task)

    def close(self) -> None:
        """End the threads that read codes."""
        self._uploads.close()


class StreamedBatches:
    """Batches that pass through two slots, prefetched by a reader thread. taken: tasks that are not done."""

    def __init__(
        self,
        workspace: Workspace,
        uploads: CodeUploads,
        segments: Sequence[TargetRows],
        take: Callable[[], Task | None],
        read: Callable[[Task], HostBatch],
        times: ScanTimes,
    ) -> None:
        self._workspace, self._uploads, self._segments = workspace, uploads, segments
        self._take, self._read, self._times = take, read, times
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._ready: queue.SimpleQueue[Loaded | BaseException | None] = queue.SimpleQueue()
        self._is_closed = threading.Event()
        self.taken: list[Task] = []
        for slot in range(len(SLOTS)):
            self._free.put(slot)
        self._thread = threading.Thread(target=self._run, name="exaln reader", daemon=True)
        self._thread.start()

    def next(self) -> Loaded | None:
        """Return the next batch, or None after the last one. Raises the errors of the reader thread."""
        loaded = self._ready.get()
        if isinstance(loaded, BaseException):
            raise loaded
        return loaded

    def done(self, loaded: Loaded) -> None:
        """Count a task as done, and free its slot."""
        self.taken.remove(loaded.task)
        assert loaded.slot is not None
        self._free.put(loaded.slot)

    def close(self) -> None:
        """Stop the reader thread, and those that read codes, and wait for them."""
        self._is_closed.set()
        self._thread.join()
        self._uploads.close()

    def _run(self) -> None:
        try:
            self._workspace.device.activate()
            while not self._is_closed.is_set() and (task := self._take()) is not None:
                self.taken.append(task)
                host = self._read(task)
                slot = self._next_free()
                if slot is None:
                    break
                self._ready.put(self._load(task, host, slot))
            self._ready.put(None)
        except BaseException as error:
            self._ready.put(error)

    def _next_free(self) -> int | None:
        while not self._is_closed.is_set():
            try:
                return self._free.get(timeout=WAIT_SECONDS)
            except queue.Empty:
                continue
        return None

    def _load(self, task: Task, host: HostBatch, slot: int) -> Loaded:
        started = time.perf_counter()
        address = self._workspace.scratch(SLOTS[slot], host.device_bytes)
        segment = self._segments[task.rows.segment]
        ready = upload_batch(self._workspace, self._uploads, address, segment, host)
        self._times.upload += time.perf_counter() - started
        self._times.bytes_sent += host.sent_bytes
        return Loaded(task, DeviceBatch(host, address, ready), slot)
