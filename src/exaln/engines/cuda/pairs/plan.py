"""Which pairs a device can align, and how they are cut into batches: a plan as data.

Two pairs form a couple and share the halves of words. Pairs are sorted by size, so that those of a couple or a warp are
alike. native/pairs/device_plan.hpp describes the block that holds the data of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from exaln.engines.cuda.pairs.shapes import PAIR_SHAPES
from exaln.engines.cuda.runtime.constants import MAX_COST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.tasks import Bounds
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

MAX_VALUE = 32000
"""The largest value of a table, a little less than int16 holds."""

PAD_SCORE = -8192
"""The score of a letter with padding."""

N_SLOTS = 3
"""Batches in flight: one is computed while another is filled and a third is read."""

MAX_ARENA = 8 << 30
"""Bytes of the arenas of all slots, which hold the tables of batches."""

ARENA_SHARE = 2
"""The arenas take at most 1 / ARENA_SHARE of the free memory."""

BLOCK_BYTES, BLOCK_SHARE = 24 << 20, 4
"""Bytes of the block of a batch. The blocks of all slots take at most 1 / BLOCK_SHARE of the free memory."""

EXPECTED_SHARE = 3
"""Paths are expected to have at most one run for EXPECTED_SHARE letters, as those of unrelated nucleotides do in global
mode. The others are downloaded on their own.
"""

FOLD_BYTES = 256
"""Bytes of the fold, with which a block begins; the table of scores follows."""

Tables = tuple[bool, bool, bool]
"""Whether tables are local, whether the last row is stored, and whether paths are computed."""


class Batch(NamedTuple):
    """Pairs order[begin:end] of a plan; offsets of the parts of their block in bytes, the most runs of their paths, and
    the bytes of their arena.
    """

    shape: int
    begin: int
    end: int
    pairs: int
    layouts: int
    run_starts: int
    letters: int
    counters: int
    results: int
    runs: int
    n_runs: int
    arena_bytes: int

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return self.end - self.begin

    @property
    def expected_runs(self) -> int:
        """Runs of paths that are downloaded with the results."""
        return self.n_runs // EXPECTED_SHARE

    def host_bytes(self, *, paths: bool) -> int:
        """Bytes of the block on the host."""
        return self.runs + 4 * self.expected_runs * paths

    def sizes(self, *, paths: bool) -> tuple[int, int, int, int]:
        """Bytes of the block on the host, of the block on the device, of the arena, and of the runs."""
        runs = 4 * self.n_runs * paths
        return self.host_bytes(paths=paths), self.runs + runs, self.arena_bytes, runs


@dataclass(frozen=True)
class Room:
    """Bytes of device memory that the arenas, and the blocks, of all slots may take."""

    arenas: int
    blocks: int

    @staticmethod
    def within(n_bytes: int) -> Room:
        """Shares of n free bytes."""
        return Room(max(0, min(MAX_ARENA, n_bytes // ARENA_SHARE)), max(0, n_bytes // BLOCK_SHARE))


@dataclass(frozen=True)
class PairPlan(Sequence[Batch]):
    """The batches. order: int64[n], pairs by batch. rows: int64[n_batches, 12], a batch each, as the native module
    takes them. n_slots: batches in flight.
    """

    order: NDArray[np.int64]
    rows: NDArray[np.int64]
    n_slots: int

    @cached_property
    def _batches(self) -> list[Batch]:
        return [Batch(*row) for row in self.rows.tolist()]

    def sizes(self, *, paths: bool) -> tuple[int, ...]:
        """The largest of the sizes of all batches."""
        return tuple(map(max, zip(*(batch.sizes(paths=paths) for batch in self._batches), strict=True)))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, number: int) -> Batch: ...

    @overload
    def __getitem__(self, number: slice) -> list[Batch]: ...

    def __getitem__(self, number: int | slice) -> Batch | list[Batch]:
        return self._batches[number]


def tables_of(mode: Mode, *, paths: bool) -> Tables:
    """What the kernels store in this mode."""
    return mode.is_local, mode.target_end and not mode.is_local, paths


def fits_numbers(
    m: NDArray[np.int64], n: NDArray[np.int64], bounds: Bounds, scoring: Scoring, mode: Mode
) -> NDArray[np.bool_]:
    """bool[k]: whether 16 bits hold every value of a table of m rows and n columns; False if it is empty.

    bounds: of all m and n; they may be those of more tables.
    """
    largest = max(-scoring.min_score, scoring.max_score)
    if max(scoring.gap_first, largest) > MAX_COST[True]:
        return np.zeros(len(m), np.bool_)

    def fits(m: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.bool_]:
        highest = np.minimum(m, n) * max(0, scoring.max_score)
        lowest = 2 * scoring.gap_open + (m + n + 2) * scoring.gap_extend + scoring.gap_first + largest
        fits = highest <= MAX_VALUE if mode.is_local else np.maximum(highest, lowest) <= MAX_VALUE
        return np.asarray((m > 0) & (n > 0) & fits, np.bool_)

    return _by_largest(fits, m, n, bounds)


def fits_arena(
    m: NDArray[np.int64], n: NDArray[np.int64], bounds: Bounds, tables: Tables, room: Room
) -> NDArray[np.bool_]:
    """bool[k]: whether the table of a couple of m rows and n columns fits in every shape.

    bounds: as in `fits_numbers`.
    """
    return _by_largest(lambda m, n: couple_bytes(m, n, tables) <= room.arenas, m, n, bounds)


def _by_largest(
    fits: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]],
    m: NDArray[np.int64],
    n: NDArray[np.int64],
    bounds: Bounds,
) -> NDArray[np.bool_]:
    """fits(m, n), where larger tables never fit better: if one of the largest sizes does, all do."""
    if bounds.least_rows > 0 and bounds.least_columns > 0 and fits(*_largest(bounds))[0]:
        return np.ones(len(m), np.bool_)
    return fits(m, n)


def _largest(bounds: Bounds) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.array([bounds.most_rows]), np.array([bounds.most_columns])


_SHAPES = [(shape.lanes, shape.rows) for shape in PAIR_SHAPES]


def couple_bytes(m: NDArray[np.int64], n: NDArray[np.int64], tables: Tables) -> NDArray[np.int64]:
    """int64[k]: the most bytes of the arena, in any shape, for a couple of m rows and n columns."""
    from exaln._core import pair_couple_bytes

    return pair_couple_bytes(m, n, _SHAPES, tables)


def plan_pairs(
    m: NDArray[np.int64],
    n: NDArray[np.int64],
    bounds: Bounds,
    tables: Tables,
    room: Room,
    n_sms: int,
    sends: tuple[bool, bool],
    head_bytes: int,
) -> PairPlan:
    """Plan pairs of m rows and n columns, at least one, all of which fit. sends: whether the letters of queries, and of
    targets, travel with each batch. head_bytes: of the head of each block. bounds: of m and n.
    """
    from exaln._core import plan_device_pairs

    largest = int(couple_bytes(*_largest(bounds), tables)[0])
    n_slots = max(1, min(N_SLOTS, room.arenas // largest))
    limits = room.arenas // n_slots, min(BLOCK_BYTES, room.blocks // n_slots)
    shapes = [(shape.lanes, shape.rows, shape.step_cost(len(m), n_sms)) for shape in PAIR_SHAPES]
    order, numbers = plan_device_pairs(m, n, shapes, tables, limits, sends, head_bytes)
    rows = numbers.reshape(-1, len(Batch._fields))
    return PairPlan(order, rows, min(n_slots, len(rows)))


@lru_cache(maxsize=8)
def head_of(scoring: Scoring, used: bytes) -> tuple[int, NDArray[np.uint8]]:
    """The number of distinct letters, and the head of every block: the fold, and the table of pairs.cu.

    used: a byte for each code, 0 if it does not occur.
    """
    is_used = np.frombuffer(used, np.bool_)[: len(scoring.matrix)]
    matrix, fold = scoring.folded(is_used)
    low = np.pad(matrix, ((1, 0), (1, 0)), constant_values=PAD_SCORE).astype(np.uint32) & 0xFFFF
    table = np.stack([low, low << 16])
    return len(matrix), np.concatenate([fold + np.uint8(1), table.reshape(-1).view(np.uint8)])
