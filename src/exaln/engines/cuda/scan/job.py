"""Executes the plan of a scan: a thread per device takes batches as the device becomes free, and posts results."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.database.views import segment_starts
from exaln.engines.cuda.letters import fold_letters
from exaln.engines.cuda.runtime.device import DeviceMemoryError
from exaln.engines.cuda.scan.batch_sources import Loaded, ResidentBatches, StreamedBatches, Task, Tasks
from exaln.engines.cuda.scan.batches import BOTH_LAYOUTS, HostBatch
from exaln.engines.cuda.scan.code_uploads import CodeUploads
from exaln.engines.cuda.scan.in_flight import BatchInFlight, Cancelled, QueryGroup
from exaln.engines.cuda.scan.launches import BatchScanner
from exaln.engines.cuda.scan.plan import BatchPlan, QueryRange, ScanRequest
from exaln.engines.cuda.scan.planner import ScanPlanning
from exaln.engines.cuda.scan.results import BatchResult, CandidateRows, ScanOptions, ScanTimes
from exaln.engines.cuda.scan.shapes import fits_packed
from exaln.errors import OutOfMemoryError

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import DeviceProperties
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.cuda.scan.batch_rows import BatchRows
    from exaln.engines.cuda.scan.cache import ScanCache
    from exaln.engines.cuda.scan.planner import Planner
    from exaln.engines.cuda.scan.strips import Strip
    from exaln.engines.tasks import EncodedSequences
    from exaln.scoring.scoring import Scoring

MAX_WAITING_RESULTS = 4
POST_SECONDS = 0.1
"""Time after which a thread that waits to post a result checks whether the scan was stopped."""


class Job:
    """All queries against all targets of a database, on these workspaces, as planned."""

    def __init__(
        self,
        workspaces: Sequence[Workspace],
        database: Any,
        queries: EncodedSequences,
        scoring: Scoring,
        options: ScanOptions,
        cache: ScanCache,
        planner: Planner,
    ) -> None:
        self.workspaces, self.scoring = workspaces, scoring
        self.segments: tuple[Any, ...] = database.segments
        self.first_rows = segment_starts(database)
        letters = cache.segments.letters(self.segments, len(database.alphabet.letters), database.n_residues)
        self.folded = fold_letters(scoring, letters)
        self.n_cells = queries.n_residues * database.n_residues
        self.times = ScanTimes()
        self._database = cache.segments.database(self.segments)
        devices = [workspace.device for workspace in workspaces]
        request = ScanRequest(
            query_lengths=tuple(queries.lengths.tolist()),
            n_letters=self.folded.n_letters,
            can_pack=all(fits_packed(scoring, device.properties) for device in devices),
            properties=devices[0].properties,
            budget=min(device.budget for device in devices),
            n_devices=len(devices),
        )
        self._planning = ScanPlanning(request, self._database, cache, planner)
        self.plan = self._planning.plan()
        self._plans = {request.properties: self.plan}
        for properties in dict.fromkeys(device.properties for device in devices[1:]):
            if properties not in self._plans:
                self._plans[properties] = self._planning.for_device(self.plan, properties)
        self.groups = [_group(queries, options, group) for group in self.plan.groups]
        self.stop = threading.Event()
        self._reports_progress = options.progress
        self.tasks = Tasks(
            (Task(group, rows) for group in range(len(self.groups)) for rows in self.plan.division.batches),
            lambda rows: rows.halves(self._database.segments[rows.segment].lengths),
        )
        self._posted: queue.Queue[BatchResult | BaseException | int | None] = queue.Queue(MAX_WAITING_RESULTS)
        self._lock = threading.Lock()

    def results(self) -> Generator[BatchResult | int, None, None]:
        """Yield results of batches as they come, and between them numbers of cells that were computed."""
        workers = [_Worker(self, workspace) for workspace in self.workspaces]
        running = len(workers)
        try:
            for worker in workers:
                worker.start()
            while running:
                posted = self._posted.get()
                if posted is None:
                    running -= 1
                elif isinstance(posted, BaseException):
                    raise posted
                else:
                    yield posted
        finally:
            self.stop.set()
            for worker in workers:
                if worker.ident is not None:
                    worker.join()

    def report(self, cells: int) -> None:
        """Post computed cells, if progress is reported."""
        if self._reports_progress and cells:
            self.post(cells)

    def post(self, what: BatchResult | BaseException | int | None) -> None:
        """Hand something to the consumer. Raises Cancelled if the consumer has closed the iterator."""
        while True:
            try:
                return self._posted.put(what, timeout=POST_SECONDS)
            except queue.Full:
                if self.stop.is_set():
                    raise Cancelled from None

    def add_times(self, times: ScanTimes) -> None:
        """Add the times of a thread that has ended."""
        with self._lock:
            self.times.add(times)
            self.times.long_length = self.plan.long_length

    def read(self, workspace: Workspace, task: Task) -> HostBatch:
        """Return the rows of a task, ready to be sent. A streamed batch sends only the columns that its strips need."""
        rows, segment = task.rows, self._database.segments[task.rows.segment]
        batch = self._batch_plan(workspace.device.properties, rows)
        long = batch.long_length
        whole = segment.batches.get((rows, long, BOTH_LAYOUTS), lambda: HostBatch(segment.lengths, rows, long))
        if self.plan.is_resident:
            return whole
        layouts = frozenset(strip.shape.is_paired for strip in batch.strips[task.group])
        return segment.batches.get((rows, long, layouts), lambda: whole.sending(layouts))

    def strips_of_groups(self, workspace: Workspace) -> list[tuple[QueryGroup, tuple[Strip, ...]]]:
        """Return each group of queries with the strips of the first batch on a device."""
        first = self._plans[workspace.device.properties].batches[:1]
        return [pair for batch in first for pair in zip(self.groups, batch.strips, strict=True)]

    def strips(self, workspace: Workspace, group: int, host: HostBatch) -> tuple[Strip, ...]:
        """Return the strips of a batch on a device."""
        properties = workspace.device.properties
        batch = self._batch_plan(properties, host.rows)
        if batch.long_length != host.long_length:  # a resident batch of a scan with another plan
            batch = self._planning.batch(self._plans[properties], host.rows, host.long_length)
        return batch.strips[group]

    def _batch_plan(self, properties: DeviceProperties, rows: BatchRows) -> BatchPlan:
        """Return the plan of these rows; batches that were split because memory is short are planned here."""
        plan = self._plans[properties]
        return plan.by_rows.get(rows) or self._planning.batch(plan, rows)

    def preference(self, workspace: Workspace, rows: BatchRows) -> int | None:
        """Rank a batch for a device: 0 if it holds the batch, 1 if no device does, 2 or None if another one does."""
        segment = self.segments[rows.segment]
        if workspace.residents.get(segment, rows) is not None:
            return 0
        if all(other.residents.get(segment, rows) is None for other in self.workspaces):
            return 1
        has_room = workspace.device.budget - workspace.device.used > 4 * rows.n_residues
        return 2 if has_room else None

    def forget_division(self) -> None:
        """Forget how the database was divided, because the division turned out too large."""
        self._database.resident.clear()


def _group(queries: EncodedSequences, options: ScanOptions, group: QueryRange) -> QueryGroup:
    """Return the queries of a range with their score cutoffs."""
    first, end = group.first, group.end
    offsets = np.asarray(queries.offsets[first : end + 1], np.int64)
    codes = np.ascontiguousarray(queries.codes[int(offsets[0]) : int(offsets[-1])])
    cutoff = None
    if options.cutoff is not None:
        cutoff = np.ascontiguousarray(options.cutoff[first:end], np.int32)
    return QueryGroup(first, codes, offsets - offsets[0], group.lengths, cutoff)


class _Worker(threading.Thread):
    """Scans batches on one device until no task is left."""

    def __init__(self, job: Job, workspace: Workspace) -> None:
        super().__init__(name=f"exaln {workspace.device}", daemon=True)
        self._job, self._workspace = job, workspace
        self._is_resident = job.plan.is_resident
        self._times = ScanTimes()

    def run(self) -> None:
        """Post results. Errors are raised in the consumer's thread."""
        job, device = self._job, self._workspace.device
        with suppress(Cancelled):
            try:
                device.activate()
                self._workspace.begin(job.segments if self._is_resident else (), job.plan.scratch)
                while not self._scan_all():
                    pass
            except Cancelled:
                raise
            except BaseException as error:
                job.post(error)
            finally:
                with suppress(Exception):
                    device.synchronize()
                job.add_times(self._times)
                job.post(None)

    def _scan_all(self) -> bool:
        """Scan until no task is left and return True; return False if memory was short and tasks were split."""
        job, source = self._job, self._source()
        in_flight: deque[tuple[Loaded, BatchInFlight]] = deque()
        loading: threading.Thread | None = None
        try:
            scanner = BatchScanner(self._workspace, job.scoring, job.folded, self._times, job.stop, job.report)
            loading = scanner.load_ahead(job.strips_of_groups(self._workspace))
            while (loaded := source.next()) is not None:
                number, batch = loaded.task.group, loaded.batch
                strips = job.strips(self._workspace, number, batch.host)
                in_flight.append((loaded, scanner.start(batch, job.groups[number], strips)))
                if len(in_flight) > 1:
                    self._finish(scanner, source, *in_flight.popleft())
            while in_flight:
                self._finish(scanner, source, *in_flight.popleft())
            return True
        except DeviceMemoryError as error:
            source.close()
            self._shrink(source.taken, error)
            return False
        finally:
            source.close()
            if loading is not None:
                loading.join()

    def _source(self) -> ResidentBatches | StreamedBatches:
        job, workspace = self._job, self._workspace
        uploads = CodeUploads(workspace, job.stop)
        if not self._is_resident:
            return StreamedBatches(
                workspace, uploads, job.segments, job.tasks.take, lambda task: job.read(workspace, task), self._times
            )
        return ResidentBatches(
            workspace,
            uploads,
            job.segments,
            lambda: job.tasks.take(lambda rows: job.preference(workspace, rows)),
            lambda task: job.read(workspace, task),
            self._times,
        )

    def _finish(
        self,
        scanner: BatchScanner,
        source: ResidentBatches | StreamedBatches,
        loaded: Loaded,
        pending: BatchInFlight,
    ) -> None:
        host, first_query = loaded.batch.host, pending.group.first
        first_row = int(self._job.first_rows[host.rows.segment])
        for result in scanner.finish(pending):
            if not isinstance(result, CandidateRows) or len(result.rows):
                self._job.post(BatchResult(first_query, first_row, host.rows, host.lengths, result))
        source.done(loaded)

    def _shrink(self, unfinished: list[Task], error: DeviceMemoryError) -> None:
        """Free the device and continue with smaller, streamed batches. Raises OutOfMemoryError for single rows."""
        if all(len(task.rows) <= 1 for task in unfinished):
            raise OutOfMemoryError(str(error)) from None
        self._workspace.clear()
        self._workspace.begin((), {})
        self._job.forget_division()
        self._job.tasks.put_back(unfinished)
        self._job.tasks.halve()
        self._is_resident = False
