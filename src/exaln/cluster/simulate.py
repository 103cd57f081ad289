"""How long a search takes on workers of given speeds: the pool's own decisions, with a clock that is only counted.

Used for the estimate of a plan, and for clusters that are not at hand.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from exaln.cluster.pool import Pool

AHEAD = 2
"""Units that a worker has at a time: one computes while the data of the next are fetched."""


@dataclass(frozen=True)
class Costs:
    """What a unit costs besides its cells: seconds per unit that nothing hides, and of the client to merge it.

    bytes_per_second: at which one worker fetches a chunk; bytes_per_second_of_all: of the storage they share.
    """

    unit_s: float = 0.03
    merge_s: float = 0.005
    bytes_per_second: float = 1e9
    bytes_per_second_of_all: float = 1e11


@dataclass(frozen=True)
class Estimate:
    """seconds: from the first unit to the last merge. ideal: the cells alone. fetch, idle, unit: seconds lost by a
    worker on average: for the first data, at the end, and per unit. merge: how long the client was busy.
    """

    seconds: float
    ideal: float
    n_units: int
    fetch: float
    idle: float
    unit: float
    merge: float

    @property
    def efficiency(self) -> float:
        """1 would be no time but that of the cells."""
        return self.ideal / self.seconds if self.seconds else 1.0


def simulate(pool: Pool, speeds: Sequence[float], costs: Costs) -> Estimate:
    """Empties the pool. A worker fetches while it computes; only what is not there in time is waited for."""
    total_speed, cells = sum(speeds), pool.cells_left
    fetched = [set[int]() for _ in speeds]
    fetch_free, ends, client_free = [0.0] * len(speeds), [0.0] * len(speeds), 0.0
    fetch_rate = min(costs.bytes_per_second, costs.bytes_per_second_of_all / len(speeds))
    waited = merging = 0.0
    n_units = 0
    events = [(0.0, number) for number in range(len(speeds)) for _ in range(AHEAD)]
    heapq.heapify(events)
    while events:
        now, number = heapq.heappop(events)
        unit = pool.take(str(number), speeds[number], total_speed)
        if unit is None:
            continue
        ready = now
        for place, chunk in enumerate(pool.chunks):
            if chunk.first < unit.end and unit.first < chunk.end and place not in fetched[number]:
                fetched[number].add(place)
                fetch_free[number] = max(now, fetch_free[number]) + chunk.n_bytes / fetch_rate
                ready = fetch_free[number]
        start = max(ready, ends[number])
        waited += max(0.0, ready - max(now, ends[number]))
        ends[number] = start + pool.cells(unit) / speeds[number] + costs.unit_s
        client_free = max(client_free, ends[number]) + costs.merge_s
        merging += costs.merge_s
        n_units += 1
        heapq.heappush(events, (ends[number], number))
    last = max(ends)
    return Estimate(
        seconds=max(last, client_free),
        ideal=cells / total_speed,
        n_units=n_units,
        fetch=waited / len(speeds),
        idle=sum(last - end for end in ends) / len(speeds),
        unit=n_units * costs.unit_s / len(speeds),
        merge=merging,
    )
