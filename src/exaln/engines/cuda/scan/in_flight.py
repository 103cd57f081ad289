"""A batch whose launches are queued: its queries, its buffers, and the events to wait for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Event, Memory
    from exaln.engines.cuda.scan.batches import DeviceBatch
    from exaln.engines.cuda.scan.buffers import ResultBuffers

N_COUNTERS = 8
"""Numbers of a batch that the device counts; collect.py names them."""

MAX_OVERFLOWS = 1 << 13
"""Pairs to score again that the device lists at a time."""


class Cancelled(Exception):
    """Raised on a worker thread after the consumer has closed the iterator of results."""


@dataclass(frozen=True)
class QueryGroup:
    """Queries that are scored together.

    first: the number of the first query. codes, offsets: as in Records, with offsets from 0. lengths: of the queries.
    cutoff: int32[n, N_BINS], the least scores, or None for all scores.
    """

    first: int
    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    lengths: tuple[int, ...]
    cutoff: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class GroupOnDevice:
    """Addresses of the queries of a group and of the tables that go with them, valid once `ready` has happened.

    table: scores in 16 bits. packed_table: the same as half-words, with padding.
    """

    codes: int
    offsets: int
    table: int
    packed_table: int
    fold: int
    cutoff: int
    memory: Memory
    ready: Event


@dataclass(frozen=True)
class Slab:
    """Some queries of a group and some rows of a batch."""

    first_query: int
    n_queries: int
    first_row: int
    n_rows: int


@dataclass(frozen=True)
class ResultSet:
    """Buffers of one of two batches in flight. result: pinned, for the counters and the first candidates."""

    buffers: ResultBuffers
    result: NDArray[np.uint8]


@dataclass(frozen=True)
class LaunchState:
    """Device memory that is set to 0 before a batch is scored: 32-bit words from `address` on.

    Counters, tickets and progress flags of the strips, and scores. The properties are addresses.
    """

    address: int
    n_strips: int
    n_targets: int
    n_scores: int

    @staticmethod
    def n_words(n_strips: int, n_targets: int, n_scores: int) -> int:
        """Return the number of words of a launch state."""
        return N_COUNTERS + 2 * n_strips + n_targets + n_scores

    @property
    def counters(self) -> int:
        """uint32[N_COUNTERS]."""
        return self.address

    @property
    def tickets(self) -> int:
        """uint32[n_strips]: the next chunk of each strip."""
        return self.counters + 4 * N_COUNTERS

    @property
    def chunks_done(self) -> int:
        """uint32[n_strips]: finished chunks of each strip."""
        return self.tickets + 4 * self.n_strips

    @property
    def target_flags(self) -> int:
        """uint32[n_targets]: progress flags, the strips that have finished each target or pair."""
        return self.chunks_done + 4 * self.n_strips

    @property
    def scores(self) -> int:
        """int32[n_scores]."""
        return self.target_flags + 4 * self.n_targets


@dataclass
class BatchInFlight:
    """A batch whose launches are queued.

    begin, packed, scanned, done: events between the stages. reported_cells: cells that the launch throttle knows of.
    """

    batch: DeviceBatch
    group: QueryGroup
    on_device: GroupOnDevice
    own: ResultSet
    state: LaunchState
    candidates: int
    capacity: int
    begin: Event
    packed: Event
    scanned: Event
    done: Event
    reported_cells: int = 0

    @property
    def max_overflows(self) -> int:
        """Capacity of the list of pairs to score again."""
        return min(MAX_OVERFLOWS, len(self.group) * len(self.batch.host))

    def slab(self, n_rows: int) -> Slab:
        """Return all queries and the first n_rows rows."""
        return Slab(0, len(self.group), 0, n_rows)

    def slabs(self, n_rows: int, max_pairs: int) -> Iterator[Slab]:
        """Yield all queries and the first n_rows rows in slabs of at most max_pairs pairs."""
        for query in range(len(self.group)):
            for row in range(0, n_rows, max_pairs):
                yield Slab(query, 1, row, min(max_pairs, n_rows - row))

    def score_address(self, slab: Slab) -> int:
        """Return the address of the first score of a slab."""
        return self.state.scores + 4 * (self.batch.host.row_stride * slab.first_query + slab.first_row)
