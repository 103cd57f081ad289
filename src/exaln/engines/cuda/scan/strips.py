"""Which queries share a strip, and in which shape: plain data, chosen by estimated time.

stream.cu compares one strip of query rows with all targets of a batch. In each half of its words, queries are stacked
one below the other. If every query fits into a strip, none is cut. Otherwise each half is one tall stack that is cut
where a strip is full, and the boundary row between two strips is stored. A query without a partner of similar length
is unpaired: the words then hold two targets.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.runtime.constants import COLUMNS
from exaln.engines.cuda.scan.shapes import SHAPES, Packing, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import DeviceProperties

LAUNCH_SECONDS = 15e-6
"""Time of a launch besides its steps: the profile, the first chunks, the last chunks."""

TAIL_STEPS = 16
"""Steps for which groups of lanes wait for the last one."""

BOUNDARY_TILE_SECONDS = 3e-12
"""Time to read or to write the boundary row between two strips, per tile, on the reference device."""

MAX_UNPAIRED = 3
"""Most queries of a group that are unpaired."""

EVEN_ENOUGH = 100
"""Two stacks are even if they differ by less than 1 / EVEN_ENOUGH of all rows."""

NO_QUERY, JOINED_ABOVE, JOINED_BELOW = 0xFFFFFFFF, 1, 2
"""As in kernels/profile.cuh."""


@dataclass(frozen=True)
class StreamStatistics:
    """What a plan depends on of the targets in a stream.

    n_tiles_single, n_tiles_paired: tiles of single targets, and of pairs. longest: residues. n_letters: folded letters.
    """

    n_targets: int
    n_tiles_single: int
    n_tiles_paired: int
    longest: int
    n_letters: int

    def n_tiles(self, *, is_paired: bool) -> int:
        """Return the tiles of a stream."""
        return self.n_tiles_paired if is_paired else self.n_tiles_single


@dataclass(frozen=True)
class Part:
    """Rows [first_row, first_row + n_rows) of a query in one half of the words of a strip, from `lane` on."""

    query: int
    first_row: int
    n_rows: int
    lane: int

    @property
    def end_row(self) -> int:
        """The row after the last one."""
        return self.first_row + self.n_rows


@dataclass(frozen=True)
class Strip:
    """What stream.cu compares with all targets at a time: parts of queries in both halves of the words, from the top.

    low and high are equal if the words hold two targets. has_bottom: whether a query continues in the next strip.
    """

    shape: Shape
    low: tuple[Part, ...]
    high: tuple[Part, ...]
    has_bottom: bool

    @property
    def has_top(self) -> bool:
        """Whether a query continues from the strip before."""
        return any(part.first_row for part in (*self.low[:1], *self.high[:1]))

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts, each once."""
        return self.low if self.shape.is_paired else self.low + self.high

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return sum(part.n_rows for part in self.parts)

    @property
    def keeps_rows(self) -> bool:
        """Whether the boundary row above or below goes through device memory."""
        return self.has_top or self.has_bottom

    @property
    def kind(self) -> tuple[Shape, bool]:
        """What its kernel is compiled for: the shape, and whether it keeps boundary rows."""
        return self.shape, self.keeps_rows

    def lane_rows(self, offsets: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return uint32[lanes, 2, 4]: LaneRows of kernels/profile.cuh. offsets: first letter of each query.

        The best score of an unpaired query is handed down to the last lane.
        """
        rows = np.zeros((self.shape.lanes, 2, 4), np.uint32)
        rows[:, :, 2] = NO_QUERY
        for half, parts in enumerate((self.low, self.high)):
            for part in parts:
                firsts = np.arange(part.first_row, part.end_row, self.shape.rows)
                own = rows[part.lane : part.lane + len(firsts), half]
                own[:, 0] = offsets[part.query] + firsts
                own[:, 1] = np.minimum(self.shape.rows, part.end_row - firsts)
                own[-1, 2] = part.query
                own[:, 3] = np.where(firsts > 0, JOINED_ABOVE, 0)
        if self.shape.is_paired:
            rows[:, :, 2] = NO_QUERY
            rows[-1, :, 2] = self.low[0].query
        if self.has_bottom:
            rows[-1, :, 3] |= JOINED_BELOW
        return rows


def launch_seconds(shape: Shape, properties: DeviceProperties, targets: StreamStatistics) -> float:
    """Return the estimated seconds of one strip of this shape over all targets, without its boundary rows."""
    n_tiles = targets.n_tiles(is_paired=shape.is_paired)
    n_steps = max(n_tiles / shape.n_groups(properties.n_sms), targets.longest / COLUMNS)
    return (n_steps + shape.lanes + TAIL_STEPS) * shape.step_seconds + LAUNCH_SECONDS


def strip_seconds(strip: Strip, properties: DeviceProperties, targets: StreamStatistics) -> float:
    """Return the estimated seconds of a strip over all targets."""
    n_rows = strip.has_top + strip.has_bottom
    boundary = n_rows * targets.n_tiles(is_paired=strip.shape.is_paired) * BOUNDARY_TILE_SECONDS
    return launch_seconds(strip.shape, properties, targets) + boundary


@dataclass(frozen=True)
class _Choice:
    """A way to score some queries: its estimated seconds, and a function that makes its strips."""

    seconds: float
    strips: Callable[[], Iterator[Strip]]


class _Choices:
    """Ways to score queries of these lengths against these targets."""

    def __init__(self, lengths: Sequence[int], device: DeviceProperties, targets: StreamStatistics) -> None:
        self._lengths, self._device, self._targets = lengths, device, targets
        self._usable = {packing: self._fastest(packing) for packing in Packing}
        self.unpaired = cache(self._unpaired)
        self.paired = cache(self._paired)

    def _fastest(self, packing: Packing) -> list[tuple[float, Shape]]:
        """Return (seconds, shape) of the shapes that fit the device, without those slower than a larger one."""
        fitting = [
            (launch_seconds(shape, self._device, self._targets), shape)
            for shape in SHAPES
            if shape.packing == packing and shape.shared_bytes(self._targets.n_letters) <= self._device.shared_bytes
        ]
        return [
            (seconds, shape)
            for seconds, shape in fitting
            if not any(
                other < seconds and larger.rows >= shape.rows and larger.lanes >= shape.lanes
                for other, larger in fitting
            )
        ]

    def _unpaired(self, query: int) -> _Choice:
        """Return the fastest way for one query: two targets in a word, or an empty second half."""
        return min(
            (
                self._cut(((query,), (query,) if shape.is_paired else ()), seconds, shape)
                for packing in Packing
                for seconds, shape in self._usable[packing]
            ),
            key=lambda choice: choice.seconds,
        )

    def _paired(self, queries: frozenset[int]) -> _Choice:
        """Return the fastest way for queries in both halves of the words, each against one target."""
        if len(queries) == 1:
            return self.unpaired(*queries)
        order = sorted(queries, key=lambda query: (-self._lengths[query], query))
        usable = self._usable[Packing.TWO_QUERIES]
        best = min(
            (self._cut(_two_stacks(order, self._lengths, shape), seconds, shape) for seconds, shape in usable),
            key=lambda choice: choice.seconds,
        )
        for seconds, shape in usable:
            if shape.lanes_for(self._lengths[order[0]]) <= shape.lanes:
                best = self._whole(order, seconds, shape, best)
        return best

    def _cut(self, stacks: tuple[Sequence[int], Sequence[int]], seconds: float, shape: Shape) -> _Choice:
        """Cut stacks of queries where a strip is full. The last strip may have a better shape."""
        n_lanes = max(sum(shape.lanes_for(self._lengths[query]) for query in stack) for stack in stacks)
        n_full = -(-n_lanes // shape.lanes) - 1
        ends = [list(_rows_below(stack, n_full * shape.lanes, self._lengths, shape)) for stack in stacks]
        last_seconds, last = min(
            (
                (cost, other)
                for cost, other in self._usable[shape.packing]
                if max(sum(map(other.lanes_for, end)) for end in ends) <= other.lanes
            ),
            key=lambda choice: choice[0],
        )
        boundary = 2 * n_full * self._targets.n_tiles(is_paired=shape.is_paired) * BOUNDARY_TILE_SECONDS
        shapes = [*[shape] * n_full, last]
        return _Choice(n_full * seconds + last_seconds + boundary, lambda: cut_strips(stacks, self._lengths, shapes))

    def _whole(self, order: Sequence[int], seconds: float, shape: Shape, best: _Choice) -> _Choice:
        """Return strips that cut no query, if they take no longer than `best`. order: the longest query first."""
        n_lanes = [shape.lanes_for(self._lengths[query]) for query in order]
        n_strips = -(-sum(n_lanes) // (2 * shape.lanes))
        while n_strips * seconds <= best.seconds:
            bins = _even_bins(n_lanes, 2 * n_strips, shape.lanes)
            if bins is not None:
                break
            n_strips += 1
        else:
            return best
        halves = [[Part(order[place], 0, self._lengths[order[place]], 0) for place in own] for own in bins]
        strips = (
            Strip(shape, _with_lanes(low, shape), _with_lanes(high, shape), has_bottom=False)
            for low, high in zip(halves[::2], halves[1::2], strict=True)
        )
        return _Choice(n_strips * seconds, lambda: strips)


def _two_stacks(order: Sequence[int], lengths: Sequence[int], shape: Shape) -> tuple[list[int], list[int]]:
    """Deal queries, the longest first, to two stacks of about the same number of lanes."""
    stacks: tuple[list[int], list[int]] = [], []
    excess = 0
    for query in order:
        n_lanes = shape.lanes_for(lengths[query])
        stacks[excess > 0].append(query)
        excess += -n_lanes if excess > 0 else n_lanes
    return stacks


def _rows_below(stack: Sequence[int], n_above: int, lengths: Sequence[int], shape: Shape) -> Iterator[int]:
    """Yield the rows of each query of a stack that lie below the first n_above lanes."""
    n_lanes = 0
    for query in stack:
        own = shape.lanes_for(lengths[query])
        cut = max(0, n_above - n_lanes) * shape.rows
        if cut < lengths[query]:
            yield lengths[query] - cut
        n_lanes += own


def cut_strips(
    stacks: tuple[Sequence[int], Sequence[int]], lengths: Sequence[int], shapes: Sequence[Shape]
) -> Iterator[Strip]:
    """Yield strips of these shapes, one below the other, from two stacks of queries."""
    low, high = (_cut_stack(stack, lengths, shapes) for stack in stacks)
    for shape, one, other in zip(shapes, low, high, strict=True):
        continues = any(part.end_row < lengths[part.query] for part in (*one[-1:], *other[-1:]))
        yield Strip(shape, one, other, continues)


def _cut_stack(stack: Sequence[int], lengths: Sequence[int], shapes: Sequence[Shape]) -> Iterator[tuple[Part, ...]]:
    """Yield the parts of a stack in each strip."""
    waiting = [Part(query, 0, lengths[query], 0) for query in reversed(stack)]
    for shape in shapes:
        strip: list[Part] = []
        free = shape.lanes
        while free and waiting:
            part = waiting.pop()
            n_rows = min(part.n_rows, free * shape.rows)
            strip.append(Part(part.query, part.first_row, n_rows, shape.lanes - free))
            free -= shape.lanes_for(n_rows)
            if n_rows < part.n_rows:
                waiting.append(Part(part.query, part.first_row + n_rows, part.n_rows - n_rows, 0))
        yield tuple(strip)


def _with_lanes(parts: Sequence[Part], shape: Shape) -> tuple[Part, ...]:
    """Return the parts one below the other."""
    lane, placed = 0, []
    for part in parts:
        placed.append(Part(part.query, part.first_row, part.n_rows, lane))
        lane += shape.lanes_for(part.n_rows)
    return tuple(placed)


def _even_bins(sizes: Sequence[int], n_bins: int, capacity: int) -> list[list[int]] | None:
    """Put items into bins, each into the emptiest, and return their indices. sizes: descending.

    None if an item does not fit.

    >>> _even_bins([5, 4, 3, 2], 2, 7)
    [[0, 3], [1, 2]]
    """
    bins: list[list[int]] = [[] for _ in range(n_bins)]
    used = [(0, number) for number in range(n_bins)]
    for place, size in enumerate(sizes):
        full, number = used[0]
        if full + size > capacity:
            return None
        heapq.heapreplace(used, (full + size, number))
        bins[number].append(place)
    return bins


def plan_strips(lengths: Sequence[int], device: DeviceProperties, targets: StreamStatistics) -> list[Strip]:
    """Return the strips for queries of these lengths against the targets, in order. Empty queries need none."""
    choices = _Choices(lengths, device, targets)
    paired = frozenset(query for query, length in enumerate(lengths) if length > 0)
    if not paired:
        return []
    unpaired: list[int] = []
    seconds = choices.paired(paired).seconds
    while len(paired) > 1 and len(unpaired) < MAX_UNPAIRED:
        best = min(
            (
                (choices.unpaired(query).seconds + choices.paired(paired - {query}).seconds, query)
                for query in _without_partner(paired, lengths)
            ),
            default=(seconds, 0),
        )
        if best[0] >= seconds:
            break
        seconds = best[0] - choices.unpaired(best[1]).seconds
        unpaired.append(best[1])
        paired -= {best[1]}
    chosen = [choices.paired(paired), *map(choices.unpaired, unpaired)]
    return [strip for choice in chosen for strip in choice.strips()]


def _without_partner(queries: frozenset[int], lengths: Sequence[int]) -> set[int]:
    """Return the queries worth trying unpaired: the longest, and the one that leaves the others most even.

    Empty if all are even enough.
    """
    order = sorted(queries, key=lambda query: (-lengths[query], query))
    excess = 0
    for query in order:
        excess = abs(excess - lengths[query])
    if excess * EVEN_ENOUGH < sum(lengths[query] for query in order):
        return set()
    return {order[0], min(order, key=lambda query: (abs(lengths[query] - excess), query))}
