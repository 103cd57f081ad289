"""A database as batches: how it is cut for a card, what of a batch lies on the card, and what is kept there.

A batch is a range of rows of one segment. Its codes are sent, and runs from which the card makes the columns that go
with them (offsets, first tiles, chunks); then it packs the codes into streams of tiles.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from exaln.cuda.card import Card, CardMemoryError, Event, Memory, PinnedMemory
from exaln.cuda.layout import Runs, Sizes, StreamLayout, stream_layout, used_letters
from exaln.cuda.sending import Sender
from exaln.resources import available_threads
from exaln.schedule import RowRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.cuda.division import Division
    from exaln.cuda.layout import FoldedScores

MAX_KNOWN = 4096
ALIGNMENT = 256
MAX_COUNTED_RESIDUES = 4 << 30
"""In larger databases letters are not looked for before the first scan: it would have to wait for the disk."""


Known = TypeVar("Known")


@dataclass(frozen=True, eq=False)
class SegmentFacts:
    """What is known of a segment, for as long as it lives.

    lengths: int64[n_rows], ascending. cuts: how databases that begin with it were cut to stay on cards. letters:
    bool[256], which codes occur, as the only element once they were looked for.
    """

    lengths: NDArray[np.int64]
    cuts: dict[object, Division] = field(default_factory=dict)
    letters: list[NDArray[np.bool_]] = field(default_factory=list)
    known: dict[object, Any] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> Sizes:
        """The lengths, equal ones together."""
        return Sizes.of(self.lengths)

    def once(self, key: object, compute: Callable[[], Known]) -> Known:
        """Something that depends on the segment and on the key, computed the first time."""
        if key not in self.known:
            if len(self.known) > MAX_KNOWN:
                self.known.clear()
            self.known[key] = compute()
        found: Known = self.known[key]
        return found


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


class HostBatch:
    """Rows of a segment in the memory of the host, and what has to be sent of them.

    lengths, ordinals: int64[n_rows]. The first n_stream rows go through the streams, the longer ones one by one.
    On the card: a table of the columns, their runs, the codes; that is sent; then the columns, expanded there.
    """

    def __init__(self, segment: Any, facts: SegmentFacts, rows: RowRange, long_length: int) -> None:
        own = slice(rows.first, rows.end)
        begin, end = segment.offsets[rows.first], segment.offsets[rows.end]
        self.rows = rows
        self.codes: NDArray[np.uint8] = segment.codes[int(begin) : int(end)]
        self.ordinals: NDArray[np.int64] = segment.ordinals[own]
        self.lengths = facts.lengths[own]
        sizes = facts.sizes.rows(rows.first, rows.end)
        self.long_length = long_length
        self.n_stream = int(np.searchsorted(self.lengths, long_length, side="right"))
        in_streams = sizes.rows(0, self.n_stream)
        self.n_stream_residues = in_streams.total
        self.layouts = {paired: stream_layout(in_streams, is_paired=paired) for paired in (False, True)}
        self._header: tuple[int, NDArray[np.int64]] | None = None
        self._columns = [_Column("offsets", sizes.sums(), 8)]
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
        if self._header is not None and self._header[0] == address:
            return self._header[1]
        header = np.zeros(self.places["codes"] // 8, np.int64)
        table = header[: COLUMN_FIELDS * self.n_columns].reshape(self.n_columns, COLUMN_FIELDS)
        runs = np.concatenate([column.runs.runs for column in self._columns])
        header[self.places["runs"] // 8 :][: runs.size] = runs.reshape(-1)
        first_run = 0
        for row, column in zip(table, self._columns, strict=True):
            to, n_runs = address + self.places[column.name] + column.size * column.place, len(column.runs.runs)
            row[:] = to, column.runs.n, first_run, n_runs, column.stride, column.size == 8
            first_run += n_runs
        self._header = address, header
        return header


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
        self._sizes: dict[str, int] = {}
        self._lock = threading.RLock()

    def begin(self, segments: Sequence[Any], sizes: dict[str, int]) -> None:
        """A scan of these segments begins: what is resident of others may go when memory is short.

        sizes: of scratch memory, so that it need not grow.
        """
        self._in_use = frozenset(map(id, segments))
        self._sizes = sizes

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
        known = self._scratch[name] = self.allocate(max(n_bytes, self._sizes.get(name, 0)))
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
        for number, _, _ in list(self._residents):
            if number not in self._in_use:
                self.card.synchronize()
                self._forget(number)
                return True
        return False

    def _forget(self, number: int) -> None:
        for key in list(self._residents):
            if key[0] == number:
                self._residents.pop(key, None)
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
