"""One batch of targets against one group of queries on one card.

    start:   pack the streams, zero the scores
             long targets one by one (block.cu) on the side stream
             strips of the plan (stream.cu), a launch each
             find what reached the limit of 16 bits; cut to candidates; copy counters and candidates back
    finish:  wait; compute again in 32 bits what has to be; hand out candidates, or all scores

Between start and finish of one batch the next one can be started: two sets of scores, counters and candidates take
turns. Nothing waits for the card in between, except that no more than a fraction of a second is queued.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.cuda.batches import ALIGNMENT, CardBatch, HostBatch, Workspace
from exaln.cuda.compiler import Source
from exaln.cuda.division import CANDIDATES_SHARE, Needs
from exaln.cuda.pairs import ITEM_BYTES, pair_items
from exaln.cuda.plan import Half, Strip, TargetFacts
from exaln.cuda.variants import COLUMNS, MAX_COST, block_bytes, block_shape, packed_limit
from exaln.errors import EngineError
from exaln.lengths import N_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.cuda.card import CardFacts, Event, Kernel, Memory
    from exaln.cuda.layout import FoldedScores
    from exaln.cuda.variants import Shape
    from exaln.scoring import Scoring

MAX_AHEAD_SECONDS, MARK_SECONDS = 0.2, 0.02
"""How much is queued at most, and how often the card tells how far it is."""

CELLS_PER_SECOND = 5e12
BLOCK_CELLS_PER_SECOND = 5e11
"""To tell how much is queued; a rough guess is enough."""

INT32_MAX = (1 << 31) - 1
BLOCK_SCORES = 16 << 20
"""Scores that are copied back at a time: 64 MiB."""

FIRST_CANDIDATES = 1 << 14
"""Candidates that are copied back with the counters, before their number is known; more need a second copy."""

MIN_CAPACITY, MAX_CAPACITY = 1 << 16, 4 << 20
CANDIDATE_BYTES = 12

MAX_OVERFLOWS = 1 << 16
"""Pairs to be computed again that the card lists at a time."""

MANY_GROUPS = 8192
"""About so many groups of lanes are there at most."""

PACK_THREADS, COLLECT_THREADS = 256, 256
WARP = 32
OVERFLOWS, CANDIDATES, TOO_HIGH, N_COUNTERS = 0, 1, 2, 8
"""Places of the counters: scores that may be wrong, candidates, scores that do not fit 31 bits."""


@dataclass
class ScanTimes:
    """Where the time of a scan went, in seconds; bytes that were sent to cards, and cells that were computed.

    pack, scan and collect are times of cards; compile and upload are times of threads. long_length: targets above this
    length are scored one by one; in small batches it may be less. raw_cells: with padding. kernels: shapes of strips.
    """

    compile: float = 0.0
    upload: float = 0.0
    pack: float = 0.0
    scan: float = 0.0
    collect: float = 0.0
    bytes_sent: int = 0
    cells: int = 0
    rescored: int = 0
    n_long: int = 0
    long_length: int = 0
    raw_cells: int = 0
    kernels: tuple[str, ...] = ()

    def add(self, other: ScanTimes) -> None:
        """Sum up."""
        for name in (one.name for one in fields(self)):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.kernels = tuple(sorted(set(self.kernels)))


@dataclass(frozen=True)
class QueryGroup:
    """Queries that are scored together.

    first: the place of the first among all; codes, offsets: as in Records, offsets from 0; minimum: int32[n, N_BINS],
    or None where all scores are wanted; score_bins: of the histogram, or 0.
    """

    first: int
    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    minimum: NDArray[np.int32] | None = None
    score_bins: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> list[int]:
        """Of the queries."""
        lengths: list[int] = np.diff(self.offsets).tolist()
        return lengths


@dataclass(frozen=True)
class Found:
    """Candidates of a batch: pairs int32[n, 3] of query in the group, row in the batch, score; histogram on demand."""

    pairs: NDArray[np.int32]
    histogram: NDArray[np.int64] | None

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to tell."""
        return not len(self.pairs) and self.histogram is None


@dataclass(frozen=True)
class ScoreRows:
    """All scores of some queries of the group, from `first_query` on: int32[queries, rows of the batch]."""

    first_query: int
    scores: NDArray[np.int32]


@dataclass(frozen=True)
class Slab:
    """Some queries of a group and some rows of a batch."""

    first_query: int
    n_queries: int
    first_row: int
    n_rows: int


PlanFor = Callable[[list[int], "CardFacts", TargetFacts], list[Strip]]
"""Plans for queries of these lengths; plan_scan, or something that remembers."""


class Stopped(Exception):
    """Nobody wants the results any more."""


@dataclass
class _Set:
    """What a batch needs while it is on its way: one of two."""

    number: int
    result: NDArray[np.uint8]


@dataclass
class Pending:
    """A batch that was started."""

    batch: CardBatch
    group: QueryGroup
    on_card: dict[str, int]
    own: _Set
    scores: int
    counters: int
    candidates: int
    histogram: int
    capacity: int
    begin: Event
    packed: Event
    scanned: Event
    done: Event
    cells_told: int = 0

    @property
    def max_overflows(self) -> int:
        """Room in the list of pairs to be computed again."""
        return min(MAX_OVERFLOWS, len(self.group) * len(self.batch.host))

    def slab(self, n_rows: int) -> Slab:
        """All queries and the first rows."""
        return Slab(0, len(self.group), 0, n_rows)

    def slabs(self, n_rows: int, max_pairs: int) -> Iterator[Slab]:
        """The same in pieces of at most so many pairs."""
        for query in range(len(self.group)):
            for row in range(0, n_rows, max_pairs):
                yield Slab(query, 1, row, min(max_pairs, n_rows - row))

    def score_address(self, slab: Slab) -> int:
        """Where the first score of a slab is."""
        return self.scores + 4 * (self.batch.host.row_stride * slab.first_query + slab.first_row)


class Scanner:
    """Scans batches on one card with one scoring.

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
        self.workspace, self.card = workspace, workspace.card
        self.scoring, self.folded = scoring, folded
        self.times = times
        self._stop, self._report = stop, report
        self._groups: dict[int, tuple[dict[str, int], Memory]] = {}
        self._sets = deque(_Set(number, workspace.pinned(f"result {number}", _RESULT_BYTES)) for number in range(2))
        self._queue: deque[tuple[Event, float, int]] = deque()
        self._queued, self._unmarked_seconds, self._unmarked_cells = 0.0, 0.0, 0
        self._plan_for = plan_for
        self._plans: set[tuple[int, ...]] = set()
        self._stream_kernels: dict[Shape, Kernel] = {}
        self.can_pack = fits_packed(scoring, self.card.facts)
        self._constants = (
            ("LETTERS", folded.n_letters),
            ("GAP_FIRST", scoring.gap_first),
            ("GAP_EXTEND", scoring.gap_extend),
        )

    def start(self, batch: CardBatch, group: QueryGroup) -> Pending:
        """Queue everything that scores a batch."""
        strips = self._plan(batch, group)
        pending = self._prepare(batch, group)
        try:
            self._queue_all(pending, strips, batch.host.n_stream if self.can_pack else 0)
        except BaseException:
            self._sets.append(pending.own)
            raise
        return pending

    def _queue_all(self, pending: Pending, strips: list[Strip], n_stream: int) -> None:
        card, batch, host = self.card, pending.batch, pending.batch.host
        main, side = self.workspace.stream, self.workspace.side_stream
        card.let_wait(main, batch.ready)
        card.record(pending.begin, main)
        self._expand(batch)
        for paired in {strip.shape.paired for strip in strips}:
            self._pack(batch, paired=paired)
        card.record(pending.packed, main)
        tickets = self.workspace.scratch(f"tickets {pending.own.number}", 4 * len(strips))
        card.fill(tickets, 0, len(strips), main)
        card.fill(pending.counters, 0, N_COUNTERS, main)
        card.fill(pending.scores, 0, len(pending.group) * host.row_stride, main)
        if n_stream < len(host):
            card.let_wait(side, card.record(card.event(), main))
            self._score_long(pending, n_stream)
        for number, strip in enumerate(strips):
            self._launch_strip(pending, strip, tickets + 4 * number)
        if n_stream < len(host):
            card.let_wait(main, card.record(card.event(), side))
        card.record(pending.scanned, main)
        self._collect(pending, n_stream)
        card.record(pending.done, main)

    def finish(self, pending: Pending) -> Iterator[Found | ScoreRows]:
        """Wait for a batch and hand out what was found."""
        self.card.wait(pending.done)
        counters = self._counters(pending)
        if counters[OVERFLOWS]:
            self._rescore(pending, int(counters[OVERFLOWS]))
            counters = self._counters(pending)
        if counters[TOO_HIGH]:
            raise EngineError("a score does not fit 31 bits; use smaller scores or shorter sequences")
        self._take_times(pending)
        if pending.group.minimum is None or counters[CANDIDATES] > pending.capacity:
            yield from self._score_rows(pending)
        else:
            yield self._found(pending, int(counters[CANDIDATES]))
        self._sets.append(pending.own)

    # --- planning

    def _plan(self, batch: CardBatch, group: QueryGroup) -> list[Strip]:
        """The launches, with their kernels loaded."""
        if not (batch.host.n_stream and self.can_pack):
            return self._loaded((), [])
        facts = target_facts(batch.host, self.folded.n_letters)
        return self._loaded((group.first, *plan_key(facts)), self._plan_for(group.lengths, self.card.facts, facts))

    def _loaded(self, key: tuple[int, ...], strips: list[Strip]) -> list[Strip]:
        """Compile and load all kernels of a plan at once, the first time that it is used."""
        if key in self._plans:
            return strips
        self._plans.add(key)
        started = time.perf_counter()
        shapes = {strip.shape for strip in strips}
        self.times.kernels = tuple(sorted({*self.times.kernels, *map(str, shapes)}))
        sources = {shape: self._stream_source(shape) for shape in shapes}
        self.card.load([*sources.values(), self._pack_source, self._block_source, COLLECT, EXPAND])
        for shape, source in sources.items():
            n_bytes = shape.shared_bytes(self.folded.n_letters)
            self._stream_kernels[shape] = self.card.kernel(source, "stream_scores", n_bytes)
        self.times.compile += time.perf_counter() - started
        return strips

    def _stream_source(self, shape: Shape) -> Source:
        return shape.source(self.folded.n_letters, self.scoring.gap_first, self.scoring.gap_extend)

    @property
    def _pack_source(self) -> Source:
        return Source("pack.cu", self._constants[:1])

    @property
    def _block_source(self) -> Source:
        n_threads, rows = self._block_shape
        return Source("block.cu", (("THREADS", n_threads), ("ROWS", rows), *self._constants))

    @property
    def _block_shape(self) -> tuple[int, int]:
        return block_shape(self.card.facts.shared_bytes, self.folded.n_letters)

    # --- memory

    def _prepare(self, batch: CardBatch, group: QueryGroup) -> Pending:
        """Memory for the results, and the queries on the card."""
        card, scratch, own = self.card, self.workspace.scratch, self._sets.popleft()
        n_scores = len(group) * batch.host.row_stride
        capacity = self._capacity(n_scores)
        n_histogram = len(group) * N_BINS * group.score_bins
        try:
            return Pending(
                batch,
                group,
                self._group_on_card(group),
                own,
                scores=scratch(f"scores {own.number}", 4 * n_scores),
                counters=scratch(f"counters {own.number}", 4 * N_COUNTERS),
                candidates=scratch(f"candidates {own.number}", CANDIDATE_BYTES * capacity),
                histogram=scratch(f"histogram {own.number}", 4 * n_histogram) if n_histogram else 0,
                capacity=capacity,
                begin=card.event(has_time=True),
                packed=card.event(has_time=True),
                scanned=card.event(has_time=True),
                done=card.event(has_time=True),
            )
        except BaseException:
            self._sets.appendleft(own)
            raise

    def _capacity(self, n_scores: int) -> int:
        """Candidates that the card keeps; where all scores can pass, none are lost up to a limit."""
        share = self.card.budget // CANDIDATES_SHARE // (2 * CANDIDATE_BYTES)
        return min(n_scores, max(MIN_CAPACITY, min(MAX_CAPACITY, share)))

    def _group_on_card(self, group: QueryGroup) -> dict[str, int]:
        """Addresses of the queries and of what goes with them; groups before the last one are dropped."""
        if group.first not in self._groups:
            while len(self._groups) > 1:
                self._groups.pop(next(iter(self._groups)))
            parts: dict[str, NDArray[Any]] = {
                "codes": group.codes,
                "offsets": group.offsets,
                "table": self.folded.table,
                "fold": self.folded.fold,
                "minimum": np.empty(0, np.int32) if group.minimum is None else group.minimum,
            }
            ends = np.cumsum([-(-part.nbytes // ALIGNMENT) * ALIGNMENT for part in parts.values()]).tolist()
            memory = self.workspace.allocate(ends[-1])
            places = dict(zip(parts, (memory.address + end for end in (0, *ends)), strict=False))
            for name, part in parts.items():
                self.card.upload(places[name], np.ascontiguousarray(part), self.workspace.stream)
            self._groups[group.first] = places, memory
        return self._groups[group.first][0]

    # --- launching

    def _expand(self, batch: CardBatch) -> None:
        """Make the columns of a batch from their runs, unless they are there."""
        if batch.is_expanded:
            return
        kernel, host = self.card.kernel(EXPAND, "expand"), batch.host
        n_blocks = max(1, min(-(-host.n_longest_column // COLLECT_THREADS), 4 * self.card.facts.n_sms))
        arguments = (batch.place("runs"), batch.place("columns"))
        self.card.launch(kernel, (n_blocks, host.n_columns), COLLECT_THREADS, self.workspace.stream, arguments)
        batch.is_expanded = True

    def _pack(self, batch: CardBatch, *, paired: bool) -> None:
        """Make a stream of tiles from the codes, unless it is there."""
        if not batch.needs_packing(self.folded, paired=paired):
            return
        layout = batch.layout(paired=paired)
        kernel = self.card.kernel(self._pack_source, "pack_pairs" if paired else "pack_singles")
        arguments = (
            batch.place("codes"),
            batch.place("offsets"),
            batch.place(f"starts {paired:d}"),
            batch.host.n_stream,
            self._fold,
            self._stream_address(batch, paired=paired, n_bytes=layout.n_bytes),
        )
        self.card.launch(kernel, _warps(layout.starts.n - 1), PACK_THREADS, self.workspace.stream, arguments)
        batch.packed_with[paired] = self.folded.fold.tobytes()

    def _stream_address(self, batch: CardBatch, *, paired: bool, n_bytes: int = 0) -> int:
        """Where a stream is: with the batch if that stays on the card, else in memory that all batches share."""
        if not batch.is_resident:
            return self.workspace.scratch(f"stream {paired:d}", n_bytes)
        if paired not in batch.streams:
            batch.streams[paired] = self.workspace.allocate(n_bytes)
        return batch.streams[paired].address

    @property
    def _fold(self) -> int:
        """The address of the table of folded letters, the same in all groups."""
        return next(reversed(self._groups.values()))[0]["fold"]

    def _launch_strip(self, pending: Pending, strip: Strip, ticket: int) -> None:
        """A strip of rows over all targets of the streams."""
        batch, shape, paired = pending.batch, strip.shape, strip.shape.paired
        if strip.split is not None:
            self._split(batch, strip.split)
        layout, stride = batch.layout(paired=paired), batch.host.row_stride
        low, high = strip.low, strip.low if strip.high is None else strip.high
        row = pending.scores + 4 * stride * low.query
        arguments = (
            self._stream_address(batch, paired=paired),
            batch.place(f"chunks {paired:d}"),
            layout.n_chunks,
            ticket,
            *self._rows(pending, low),
            *self._rows(pending, high),
            pending.on_card["table"],
            self._boundary(batch, paired=paired) if strip.has_top or strip.has_bottom else 0,
            strip.has_top,
            strip.has_bottom,
            row,
            row + 4 if paired else pending.scores + 4 * stride * high.query,
            2 if paired else 1,
        )
        main, kernel = self.workspace.stream, self._stream_kernels[shape]
        self.card.launch(kernel, min(self.card.facts.n_sms, layout.n_chunks), shape.threads, main, arguments)
        self.times.raw_cells += 2 * shape.strip_rows * COLUMNS * layout.n_tiles
        n_rows = low.n_rows + (0 if strip.high is None else strip.high.n_rows)
        cells = n_rows * batch.host.n_stream_residues
        self._hold_back(main, cells, cells / CELLS_PER_SECOND, pending)

    def _rows(self, pending: Pending, half: Half) -> tuple[int, int]:
        """Address and number of the query's letters."""
        return pending.on_card["codes"] + int(pending.group.offsets[half.query]) + half.first_row, half.n_rows

    def _boundary(self, batch: CardBatch, *, paired: bool) -> int:
        return self.workspace.scratch(f"boundary {paired:d}", batch.layout(paired=paired).boundary_bytes)

    def _split(self, batch: CardBatch, half: int) -> None:
        """The boundary of one query of two becomes that of pairs of targets."""
        arguments = (
            self._boundary(batch, paired=False),
            batch.place("starts 0"),
            self._boundary(batch, paired=True),
            batch.place("starts 1"),
            batch.host.n_stream,
            half,
        )
        kernel = self.card.kernel(self._pack_source, "split_boundary")
        n_pairs = batch.layout(paired=True).starts.n - 1
        self.card.launch(kernel, _warps(n_pairs), PACK_THREADS, self.workspace.stream, arguments)

    def _hold_back(self, stream: Any, cells: int, seconds: float, pending: Pending) -> None:
        """Wait if too much is queued, so that an interrupt is obeyed soon. cells: to be reported."""
        self._unmarked_seconds += seconds
        self._unmarked_cells += cells
        pending.cells_told += cells
        if self._unmarked_seconds > MARK_SECONDS:
            mark = self.card.record(self.card.event(), stream)
            self._queue.append((mark, self._unmarked_seconds, self._unmarked_cells))
            self._queued += self._unmarked_seconds
            self._unmarked_seconds, self._unmarked_cells = 0.0, 0
        while self._queue and (self._queued > MAX_AHEAD_SECONDS or self.card.is_done(self._queue[0][0])):
            self._pass_mark()
        if self._stop.is_set():
            raise Stopped

    def _pass_mark(self) -> None:
        mark, seconds, cells = self._queue.popleft()
        self.card.wait(mark)
        self._queued -= seconds
        self._report(cells)

    # --- pairs one by one

    def _score_long(self, pending: Pending, n_stream: int) -> None:
        """Long targets, in parts; the longest first."""
        card, host, side = self.card, pending.batch.host, self.workspace.side_stream
        rows, lengths = np.arange(n_stream, len(host)), host.lengths[n_stream:]
        self.times.n_long += len(rows)
        query_lengths = np.array(pending.group.lengths)
        useful = int(query_lengths.sum()) * int(lengths.sum())
        for items in pair_items(rows, lengths, pending.group.lengths, self.scoring, self._n_blocks):
            place = self.workspace.scratch(f"items {pending.own.number}", items.nbytes)
            card.upload(place, items, side)
            self._score_items(pending, place, len(items), int(items[:, 3].max()), pending.slab(len(host)))
            cells = int((query_lengths[items[:, 0]] * items[:, 3].astype(np.int64)).sum())
            self.times.raw_cells += cells
            self._hold_back(side, min(cells, useful), cells / BLOCK_CELLS_PER_SECOND, pending)
            useful -= min(cells, useful)

    @property
    def _n_blocks(self) -> int:
        """Blocks of the kernel for pairs that run at a time."""
        n_threads, _ = self._block_shape
        return self.card.facts.n_sms * max(1, self.card.blocks_per_sm(self._block_kernel, n_threads))

    @property
    def _block_kernel(self) -> Kernel:
        return self.card.kernel(
            self._block_source, "block_scores", block_bytes(*self._block_shape, self.folded.n_letters)
        )

    def _score_items(self, pending: Pending, items: int, n_items: int, longest: int, slab: Slab) -> None:
        """Exact scores of pairs, listed on the card; queries and rows are counted from those of the slab."""
        card, on_card, side = self.card, pending.on_card, self.workspace.side_stream
        n_threads, rows = self._block_shape
        n_blocks = min(n_items, self._n_blocks)
        boundary = 0
        if max(pending.group.lengths) > n_threads * rows:
            n_blocks, boundary = self._block_boundary(n_blocks, longest)
        ticket = self.workspace.scratch("ticket of pairs", 4)
        card.fill(ticket, 0, 1, side)
        arguments = (
            pending.batch.place("codes"),
            pending.batch.place("offsets") + 8 * slab.first_row,
            on_card["fold"],
            items,
            n_items,
            ticket,
            on_card["codes"],
            on_card["offsets"] + 8 * slab.first_query,
            on_card["table"],
            boundary,
            longest,
            pending.score_address(slab),
            pending.batch.host.row_stride,
            INT32_MAX - max(0, self.scoring.max_score),
            pending.counters + 4 * TOO_HIGH,
        )
        card.launch(self._block_kernel, n_blocks, n_threads, side, arguments)

    def _block_boundary(self, n_blocks: int, longest: int) -> tuple[int, int]:
        """Rows between strips, one per block: fewer blocks where memory is short."""
        spare = (self.card.budget - self.card.used) // 2
        n_blocks = max(1, min(n_blocks, spare // max(1, 8 * longest)))
        return n_blocks, self.workspace.scratch("boundary of pairs", 8 * longest * n_blocks)

    # --- results

    def _collect(self, pending: Pending, n_stream: int) -> None:
        """Find what may be wrong, cut, and copy back the counters and the first candidates."""
        stream = self.workspace.stream
        if n_stream:
            self._find_overflows(pending, stream, pending.slab(n_stream))
        if pending.group.minimum is not None:
            self._cut(pending, stream)
        self._fetch(pending, stream)

    def _find_overflows(self, pending: Pending, stream: Any, slab: Slab) -> None:
        """List pairs of a slab whose score may be wrong, as many as there is room for, and set them to 0."""
        arguments = (
            pending.score_address(slab),
            pending.batch.host.row_stride,
            slab.n_queries,
            slab.n_rows,
            packed_limit(self.card.facts.dpx, self.scoring.max_score),
            pending.max_overflows,
            pending.counters + 4 * OVERFLOWS,
            pending.batch.place("offsets") + 8 * slab.first_row,
            self._overflows(pending),
        )
        kernel = self.card.kernel(COLLECT, "find_overflows")
        self.card.launch(kernel, self._collect_grid(slab.n_rows, slab.n_queries), COLLECT_THREADS, stream, arguments)

    def _overflows(self, pending: Pending) -> int:
        return self.workspace.scratch(f"overflows {pending.own.number}", ITEM_BYTES * pending.max_overflows)

    def _cut(self, pending: Pending, stream: Any) -> None:
        group, host = pending.group, pending.batch.host
        if pending.histogram:
            self.card.fill(pending.histogram, 0, len(group) * N_BINS * group.score_bins, stream)
        arguments = (
            pending.scores,
            host.row_stride,
            0,
            len(group),
            len(host),
            pending.batch.place("offsets"),
            pending.on_card["minimum"],
            pending.capacity,
            pending.counters + 4 * CANDIDATES,
            pending.candidates,
            pending.histogram,
            group.score_bins,
        )
        kernel = self.card.kernel(COLLECT, "cut")
        self.card.launch(kernel, self._collect_grid(len(host), len(group)), COLLECT_THREADS, stream, arguments)

    def _collect_grid(self, n_rows: int, n_queries: int) -> tuple[int, int]:
        return max(1, min(-(-n_rows // COLLECT_THREADS), 8 * self.card.facts.n_sms)), max(1, min(n_queries, 64))

    def _fetch(self, pending: Pending, stream: Any) -> None:
        result = pending.own.result
        self.card.download(result[: 4 * N_COUNTERS], pending.counters, stream)
        n_first = CANDIDATE_BYTES * min(FIRST_CANDIDATES, pending.capacity)
        if pending.group.minimum is not None:
            self.card.download(result[4 * N_COUNTERS : 4 * N_COUNTERS + n_first], pending.candidates, stream)

    def _counters(self, pending: Pending) -> NDArray[np.uint32]:
        counters: NDArray[np.uint32] = pending.own.result[: 4 * N_COUNTERS].view(np.uint32).copy()
        return counters

    def _rescore(self, pending: Pending, n_overflows: int) -> None:
        """Compute again in 32 bits what may be wrong, and cut again."""
        side, card, n_stream = self.workspace.side_stream, self.card, pending.batch.host.n_stream
        self.times.rescored += n_overflows
        self._score_overflows(pending, min(n_overflows, pending.max_overflows), pending.slab(n_stream))
        if n_overflows > pending.max_overflows:
            for slab in pending.slabs(n_stream, pending.max_overflows):
                card.fill(pending.counters + 4 * OVERFLOWS, 0, 1, side)
                self._find_overflows(pending, side, slab)
                self._fetch(pending, side)
                card.wait(card.record(card.event(), side))
                self._score_overflows(pending, int(self._counters(pending)[OVERFLOWS]), slab)
        card.fill(pending.counters + 4 * CANDIDATES, 0, 1, side)
        if pending.group.minimum is not None:
            self._cut(pending, side)
        self._fetch(pending, side)
        card.record(pending.done, side)
        card.wait(pending.done)

    def _score_overflows(self, pending: Pending, n_items: int, slab: Slab) -> None:
        if n_items:
            longest = int(pending.batch.host.lengths[slab.first_row + slab.n_rows - 1])
            self._score_items(pending, self._overflows(pending), n_items, longest, slab)

    def _found(self, pending: Pending, n: int) -> Found:
        group, side = pending.group, self.workspace.side_stream
        pairs = np.empty((n, 3), np.int32)
        n_first = min(n, FIRST_CANDIDATES)
        first = pending.own.result[4 * N_COUNTERS : 4 * N_COUNTERS + CANDIDATE_BYTES * n_first]
        pairs[:n_first] = first.view(np.int32).reshape(-1, 3)
        self.card.download(pairs[n_first:], pending.candidates + CANDIDATE_BYTES * n_first, side)
        if not pending.histogram:
            return Found(pairs, None)
        counts = np.empty((len(group), N_BINS, group.score_bins), np.uint32)
        self.card.download(counts, pending.histogram, side)
        return Found(pairs, counts.astype(np.int64))

    def _score_rows(self, pending: Pending) -> Iterator[ScoreRows]:
        stride, n_queries = pending.batch.host.row_stride, len(pending.group)
        step = max(1, BLOCK_SCORES // max(1, stride))
        for first in range(0, n_queries, step):
            rows = np.empty((min(step, n_queries - first), stride), np.int32)
            self.card.download(rows, pending.scores + 4 * stride * first, self.workspace.side_stream)
            yield ScoreRows(first, rows[:, : len(pending.batch.host)])

    def _take_times(self, pending: Pending) -> None:
        card, times, host = self.card, self.times, pending.batch.host
        times.pack += card.seconds(pending.begin, pending.packed)
        times.scan += card.seconds(pending.packed, pending.scanned)
        times.collect += card.seconds(pending.scanned, pending.done)
        cells = int(pending.group.offsets[-1]) * host.rows.n_residues
        times.cells += cells
        while self._queue and card.is_done(self._queue[0][0]):
            self._pass_mark()
        self._unmarked_cells += cells - pending.cells_told
        if not self._queue:
            self._report(self._unmarked_cells)
            self._unmarked_cells = 0


COLLECT = Source("collect.cu", (("BINS", N_BINS),))
EXPAND = Source("expand.cu")
_RESULT_BYTES = 4 * N_COUNTERS + CANDIDATE_BYTES * FIRST_CANDIDATES


def fits_packed(scoring: Scoring, facts: CardFacts) -> bool:
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
    kinds = {strip.shape.paired for strip in strips}
    kept = {strip.shape.paired for strip in strips if strip.has_top or strip.has_bottom}
    return Needs((False in kinds, True in kinds), (False in kept, True in kept))


def _warps(n: int) -> int:
    """Blocks that give each of n a warp."""
    return max(1, -(-n * WARP // PACK_THREADS))
