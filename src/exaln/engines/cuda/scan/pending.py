"""What travels through a scan: a group of queries, a batch that was started, and what was found in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Event
    from exaln.engines.cuda.scan.batches import DeviceBatch

N_COUNTERS = 8
"""Numbers of a batch that the device counts; collect.py names them."""

MAX_OVERFLOWS = 1 << 13
"""Pairs to be computed again that the device lists at a time."""


@dataclass
class ScanTimes:
    """Where the time of a scan went, in seconds; bytes that were sent to devices, and cells that were computed.

    pack, scan and collect are times of devices; compile and upload are times of threads. long_length: targets above this
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

    @cached_property
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


class Stopped(Exception):
    """Nobody wants the results any more."""


@dataclass
class ResultSet:
    """What a batch needs while it is on its way: one of two."""

    number: int
    result: NDArray[np.uint8]


@dataclass(frozen=True)
class Zeroed:
    """What is 0 before a batch is scored, all in one place: numbers of four bytes from an address on.

    Counters, what strips tell each other (kernels/strip_schedule.cuh), and scores; the properties are addresses.
    """

    address: int
    n_strips: int
    n_targets: int
    n_scores: int

    @property
    def n_words(self) -> int:
        """How many numbers."""
        return N_COUNTERS + 2 * self.n_strips + self.n_targets + self.n_scores

    @property
    def counters(self) -> int:
        """[N_COUNTERS]."""
        return self.address

    @property
    def tickets(self) -> int:
        """[n_strips]."""
        return self.counters + 4 * N_COUNTERS

    @property
    def n_done(self) -> int:
        """[n_strips]."""
        return self.tickets + 4 * self.n_strips

    @property
    def passed(self) -> int:
        """[n_targets]."""
        return self.n_done + 4 * self.n_strips

    @property
    def scores(self) -> int:
        """[n_scores]."""
        return self.passed + 4 * self.n_targets


@dataclass
class Pending:
    """A batch that was started."""

    batch: DeviceBatch
    group: QueryGroup
    on_device: dict[str, int]
    own: ResultSet
    zeroed: Zeroed
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
        return self.zeroed.scores + 4 * (self.batch.host.row_stride * slab.first_query + slab.first_row)
