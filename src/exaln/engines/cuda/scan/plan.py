"""The plan of a scan as data: batches, groups of queries, strips, buffers. planner.py makes it, job.py executes it.

`exaln explain` prints its kernels, buffers and estimated seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from exaln.engines.cuda.scan.division import ROW_BYTES, Division, Requirements
from exaln.engines.cuda.scan.long_targets import block_passes, busy_block_seconds
from exaln.engines.cuda.scan.strips import StreamStatistics, Strip, strip_seconds

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import DeviceProperties
    from exaln.engines.cuda.scan.batch_rows import BatchRows
    from exaln.engines.cuda.scan.buffers import Buffer


@dataclass(frozen=True)
class ScanRequest:
    """What is scanned, and on what. properties: of the devices. budget: the least bytes of any device.

    n_letters: folded letters of the targets. can_pack: whether scores fit packed numbers.
    """

    query_lengths: tuple[int, ...]
    n_letters: int
    can_pack: bool
    properties: DeviceProperties
    budget: int
    n_devices: int = 1


@dataclass(frozen=True)
class QueryRange:
    """Queries [first, end), which are scored together. lengths: of these queries."""

    first: int
    end: int
    lengths: tuple[int, ...]

    def __len__(self) -> int:
        return self.end - self.first


@dataclass(frozen=True)
class BatchPlan:
    """How one batch is scored: targets above long_length one by one, the others in streams.

    targets: of the stream, or None if there are none. long_tiles: tiles of the long targets. strips: for each group of
    queries.
    """

    rows: BatchRows
    long_length: int
    targets: StreamStatistics | None
    long_tiles: int
    strips: tuple[tuple[Strip, ...], ...]


@dataclass(frozen=True)
class PlannedKernel:
    """A kernel in a plan, for people. query_lengths, target_lengths: shortest and longest."""

    name: str
    n_strips: int
    n_queries: int
    query_lengths: tuple[int, int]
    target_lengths: tuple[int, int]


@dataclass(frozen=True)
class BufferSize:
    """Memory on each device, for people."""

    name: str
    n_bytes: int


@dataclass(frozen=True)
class ScanPlan:
    """How a scan is done.

    long_length: targets above it are scored one by one; in small batches the limit may be less. typical: the targets
    for which the strips of a streamed database were planned. scratch: bytes of the scratch buffers of a streamed scan;
    those of a resident scan grow as needed. target_lengths: shortest and longest of the database.
    """

    request: ScanRequest
    target_lengths: tuple[int, int]
    long_length: int
    requirements: Requirements
    typical: StreamStatistics | None
    division: Division
    groups: tuple[QueryRange, ...]
    scratch: Mapping[Buffer, int]
    batches: tuple[BatchPlan, ...] = ()

    @property
    def is_resident(self) -> bool:
        """Whether the database stays on the devices."""
        return self.division.is_resident

    @cached_property
    def by_rows(self) -> dict[BatchRows, BatchPlan]:
        """The batches by their rows."""
        return {batch.rows: batch for batch in self.batches}

    @property
    def estimated_seconds(self) -> float:
        """Estimated seconds of the kernels, spread evenly over the devices, without uploads and compilation."""
        seconds = sum(self._seconds(batch, group) for batch in self.batches for group in range(len(self.groups)))
        return seconds / self.request.n_devices

    def _seconds(self, batch: BatchPlan, group: int) -> float:
        properties, lengths = self.request.properties, self.groups[group].lengths
        seconds = batch.long_tiles * busy_block_seconds(lengths, properties)
        if batch.targets is not None:
            seconds += sum(strip_seconds(strip, properties, batch.targets) for strip in batch.strips[group])
        return seconds

    @property
    def buffers(self) -> tuple[BufferSize, ...]:
        """Memory on each device, by what it holds."""
        sizes = self._resident_sizes() if self.is_resident else self._scratch_sizes()
        return tuple(BufferSize(name, n_bytes) for name, n_bytes in sizes.items() if n_bytes)

    def _scratch_sizes(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for buffer, n_bytes in self.scratch.items():
            sizes[buffer.kind.value] = sizes.get(buffer.kind.value, 0) + n_bytes
        return sizes

    def _resident_sizes(self) -> dict[str, int]:
        needed = Requirements.of([strip for batch in self.batches for strips in batch.strips for strip in strips])
        n_residues = sum(batch.rows.n_residues for batch in self.batches)
        n_rows = sum(len(batch.rows) for batch in self.batches)
        n_tiles = sum(batch.targets.n_tiles_single for batch in self.batches if batch.targets is not None)
        largest, n_devices = self.division.largest, self.request.n_devices
        n_queries = max(map(len, self.groups), default=0)
        return {
            "residues and offsets": (n_residues + ROW_BYTES * n_rows) // n_devices,
            "streams of tiles": needed.stream_bytes * n_tiles // n_devices,
            "boundary rows between strips": needed.boundary_bytes * (largest.n_tiles + 1),
            "scores and counters": 8 * (n_queries + 1) * (largest.n_rows + 1),
        }

    @property
    def kernels(self) -> tuple[PlannedKernel, ...]:
        """Kernels of one pass over a batch: shapes of stream.cu, the one with most strips first, then block.cu."""
        return (*sorted(self._stream_kernels(), key=lambda use: -use.n_strips), *self._block_kernels())

    def _stream_kernels(self) -> Iterator[PlannedKernel]:
        batch = max(self.batches, key=lambda batch: sum(map(len, batch.strips)), default=None)
        n_strips: dict[str, int] = {}
        queries: dict[str, set[int]] = {}
        for group, strips in zip(self.groups, () if batch is None else batch.strips, strict=False):
            for strip in strips:
                name = str(strip.shape)
                n_strips[name] = n_strips.get(name, 0) + 1
                queries.setdefault(name, set()).update(group.first + part.query for part in strip.parts)
        shortest, longest = self.target_lengths
        for name, own in queries.items():
            lengths = [self.request.query_lengths[query] for query in own]
            targets = shortest, min(longest, self.long_length)
            yield PlannedKernel(name, n_strips[name], len(own), (min(lengths), max(lengths)), targets)

    def _block_kernels(self) -> Iterator[PlannedKernel]:
        lengths = [length for length in self.request.query_lengths if length]
        long = [batch.long_length for batch in self.batches if batch.long_tiles]
        if lengths and long:
            targets = max(min(long) + 1, self.target_lengths[0]), self.target_lengths[1]
            yield PlannedKernel("block", block_passes(lengths), len(lengths), (min(lengths), max(lengths)), targets)
