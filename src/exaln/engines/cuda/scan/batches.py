"""Batches of targets: what is sent of one, and where its parts lie on a device.

A batch has rows of one segment. The codes of its residues are sent, and the breakpoints of the columns that go with
them: offsets, first tiles, chunks. The device expands the columns, and packs the codes into streams of tiles.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.scan.sizes import PiecewiseLinear, Sizes
from exaln.engines.cuda.scan.stream_layout import stream_layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.views import TargetRows
    from exaln.engines.cuda.letters import FoldedScores
    from exaln.engines.cuda.runtime.device import Event, Memory
    from exaln.engines.cuda.runtime.workspace import Workspace
    from exaln.engines.cuda.scan.batch_rows import BatchRows
    from exaln.engines.cuda.scan.code_uploads import CodeUploads
    from exaln.engines.cuda.scan.shapes import Packing

MAX_HEADERS = 4
"""Headers that are remembered of a batch, which is sent to one of few addresses."""

ALIGNMENT = 256
"""Bytes to which every part of a batch is aligned."""

BOTH_LAYOUTS = frozenset({False, True})

BREAKPOINT = np.dtype([("first", "<u4"), ("step", "<u4"), ("value", "<i8")])
"""struct Breakpoint of kernels/expand.cu."""

COLUMN_FIELDS = 6
"""Numbers of struct Column of kernels/expand.cu."""


@dataclass(frozen=True)
class StreamPlaces:
    """Where the columns of a stream lie, in bytes from the beginning of the batch."""

    starts: int
    chunks: int


@dataclass(frozen=True)
class BatchPlaces:
    """Where the parts of a batch lie, in bytes from its beginning; streams: by whether targets are paired.

    The table of the columns, their breakpoints and the codes are sent; the columns are expanded on the device.
    """

    columns: int
    breakpoints: int
    codes: int
    offsets: int
    streams: dict[bool, StreamPlaces]
    n_bytes: int


@dataclass(frozen=True)
class _Column:
    """Numbers of `size` bytes, `stride` numbers apart, that begin `place` bytes after the beginning of the batch."""

    numbers: PiecewiseLinear
    place: int
    size: int
    stride: int = 1


class HostBatch:
    """Rows of a segment, and what is sent of them. The codes stay in their file until then.

    lengths: of the rows of the batch. code_ranges: their codes in the segment. The first n_stream rows go through
    streams; longer targets are scored one by one.
    layouts: of single targets and of pairs; the columns of `sent_layouts` are sent.
    """

    def __init__(self, segment_lengths: Sizes, rows: BatchRows, long_length: int) -> None:
        self.rows = rows
        begins, ends = segment_lengths.prefix_sums().at(np.array(rows.pieces)).T.tolist()
        self.code_ranges = list(zip(begins, ends, strict=True))
        self.lengths = rows.sizes(segment_lengths)
        self.long_length = long_length
        self.n_stream = self.lengths.n_up_to(long_length)
        in_streams = self.lengths.rows(0, self.n_stream)
        self.n_stream_residues = in_streams.total
        self.layouts = {is_paired: stream_layout(in_streams, is_paired=is_paired) for is_paired in (False, True)}
        self._send(BOTH_LAYOUTS)

    def sending(self, layouts: Collection[bool]) -> HostBatch:
        """Return the same batch, of which only the columns of these layouts are sent."""
        other = copy.copy(self)
        other._send(layouts)
        return other

    def _send(self, layouts: Collection[bool]) -> None:
        """Lay out the parts of the batch, with the columns of these layouts."""
        self._headers: dict[int, NDArray[np.uint8]] = {}
        self._columns: list[_Column] = []
        offsets = self.lengths.sums()
        sent = [self.layouts[is_paired] for is_paired in sorted(layouts)]
        all_numbers = [offsets, *(part for own in sent for part in (own.starts, own.chunk_tiles, own.chunk_ids))]
        end = 0

        def place(n_bytes: int) -> int:
            nonlocal end
            begin, end = end, end + -(-n_bytes // ALIGNMENT) * ALIGNMENT
            return begin

        columns = place(8 * COLUMN_FIELDS * len(all_numbers))
        breakpoints = place(BREAKPOINT.itemsize * sum(len(numbers.breakpoints) for numbers in all_numbers))
        codes = place(self.rows.n_residues)
        self._columns.append(_Column(offsets, place(8 * offsets.n), 8))
        streams = {}
        for layout in sent:
            starts, chunks = place(4 * layout.starts.n), place(8 * layout.chunk_ids.n)
            streams[layout.is_paired] = StreamPlaces(starts, chunks)
            self._columns += [
                _Column(layout.starts, starts, 4),
                _Column(layout.chunk_tiles, chunks, 4, stride=2),
                _Column(layout.chunk_ids, chunks + 4, 4, stride=2),
            ]
        self.places = BatchPlaces(columns, breakpoints, codes, self._columns[0].place, streams, end)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def row_stride(self) -> int:
        """Places of the scores of one query: an even number, because pairs of targets are written together."""
        return len(self) + len(self) % 2

    @property
    def n_columns(self) -> int:
        """Columns that are expanded on the device."""
        return len(self._columns)

    @property
    def n_longest_column(self) -> int:
        """Numbers of the longest column."""
        return max(column.numbers.n for column in self._columns)

    @property
    def sent_bytes(self) -> int:
        """Bytes that are sent to the device."""
        return self.places.codes + self.rows.n_residues

    @property
    def device_bytes(self) -> int:
        """Bytes of the batch on the device."""
        return self.places.n_bytes

    def header(self, address: int) -> NDArray[np.uint8]:
        """Return uint8[...]: what precedes the codes of a batch that will lie at this address."""
        if address in self._headers:
            return self._headers[address]
        if len(self._headers) >= MAX_HEADERS:
            self._headers.clear()
        header = np.zeros(self.places.codes, np.uint8)
        table = header[: 8 * COLUMN_FIELDS * self.n_columns].view(np.int64).reshape(self.n_columns, COLUMN_FIELDS)
        breakpoints = np.concatenate([column.numbers.breakpoints for column in self._columns])
        sent = header[self.places.breakpoints :][: BREAKPOINT.itemsize * len(breakpoints)].view(BREAKPOINT)
        sent["first"], sent["value"], sent["step"] = breakpoints.T
        first = 0
        for row, column in zip(table, self._columns, strict=True):
            numbers, n_own = column.numbers, len(column.numbers.breakpoints)
            row[:] = address + column.place, numbers.n, first, n_own, column.stride, column.size == 8
            first += n_own
        self._headers[address] = header
        return header


class DeviceBatch:
    """A batch on a device, from `address` on, complete when `ready` has happened; and its streams, once packed."""

    def __init__(self, host: HostBatch, address: int, ready: Event, memory: Memory | None = None) -> None:
        self.host, self.address, self.ready = host, address, ready
        self._memory = memory
        self.is_expanded = False
        self.streams: dict[Packing, Memory] = {}
        self.packed_with: dict[Packing, bytes] = {}
        places = host.places
        self.columns, self.breakpoints = address + places.columns, address + places.breakpoints
        self.codes, self.offsets = address + places.codes, address + places.offsets

    @property
    def is_resident(self) -> bool:
        """Whether the batch has memory of its own."""
        return self._memory is not None

    def starts(self, *, is_paired: bool) -> int:
        """Return the address of the first tiles of targets or pairs."""
        return self.address + self.host.places.streams[is_paired].starts

    def chunks(self, *, is_paired: bool) -> int:
        """Return the address of the chunks of a stream."""
        return self.address + self.host.places.streams[is_paired].chunks

    def needs_packing(self, folded: FoldedScores, packing: Packing) -> bool:
        """Return whether the stream is missing, or was packed with letters folded differently."""
        return self.packed_with.get(packing) != folded.fold.tobytes()


def upload_batch(
    workspace: Workspace, uploads: CodeUploads, address: int, segment: TargetRows, host: HostBatch
) -> Event:
    """Read a batch and send it to an address; return the event after which it is complete."""
    device, stream = workspace.device, workspace.copy_stream
    device.upload(address, host.header(address), stream)
    uploads.send(address + host.places.codes, segment, host.code_ranges)
    return device.record(device.event(), stream)


def keep_batch(workspace: Workspace, uploads: CodeUploads, segment: TargetRows, host: HostBatch) -> DeviceBatch:
    """Send a batch to memory of its own, where it stays while the segment lives and memory is not short."""
    memory = workspace.allocate(host.device_bytes)
    ready = upload_batch(workspace, uploads, memory.address, segment, host)
    batch = DeviceBatch(host, memory.address, ready, memory)
    workspace.residents.put(segment, host.rows, batch)
    return batch
