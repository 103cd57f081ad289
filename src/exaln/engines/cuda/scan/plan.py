"""Which queries share a strip, and in which shape: plain data, chosen by estimated time.

A strip of rows is compared with all targets of a batch by stream.cu. In each half of its words queries lie one
below the other. Where no query is longer than a strip, none is cut; else each half is one long stack, which is cut
where a strip ends, and rows between strips are kept. A query that has no partner of its length goes alone, with two
targets in a word.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.scan.variants import BLOCK_SHAPES, COLUMNS, SHAPES, Packing, Shape, smallest_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import DeviceFacts

LAUNCH_SECONDS = 15e-6
"""What a launch costs besides its steps: the profile, the first chunks, the last ones."""

TAIL_STEPS = 16
"""For so many steps groups of lanes wait for the last one."""

BOUNDARY_TILE_SECONDS = 3e-12
"""To read or to write the row between two strips, per tile, on the reference device."""

BLOCK_TILE_SECONDS, BUSY_TILE_SECONDS = 0.4e-6, 0.6e-6
"""A step of block.cu: it waits for the one before. The second, where blocks fill a multiprocessor: a step of each."""

MAX_ALONE = 3
"""So many queries of a group at most have no partner."""

PIECES = 16
"""A streamed batch has rows of so many lengths, so that short targets keep all groups of lanes busy to its end."""

EVEN_ENOUGH = 100
"""Two stacks that differ by less than one row of so many are even."""

NO_QUERY, JOINED_ABOVE, JOINED_BELOW = 0xFFFFFFFF, 1, 2
"""In kernels/profile.cuh."""


@dataclass(frozen=True)
class TargetFacts:
    """What a plan depends on of the targets in the streams. longest: residues; n_letters: folded letters."""

    n_targets: int
    n_tiles_single: int
    n_tiles_paired: int
    longest: int
    n_letters: int


@dataclass(frozen=True)
class Part:
    """Rows [first_row, first_row + n_rows) of a query, in one half of the words of a strip, from a lane on."""

    query: int
    first_row: int
    n_rows: int
    lane: int

    @property
    def end_row(self) -> int:
        return self.first_row + self.n_rows


@dataclass(frozen=True)
class Strip:
    """What stream.cu takes at a time: parts of queries in both halves of the words, from the top.

    They are the same where the words pack two targets. has_bottom: whether a query goes on in the next strip.
    """

    shape: Shape
    low: tuple[Part, ...]
    high: tuple[Part, ...]
    has_bottom: bool

    @property
    def has_top(self) -> bool:
        """Whether a query goes on from the strip before."""
        return any(part.first_row for part in (*self.low[:1], *self.high[:1]))

    @property
    def parts(self) -> tuple[Part, ...]:
        """Each once."""
        return self.low if self.shape.is_paired else self.low + self.high

    @property
    def n_rows(self) -> int:
        """Of all parts."""
        return sum(part.n_rows for part in self.parts)

    @property
    def keeps_rows(self) -> bool:
        """Whether the row above or below goes through the memory of the device."""
        return self.has_top or self.has_bottom

    @property
    def kind(self) -> tuple[Shape, bool]:
        """Its kernel: the shape, and whether it keeps rows."""
        return self.shape, self.keeps_rows

    def lane_rows(self, offsets: NDArray[np.int64]) -> NDArray[np.uint32]:
        """uint32[lanes, 2, 4]: LaneRows of kernels/profile.cuh. offsets: where the letters of each query begin.

        The best score of one query alone is handed down to the last lane.
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


@dataclass(frozen=True)
class _Choice:
    """A way to score some queries: the time it takes, and what makes its strips."""

    seconds: float
    strips: Callable[[], Iterator[Strip]]


class _Planner:
    def __init__(self, lengths: Sequence[int], device: DeviceFacts, targets: TargetFacts) -> None:
        self._lengths, self._device, self._targets = lengths, device, targets
        self._usable = {packing: self._fastest(packing) for packing in Packing}
        self.alone = cache(self._alone)
        self.together = cache(self._together)

    def _fastest(self, packing: Packing) -> list[tuple[float, Shape]]:
        """Seconds of a launch and shape, of all that fit the device; none that is slower than a larger one."""
        fitting = [
            (self._seconds(shape), shape)
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

    def _seconds(self, shape: Shape) -> float:
        n_steps = max(self._n_tiles(shape) / shape.n_groups(self._device.n_sms), self._targets.longest / COLUMNS)
        return (n_steps + shape.lanes + TAIL_STEPS) * shape.step_seconds + LAUNCH_SECONDS

    def _n_tiles(self, shape: Shape) -> int:
        return self._targets.n_tiles_paired if shape.is_paired else self._targets.n_tiles_single

    def _alone(self, query: int) -> _Choice:
        """One query without a partner: two targets in a word, or an empty second half."""
        return min(
            (
                self._cut(((query,), (query,) if shape.is_paired else ()), seconds, shape)
                for packing in Packing
                for seconds, shape in self._usable[packing]
            ),
            key=lambda choice: choice.seconds,
        )

    def _together(self, queries: frozenset[int]) -> _Choice:
        """Queries in both halves, each against one target."""
        if len(queries) == 1:
            return self.alone(*queries)
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
        """Stacks of queries that are cut where a strip is full; the last strip perhaps in a better shape."""
        n_lanes = max(sum(shape.lanes_for(self._lengths[query]) for query in stack) for stack in stacks)
        n_full = -(-n_lanes // shape.lanes) - 1
        ends = [list(_parts_below(stack, n_full * shape.lanes, self._lengths, shape)) for stack in stacks]
        last_seconds, last = min(
            (
                (cost, other)
                for cost, other in self._usable[shape.packing]
                if max(sum(map(other.lanes_for, end)) for end in ends) <= other.lanes
            ),
            key=lambda choice: choice[0],
        )
        kept = 2 * n_full * self._n_tiles(shape) * BOUNDARY_TILE_SECONDS
        shapes = [*[shape] * n_full, last]
        return _Choice(n_full * seconds + last_seconds + kept, lambda: _cut_strips(stacks, self._lengths, shapes))

    def _whole(self, order: Sequence[int], seconds: float, shape: Shape, known: _Choice) -> _Choice:
        """Strips in which no query is cut, if that takes no longer than what is known. order: the longest first."""
        n_lanes = [shape.lanes_for(self._lengths[query]) for query in order]
        n_strips = -(-sum(n_lanes) // (2 * shape.lanes))
        while n_strips * seconds <= known.seconds:
            bins = _even_bins(n_lanes, 2 * n_strips, shape.lanes)
            if bins is not None:
                break
            n_strips += 1
        else:
            return known
        halves = [[Part(order[place], 0, self._lengths[order[place]], 0) for place in own] for own in bins]
        strips = (
            Strip(shape, _laid_out(low, shape), _laid_out(high, shape), has_bottom=False)
            for low, high in zip(halves[::2], halves[1::2], strict=True)
        )
        return _Choice(n_strips * seconds, lambda: strips)


def _two_stacks(order: Sequence[int], lengths: Sequence[int], shape: Shape) -> tuple[list[int], list[int]]:
    """Queries, the longest first, as two stacks of about the same number of lanes."""
    stacks: tuple[list[int], list[int]] = [], []
    ahead = 0
    for query in order:
        n_lanes = shape.lanes_for(lengths[query])
        stacks[ahead > 0].append(query)
        ahead += -n_lanes if ahead > 0 else n_lanes
    return stacks


def _parts_below(stack: Sequence[int], n_above: int, lengths: Sequence[int], shape: Shape) -> Iterator[int]:
    """Rows of the parts of queries that are below so many lanes of a stack."""
    n_lanes = 0
    for query in stack:
        own = shape.lanes_for(lengths[query])
        cut = max(0, n_above - n_lanes) * shape.rows
        if cut < lengths[query]:
            yield lengths[query] - cut
        n_lanes += own


def _cut_strips(
    stacks: tuple[Sequence[int], Sequence[int]], lengths: Sequence[int], shapes: Sequence[Shape]
) -> Iterator[Strip]:
    """Strips of these shapes, one below the other."""
    low, high = (_cut_stack(stack, lengths, shapes) for stack in stacks)
    for shape, one, other in zip(shapes, low, high, strict=True):
        goes_on = any(part.end_row < lengths[part.query] for part in (*one[-1:], *other[-1:]))
        yield Strip(shape, one, other, goes_on)


def _cut_stack(stack: Sequence[int], lengths: Sequence[int], shapes: Sequence[Shape]) -> Iterator[tuple[Part, ...]]:
    """Queries one below the other, cut where a strip is full."""
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


def _laid_out(parts: Sequence[Part], shape: Shape) -> tuple[Part, ...]:
    """Parts with their lanes."""
    lane, placed = 0, []
    for part in parts:
        placed.append(Part(part.query, part.first_row, part.n_rows, lane))
        lane += shape.lanes_for(part.n_rows)
    return tuple(placed)


def _even_bins(sizes: Sequence[int], n_bins: int, room: int) -> list[list[int]] | None:
    """Places of things of these sizes, the largest first, in bins: each goes where most is left.

    None if one does not fit.

    >>> _even_bins([5, 4, 3, 2], 2, 7)
    [[0, 3], [1, 2]]
    """
    bins: list[list[int]] = [[] for _ in range(n_bins)]
    used = [(0, number) for number in range(n_bins)]
    for place, size in enumerate(sizes):
        full, number = used[0]
        if full + size > room:
            return None
        heapq.heapreplace(used, (full + size, number))
        bins[number].append(place)
    return bins


def plan_scan(lengths: Sequence[int], device: DeviceFacts, targets: TargetFacts) -> list[Strip]:
    """All launches for queries of these lengths against the targets, in order. Empty queries need none."""
    planner = _Planner(lengths, device, targets)
    together = frozenset(query for query, length in enumerate(lengths) if length > 0)
    if not together:
        return []
    alone: list[int] = []
    seconds = planner.together(together).seconds
    while len(together) > 1 and len(alone) < MAX_ALONE:
        best = min(
            (
                (planner.alone(query).seconds + planner.together(together - {query}).seconds, query)
                for query in _without_partner(together, lengths)
            ),
            default=(seconds, 0),
        )
        if best[0] >= seconds:
            break
        seconds = best[0] - planner.alone(best[1]).seconds
        alone.append(best[1])
        together -= {best[1]}
    choices = [planner.together(together), *map(planner.alone, alone)]
    return [strip for choice in choices for strip in choice.strips()]


def _without_partner(queries: frozenset[int], lengths: Sequence[int]) -> set[int]:
    """Queries that might better go alone: the longest one, and the one that leaves the others most even.

    None if all are even enough.
    """
    order = sorted(queries, key=lambda query: (-lengths[query], query))
    ahead = 0
    for query in order:
        ahead = abs(ahead - lengths[query])
    if ahead * EVEN_ENOUGH < sum(lengths[query] for query in order):
        return set()
    return {order[0], min(order, key=lambda query: (abs(lengths[query] - ahead), query))}


TYPICAL_ROWS = 400
TYPICAL_SHAPE = Shape(8, 16, 512, Packing.LETTER_PAIRS)
TYPICAL_STRIPS = tuple(
    Strip(TYPICAL_SHAPE, (part,), (part,), has_bottom=part.end_row < TYPICAL_ROWS)
    for first in range(0, TYPICAL_ROWS, TYPICAL_SHAPE.strip_rows)
    for part in (Part(0, first, min(TYPICAL_SHAPE.strip_rows, TYPICAL_ROWS - first), 0),)
)
"""For which the length of long targets is chosen, whatever the queries, in batches that stay on a device."""


def long_length(lengths: NDArray[np.int64], device: DeviceFacts, strips: Sequence[Strip] = TYPICAL_STRIPS) -> int:
    """Targets longer than this get a block of their own. lengths: ascending; strips: that score the others.

    In a stream a target of n residues keeps a group of lanes busy for n / 4 steps, however little the others still have
    to do; in a block of its own it takes fewer cells per second, but no other waits. The least sum of both is taken,
    over all lengths at which it could start.
    """
    if not len(lengths):
        return 0
    tiles = np.maximum(1, -(-lengths // COLUMNS))
    before = np.concatenate([[0], np.cumsum(tiles)])
    places = np.unique(np.linspace(0, len(tiles), 257).astype(np.int64))
    places = np.unique(np.concatenate([places, len(tiles) - np.arange(min(64, len(tiles)))]))
    places = places[(places > 0) & (places <= len(tiles))]
    stream_seconds = np.zeros(len(places))
    for shape, n_strips in Counter(strip.shape for strip in strips).items():
        n_steps = before[places] / (1 + shape.is_paired) / shape.n_groups(device.n_sms)
        stream_seconds += n_strips * shape.step_seconds * np.maximum(n_steps, tiles[places - 1])
    block_seconds = (before[-1] - before[places]) * (_block_passes(strips) * BLOCK_TILE_SECONDS / device.n_sms)
    return int(lengths[places[np.argmin(stream_seconds + block_seconds)] - 1])


def streamed_long_length(
    lengths: NDArray[np.int64], device: DeviceFacts, strips: Sequence[Strip], n_batches: int
) -> tuple[int, float]:
    """The same for a database that is streamed, where long targets are scored together; and the seconds of it all.

    n_batches: of the others; each has targets of all lengths, some a few that are longer than those of the next.
    """
    if not len(lengths):
        return 0, 0.0
    tiles = np.maximum(1, -(-lengths // COLUMNS))
    before = np.concatenate([[0], np.cumsum(tiles)])
    n_most = min(len(tiles), max(64, len(tiles) // 20))
    places = np.unique(len(tiles) - np.geomspace(1, n_most, 128).astype(np.int64) + 1)
    tops = 1 - np.arange(n_batches) / (PIECES * n_batches)
    longest = tiles[np.searchsorted(before, before[places][:, None] * tops, side="left") - 1]
    block_seconds = _block_passes(strips) * _block_share(strips) * BUSY_TILE_SECONDS / device.n_sms
    seconds = (before[-1] - before[places]) * block_seconds
    for (shape, keeps_rows), n_strips in Counter(strip.kind for strip in strips).items():
        n_steps = before[places] / (n_batches * (1 + shape.is_paired) * shape.n_groups(device.n_sms))
        # The next strip wants the longest one first, which must have left the last lane.
        n_steps = np.maximum(n_steps[:, None], longest + shape.lanes * keeps_rows).sum(axis=1)
        n_steps += n_batches * (shape.lanes + TAIL_STEPS)
        seconds += n_strips * (n_steps * shape.step_seconds + n_batches * LAUNCH_SECONDS)
    best = int(np.argmin(seconds))
    return int(lengths[places[best] - 1]), float(seconds[best])


def _block_passes(strips: Sequence[Strip]) -> int:
    """How often a block goes over a target, for all queries of the strips."""
    threads, rows = BLOCK_SHAPES[0]
    return sum(-(-n_rows // (threads * rows)) for n_rows in _rows_of_queries(strips))


def _block_share(strips: Sequence[Strip]) -> float:
    """What a block takes of a multiprocessor: short queries have small ones."""
    threads, _ = smallest_block(BLOCK_SHAPES, max(_rows_of_queries(strips), default=0))
    return threads / BLOCK_SHAPES[0][0]


def _rows_of_queries(strips: Sequence[Strip]) -> list[int]:
    ends: dict[int, int] = {}
    for part in (part for strip in strips for part in strip.parts):
        ends[part.query] = max(part.end_row, ends.get(part.query, 0))
    return list(ends.values())
