"""Estimates how long a search takes on workers of given speeds: the decisions of `unit_pool` with a simulated clock.

Used for --plan, and by benchmarks to study clusters that are not available.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from exaln.cluster.unit_pool import Pool

UNITS_IN_FLIGHT = 2
"""Units that a worker has at a time: one is computed while the data of the next are fetched."""


@dataclass(frozen=True)
class Costs:
    """The costs of a search besides its cells.

    unit_s: seconds per unit that do not overlap with computing. merge_s, query_s: seconds of the client, per unit and
    for all hits of a query. bytes_per_second: at which one worker fetches a chunk. bytes_per_second_of_all: of the
    storage that all workers share.
    """

    unit_s: float = 0.03
    merge_s: float = 0.002
    query_s: float = 0.0006
    bytes_per_second: float = 1e9
    bytes_per_second_of_all: float = 1e11


@dataclass(frozen=True)
class Estimate:
    """The result of a simulation; all times in seconds.

    seconds: from the first unit to the last merge. ideal: for the cells alone. fetch, unit, idle: mean time that a
    worker lost waiting for data, to the cost of units, and waiting for the others at the end. client: time that all
    waited at the end for the client to merge.
    """

    seconds: float
    ideal: float
    n_units: int
    fetch: float
    unit: float
    idle: float
    client: float

    @property
    def efficiency(self) -> float:
        """The fraction of the time that goes into cells, from 0 to 1."""
        return self.ideal / self.seconds if self.seconds else 1.0


def simulate(pool: Pool, speeds: Sequence[float], costs: Costs) -> Estimate:
    """Simulate a search, which empties the pool. A worker fetches data while it computes, and waits for the rest."""
    total_speed, cells = sum(speeds), pool.cells_left
    fetched = [set[int]() for _ in speeds]
    fetch_free, ends, client_free, storage_free = [0.0] * len(speeds), [0.0] * len(speeds), 0.0, 0.0
    waited, n_units = 0.0, 0
    events = [(0.0, depth, number) for depth in range(UNITS_IN_FLIGHT) for number in range(len(speeds))]
    while events:
        now, _, number = heapq.heappop(events)
        unit = pool.take(str(number), speeds[number], total_speed)
        if unit is None:
            continue
        ready = now
        for place, chunk in enumerate(pool.chunks):
            if chunk.first < unit.end and unit.first < chunk.end and place not in fetched[number]:
                fetched[number].add(place)
                storage_free = max(now, storage_free) + chunk.n_bytes / costs.bytes_per_second_of_all
                fetch_free[number] = max(now, fetch_free[number]) + chunk.n_bytes / costs.bytes_per_second
                ready = max(fetch_free[number], storage_free)
        waited += max(0.0, ready - max(now, ends[number]))
        ends[number] = max(ready, ends[number]) + pool.cells(unit) / speeds[number] + costs.unit_s
        share = (unit.end - unit.first) / pool.chunks[-1].end
        merge_s = costs.merge_s + costs.query_s * (unit.query_end - unit.query_first) * share
        client_free = max(client_free, ends[number]) + merge_s
        n_units += 1
        heapq.heappush(events, (ends[number], 0, number))
    last = max(ends)
    return Estimate(
        seconds=max(last, client_free),
        ideal=cells / total_speed,
        n_units=n_units,
        fetch=waited / len(speeds),
        unit=n_units * costs.unit_s / len(speeds),
        idle=sum(last - end for end in ends) / len(speeds),
        client=max(0.0, client_free - last),
    )
