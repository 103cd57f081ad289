"""One batch of targets against one group of queries on one device: what is launched, and in which order.

    start:   expand the columns, pack the streams, clear the launch state
             long targets one by one (block.cu) on the side stream
             strips of the plan (stream.cu) on the main stream; consecutive strips with one kernel share a launch
             list scores at the limit of 16 bits; list candidates; download counters and candidates
    finish:  wait; score again in 32 bits what may be wrong; return candidates, or all scores

The next batch is started before one is finished: two result sets take turns. Nothing waits for the device in between,
except that the launch throttle limits the work that is queued.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.cuda.runtime.constants import packed_limit
from exaln.engines.cuda.scan.block_scores import BlockScorer
from exaln.engines.cuda.scan.buffers import RESULT_BUFFERS
from exaln.engines.cuda.scan.collect import (
    CANDIDATE_BYTES,
    CANDIDATES,
    OVERFLOWS,
    RESULT_BYTES,
    TOO_HIGH,
    Collector,
)
from exaln.engines.cuda.scan.division import CANDIDATES_SHARE
from exaln.engines.cuda.scan.in_flight import BatchInFlight, LaunchState, QueryGroup, ResultSet, Slab
from exaln.engines.cuda.scan.launch_throttle import LaunchThrottle
from exaln.engines.cuda.scan.queries_on_device import QueriesOnDevice
from exaln.engines.cuda.scan.shapes import fits_packed
from exaln.engines.cuda.scan.stream_scores import StreamScorer
from exaln.engines.cuda.scan.target_parts import pair_items
from exaln.errors import EngineError

if TYPE_CHECKING:
    from exaln.engines.cuda.letters import FoldedScores
    from exaln.engines.cuda.runtime.device import Event
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.cuda.scan.batches import DeviceBatch
    from exaln.engines.cuda.scan.results import CandidateRows, ScanTimes, ScoreRows
    from exaln.engines.cuda.scan.strips import Strip
    from exaln.scoring.scoring import Scoring

BLOCK_CELLS_PER_SECOND = 5e11
"""Rough speed of block.cu, by which queued work is estimated."""

MIN_CAPACITY, MAX_CAPACITY = 1 << 15, 4 << 20
"""Candidates of a batch that the device keeps."""


class BatchScanner:
    """Scans batches on one device with one scoring.

    report: called with cells as they are done. stop: once set, Cancelled is raised instead of launching more.
    """

    def __init__(
        self,
        workspace: Workspace,
        scoring: Scoring,
        folded: FoldedScores,
        times: ScanTimes,
        stop: threading.Event,
        report: Callable[[int], None],
    ) -> None:
        self._workspace, self._device = workspace, workspace.device
        self._scoring, self._times = scoring, times
        self._can_pack = fits_packed(scoring, self._device.properties)
        self._throttle = LaunchThrottle(self._device, stop, report)
        self._queries = QueriesOnDevice(workspace, folded)
        self._streams = StreamScorer(workspace, scoring, folded, times, self._throttle)
        self._blocks = BlockScorer(workspace, scoring, folded.n_letters)
        self._collector = Collector(workspace, packed_limit(self._device.properties.dpx, scoring.max_score))
        self._sets = deque(
            ResultSet(buffers, workspace.pinned(buffers.result, RESULT_BYTES)) for buffers in RESULT_BUFFERS
        )
        self._last_scanned: Event | None = None

    def load_ahead(self, groups: Iterable[tuple[QueryGroup, tuple[Strip, ...]]]) -> threading.Thread:
        """Compile and load the kernels of groups and their strips on a thread, while the first batch is sent.

        Errors are left to `start`, which loads again what is missing.
        """
        groups = list(groups)
        kinds = dict.fromkeys(strip.kind for _, strips in groups for strip in strips)
        sources = [*self._streams.sources(kinds), *(self._blocks.source(group) for group, _ in groups)]

        def load() -> None:
            with suppress(Exception):
                self._device.activate()
                self._device.load(sources)

        thread = threading.Thread(target=load, name="exaln kernels", daemon=True)
        thread.start()
        return thread

    def start(self, batch: DeviceBatch, group: QueryGroup, strips: tuple[Strip, ...]) -> BatchInFlight:
        """Queue everything that scores a batch. strips: as planned."""
        self._streams.load(strips, self._blocks.source(group))
        pending = self._prepare(batch, group, len(strips))
        try:
            self._queue(pending, strips, batch.host.n_stream if self._can_pack else 0)
        except BaseException:
            self._sets.append(pending.own)
            raise
        return pending

    def _queue(self, pending: BatchInFlight, strips: tuple[Strip, ...], n_stream: int) -> None:
        device, batch, host = self._device, pending.batch, pending.batch.host
        main, side = self._workspace.stream, self._workspace.side_stream
        own = main if n_stream or self._blocks.uses_stream_buffers(pending.group) else side
        device.let_wait(own, batch.ready)
        device.let_wait(own, pending.on_device.ready)
        device.record(pending.begin, own)
        self._streams.expand(batch, own)
        for packing in {strip.shape.packing for strip in strips}:
            self._streams.pack(pending, packing)
        device.record(pending.packed, own)
        state = pending.state
        device.fill(state.address, 0, state.n_words(state.n_strips, state.n_targets, state.n_scores), own)
        if n_stream < len(host):
            device.let_wait(side, device.record(device.event(), own))
            self._score_long(pending, n_stream)
        self._streams.score(pending, strips, self._queries.lane_rows(pending.group, strips))
        if n_stream < len(host):
            device.let_wait(own, device.record(device.event(), side))
        device.record(pending.scanned, own)
        self._collect(pending, n_stream, own)
        device.record(pending.done, own)

    def finish(self, pending: BatchInFlight) -> Iterator[CandidateRows | ScoreRows]:
        """Wait for a batch and yield its candidates, or all scores. Raises EngineError if a score is too high."""
        self._device.wait(pending.done)
        counters = self._collector.counters(pending)
        if counters[OVERFLOWS]:
            self._rescore(pending, int(counters[OVERFLOWS]))
            counters = self._collector.counters(pending)
        if counters[TOO_HIGH]:
            raise EngineError("a score does not fit 31 bits; use smaller scores or shorter sequences")
        self._take_times(pending)
        if pending.group.cutoff is None or counters[CANDIDATES] > pending.capacity:
            yield from self._collector.score_rows(pending)
        else:
            yield self._collector.candidates(pending, int(counters[CANDIDATES]))
        self._sets.append(pending.own)

    def _prepare(self, batch: DeviceBatch, group: QueryGroup, n_strips: int) -> BatchInFlight:
        """Take a result set, send the queries, and find memory for the results."""
        device, scratch, own = self._device, self._workspace.scratch, self._sets.popleft()
        n_targets, n_scores = len(batch.host), len(group) * batch.host.row_stride
        capacity = self._capacity(n_scores)
        state_bytes = 4 * LaunchState.n_words(n_strips, n_targets, n_scores)
        try:
            return BatchInFlight(
                batch,
                group,
                self._queries.group(group),
                own,
                state=LaunchState(scratch(own.buffers.launch_state, state_bytes), n_strips, n_targets, n_scores),
                candidates=scratch(own.buffers.candidates, CANDIDATE_BYTES * capacity),
                capacity=capacity,
                begin=device.event(has_time=True),
                packed=device.event(has_time=True),
                scanned=device.event(has_time=True),
                done=device.event(has_time=True),
            )
        except BaseException:
            self._sets.appendleft(own)
            raise

    def _capacity(self, n_scores: int) -> int:
        """Return how many candidates the device keeps; up to a limit, all scores."""
        share = self._device.budget // CANDIDATES_SHARE // (2 * CANDIDATE_BYTES)
        return min(n_scores, max(MIN_CAPACITY, min(MAX_CAPACITY, share)))

    def _score_long(self, pending: BatchInFlight, n_stream: int) -> None:
        """Queue the long targets, in parts, the longest first."""
        device, host, side = self._device, pending.batch.host, self._workspace.side_stream
        rows, lengths = np.arange(n_stream, len(host)), host.lengths.rows(n_stream, len(host)).expanded()
        self._times.n_long += len(rows)
        query_lengths = np.array(pending.group.lengths)
        useful = int(query_lengths.sum()) * int(lengths.sum())
        n_blocks, is_idle = self._blocks.n_blocks(pending.group), not n_stream
        for items in pair_items(rows, lengths, pending.group.lengths, self._scoring, n_blocks, is_idle=is_idle):
            place = self._workspace.scratch(pending.own.buffers.items, items.nbytes)
            device.upload(place, items, side)
            self._blocks.score(pending, place, items[:, 3].astype(np.int64), pending.slab(len(host)))
            cells = int((query_lengths[items[:, 0]] * items[:, 3].astype(np.int64)).sum())
            self._times.raw_cells += cells
            reported = min(cells, useful)
            useful -= reported
            pending.reported_cells += reported
            self._throttle.launched(side, reported, cells / BLOCK_CELLS_PER_SECOND)

    def _collect(self, pending: BatchInFlight, n_stream: int, stream: Any) -> None:
        """List scores that may be wrong and candidates, and download the counters and the first candidates."""
        if n_stream:
            self._collector.find_overflows(pending, stream, pending.slab(n_stream))
        if pending.group.cutoff is not None:
            self._collector.cut(pending, stream)
        self._collector.fetch(pending, stream)

    def _rescore(self, pending: BatchInFlight, n_overflows: int) -> None:
        """Score again in 32 bits what may be wrong, and list the candidates again."""
        side, device, n_stream = self._workspace.side_stream, self._device, pending.batch.host.n_stream
        self._times.rescored += n_overflows
        self._score_overflows(pending, min(n_overflows, pending.max_overflows), pending.slab(n_stream))
        if n_overflows > pending.max_overflows:
            for slab in pending.slabs(n_stream, pending.max_overflows):
                device.fill(pending.state.counters + 4 * OVERFLOWS, 0, 1, side)
                self._collector.find_overflows(pending, side, slab)
                self._collector.fetch(pending, side)
                device.wait(device.record(device.event(), side))
                self._score_overflows(pending, int(self._collector.counters(pending)[OVERFLOWS]), slab)
        device.fill(pending.state.counters + 4 * CANDIDATES, 0, 1, side)
        if pending.group.cutoff is not None:
            self._collector.cut(pending, side)
        self._collector.fetch(pending, side)
        device.record(pending.done, side)
        device.wait(pending.done)

    def _score_overflows(self, pending: BatchInFlight, n_items: int, slab: Slab) -> None:
        if n_items:
            longest = int(pending.batch.host.lengths.at(np.array(slab.first_row + slab.n_rows - 1)))
            self._blocks.score(pending, self._collector.overflows(pending), np.full(n_items, longest), slab)

    def _take_times(self, pending: BatchInFlight) -> None:
        device, times, host = self._device, self._times, pending.batch.host
        times.pack += device.seconds(pending.begin, pending.packed)
        times.scan += self._scan_seconds(pending)
        times.collect += device.seconds(pending.scanned, pending.done)
        cells = int(pending.group.offsets[-1]) * host.rows.n_residues
        times.cells += cells
        self._throttle.batch_done(cells - pending.reported_cells)

    def _scan_seconds(self, pending: BatchInFlight) -> float:
        """Return the seconds of a batch during which no batch before it was scanned."""
        begin, end, last = pending.packed, pending.scanned, self._last_scanned
        seconds = self._device.seconds(begin, end)
        if last is None or self._device.seconds(last, end) > 0:
            self._last_scanned = end
        return seconds if last is None else seconds - min(seconds, max(0.0, self._device.seconds(begin, last)))
