"""A database as batches: how it is cut for a card, what of a batch lies on the card, and what is kept there.

A batch is a range of rows of one segment. Its codes are sent, and runs from which the card makes the columns that go
with them (offsets, first tiles, chunks); then it packs the codes into streams of tiles.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.cuda.card import Card, CardMemoryError, Event, Memory, PinnedMemory
from exaln.cuda.layout import (
    BOUNDARY_TILE_BYTES,
    PAIRED_TILE_BYTES,
    SINGLE_TILE_BYTES,
    Runs,
    StreamLayout,
    stream_layout,
    sum_runs,
    tiles_of,
    used_letters,
)
from exaln.cuda.sending import Sender
from exaln.resources import available_threads
from exaln.schedule import RowRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.cuda.layout import FoldedScores

MAX_BATCH_RESIDUES = 256 << 20
MIN_BATCH_RESIDUES = 4 << 20
"""Batches that are made small for overlap or for several cards have at least so many."""

STREAMED_BATCHES = 8
"""A streamed database is cut into at least so many batches, so that sending overlaps computing from early on."""

BATCHES_PER_CARD = 4
"""With several cards, so that the slower ones can be given less."""

SCORES_SHARE = 8
"""One part in so many of the memory is for scores."""

STREAMED_RESERVE, STREAMED_RESERVE_BYTES = 16, 4 << 20
"""What is left free when a streamed database is cut: one part in so many of the memory, and so much; for candidates,
lists of pairs, and scratch memory that has to grow."""

ROW_BYTES = 26
"""Of a target in a batch, besides its codes: offset, first tiles, chunks; rounded up."""

ALIGNMENT = 256
GROWTH = 16
"""Scratch memory that has to grow gets one part in so many more than it needs, so that it grows seldom."""

MAX_COUNTED_RESIDUES = 4 << 30
"""In larger databases letters are not looked for before the first scan: it would have to wait for the disk."""


@dataclass(frozen=True)
class SegmentFacts:
    """What is known of a segment, for as long as it lives.

    lengths: int64[n_rows], ascending. cuts: how it was cut for cards on which it stays. batches: by first row, end
    and length of long targets. letters: bool[256], which codes occur, as the only element once they were looked for.
    """

    lengths: NDArray[np.int64]
    cuts: dict[object, list[RowRange]] = field(default_factory=dict)
    batches: dict[tuple[int, int, int], HostBatch] = field(default_factory=dict)
    letters: list[NDArray[np.bool_]] = field(default_factory=list)


class SegmentNotes:
    """Facts of segments, forgotten with them. Segments are known by identity; two with equal content are two."""

    def __init__(self) -> None:
        self._facts: dict[int, SegmentFacts] = {}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._lock = threading.Lock()

    def of(self, segment: Any) -> SegmentFacts:
        """What is known of this segment."""
        number = id(segment)
        with self._lock:
            if number not in self._facts:
                self._facts[number] = SegmentFacts(np.diff(segment.offsets))
                self._alive[number] = weakref.ref(segment, lambda _: self._forget(number))
            return self._facts[number]

    def _forget(self, number: int) -> None:
        self._facts.pop(number, None)
        self._alive.pop(number, None)


@dataclass(frozen=True)
class RowCosts:
    """Bytes on the card per row. batch: codes and columns; streams: tiles; scratch: while it is scored, but scores."""

    batch: NDArray[np.int64]
    streams: NDArray[np.int64]
    scratch: NDArray[np.int64]


@dataclass(frozen=True)
class Needs:
    """Which streams, single and paired, a scan reads, and between which it keeps rows; all of them by default."""

    streams: tuple[bool, bool] = (True, True)
    boundaries: tuple[bool, bool] = (True, True)

    @property
    def tile_bytes(self) -> tuple[int, int]:
        """For each tile of a target alone: in streams, and in rows between strips. A pair has half as many tiles."""
        single, paired = self.streams
        between = BOUNDARY_TILE_BYTES * (2 * self.boundaries[0] + self.boundaries[1]) // 2
        return SINGLE_TILE_BYTES * single + PAIRED_TILE_BYTES // 2 * paired, between


def row_costs(lengths: NDArray[np.int64], long_length: int, needs: Needs) -> RowCosts:
    """What rows of these lengths take; those above long_length have no tiles."""
    tiles = np.where(lengths <= long_length, tiles_of(lengths), 0)
    in_streams, between = needs.tile_bytes
    return RowCosts(lengths + ROW_BYTES, tiles * in_streams, tiles * between)


@dataclass(frozen=True)
class Division:
    """How a database is scanned: whether its batches stay on the cards, and the batches."""

    is_resident: bool
    ranges: list[RowRange]


def divide_resident(
    lengths: Sequence[NDArray[np.int64]], long_lengths: Sequence[int], budget: int, n_cards: int = 1
) -> Division | None:
    """Cut segments with rows of these lengths, to stay on cards with `budget` bytes each; None if they do not fit.

    They fit if codes, columns and streams of all batches leave enough for scoring one of reasonable size. Whatever the
    queries need, so that batches are the same in all scans.
    """
    costs = [row_costs(rows, long, Needs()) for rows, long in zip(lengths, long_lengths, strict=True)]
    kept = sum(int(cost.batch.sum() + cost.streams.sum()) for cost in costs)
    spare = budget - budget // SCORES_SHARE - -(-kept // n_cards)
    scratch = [cost.scratch + 1 for cost in costs]
    largest = max((int(weights.sum()) for weights in scratch), default=0)
    if spare < min(largest, MIN_BATCH_RESIDUES * 16):
        return None
    return Division(True, _cut(lengths, scratch, spare, BATCHES_PER_CARD * n_cards if n_cards > 1 else 1))


def divide_streamed(
    lengths: Sequence[NDArray[np.int64]],
    long_lengths: Sequence[int],
    budget: int,
    needs: Needs,
    n_queries: int,
    n_cards: int = 1,
) -> Division:
    """Cut segments with rows of these lengths, to pass through cards with `budget` bytes each.

    Two batches are on a card at a time, of which one is computed; so many queries at a time.
    """
    costs = [row_costs(rows, long, needs) for rows, long in zip(lengths, long_lengths, strict=True)]
    weights = [2 * cost.batch + cost.streams + cost.scratch + 8 * n_queries for cost in costs]
    room = budget - budget // STREAMED_RESERVE - STREAMED_RESERVE_BYTES
    return Division(False, _cut(lengths, weights, max(1, room), STREAMED_BATCHES * n_cards))


def _cut(
    lengths: Sequence[NDArray[np.int64]], weights: Sequence[NDArray[np.int64]], limit: int, n_least: int
) -> list[RowRange]:
    """Ranges of even weight, none above the limit; n_least or more of them, if they do not get too small."""
    residues = [int(rows.sum()) for rows in lengths]
    most = min(MAX_BATCH_RESIDUES, max(MIN_BATCH_RESIDUES, -(-sum(residues) // n_least)))
    ranges: list[RowRange] = []
    for number, (weight, rows) in enumerate(zip(weights, lengths, strict=True)):
        n_pieces = max(-(-int(weight.sum()) // limit), -(-residues[number] // most))
        ranges += [
            RowRange(number, first, end, int(rows[first:end].sum())) for first, end in even_cuts(weight, n_pieces)
        ]
    return ranges


def even_cuts(weights: NDArray[np.int64], n_pieces: int) -> list[tuple[int, int]]:
    """Ranges of about equal weight, at most n_pieces; none is empty.

    >>> even_cuts(np.array([1, 1, 1, 3, 6]), 4)
    [(0, 3), (3, 4), (4, 5)]
    """
    ends = np.cumsum(weights)
    if not len(ends):
        return []
    goals = ends[-1] * np.arange(1, n_pieces + 1) // max(1, n_pieces)
    edges = np.unique(np.append(0, np.searchsorted(ends, goals) + 1))
    edges = np.unique(np.append(edges[edges < len(ends)], [0, len(ends)]))
    return list(pairwise(edges.tolist()))


class HostBatch:
    """Rows of a segment in the memory of the host, and what has to be sent of them.

    lengths, ordinals: int64[n_rows]. The first n_stream rows go through the streams, the longer ones one by one.
    On the card: a table of the columns, their runs, the codes; that is sent; then the columns, expanded there.
    """

    def __init__(self, segment: Any, lengths: NDArray[np.int64], rows: RowRange, long_length: int) -> None:
        own = slice(rows.first, rows.end)
        begin, end = segment.offsets[rows.first], segment.offsets[rows.end]
        self.rows = rows
        self.codes: NDArray[np.uint8] = segment.codes[int(begin) : int(end)]
        self.ordinals: NDArray[np.int64] = segment.ordinals[own]
        self.lengths = lengths[own]
        self.long_length = long_length
        self.n_stream = int(np.searchsorted(self.lengths, long_length, side="right"))
        in_streams = self.lengths[: self.n_stream]
        self.layouts = {paired: stream_layout(in_streams, is_paired=paired) for paired in (False, True)}
        self._columns = [_Column("offsets", sum_runs(self.lengths, 0), 8)]
        for paired, layout in self.layouts.items():
            self._columns += [
                _Column(f"starts {paired:d}", layout.starts, 4),
                _Column(f"chunks {paired:d}", layout.chunk_tiles, 4, stride=2),
                _Column(f"chunks {paired:d}", layout.chunk_ids, 4, stride=2, place=1),
            ]

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def row_stride(self) -> int:
        """Scores of a query take so many places: an even number, because pairs of targets are written together."""
        return len(self) + len(self) % 2

    @property
    def n_columns(self) -> int:
        """Columns that are expanded on the card."""
        return len(self._columns)

    @cached_property
    def n_longest_column(self) -> int:
        """Numbers of the longest one."""
        return max(column.runs.n for column in self._columns)

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each part begins on the card."""
        n_runs = sum(len(column.runs.runs) for column in self._columns)
        sizes = {"columns": 8 * COLUMN_FIELDS * self.n_columns, "runs": 24 * n_runs, "codes": len(self.codes)}
        sizes |= {column.name: column.size * column.stride * column.runs.n for column in self._columns}
        places, end = {}, 0
        for name, size in {**sizes, "": 0}.items():
            places[name] = end
            end += -(-size // ALIGNMENT) * ALIGNMENT
        return places

    @property
    def sent_bytes(self) -> int:
        """What goes to the card."""
        return self.places["codes"] + len(self.codes)

    @property
    def card_bytes(self) -> int:
        """What it takes there."""
        return self.places[""]

    def header(self, address: int) -> NDArray[np.int64]:
        """int64[...]: what stands before the codes, for a batch that will lie at this address."""
        header = np.zeros(self.places["codes"] // 8, np.int64)
        table = header[: COLUMN_FIELDS * self.n_columns].reshape(self.n_columns, COLUMN_FIELDS)
        runs = np.concatenate([column.runs.runs for column in self._columns])
        header[self.places["runs"] // 8 :][: runs.size] = runs.reshape(-1)
        first_run = 0
        for row, column in zip(table, self._columns, strict=True):
            to, n_runs = address + self.places[column.name] + column.size * column.place, len(column.runs.runs)
            row[:] = to, column.runs.n, first_run, n_runs, column.stride, column.size == 8
            first_run += n_runs
        return header

    @cached_property
    def n_stream_residues(self) -> int:
        """Residues of the rows in the streams."""
        return int(self.lengths[: self.n_stream].sum())


COLUMN_FIELDS = 6
"""Of struct Column in kernels/expand.cu."""


@dataclass(frozen=True)
class _Column:
    """Numbers of `size` bytes, `stride` of them apart, of which the first is the one at `place`."""

    name: str
    runs: Runs
    size: int
    stride: int = 1
    place: int = 0


class CardBatch:
    """A batch on a card, from `address` on, there when `ready` is done; and its streams, once packed."""

    def __init__(self, host: HostBatch, address: int, ready: Event, memory: Memory | None = None) -> None:
        self.host, self.address, self.ready = host, address, ready
        self._memory = memory
        self.is_expanded = False
        self.streams: dict[bool, Memory] = {}
        self.packed_with: dict[bool, bytes] = {}

    @property
    def is_resident(self) -> bool:
        """Whether it has memory of its own."""
        return self._memory is not None

    def place(self, part: str) -> int:
        """The address of a part."""
        return self.address + self.host.places[part]

    def layout(self, *, paired: bool) -> StreamLayout:
        """Of one of its streams."""
        return self.host.layouts[paired]

    def needs_packing(self, folded: FoldedScores, *, paired: bool) -> bool:
        """Whether the stream is missing, or has letters folded in another way."""
        return self.packed_with.get(paired) != folded.fold.tobytes()


class Workspace:
    """A card with what is kept on it: streams, scratch memory by name, and the batches of resident databases."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.stream = card.stream()
        self.side_stream = card.stream()
        self.copy_stream = card.stream()
        self._sender = Sender(card, self.copy_stream)
        self._scratch: dict[str, Memory] = {}
        self._pinned: dict[str, PinnedMemory] = {}
        self._residents: dict[tuple[int, int, int], CardBatch] = {}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._in_use: frozenset[int] = frozenset()
        self._lock = threading.RLock()

    def begin(self, segments: Sequence[Any]) -> None:
        """A scan of these segments begins: what is resident of others may go when memory is short."""
        self._in_use = frozenset(map(id, segments))

    def allocate(self, n_bytes: int) -> Memory:
        """Memory, if need be in place of batches of other databases."""
        with self._lock:
            while True:
                try:
                    return self.card.allocate(n_bytes)
                except CardMemoryError:
                    if not self._evict():
                        raise

    def scratch(self, name: str, n_bytes: int) -> int:
        """The address of memory that is used again and again under this name; what was in it may be lost."""
        known = self._scratch.get(name)
        if known is not None and known.n_bytes >= n_bytes:
            return known.address
        if known is not None:
            self.card.synchronize()
            del self._scratch[name]
            known.free()
            n_bytes += n_bytes // GROWTH
        known = self._scratch[name] = self.allocate(n_bytes)
        return known.address

    def pinned(self, name: str, n_bytes: int) -> NDArray[np.uint8]:
        """The same in the memory of the host: uint8[n_bytes or more]. Copies must be done before it is asked for."""
        known = self._pinned.get(name)
        if known is None or known.n_bytes < n_bytes:
            if known is not None:
                self.card.synchronize()
            known = self._pinned[name] = self.card.pinned(n_bytes)
        return known.array

    def holds(self, segment: Any, rows: RowRange) -> bool:
        """Whether these rows are on the card."""
        return (id(segment), rows.first, rows.end) in self._residents

    def resident(self, segment: Any, rows: RowRange) -> CardBatch | None:
        """The batch of these rows, if it is on the card."""
        return self._residents.get((id(segment), rows.first, rows.end))

    def fill(self, address: int, host: HostBatch) -> Event:
        """Send a batch to an address; it is there when the event is done."""
        self.card.upload(address, host.header(address), self.copy_stream)
        self._sender.send(address + host.places["codes"], host.codes)
        return self.card.record(self.card.event(), self.copy_stream)

    def keep(self, segment: Any, host: HostBatch) -> CardBatch:
        """Bring a batch to the card, to stay there as long as the segment lives and memory is not short."""
        memory = self.allocate(host.card_bytes)
        batch = CardBatch(host, memory.address, self.fill(memory.address, host), memory)
        number = id(segment)
        self._residents[number, host.rows.first, host.rows.end] = batch
        self._alive[number] = weakref.ref(segment, lambda _: self._forget(number))
        return batch

    def clear(self) -> None:
        """Give back all memory; the card must be idle."""
        self.card.synchronize()
        self._scratch.clear()
        self._pinned.clear()
        self._residents.clear()

    def _evict(self) -> bool:
        """Drop one segment that this scan does not use, the one that came first; False if there is none."""
        for number, _, _ in self._residents:
            if number not in self._in_use:
                self.card.synchronize()
                self._forget(number)
                return True
        return False

    def _forget(self, number: int) -> None:
        for key in [key for key in self._residents if key[0] == number]:
            del self._residents[key]
        self._alive.pop(number, None)


def letters_of(segments: Sequence[Any], notes: SegmentNotes, n_letters: int, n_residues: int) -> NDArray[np.bool_]:
    """bool[256]: the codes that targets have; all of the alphabet where looking would take too long."""
    if n_residues > MAX_COUNTED_RESIDUES:
        return np.arange(256) < n_letters
    is_used = np.zeros(256, np.bool_)
    for segment in segments:
        facts = notes.of(segment)
        if not facts.letters:
            facts.letters.append(_letters_in(segment.codes, n_letters))
        is_used |= facts.letters[0]
    return is_used


def _letters_in(codes: NDArray[np.uint8], n_letters: int) -> NDArray[np.bool_]:
    threads = available_threads()
    pieces = np.array_split(codes, max(1, min(threads, len(codes) >> 22)))
    with ThreadPoolExecutor(len(pieces)) as pool:
        found = list(pool.map(lambda piece: used_letters(piece, n_letters), pieces))
    is_used: NDArray[np.bool_] = np.logical_or.reduce(found)
    return is_used
