"""One scan over all its devices: a thread per device takes batches as the device becomes free, and results come together.

Devices are opened once per process and lent to scans, so that a search finds on the device what the one before left there.
A scan that runs while another one uses the device (two generators in turns) gets an opening of its own.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.database.views import segment_starts
from exaln.engines.cuda.runtime.device import Device, DeviceMemoryError
from exaln.engines.cuda.scan.batch_scan import Scanner, fits_packed, needs_of, plan_key, target_facts
from exaln.engines.cuda.scan.batch_stream import Loaded, ResidentBatches, StreamedBatches, Task, Tasks
from exaln.engines.cuda.scan.batches import HostBatch, SegmentFacts, SegmentNotes, Workspace, letters_of
from exaln.engines.cuda.scan.division import (
    NO_NEEDS,
    SCORES_SHARE,
    Division,
    Needs,
    RowSums,
    divide_resident,
    divide_streamed,
)
from exaln.engines.cuda.scan.layout import fold_letters
from exaln.engines.cuda.scan.pending import Found, Pending, QueryGroup, ScanTimes, ScoreRows, Stopped
from exaln.engines.cuda.scan.plan import PIECES, Strip, TargetFacts, long_length, plan_scan, streamed_long_length
from exaln.errors import OutOfMemoryError
from exaln.statistics.length_bins import N_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import DeviceFacts
    from exaln.engines.cuda.scan.batch_rows import BatchRows
    from exaln.engines.tasks import EncodedSequences
    from exaln.scoring.scoring import Scoring

MAX_GROUP_QUERIES = 512
TYPICAL_GROUP_QUERIES = 256
MAX_WAITING_RESULTS = 4
MAX_RECUTS = 5
MAX_PLANS = 256
POST_SECONDS = 0.1

_notes = SegmentNotes()
_plans: dict[object, list[Strip]] = {}
_idle: dict[int, list[Workspace]] = {}
_lending = threading.Lock()


@contextmanager
def lent_workspaces(devices: Sequence[int], memory: int | None) -> Iterator[list[Workspace]]:
    """A workspace on each of these GPUs, `memory` bytes on each; a number that comes twice gives two on one GPU."""
    openings = Counter(devices)
    held = [_idle_workspace(number) for number in devices]
    try:
        opened = iter(_opened([number for number, known in zip(devices, held, strict=True) if known is None]))
        workspaces = [known or next(opened) for known in held]
        held = [*workspaces]
        for workspace in workspaces:
            workspace.device.activate()
            workspace.device.set_budget(memory, openings[workspace.device.number])
        yield workspaces
    finally:
        with _lending:
            for lent in reversed(held):
                if lent is not None and not lent.device.is_broken:
                    _idle.setdefault(lent.device.number, []).append(lent)


def _idle_workspace(number: int) -> Workspace | None:
    """The one that was given back last, as it may hold what is needed."""
    with _lending:
        idle = _idle.get(number, [])
        return idle.pop() if idle else None


def _opened(devices: Sequence[int]) -> list[Workspace]:
    """Another opening of each of these devices; all at a time, for each takes a while."""
    if not devices:
        return []
    with ThreadPoolExecutor(len(devices)) as pool:
        return list(pool.map(lambda number: Workspace(Device(number)), devices))


@dataclass(frozen=True)
class BatchResult:
    """What was found in a batch for a group of queries. Row i of the batch is row first_row + segment_rows[i] of the
    view, with lengths[i] letters: int64[rows of the batch].
    """

    first_query: int
    first_row: int
    segment_rows: NDArray[np.int64]
    lengths: NDArray[np.int64]
    found: Found | ScoreRows


@dataclass(frozen=True)
class Wanted:
    """What a scan is to return. minimum: int32[n_queries, N_BINS], or None for all scores."""

    minimum: NDArray[np.int32] | None = None
    score_bins: int = 0
    progress: bool = False


class Job:
    """All queries against all targets of a database, on these workspaces."""

    def __init__(
        self, workspaces: list[Workspace], database: Any, queries: EncodedSequences, scoring: Scoring, wanted: Wanted
    ) -> None:
        self.workspaces, self.scoring = workspaces, scoring
        self.segments: tuple[Any, ...] = database.segments
        self.starts = segment_starts(database)
        self.facts = [_notes.of(segment) for segment in self.segments]
        n_letters = len(database.alphabet.letters)
        is_used = letters_of(self.segments, _notes, n_letters, database.n_residues)
        self.folded = fold_letters(scoring, is_used)
        self.n_residues = database.n_residues
        self.n_cells = queries.n_residues * database.n_residues
        self.times = ScanTimes()
        self.budget = min(workspace.device.budget for workspace in workspaces)
        self.can_pack = all(fits_packed(scoring, workspace.device.facts) for workspace in workspaces)
        self.needs = Needs()
        self._typical: TargetFacts | None = None
        self.long_length = self.facts[0].once(
            ("long", long_length, *self.facts, self.can_pack, workspaces[0].device.facts), self._database_long_length
        )
        self.division = self._divide(queries.lengths.tolist())
        self.groups = self._groups(queries, wanted)
        n_together = max(map(len, self.groups), default=0)
        is_streamed = not self.division.is_resident
        self.scratch = self.division.largest.scratch(self.needs, n_together) if is_streamed else {}
        self.stop = threading.Event()
        self._wants_progress = wanted.progress
        self.tasks = Tasks(
            (Task(group, rows) for group in range(len(self.groups)) for rows in self.division.batches),
            lambda rows: rows.halves(self.facts[rows.segment].lengths),
        )
        self._posted: queue.Queue[BatchResult | BaseException | int | None] = queue.Queue(MAX_WAITING_RESULTS)
        self._lock = threading.Lock()

    def results(self) -> Generator[BatchResult | int, None, None]:
        """Results of batches as they come, and between them the cells that were done."""
        workers = [_Worker(self, workspace) for workspace in self.workspaces]
        for worker in workers:
            worker.start()
        running = len(workers)
        try:
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
                worker.join()

    def report(self, cells: int) -> None:
        """Tell the caller of cells that are done, if he wants to know."""
        if self._wants_progress and cells:
            self.post(cells)

    def post(self, what: BatchResult | BaseException | int | None) -> None:
        """Hand something to the caller; Stopped if nobody waits for it any more."""
        while True:
            try:
                return self._posted.put(what, timeout=POST_SECONDS)
            except queue.Full:
                if self.stop.is_set():
                    raise Stopped from None

    def add_times(self, times: ScanTimes) -> None:
        """Of a thread that has ended."""
        with self._lock:
            self.times.add(times)
            self.times.long_length = self.long_length

    def read(self, workspace: Workspace, task: Task) -> HostBatch:
        """The rows of a task, ready to be sent: what stays on a device with all columns, else those that are needed."""
        rows, facts, device = task.rows, self.facts[task.rows.segment], workspace.device.facts
        long = self._long_length(device, rows)
        whole = facts.once(("batch", rows, long), lambda: HostBatch(self.segments[rows.segment], facts, rows, long))
        if self.division.is_resident:
            return whole
        plan: list[Strip] = []
        if self.can_pack and whole.n_stream:
            plan = self.plan_for(self.groups[task.group].lengths, device, target_facts(whole, self.folded.n_letters))
        layouts = frozenset(strip.shape.is_paired for strip in plan)
        return facts.once(("batch", rows, long, layouts), lambda: whole.sending(layouts))

    def preference(self, workspace: Workspace, rows: BatchRows) -> int | None:
        """Which batches a device takes first: those it holds, those nobody holds, those that another one holds."""
        segment = self.segments[rows.segment]
        if workspace.holds(segment, rows):
            return 0
        if not any(other.holds(segment, rows) for other in self.workspaces):
            return 1
        is_room = workspace.device.budget - workspace.device.used > 4 * rows.n_residues
        return 2 if is_room else None

    def forget_division(self) -> None:
        """It turned out too large."""
        for facts in self.facts:
            facts.cuts.clear()

    def _long_length(self, device: DeviceFacts, rows: BatchRows) -> int:
        """That of the batch: in a small one, a target is soon so long that all others wait for it."""
        if not self.division.is_resident or rows.n_residues == self.n_residues or not self.can_pack:
            return self.long_length
        facts = self.facts[rows.segment]
        return facts.once(("long", long_length, device, rows), lambda: long_length(rows.of(facts.lengths), device))

    @cached_property
    def _all_lengths(self) -> NDArray[np.int64]:
        """Of all targets, ascending."""
        lengths = [facts.lengths for facts in self.facts if len(facts.lengths)]
        # A stable sort merges what is sorted already.
        return lengths[0] if len(lengths) == 1 else np.sort(np.concatenate(lengths), kind="stable")

    def _database_long_length(self) -> int:
        return long_length(self._all_lengths, self.workspaces[0].device.facts) if self.can_pack else 0

    def _divide(self, query_lengths: list[int]) -> Division:
        """As the last time, if the database is resident; a database that is cut differently would be sent again."""
        n_devices = len(self.workspaces)
        known = self.facts[0].cuts.get((*self.facts, n_devices, self.long_length))
        if known is not None and self.budget >= known.least_budget:
            return known
        division = divide_resident(self._sums, self.budget, n_devices)
        if division is None:
            return self._divide_streamed(query_lengths[:TYPICAL_GROUP_QUERIES])
        self.facts[0].cuts[(*self.facts, n_devices, self.long_length)] = division
        return division

    @property
    def _sums(self) -> list[RowSums]:
        return [facts.once(("sums", self.long_length), self._sums_of(facts)) for facts in self.facts]

    def _sums_of(self, facts: SegmentFacts) -> Callable[[], RowSums]:
        long = self.long_length
        return lambda: RowSums(facts.lengths, long)

    def plan_for(self, query_lengths: list[int], device: DeviceFacts, targets: TargetFacts) -> list[Strip]:
        """A plan, made once for targets that can share it; one for all batches that are streamed."""
        targets = self._typical or targets
        key = (plan_scan, tuple(query_lengths), device, targets.n_letters, plan_key(targets))
        if key not in _plans:
            if len(_plans) > MAX_PLANS:
                _plans.clear()
            _plans[key] = plan_scan(query_lengths, device, targets)
        return _plans[key]

    def _divide_streamed(self, query_lengths: list[int]) -> Division:
        """Plan for batches as large as they would be if all were needed; cut again for what the plan does need."""
        if not self.can_pack:
            self.needs = NO_NEEDS
            return self._cut_for(len(query_lengths))
        key = ("streaming", long_length, *self.facts, self.budget, len(self.workspaces), self.needs, *query_lengths)
        self.needs, self.long_length, self._typical = self.facts[0].once(key, lambda: self._fit_streamed(query_lengths))
        return self._cut_for(len(query_lengths))

    def _fit_streamed(self, query_lengths: list[int]) -> tuple[Needs, int, TargetFacts]:
        """What plan, division and length of long targets agree on, or nearly: the fastest of some tries."""
        device = self.workspaces[0].device.facts
        tries: dict[tuple[Needs, int, TargetFacts], float] = {}
        n_batches = self._n_mixed(query_lengths)
        for _ in range(MAX_RECUTS):
            typical = self._typical = self._typical_facts(n_batches)
            plan = self.plan_for(query_lengths, device, typical)
            self.needs = needs_of(plan)
            n_batches = self._n_mixed(query_lengths)
            self.long_length, seconds = streamed_long_length(self._all_lengths, device, plan, n_batches)
            found = self.needs, self.long_length, typical
            if found in tries:
                break
            tries[found] = seconds
        return min(tries, key=lambda found: tries[found])

    def _n_mixed(self, query_lengths: list[int]) -> int:
        """Batches that have targets of all lengths."""
        return max(1, sum(len(rows.pieces) > 1 for rows in self._cut_for(len(query_lengths)).batches))

    def _typical_facts(self, n_batches: int) -> TargetFacts:
        """What a plan depends on, for one of so many batches: half of them have longer targets."""
        lengths = self._all_lengths[: int(np.searchsorted(self._all_lengths, self.long_length, side="right"))]
        n_tiles = sum(rows.n_tiles for rows in self._sums) // n_batches + 1
        longest = 0
        if len(lengths):
            ends = np.cumsum(lengths)
            longest = int(lengths[np.searchsorted(ends, ends[-1] * (1 - 0.5 / PIECES))])
        return TargetFacts(len(lengths) // n_batches, n_tiles, n_tiles // 2, longest, self.folded.n_letters)

    def _cut_for(self, n_queries: int) -> Division:
        needs, n_devices = self.needs, len(self.workspaces)
        key = ("streamed", *self.facts, self.long_length, self.budget, needs, n_queries, n_devices)
        return self.facts[0].once(key, lambda: divide_streamed(self._sums, self.budget, needs, n_queries, n_devices))

    def _groups(self, queries: EncodedSequences, wanted: Wanted) -> list[QueryGroup]:
        """As many queries together as there is memory for scores."""
        n_rows = self.division.largest.n_rows
        share = self.budget // SCORES_SHARE
        n_most = min(MAX_GROUP_QUERIES, share // (8 * (n_rows + 1)))
        if wanted.score_bins:
            n_most = min(n_most, share // (8 * N_BINS * wanted.score_bins))
        n_groups = -(-len(queries) // max(1, n_most))
        edges = [len(queries) * number // n_groups for number in range(n_groups + 1)]
        groups = []
        for first, end in pairwise(edges):
            offsets = np.asarray(queries.offsets[first : end + 1], np.int64)
            codes = np.ascontiguousarray(queries.codes[int(offsets[0]) : int(offsets[-1])])
            minimum = None
            if wanted.minimum is not None:
                minimum = np.ascontiguousarray(wanted.minimum[first:end], np.int32)
            groups.append(QueryGroup(first, codes, offsets - offsets[0], minimum, wanted.score_bins))
        return groups


class _Worker(threading.Thread):
    """Scans on one device until there is nothing left to do."""

    def __init__(self, job: Job, workspace: Workspace) -> None:
        super().__init__(name=f"exaln {workspace.device}", daemon=True)
        self._job, self._workspace = job, workspace
        self._is_resident = job.division.is_resident
        self._times = ScanTimes()

    def run(self) -> None:
        """Post results; whatever goes wrong is raised in the caller's thread."""
        job, device = self._job, self._workspace.device
        with suppress(Stopped):
            try:
                device.activate()
                self._workspace.begin(job.segments if self._is_resident else (), job.scratch)
                while not self._scan_all():
                    pass
            except Stopped:
                raise
            except BaseException as error:
                job.post(error)
            finally:
                with suppress(Exception):
                    device.synchronize()
                job.add_times(self._times)
                job.post(None)

    def _scan_all(self) -> bool:
        """Take and scan until there is nothing left: True. False if memory was short, so that batches were cut."""
        job, source = self._job, self._source()
        pending: deque[tuple[Loaded, Pending]] = deque()
        try:
            scanner = Scanner(self._workspace, job.scoring, job.folded, self._times, job.plan_for, job.stop, job.report)
            while (loaded := source.next()) is not None:
                pending.append((loaded, scanner.start(loaded.batch, job.groups[loaded.task.group])))
                if len(pending) > 1:
                    self._finish(scanner, source, *pending.popleft())
            while pending:
                self._finish(scanner, source, *pending.popleft())
            return True
        except DeviceMemoryError as error:
            source.close()
            self._shrink(source.taken, error)
            return False
        finally:
            source.close()

    def _source(self) -> ResidentBatches | StreamedBatches:
        job, workspace = self._job, self._workspace
        if not self._is_resident:
            return StreamedBatches(workspace, job.tasks.take, lambda task: job.read(workspace, task), self._times)
        return ResidentBatches(
            workspace,
            lambda: job.tasks.take(lambda rows: job.preference(workspace, rows)),
            lambda task: job.read(workspace, task),
            lambda task: job.segments[task.rows.segment],
            self._times,
        )

    def _finish(
        self, scanner: Scanner, source: ResidentBatches | StreamedBatches, loaded: Loaded, pending: Pending
    ) -> None:
        host, first_query = loaded.batch.host, pending.group.first
        first_row = int(self._job.starts[host.rows.segment])
        for found in scanner.finish(pending):
            if not (isinstance(found, Found) and found.is_nothing):
                self._job.post(BatchResult(first_query, first_row, host.segment_rows, host.lengths, found))
        source.done(loaded)

    def _shrink(self, unfinished: list[Task], error: DeviceMemoryError) -> None:
        """Give the device free and go on with smaller batches, streamed; raise if they cannot get smaller."""
        if all(len(task.rows) <= 1 for task in unfinished):
            raise OutOfMemoryError(str(error)) from None
        self._workspace.clear()
        self._workspace.begin((), {})
        self._job.forget_division()
        self._job.tasks.put_back(unfinished)
        self._job.tasks.halve()
        self._is_resident = False
