"""Which queries share a launch, and in which strips: plain data, chosen by estimated time.

A launch of stream.cu compares a strip of query rows with all targets of a batch. Two queries are packed where they are
of similar length; what the longer one has more goes on alone, with pairs of targets. A query longer than a strip goes
in several, each in the shape that pads least for its speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from exaln.cuda.variants import COLUMNS, SHAPES, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.cuda.card import CardFacts

LAUNCH_SECONDS = 15e-6
"""What a launch costs besides its steps: the profile, the first chunks, the last ones."""

SPLIT_TILE_SECONDS = 1.3e-11
"""split_boundary, per tile of single targets, on the reference card."""

BLOCK_TILE_SECONDS = 0.4e-6
"""A step of block.cu: it waits for the one before."""

TYPICAL_ROWS = 400
"""Query rows for which the length of long targets is chosen."""


@dataclass(frozen=True)
class TargetFacts:
    """What a plan depends on of the targets in the streams. longest: residues; n_letters: folded letters."""

    n_targets: int
    n_tiles_single: int
    n_tiles_paired: int
    longest: int
    n_letters: int


@dataclass(frozen=True)
class Half:
    """Rows [first_row, first_row + n_rows) of a query, in one half of the packed words."""

    query: int
    first_row: int
    n_rows: int


@dataclass(frozen=True)
class Strip:
    """A launch of stream.cu. high is None where the words pack two targets: then `low` is the only query.

    has_top, has_bottom: whether rows are above and below. split: before this strip the boundary of two queries becomes
    that of one with pairs of targets, of the query in this half (0 low, 1 high).
    """

    shape: Shape
    low: Half
    high: Half | None
    has_top: bool
    has_bottom: bool
    split: int | None = None


@dataclass(frozen=True)
class _Cover:
    """Shapes of consecutive strips that cover some rows, and the time they take."""

    seconds: float
    shapes: tuple[Shape, ...]

    @property
    def n_rows(self) -> int:
        return sum(shape.strip_rows for shape in self.shapes)


_NO_COVER = _Cover(0.0, ())


class _Planner:
    def __init__(self, card: CardFacts, targets: TargetFacts) -> None:
        self._card, self._targets = card, targets
        self._single = self._usable(paired=False)
        self._paired = self._usable(paired=True)
        self.alone = cache(self._alone)
        self.together = cache(self._together)

    def _usable(self, *, paired: bool) -> list[tuple[float, Shape]]:
        """Seconds of a launch and shape, of all that fit the card; none that is slower than a larger one."""
        fitting = [
            (self._seconds(shape), shape)
            for shape in SHAPES
            if shape.paired == paired and shape.shared_bytes(self._targets.n_letters) <= self._card.shared_bytes
        ]
        return [
            (seconds, shape)
            for seconds, shape in fitting
            if not any(other < seconds and larger.strip_rows >= shape.strip_rows for other, larger in fitting)
        ]

    def _seconds(self, shape: Shape) -> float:
        targets = self._targets
        n_tiles = targets.n_tiles_paired if shape.paired else targets.n_tiles_single
        n_steps = max(n_tiles / shape.n_groups(self._card.n_sms), targets.longest / COLUMNS) + shape.lanes
        return n_steps * shape.step_seconds + LAUNCH_SECONDS

    def _covers(self, n_rows: int, usable: list[tuple[float, Shape]]) -> Iterator[_Cover]:
        """Ways to cover rows: strips of one shape, and the last perhaps of another; each at least n_rows."""
        for seconds, shape in usable:
            n_full, rest = divmod(n_rows, shape.strip_rows)
            full = (shape,) * n_full
            if rest == 0:
                yield _Cover(n_full * seconds, full)
                continue
            last_seconds, last = min(
                ((cost, other) for cost, other in usable if other.strip_rows >= rest),
                key=lambda choice: choice[0],
                default=(seconds, shape),
            )
            yield _Cover(n_full * seconds + last_seconds, (*full, last))

    def _alone(self, n_rows: int) -> _Cover:
        """One query without a partner: pairs of targets, or an empty second half."""
        if n_rows <= 0:
            return _NO_COVER
        covers = [*self._covers(n_rows, self._paired), *self._covers(n_rows, self._single)]
        return min(covers, key=lambda cover: cover.seconds)

    def _rest(self, n_rows: int) -> _Cover:
        """What one of two queries has more than its partner: pairs of targets."""
        return min(self._covers(n_rows, self._paired), key=lambda cover: cover.seconds)

    def _together(self, shorter: int, longer: int) -> tuple[float, _Cover, _Cover]:
        """Two queries packed: seconds, the strips of both, and those of the rest of the longer one."""
        whole = min(self._covers(longer, self._single), key=lambda cover: cover.seconds)
        best = (whole.seconds, whole, _NO_COVER)
        if not self._paired:
            return best
        split = self._targets.n_tiles_single * SPLIT_TILE_SECONDS
        for both in self._covers(shorter, self._single):
            if both.n_rows < longer:
                rest = self._rest(longer - both.n_rows)
                best = min(best, (both.seconds + split + rest.seconds, both, rest), key=lambda choice: choice[0])
        return best


def plan_scan(lengths: Sequence[int], card: CardFacts, targets: TargetFacts) -> list[Strip]:
    """All launches for queries of these lengths against the targets, in order. Empty queries need none."""
    planner = _Planner(card, targets)
    strips: list[Strip] = []
    for pair in _partners(lengths, planner):
        if len(pair) == 1:
            strips += _alone_strips(pair[0], lengths[pair[0]], planner.alone(lengths[pair[0]]))
        else:
            strips += _packed_strips(pair, lengths, planner)
    return strips


def _partners(lengths: Sequence[int], planner: _Planner) -> list[tuple[int, ...]]:
    """Queries that are packed together, neighbours by length, or stay alone; the least time in all."""
    order = sorted((query for query, length in enumerate(lengths) if length > 0), key=lambda query: lengths[query])
    best: list[tuple[float, int]] = [(0.0, 0)]
    for n, query in enumerate(order, start=1):
        choices = [(best[n - 1][0] + planner.alone(lengths[query]).seconds, 1)]
        if n > 1:
            choices.append((best[n - 2][0] + planner.together(lengths[order[n - 2]], lengths[query])[0], 2))
        best.append(min(choices))
    partners: list[tuple[int, ...]] = []
    n = len(order)
    while n > 0:
        size = best[n][1]
        partners.append(tuple(order[n - size : n]))
        n -= size
    return partners


def _alone_strips(query: int, length: int, cover: _Cover, first: int = 0, split: int | None = None) -> Iterator[Strip]:
    for place, shape in enumerate(cover.shapes):
        low = Half(query, first, max(0, min(shape.strip_rows, length - first)))
        is_last = place == len(cover.shapes) - 1
        high = None if shape.paired else Half(query, first, 0)
        yield Strip(shape, low, high, first > 0, not is_last, split if place == 0 else None)
        first += shape.strip_rows


def _packed_strips(pair: tuple[int, ...], lengths: Sequence[int], planner: _Planner) -> Iterator[Strip]:
    """`pair` is the shorter query and the longer one."""
    _, both, rest = planner.together(lengths[pair[0]], lengths[pair[1]])
    first = 0
    for place, shape in enumerate(both.shapes):
        low, high = (Half(query, first, max(0, min(shape.strip_rows, lengths[query] - first))) for query in pair)
        goes_on = place < len(both.shapes) - 1 or bool(rest.shapes)
        yield Strip(shape, low, high, first > 0, goes_on)
        first += shape.strip_rows
    yield from _alone_strips(pair[1], lengths[pair[1]], rest, first, split=1)


def long_length(lengths: NDArray[np.int64], card: CardFacts) -> int:
    """Targets longer than this get a block of their own. lengths: ascending.

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
    shape = Shape(8, 16, 512, paired=True)
    n_strips = -(-TYPICAL_ROWS // shape.strip_rows)
    n_steps = np.maximum(before[places] / 2 / shape.n_groups(card.n_sms), tiles[places - 1])
    stream_seconds = n_strips * shape.step_seconds * n_steps
    block_seconds = (before[-1] - before[places]) * BLOCK_TILE_SECONDS / card.n_sms
    return int(lengths[places[np.argmin(stream_seconds + block_seconds)] - 1])
