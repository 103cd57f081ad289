"""What scans remember about databases, so that a later scan of the same database plans and reads less.

Segments are told apart by identity; what is remembered about one goes with it. All keys are plain data.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from exaln.engines.cuda.letters import any_of
from exaln.engines.cuda.scan.division import RowSums
from exaln.engines.cuda.scan.sizes import Sizes
from exaln.foundation.thread_pool import run_in_parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import DeviceProperties
    from exaln.engines.cuda.scan.batch_rows import BatchRows
    from exaln.engines.cuda.scan.batches import HostBatch
    from exaln.engines.cuda.scan.division import Division, Requirements
    from exaln.engines.cuda.scan.strips import StreamStatistics, Strip

MAX_ENTRIES = 4096
MAX_PLANS = 256

MAX_COUNTED_RESIDUES = 4 << 30
"""Letters of larger databases are not counted before the first scan, which would have to wait for the disk."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Memo(Generic[Key, Value]):
    """Values by key, computed once. It is emptied when it has more than `capacity` entries."""

    def __init__(self, capacity: int = MAX_ENTRIES) -> None:
        self._values: dict[Key, Value] = {}
        self._capacity = capacity

    def get(self, key: Key, compute: Callable[[], Value]) -> Value:
        """Return the value of a key; compute it the first time."""
        try:
            return self._values[key]
        except KeyError:
            value = compute()
        if len(self._values) > self._capacity:
            self._values.clear()
        self._values[key] = value
        return value

    def known(self, key: Key) -> Value | None:
        """Return the value of a key if it has been computed, or None."""
        return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Set the value of a key."""
        self._values[key] = value

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()


@dataclass(frozen=True, eq=False)
class SegmentCache:
    """What is remembered about a segment. lengths: of its rows. number: unique among SegmentCaches."""

    lengths: Sizes
    number: int = 0
    long_lengths: Memo[tuple[DeviceProperties, BatchRows], int] = field(default_factory=Memo)
    """The length above which targets of a batch are long."""
    statistics: Memo[tuple[BatchRows, int, int], tuple[StreamStatistics | None, int]] = field(default_factory=Memo)
    """By rows, long length and number of letters: what strips depend on, and the tiles of long targets."""
    batches: Memo[tuple[BatchRows, int, frozenset[bool]], HostBatch] = field(default_factory=Memo)
    """By rows, long length and the stream layouts that are sent."""
    _row_sums: Memo[int, RowSums] = field(default_factory=Memo)

    def row_sums(self, long_length: int) -> RowSums:
        """Return prefix sums over the rows, for this long length."""
        return self._row_sums.get(long_length, lambda: RowSums(self.lengths, long_length))


@dataclass(frozen=True)
class StreamedKey:
    """What the plan of a streamed database depends on besides its lengths."""

    properties: DeviceProperties
    budget: int
    n_devices: int
    n_letters: int
    query_lengths: tuple[int, ...]


@dataclass(frozen=True)
class StreamedFit:
    """What plan, division and long length of a streamed database agree on. typical: of one of its batches."""

    requirements: Requirements
    long_length: int
    typical: StreamStatistics


@dataclass(frozen=True, eq=False)
class DatabaseCache:
    """What is remembered about the segments of a database together."""

    segments: tuple[SegmentCache, ...]
    long_lengths: Memo[DeviceProperties, int] = field(default_factory=Memo)
    resident: Memo[tuple[int, int], Division] = field(default_factory=Memo)
    """Resident divisions by number of devices and long length."""
    streamed: Memo[tuple[int, int, Requirements, int, int], Division] = field(default_factory=Memo)
    """Streamed divisions by long length, budget, requirements, number of queries and of devices."""
    fits: Memo[StreamedKey, StreamedFit] = field(default_factory=Memo)

    @staticmethod
    def of_lengths(segments: Sequence[Sizes]) -> DatabaseCache:
        """Return an empty cache for segments with these target lengths."""
        return DatabaseCache(tuple(SegmentCache(lengths, number) for number, lengths in enumerate(segments)))

    @cached_property
    def n_residues(self) -> int:
        """Residues of all targets."""
        return sum(segment.lengths.total for segment in self.segments)

    @cached_property
    def extreme_lengths(self) -> tuple[int, int]:
        """Lengths of the shortest and of the longest target."""
        filled = [segment.lengths for segment in self.segments if len(segment.lengths)]
        return min((own.smallest for own in filled), default=0), max((own.largest for own in filled), default=0)

    @cached_property
    def lengths(self) -> Sizes:
        """The lengths of all targets."""
        return Sizes.merged([segment.lengths for segment in self.segments])

    def row_sums(self, long_length: int) -> list[RowSums]:
        """Return prefix sums over the rows of each segment."""
        return [segment.row_sums(long_length) for segment in self.segments]


class SegmentCaches:
    """Caches of segments and of databases, dropped when a segment dies."""

    def __init__(self) -> None:
        self._segments: dict[int, SegmentCache] = {}
        self._databases: dict[tuple[int, ...], DatabaseCache] = {}
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._n_made = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._segments)

    def segment(self, segment: Any) -> SegmentCache:
        """Return the cache of a segment. Its lengths are read the first time."""
        identity = id(segment)
        if identity not in self._segments:
            lengths = Sizes.of_rows(segment.offsets)
            with self._lock:
                if identity not in self._segments:
                    self._segments[identity] = SegmentCache(lengths, self._n_made)
                    self._n_made += 1
                    self._alive[identity] = weakref.ref(segment, lambda _: self._forget(identity))
        return self._segments[identity]

    def database(self, segments: Sequence[Any]) -> DatabaseCache:
        """Return the cache of these segments together."""
        run_in_parallel(self.segment, [segment for segment in segments if id(segment) not in self._segments])
        caches = tuple(map(self.segment, segments))
        return self._databases.setdefault(tuple(cache.number for cache in caches), DatabaseCache(caches))

    def letters(self, segments: Sequence[Any], n_letters: int, n_residues: int) -> NDArray[np.bool_]:
        """Return bool[256]: the codes that targets use, or the whole alphabet if counting would take too long."""
        if n_residues > MAX_COUNTED_RESIDUES:
            return np.arange(256) < n_letters
        return any_of(segment.used_letters() for segment in segments)

    def _forget(self, identity: int) -> None:
        self._alive.pop(identity, None)
        cache = self._segments.pop(identity, None)
        if cache is not None:
            for numbers in list(self._databases):
                if cache.number in numbers:
                    self._databases.pop(numbers, None)


@dataclass(frozen=True)
class ScanCache:
    """What scans with one planner remember: databases, and the strips that were planned.

    strips: by query lengths, device, number of letters and size class of the targets.
    """

    segments: SegmentCaches = field(default_factory=SegmentCaches)
    strips: Memo[tuple[tuple[int, ...], DeviceProperties, int, tuple[int, int]], tuple[Strip, ...]] = field(
        default_factory=lambda: Memo(MAX_PLANS)
    )
