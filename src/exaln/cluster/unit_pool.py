"""The work that is left, and which piece of it a worker gets next. Knows no Dask and no clock.

A worker gets work on a chunk that it holds already, of the earliest queries that have any; else of the chunk that the
fewest hold. How much depends on its speed: units take about equally long on all workers, and become shorter towards the
end, so that all end together. Queries go in order, a few groups at a time, so that reports can be written early. The
residues of a chunk are taken from its end, where targets are long: the short ones that are left fill the lanes of the
kernels even if a unit is small.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from exaln.cluster.units import Chunk, Group, Unit

OPEN_GROUPS = 8
"""Work is taken from so many groups at a time."""

MOST_ATTEMPTS = 3
"""A unit that failed so often is given up."""

LEAST_PLACES = 1 << 16
"""Shorter units would leave lanes of the kernels empty; the last one of a chunk may be shorter."""


@dataclass(frozen=True)
class Pace:
    """How long units take: `seconds`, or less towards the end, but not less than `least_seconds`."""

    seconds: float = 20.0
    least_seconds: float = 0.25
    rounds: float = 3.0
    """A unit takes at most what is left for all, divided by this; but a worker that is alone takes what it can."""

    def cells(self, speed: float, total_speed: float, cells_left: float) -> float:
        """Of a unit for a worker that makes `speed` cells per second, of all that make `total_speed`."""
        left = cells_left / max(total_speed, speed, 1e-9) / (self.rounds if total_speed > speed else 1)
        return speed * max(self.least_seconds, min(self.seconds, left))


class Pool:
    """All units of a search that nobody works on."""

    def __init__(self, groups: Sequence[Group], chunks: Sequence[Chunk], pace: Pace, done: Iterable[Unit] = ()) -> None:
        self.groups, self.chunks, self.pace = groups, chunks, pace
        self._group_of = {group.query_first: number for number, group in enumerate(groups)}
        finished = defaultdict[int, list[tuple[int, int]]](list)
        for unit in done:
            finished[self._group_of[unit.query_first]].append((unit.first, unit.end))
        self._free = [
            [list(_without((chunk.first, chunk.end), finished[number])) for chunk in chunks]
            for number in range(len(groups))
        ]
        self.cells_left = sum(
            group.weight * (end - first)
            for group, free in zip(groups, self._free, strict=True)
            for intervals in free
            for first, end in intervals
        )
        self._first_open = 0
        self._again: list[Unit] = []
        self._failed_on = defaultdict[Unit, list[str]](list)
        self._held = defaultdict[str, set[int]](set)
        self._holders = Counter[int]()

    def group_of(self, unit: Unit) -> int:
        """The number of its group of queries."""
        return self._group_of[unit.query_first]

    def cells(self, unit: Unit) -> int:
        """How much work it is."""
        return self.groups[self.group_of(unit)].weight * (unit.end - unit.first)

    def take(self, worker: str, speed: float, total_speed: float, workers: Iterable[str] = ()) -> Unit | None:
        """The next unit for a worker, one of `workers`; None if there is none for it now."""
        again = self._take_again(worker, set(workers))
        if again is not None:
            return again
        found = self._choose(worker)
        if found is None:
            return None
        number, chunk = found
        group, intervals = self.groups[number], self._free[number][chunk]
        first, end = intervals[-1]
        wanted = int(self.pace.cells(speed, total_speed, self.cells_left) / group.weight)
        size = max(LEAST_PLACES, wanted)
        if (end - first) < 1.5 * size:
            intervals.pop()
        else:
            intervals[-1] = (first, end - size)
            first = end - size
        unit = group.unit(first, end)
        self.cells_left -= self.cells(unit)
        self._hold(worker, chunk)
        return unit

    def give_back(self, unit: Unit) -> None:
        """Nobody works on it any more."""
        self._again.append(unit)
        self.cells_left += self.cells(unit)

    def fail(self, unit: Unit, worker: str) -> int:
        """It failed on this worker; how often it has by now. The caller gives up at MOST_ATTEMPTS."""
        self._failed_on[unit].append(worker)
        self.give_back(unit)
        return len(self._failed_on[unit])

    def forget(self, worker: str) -> None:
        """The worker is gone, with all that it held."""
        self._holders.subtract(self._held.pop(worker, set()))

    def _take_again(self, worker: str, workers: set[str]) -> Unit | None:
        """A unit that came back, if it failed elsewhere, or if it failed on all workers there are."""
        for place, unit in enumerate(self._again):
            if worker not in self._failed_on[unit] or not workers - set(self._failed_on[unit]):
                del self._again[place]
                self.cells_left -= self.cells(unit)
                return unit
        return None

    def _choose(self, worker: str) -> tuple[int, int] | None:
        """Group and chunk."""
        opened = list(self._open_groups())
        for number in opened:
            for chunk in self._held[worker]:
                if self._free[number][chunk]:
                    return number, chunk
        for number in opened:
            chunks = [chunk for chunk, intervals in enumerate(self._free[number]) if intervals]
            return number, min(chunks, key=lambda chunk: self._holders[chunk])
        return None

    def _open_groups(self) -> Iterator[int]:
        while self._first_open < len(self.groups) and not any(self._free[self._first_open]):
            self._first_open += 1
        end = min(self._first_open + OPEN_GROUPS, len(self.groups))
        return (number for number in range(self._first_open, end) if any(self._free[number]))

    def _hold(self, worker: str, chunk: int) -> None:
        if chunk not in self._held[worker]:
            self._held[worker].add(chunk)
            self._holders[chunk] += 1


def _without(interval: tuple[int, int], taken: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What is left of an interval.

    >>> list(_without((0, 10), [(5, 6), (0, 2), (8, 12)]))
    [(2, 5), (6, 8)]
    """
    first, end = interval
    for begin, stop in sorted(taken):
        if first < min(begin, end):
            yield first, min(begin, end)
        first = max(first, stop)
    if first < end:
        yield first, end
