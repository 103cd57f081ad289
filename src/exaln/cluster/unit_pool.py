"""The pool of units that are left to do, and the choice of the next unit for a worker. It uses neither Dask nor time.

A worker gets a unit of a chunk that it has already fetched, for the earliest queries that have one; otherwise of the
chunk that the fewest workers have. The size of a unit follows the worker's speed: units take about equally long on all
workers and become shorter towards the end, so that all workers end together. Queries are taken in order, a few groups
at a time, so that reports can be written early. The residues of a chunk are taken from its end, where targets are long:
the short targets that remain fill the lanes of the kernels even in small units.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from exaln.cluster.units import Chunk, Group, Unit

OPEN_GROUPS = 8
"""Units are taken from this many groups at a time."""

MOST_ATTEMPTS = 3
"""A search ends with an error when a unit has failed this many times."""

LEAST_PLACES = 1 << 16
"""The smallest unit, except for the last one of a chunk; smaller ones would leave lanes of the kernels empty."""


@dataclass(frozen=True)
class UnitSize:
    """The size of units: `seconds` of computing, or less towards the end, but at least `least_seconds`.

    rounds: a unit takes at most the time that is left for all workers, divided by this; not so for a single worker.
    """

    seconds: float = 20.0
    least_seconds: float = 0.25
    rounds: float = 3.0

    def cells(self, speed: float, total_speed: float, cells_left: float) -> float:
        """The cells of a unit; speed, total_speed: of the worker and of all workers, in cells per second."""
        left = cells_left / max(total_speed, speed, 1e-9) / (self.rounds if total_speed > speed else 1)
        return speed * max(self.least_seconds, min(self.seconds, left))


class Pool:
    """All units of a search that no worker has. done: units that were finished in an earlier run."""

    def __init__(
        self, groups: Sequence[Group], chunks: Sequence[Chunk], unit_size: UnitSize, done: Iterable[Unit] = ()
    ) -> None:
        self.groups, self.chunks, self.unit_size = groups, chunks, unit_size
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
        """The number of the unit's group of queries."""
        return self._group_of[unit.query_first]

    def cells(self, unit: Unit) -> int:
        """The number of cells of a unit."""
        return self.groups[self.group_of(unit)].weight * (unit.end - unit.first)

    def take(self, worker: str, speed: float, total_speed: float, workers: Iterable[str] = ()) -> Unit | None:
        """The next unit for a worker; None if there is none for it now. workers: the names of all workers."""
        again = self._take_again(worker, set(workers))
        if again is not None:
            return again
        found = self._choose(worker)
        if found is None:
            return None
        number, chunk = found
        group, intervals = self.groups[number], self._free[number][chunk]
        first, end = intervals[-1]
        size = max(LEAST_PLACES, int(self.unit_size.cells(speed, total_speed, self.cells_left) / group.weight))
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
        """Return a unit that no worker works on any more."""
        self._again.append(unit)
        self.cells_left += self.cells(unit)

    def fail(self, unit: Unit, worker: str) -> int:
        """Return a unit that failed on this worker; returns the number of its failures so far."""
        self._failed_on[unit].append(worker)
        self.give_back(unit)
        return len(self._failed_on[unit])

    def forget(self, worker: str) -> None:
        """Forget the chunks of a worker that is gone."""
        self._holders.subtract(self._held.pop(worker, set()))

    def _take_again(self, worker: str, workers: set[str]) -> Unit | None:
        """A returned unit that did not fail on this worker, or that failed on all workers; None if there is none."""
        for place, unit in enumerate(self._again):
            if worker not in self._failed_on[unit] or not workers - set(self._failed_on[unit]):
                del self._again[place]
                self.cells_left -= self.cells(unit)
                return unit
        return None

    def _choose(self, worker: str) -> tuple[int, int] | None:
        """The numbers of the group and the chunk for the worker's next unit; None if no work is left."""
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
    """The parts of an interval that are not taken.

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
