"""One batch of targets against one group of queries on one device.

    start:   pack the streams, zero the scores
             long targets one by one (block.cu) on the side stream; a batch that has no others is all on that one
             strips of the plan (stream.cu), as many in a launch as have the same kernel
             find what reached the limit of 16 bits; cut to candidates; copy counters and candidates back
    finish:  wait; compute again in 32 bits what has to be; hand out candidates, or all scores

Between start and finish of one batch the next one can be started: two sets of scores, counters and candidates take
turns. Nothing waits for the device in between, except that no more than a fraction of a second is queued.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.scan.batches import ALIGNMENT, DeviceBatch, HostBatch, Workspace
from exaln.engines.cuda.scan.block import BlockScorer
from exaln.engines.cuda.scan.collect import (
    CANDIDATE_BYTES,
    CANDIDATES,
    COLLECT,
    OVERFLOWS,
    RESULT_BYTES,
    TOO_HIGH,
    Collector,
)
from exaln.engines.cuda.scan.division import CANDIDATES_SHARE, Needs
from exaln.engines.cuda.scan.launch_throttle import Pace
from exaln.engines.cuda.scan.layout import BOUNDARY_TILE_BYTES
from exaln.engines.cuda.scan.pending import Found, Pending, QueryGroup, ResultSet, ScanTimes, ScoreRows, Slab, Zeroed
from exaln.engines.cuda.scan.plan import Strip, TargetFacts
from exaln.engines.cuda.scan.target_parts import pair_items
from exaln.engines.cuda.scan.variants import (
    COLUMNS,
    MAX_COST,
    PACK_THREADS,
    STACK_BYTES,
    Packing,
    blocks_of_warps,
    packed_limit,
)
from exaln.errors import EngineError
from exaln.statistics.length_bins import N_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import DeviceFacts, Event, Kernel, Memory
    from exaln.engines.cuda.scan.layout import FoldedScores, StreamLayout
    from exaln.engines.cuda.scan.variants import Shape
    from exaln.scoring.scoring import Scoring

CELLS_PER_SECOND = 5e12
BLOCK_CELLS_PER_SECOND = 5e11
"""To tell how much is queued; a rough guess is enough."""

MAX_LAUNCH_SECONDS = 0.05
"""Of several strips, by the same guess: an interrupt has to wait for it."""

MIN_CAPACITY, MAX_CAPACITY = 1 << 15, 4 << 20
"""Candidates of a batch that the device keeps."""

MANY_GROUPS = 8192
"""About so many groups of lanes are there at most."""

EXPAND = Source("expand.cu")
EXPAND_THREADS = 256

PACK_KERNELS = {
    Packing.TWO_QUERIES: "pack_singles",
    Packing.LETTER_PAIRS: "pack_pairs",
    Packing.MERGED: "pack_merged",
}
"""Of kernels/pack.cu, for what stream.cu reads."""

PlanFor = Callable[[list[int], "DeviceFacts", TargetFacts], list[Strip]]
"""Plans for queries of these lengths; plan_scan, or something that remembers."""


class Scanner:
    """Scans batches on one device with one scoring.

    report: gets cells as they are done. stop: when it is set, Stopped is raised instead of launching more.
    """

    def __init__(
        self,
        workspace: Workspace,
        scoring: Scoring,
        folded: FoldedScores,
        times: ScanTimes,
        plan_for: PlanFor,
        stop: threading.Event,
        report: Callable[[int], None],
    ) -> None:
        self.workspace, self.device = workspace, workspace.device
        self.scoring, self.folded = scoring, folded
        self.times = times
        self._pace = Pace(self.device, stop, report)
        self._collector = Collector(workspace, packed_limit(self.device.facts.dpx, scoring.max_score))
        self._blocks = BlockScorer(workspace, scoring, folded.n_letters)
        self._groups: dict[int, _GroupOnCard] = {}
        self._stacks: dict[tuple[int, tuple[Strip, ...]], Memory] = {}
        self._sets = deque(ResultSet(number, workspace.pinned(f"result {number}", RESULT_BYTES)) for number in range(2))
        self._plan_for = plan_for
        self._plans: set[tuple[object, ...]] = set()
        self._stream_kernels: dict[tuple[Shape, bool], Kernel] = {}
        self._last_scanned: Event | None = None
        self.can_pack = fits_packed(scoring, self.device.facts)

    def start(self, batch: DeviceBatch, group: QueryGroup) -> Pending:
        """Queue everything that scores a batch."""
        strips = self._plan(batch, group)
        pending = self._prepare(batch, group, len(strips))
        try:
            self._queue_all(pending, strips, batch.host.n_stream if self.can_pack else 0)
        except BaseException:
            self._sets.append(pending.own)
            raise
        return pending

    def _queue_all(self, pending: Pending, strips: list[Strip], n_stream: int) -> None:
        device, batch, host = self.device, pending.batch, pending.batch.host
        main, side = self.workspace.stream, self.workspace.side_stream
        own = main if n_stream or self._blocks.uses_idle_memory(pending.group) else side
        device.let_wait(own, batch.ready)
        device.let_wait(own, self._groups[pending.group.first].ready)
        device.record(pending.begin, own)
        self._expand(batch, own)
        for packing in {strip.shape.packing for strip in strips}:
            self._pack(batch, packing)
        device.record(pending.packed, own)
        device.fill(pending.zeroed.address, 0, pending.zeroed.n_words, own)
        if n_stream < len(host):
            device.let_wait(side, device.record(device.event(), own))
            self._score_long(pending, n_stream)
        for is_paired in {strip.shape.is_paired for strip in strips if strip.keeps_rows}:  # the idle tile
            device.fill(self._boundary(host.layouts[is_paired]), 0, BOUNDARY_TILE_BYTES // 4, main)
        stacks = self._stacks_on_device(pending.group, strips)
        for first, together in launches(strips, host.n_stream_residues / CELLS_PER_SECOND):
            self._launch_strips(pending, together, first, stacks)
            stacks += STACK_BYTES * together[0].shape.lanes * len(together)
        if n_stream < len(host):
            device.let_wait(own, device.record(device.event(), side))
        device.record(pending.scanned, own)
        self._collect(pending, n_stream, own)
        device.record(pending.done, own)

    def finish(self, pending: Pending) -> Iterator[Found | ScoreRows]:
        """Wait for a batch and hand out what was found."""
        self.device.wait(pending.done)
        counters = self._collector.counters(pending)
        if counters[OVERFLOWS]:
            self._rescore(pending, int(counters[OVERFLOWS]))
            counters = self._collector.counters(pending)
        if counters[TOO_HIGH]:
            raise EngineError("a score does not fit 31 bits; use smaller scores or shorter sequences")
        self._take_times(pending)
        if pending.group.minimum is None or counters[CANDIDATES] > pending.capacity:
            yield from self._collector.score_rows(pending)
        else:
            yield self._collector.found(pending, int(counters[CANDIDATES]))
        self._sets.append(pending.own)

    def _plan(self, batch: DeviceBatch, group: QueryGroup) -> list[Strip]:
        """The launches, with their kernels loaded."""
        if not (batch.host.n_stream and self.can_pack):
            return self._loaded([], group)
        facts = target_facts(batch.host, self.folded.n_letters)
        return self._loaded(self._plan_for(group.lengths, self.device.facts, facts), group)

    def _loaded(self, strips: list[Strip], group: QueryGroup) -> list[Strip]:
        """Compile and load all kernels of a plan at once, the first time that it is used."""
        blocks = self._blocks.source(group)
        key = (blocks, *strips)
        if key in self._plans:
            return strips
        self._plans.add(key)
        started = time.perf_counter()
        kinds = {strip.kind for strip in strips}
        self.times.kernels = tuple(sorted({*self.times.kernels, *(str(shape) for shape, _ in kinds)}))
        gaps = self.scoring.gap_first, self.scoring.gap_extend
        sources = {
            (shape, keeps_rows): shape.source(self.folded.n_letters, *gaps, keeps_rows=keeps_rows)
            for shape, keeps_rows in kinds
            if (shape, keeps_rows) not in self._stream_kernels
        }
        self.device.load([*sources.values(), self._pack_source, blocks, COLLECT, EXPAND])
        for (shape, keeps_rows), source in sources.items():
            n_bytes = shape.profile_bytes(self.folded.n_letters)
            self._stream_kernels[shape, keeps_rows] = self.device.kernel(source, "stream_scores", n_bytes)
        self.times.compile += time.perf_counter() - started
        return strips

    @property
    def _pack_source(self) -> Source:
        return Source("pack.cu", (("LETTERS", self.folded.n_letters),))

    def _prepare(self, batch: DeviceBatch, group: QueryGroup, n_strips: int) -> Pending:
        """Memory for the results, and the queries on the device."""
        device, scratch, own = self.device, self.workspace.scratch, self._sets.popleft()
        n_scores = len(group) * batch.host.row_stride
        zeroed = Zeroed(0, n_strips, len(batch.host), n_scores)
        capacity = self._capacity(n_scores)
        n_histogram = len(group) * N_BINS * group.score_bins
        try:
            return Pending(
                batch,
                group,
                self._group_on_device(group),
                own,
                zeroed=replace(zeroed, address=scratch(f"scores {own.number}", 4 * zeroed.n_words)),
                candidates=scratch(f"candidates {own.number}", CANDIDATE_BYTES * capacity),
                histogram=scratch(f"histogram {own.number}", 4 * n_histogram) if n_histogram else 0,
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
        """Candidates that the device keeps; where all scores can pass, none are lost up to a limit."""
        share = self.device.budget // CANDIDATES_SHARE // (2 * CANDIDATE_BYTES)
        return min(n_scores, max(MIN_CAPACITY, min(MAX_CAPACITY, share)))

    def _group_on_device(self, group: QueryGroup) -> dict[str, int]:
        """Addresses of the queries and of what goes with them; groups before the last one are dropped."""
        if group.first not in self._groups:
            while len(self._groups) > 1:
                self._groups.pop(next(iter(self._groups)))
                self._stacks.clear()
            parts: dict[str, NDArray[Any]] = {
                "codes": group.codes,
                "offsets": group.offsets,
                "table": self.folded.table,
                "packed table": self.folded.packed(self.device.facts.dpx),
                "fold": self.folded.fold,
                "minimum": np.empty(0, np.int32) if group.minimum is None else group.minimum,
            }
            ends = np.cumsum([-(-part.nbytes // ALIGNMENT) * ALIGNMENT for part in parts.values()]).tolist()
            memory = self.workspace.allocate(ends[-1])
            places = dict(zip(parts, (memory.address + end for end in (0, *ends)), strict=False))
            for name, part in parts.items():
                self.device.upload(places[name], np.ascontiguousarray(part), self.workspace.stream)
            ready = self.device.record(self.device.event(), self.workspace.stream)
            self._groups[group.first] = _GroupOnCard(places, memory, ready)
        return self._groups[group.first].places

    def _expand(self, batch: DeviceBatch, stream: Any) -> None:
        """Make the columns of a batch from their runs, unless they are there."""
        if batch.is_expanded:
            return
        kernel, host = self.device.kernel(EXPAND, "expand"), batch.host
        n_blocks = max(1, min(-(-host.n_longest_column // EXPAND_THREADS), 4 * self.device.facts.n_sms))
        arguments = (batch.place("runs"), batch.place("columns"))
        self.device.launch(kernel, (n_blocks, host.n_columns), EXPAND_THREADS, stream, arguments)
        batch.is_expanded = True

    def _pack(self, batch: DeviceBatch, packing: Packing) -> None:
        """Make a stream of tiles from the codes, unless it is there."""
        if not batch.needs_packing(self.folded, packing):
            return
        is_paired = packing != Packing.TWO_QUERIES
        layout = batch.host.layouts[is_paired]
        kernel = self.device.kernel(self._pack_source, PACK_KERNELS[packing])
        arguments = (
            batch.place("codes"),
            batch.place("offsets"),
            batch.place(f"starts {is_paired:d}"),
            batch.host.n_stream,
            self._fold,
            self._stream_address(batch, packing, layout.n_bytes),
        )
        self.device.launch(kernel, blocks_of_warps(layout.starts.n - 1), PACK_THREADS, self.workspace.stream, arguments)
        batch.packed_with[packing] = self.folded.fold.tobytes()

    def _stream_address(self, batch: DeviceBatch, packing: Packing, n_bytes: int = 0) -> int:
        """Where a stream is: with the batch if that stays on the device, else in memory that all batches share."""
        if not batch.is_resident:
            return self.workspace.scratch(f"stream {packing:d}", n_bytes)
        if packing not in batch.streams:
            batch.streams[packing] = self.workspace.allocate(n_bytes)
        return batch.streams[packing].address

    @property
    def _fold(self) -> int:
        """The address of the table of folded letters, the same in all groups."""
        return next(reversed(self._groups.values())).places["fold"]

    def _stacks_on_device(self, group: QueryGroup, strips: list[Strip]) -> int:
        """The address of the rows of all lanes of all strips."""
        key = group.first, tuple(strips)
        if strips and key not in self._stacks:
            rows = np.concatenate([strip.lane_rows(group.offsets) for strip in strips])
            self._stacks[key] = self.workspace.allocate(rows.nbytes)
            self.device.upload(self._stacks[key].address, rows, self.workspace.stream)
        return self._stacks[key].address if strips else 0

    def _launch_strips(self, pending: Pending, strips: Sequence[Strip], first: int, stacks: int) -> None:
        """Strips with the same kernel over all targets of the streams. first: the place of the first in the plan."""
        batch, (shape, keeps_rows) = pending.batch, strips[0].kind
        layout = batch.host.layouts[shape.is_paired]
        arguments = (
            self._stream_address(batch, shape.packing),
            batch.place(f"chunks {shape.is_paired:d}"),
            layout.n_chunks,
            len(strips),
            first,
            pending.zeroed.tickets + 4 * first,
            pending.zeroed.n_done + 4 * first,
            pending.zeroed.passed,
            stacks,
            pending.on_device["codes"],
            pending.on_device["packed table"],
            self._boundary(layout) if keeps_rows else 0,
            pending.zeroed.scores,
            batch.host.row_stride,
        )
        main, kernel = self.workspace.stream, self._stream_kernels[shape, keeps_rows]
        self.device.launch(kernel, min(self.device.facts.n_sms, layout.n_chunks), shape.threads, main, arguments)
        self.times.raw_cells += 2 * shape.strip_rows * COLUMNS * layout.n_tiles * len(strips)
        cells = sum(strip.n_rows for strip in strips) * batch.host.n_stream_residues
        pending.cells_told += cells
        self._pace.went_on(main, cells, cells / CELLS_PER_SECOND)

    def _boundary(self, layout: StreamLayout) -> int:
        return self.workspace.scratch(f"boundary {layout.is_paired:d}", layout.n_tiles * BOUNDARY_TILE_BYTES)

    def _score_long(self, pending: Pending, n_stream: int) -> None:
        """Long targets, in parts; the longest first."""
        device, host, side = self.device, pending.batch.host, self.workspace.side_stream
        rows, lengths = np.arange(n_stream, len(host)), host.lengths[n_stream:]
        self.times.n_long += len(rows)
        query_lengths = np.array(pending.group.lengths)
        useful = int(query_lengths.sum()) * int(lengths.sum())
        n_blocks, is_alone = self._blocks.n_blocks(pending.group), not n_stream
        for items in pair_items(rows, lengths, pending.group.lengths, self.scoring, n_blocks, is_alone=is_alone):
            place = self.workspace.scratch(f"items {pending.own.number}", items.nbytes)
            device.upload(place, items, side)
            self._blocks.score(pending, place, items[:, 3].astype(np.int64), pending.slab(len(host)))
            cells = int((query_lengths[items[:, 0]] * items[:, 3].astype(np.int64)).sum())
            self.times.raw_cells += cells
            told = min(cells, useful)
            useful -= told
            pending.cells_told += told
            self._pace.went_on(side, told, cells / BLOCK_CELLS_PER_SECOND)

    def _collect(self, pending: Pending, n_stream: int, stream: Any) -> None:
        """Find what may be wrong, cut, and copy back the counters and the first candidates."""
        if n_stream:
            self._collector.find_overflows(pending, stream, pending.slab(n_stream))
        if pending.group.minimum is not None:
            self._collector.cut(pending, stream)
        self._collector.fetch(pending, stream)

    def _rescore(self, pending: Pending, n_overflows: int) -> None:
        """Compute again in 32 bits what may be wrong, and cut again."""
        side, device, n_stream = self.workspace.side_stream, self.device, pending.batch.host.n_stream
        self.times.rescored += n_overflows
        self._score_overflows(pending, min(n_overflows, pending.max_overflows), pending.slab(n_stream))
        if n_overflows > pending.max_overflows:
            for slab in pending.slabs(n_stream, pending.max_overflows):
                device.fill(pending.zeroed.counters + 4 * OVERFLOWS, 0, 1, side)
                self._collector.find_overflows(pending, side, slab)
                self._collector.fetch(pending, side)
                device.wait(device.record(device.event(), side))
                self._score_overflows(pending, int(self._collector.counters(pending)[OVERFLOWS]), slab)
        device.fill(pending.zeroed.counters + 4 * CANDIDATES, 0, 1, side)
        if pending.group.minimum is not None:
            self._collector.cut(pending, side)
        self._collector.fetch(pending, side)
        device.record(pending.done, side)
        device.wait(pending.done)

    def _score_overflows(self, pending: Pending, n_items: int, slab: Slab) -> None:
        if n_items:
            longest = int(pending.batch.host.lengths[slab.first_row + slab.n_rows - 1])
            self._blocks.score(pending, self._collector.overflows(pending), np.full(n_items, longest), slab)

    def _take_times(self, pending: Pending) -> None:
        device, times, host = self.device, self.times, pending.batch.host
        times.pack += device.seconds(pending.begin, pending.packed)
        times.scan += self._seconds_not_counted(pending)
        times.collect += device.seconds(pending.scanned, pending.done)
        cells = int(pending.group.offsets[-1]) * host.rows.n_residues
        times.cells += cells
        self._pace.batch_done(cells - pending.cells_told)

    def _seconds_not_counted(self, pending: Pending) -> float:
        """Those of a batch in which none before it was scanned."""
        begin, end, last = pending.packed, pending.scanned, self._last_scanned
        seconds = self.device.seconds(begin, end)
        if last is None or self.device.seconds(last, end) > 0:
            self._last_scanned = end
        return seconds if last is None else seconds - min(seconds, max(0.0, self.device.seconds(begin, last)))


@dataclass(frozen=True)
class _GroupOnCard:
    """Where queries and what goes with them are, and when they are there."""

    places: dict[str, int]
    memory: Memory
    ready: Event


def launches(strips: Sequence[Strip], row_seconds: float) -> Iterator[tuple[int, Sequence[Strip]]]:
    """Strips that follow each other and have the same kernel, up to a time, with the place of the first one."""
    first, n_rows = 0, 0
    for place, strip in enumerate(strips):
        n_rows += strip.n_rows
        if place > first and (strip.kind != strips[first].kind or n_rows * row_seconds > MAX_LAUNCH_SECONDS):
            yield first, strips[first:place]
            first, n_rows = place, strip.n_rows
    if strips:
        yield first, strips[first:]


def fits_packed(scoring: Scoring, facts: DeviceFacts) -> bool:
    """Whether scores and gap costs are small enough for packed numbers; else all pairs are scored one by one."""
    largest = max(scoring.gap_first, int(np.abs(scoring.matrix).max()))
    return largest <= MAX_COST[facts.dpx]


def target_facts(host: HostBatch, n_letters: int) -> TargetFacts:
    """What plans depend on."""
    return TargetFacts(
        n_targets=host.n_stream,
        n_tiles_single=host.layouts[False].n_tiles,
        n_tiles_paired=host.layouts[True].n_tiles,
        longest=int(host.lengths[host.n_stream - 1]),
        n_letters=n_letters,
    )


def plan_key(facts: TargetFacts) -> tuple[int, int]:
    """Targets with the same key share a plan: it fits any, and is the best for those of about the same size.

    The longest one matters only where a group of lanes would have less than that to do.
    """
    n_steps = max(facts.longest // COLUMNS, facts.n_tiles_single // MANY_GROUPS)
    return facts.n_tiles_single.bit_length(), n_steps.bit_length()


def needs_of(strips: list[Strip]) -> Needs:
    """What the launches of a plan read and keep."""
    packings = {strip.shape.packing for strip in strips}
    kept = {strip.shape.is_paired for strip in strips if strip.keeps_rows}
    singles, pairs, merged = (packing in packings for packing in Packing)
    return Needs((singles, pairs, merged), (False in kept, True in kept))
