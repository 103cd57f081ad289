"""A database as batches: how it is cut for a device, what of a batch lies on the device, and what is kept there.

A batch has rows of one segment. Its codes are sent, and runs from which the device makes the columns that go
with them (offsets, first tiles, chunks); then it packs the codes into streams of tiles.
"""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from exaln.engines.cuda.runtime.device import Device, DeviceMemoryError, Event, Memory, PinnedMemory
from exaln.engines.cuda.runtime.upload import Prepared, Sender
from exaln.engines.cuda.scan.batch_rows import BatchRows
from exaln.engines.cuda.scan.layout import Runs, Sizes, stream_layout, used_letters
from exaln.foundation.resources import available_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.scan.division import Division
    from exaln.engines.cuda.scan.layout import FoldedScores
    from exaln.engines.cuda.scan.variants import Packing

MAX_KNOWN = 4096
MAX_HEADERS = 4
"""Of a batch that is sent again and again, to one of few places."""

ALIGNMENT = 256
MAX_COUNTED_RESIDUES = 4 << 30
"""In larger databases letters are not looked for before the first scan: it would have to wait for the disk."""


Known = TypeVar("Known")


@dataclass(frozen=True, eq=False)
class SegmentFacts:
    """What is known of a segment, for as long as it lives.

    lengths: int64[n_rows], ascending. cuts: how databases that begin with it were cut to stay on devices. letters:
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

    lengths, segment_rows: int64[n_rows]; the latter are their places in the segment. The first n_stream rows go through the streams, the longer ones one by one.
    layouts: of single targets and of pairs of them; columns of those in `sent_layouts` are sent.
    On the device: a table of the columns, their runs, the codes; that is sent; then the columns, expanded there.
    """

    def __init__(self, segment: Any, facts: SegmentFacts, rows: BatchRows, long_length: int) -> None:
        offsets = segment.offsets
        self.rows = rows
        self.codes: list[NDArray[np.uint8]] = [
            segment.codes[int(offsets[first]) : int(offsets[end])] for first, end in rows.pieces
        ]
        self.segment_rows = rows.numbers
        self.lengths = rows.of(facts.lengths)
        self.long_length = long_length
        self.n_stream = int(np.searchsorted(self.lengths, long_length, side="right"))
        self._sizes = Sizes.joined([facts.sizes.rows(first, end) for first, end in rows.pieces])
        in_streams = self._sizes.rows(0, self.n_stream)
        self.n_stream_residues = in_streams.total
        self.layouts = {is_paired: stream_layout(in_streams, is_paired=is_paired) for is_paired in (False, True)}
        self._sends({False, True})

    def sending(self, layouts: Collection[bool]) -> HostBatch:
        """The same, of which columns of these layouts alone are sent."""
        other = copy.copy(self)
        other._sends(layouts)
        return other

    def _sends(self, layouts: Collection[bool]) -> None:
        self._headers: dict[int, NDArray[np.uint8]] = {}
        self._columns = [_Column("offsets", self._sizes.sums(), 8)]
        for is_paired in sorted(layouts):
            layout = self.layouts[is_paired]
            self._columns += [
                _Column(f"starts {is_paired:d}", layout.starts, 4),
                _Column(f"chunks {is_paired:d}", layout.chunk_tiles, 4, stride=2),
                _Column(f"chunks {is_paired:d}", layout.chunk_ids, 4, stride=2, place=1),
            ]
        self.places = self._places()

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def row_stride(self) -> int:
        """Scores of a query take so many places: an even number, because pairs of targets are written together."""
        return len(self) + len(self) % 2

    @property
    def n_columns(self) -> int:
        """Columns that are expanded on the device."""
        return len(self._columns)

    @property
    def n_longest_column(self) -> int:
        """Numbers of the longest one."""
        return max(column.runs.n for column in self._columns)

    def _places(self) -> dict[str, int]:
        """Where each part begins on the device."""
        n_runs = sum(len(column.runs.runs) for column in self._columns)
        sizes = {
            "columns": 8 * COLUMN_FIELDS * self.n_columns,
            "runs": RUN.itemsize * n_runs,
            "codes": self.rows.n_residues,
        }
        sizes |= {column.name: column.size * column.stride * column.runs.n for column in self._columns}
        places, end = {}, 0
        for name, size in {**sizes, "": 0}.items():
            places[name] = end
            end += -(-size // ALIGNMENT) * ALIGNMENT
        return places

    @property
    def sent_bytes(self) -> int:
        """What goes to the device."""
        return self.places["codes"] + self.rows.n_residues

    @property
    def device_bytes(self) -> int:
        """What it takes there."""
        return self.places[""]

    def header(self, address: int) -> NDArray[np.uint8]:
        """uint8[...]: what stands before the codes, for a batch that will lie at this address."""
        if address in self._headers:
            return self._headers[address]
        if len(self._headers) >= MAX_HEADERS:
            self._headers.clear()
        header = np.zeros(self.places["codes"], np.uint8)
        table = header[: 8 * COLUMN_FIELDS * self.n_columns].view(np.int64).reshape(self.n_columns, COLUMN_FIELDS)
        runs = np.concatenate([column.runs.runs for column in self._columns])
        sent = header[self.places["runs"] :][: RUN.itemsize * len(runs)].view(RUN)
        sent["first"], sent["value"], sent["step"] = runs.T
        first_run = 0
        for row, column in zip(table, self._columns, strict=True):
            to, n_runs = address + self.places[column.name] + column.size * column.place, len(column.runs.runs)
            row[:] = to, column.runs.n, first_run, n_runs, column.stride, column.size == 8
            first_run += n_runs
        self._headers[address] = header
        return header


RUN = np.dtype([("first", "<u4"), ("step", "<u4"), ("value", "<i8")])
"""struct Run of kernels/expand.cu."""

COLUMN_FIELDS = 6
"""Numbers of struct Column there."""


@dataclass(frozen=True)
class _Column:
    """Numbers of `size` bytes, `stride` of them apart, of which the first is the one at `place`."""

    name: str
    runs: Runs
    size: int
    stride: int = 1
    place: int = 0


class DeviceBatch:
    """A batch on a device, from `address` on, there when `ready` is done; and its streams, once packed."""

    def __init__(self, host: HostBatch, address: int, ready: Event, memory: Memory | None = None) -> None:
        self.host, self.address, self.ready = host, address, ready
        self._memory = memory
        self.is_expanded = False
        self.streams: dict[Packing, Memory] = {}
        self.packed_with: dict[Packing, bytes] = {}

    @property
    def is_resident(self) -> bool:
        """Whether it has memory of its own."""
        return self._memory is not None

    def place(self, part: str) -> int:
        """The address of a part."""
        return self.address + self.host.places[part]

    def needs_packing(self, folded: FoldedScores, packing: Packing) -> bool:
        """Whether the stream is missing, or has letters folded in another way."""
        return self.packed_with.get(packing) != folded.fold.tobytes()


class Workspace:
    """A device with what is kept on it: streams, scratch memory by name, and the batches of resident databases."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.stream = device.stream()
        self.side_stream = device.stream()
        self.copy_stream = device.stream()
        self._sender = Sender(device, self.copy_stream)
        self._scratch: dict[str, Memory] = {}
        self._pinned: dict[str, PinnedMemory] = {}
        self._residents: dict[tuple[int, BatchRows], DeviceBatch] = {}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._in_use: frozenset[int] = frozenset()
        self._sizes: dict[str, int] = {}
        self._touched: set[str] = set()
        self._lock = threading.RLock()

    def begin(self, segments: Sequence[Any], sizes: dict[str, int]) -> None:
        """A scan begins: what is resident of other segments than these may go when memory is short.

        sizes: of scratch memory, so that it need not grow.
        """
        self._in_use = frozenset(map(id, segments))
        self._sizes = sizes
        self._touched.clear()
        if self.spare < 0:
            self._drop_scratch()
            while self.spare < 0 and self._evict():
                pass

    @property
    def spare(self) -> int:
        """Bytes that can still be had, besides scratch memory that this scan has told of."""
        known = {name: memory.n_bytes for name, memory in self._scratch.items()}
        missing = sum(max(0, size - known.get(name, 0)) for name, size in self._sizes.items())
        return self.device.budget - self.device.used - missing

    def allocate(self, n_bytes: int) -> Memory:
        """Memory, if need be in place of batches of other databases."""
        with self._lock:
            while True:
                try:
                    return self.device.allocate(n_bytes)
                except DeviceMemoryError:
                    if not (self._drop_scratch() or self._evict()):
                        raise

    def scratch(self, name: str, n_bytes: int) -> int:
        """The address of memory that is used again and again under this name; what was in it may be lost."""
        with self._lock:
            known = self._scratch.get(name)
            self._touched.add(name)
            if known is not None and known.n_bytes >= n_bytes:
                return known.address
            if known is not None:
                self.device.synchronize()
                del self._scratch[name]
                known.free()
            known = self._scratch[name] = self.allocate(max(n_bytes, self._sizes.get(name, 0)))
            return known.address

    def idle_scratch(self, *kinds: str) -> tuple[int, int]:
        """Address and bytes of the largest scratch memory whose name begins with one of these, of which this scan has
        told; the caller must know that nobody uses it.
        """
        with self._lock:
            for name in self._sizes:
                if name.startswith(kinds):
                    self.scratch(name, 0)
            found = [memory for name, memory in self._scratch.items() if name.startswith(kinds)]
            largest = max(found, key=lambda memory: memory.n_bytes, default=None)
            return (largest.address, largest.n_bytes) if largest is not None else (0, 0)

    def pinned(self, name: str, n_bytes: int) -> NDArray[np.uint8]:
        """The same in the memory of the host: uint8[n_bytes or more]. Copies must be done before it is asked for."""
        known = self._pinned.get(name)
        if known is None or known.n_bytes < n_bytes:
            if known is not None:
                self.device.synchronize()
            known = self._pinned[name] = self.device.pinned(n_bytes)
        return known.array

    def holds(self, segment: Any, rows: BatchRows) -> bool:
        """Whether these rows are on the device."""
        return (id(segment), rows) in self._residents

    def resident(self, segment: Any, rows: BatchRows) -> DeviceBatch | None:
        """The batch of these rows, if it is on the device."""
        return self._residents.get((id(segment), rows))

    def prepare(self, host: HostBatch) -> Prepared:
        """Read the codes of a batch, as far as there is pinned memory for them."""
        return self._sender.prepare(host.codes)

    def fill(self, address: int, host: HostBatch, prepared: Prepared) -> Event:
        """Send a batch to an address; it is there when the event is done."""
        self.device.upload(address, host.header(address), self.copy_stream)
        self._sender.send(address + host.places["codes"], prepared)
        return self.device.record(self.device.event(), self.copy_stream)

    def keep(self, segment: Any, host: HostBatch) -> DeviceBatch:
        """Bring a batch to the device, to stay there as long as the segment lives and memory is not short."""
        memory = self.allocate(host.device_bytes)
        batch = DeviceBatch(host, memory.address, self.fill(memory.address, host, self.prepare(host)), memory)
        number = id(segment)
        self._residents[number, host.rows] = batch
        self._alive[number] = weakref.ref(segment, lambda _: self._forget(number))
        return batch

    def clear(self) -> None:
        """Give back all memory; the device must be idle."""
        self.device.synchronize()
        self._scratch.clear()
        self._pinned.clear()
        self._residents.clear()

    def _drop_scratch(self) -> bool:
        """Free scratch memory that other scans left and this one has not used; False if there is none."""
        stale = [name for name in self._scratch if name not in self._touched]
        if stale:
            self.device.synchronize()
        for name in stale:
            self._scratch.pop(name).free()
        return bool(stale)

    def _evict(self) -> bool:
        """Drop one segment that this scan does not use, the one that came first; False if there is none."""
        for number, _ in list(self._residents):
            if number not in self._in_use:
                self.device.synchronize()
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
