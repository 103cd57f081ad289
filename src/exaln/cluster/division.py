"""The plan of a search in units, from the sizes of queries and database and the speeds of the workers.

With many queries, groups of queries are searched against the whole database one after the other. With few queries, or
many workers, the database is divided as well. One rule covers both: the size of a unit follows the worker's speed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.cluster.simulation import Costs, Estimate, simulate
from exaln.cluster.unit_pool import Pool, UnitSize
from exaln.cluster.units import Chunk, Group, Unit, groups_between, query_groups
from exaln.foundation.plurals import number_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST_UNIT_S, LEAST_UNIT_S = 20.0, 0.25
UNITS_PER_WORKER = 10
"""The duration of units gives each worker about UNITS_PER_WORKER of them, within these limits in seconds."""

CLIENT_S = 0.002
"""Time that the client spends on each unit. It serves all workers, so with many workers units must be longer."""


@dataclass(frozen=True)
class Plan:
    """Groups of queries, chunks of the database, the size of units, the units done before, and workers' speeds."""

    groups: Sequence[Group]
    chunks: Sequence[Chunk]
    unit_size: UnitSize
    done: Sequence[Unit]
    speeds: Sequence[float]

    @staticmethod
    def of(
        chunks: Sequence[Chunk],
        lengths: NDArray[np.int64],
        n_strands: int,
        speeds: Sequence[float],
        *,
        edges: Sequence[int] | None = None,
        done: Sequence[Unit] = (),
    ) -> Plan:
        """The plan for these chunks, query lengths and worker speeds (cells per second).

        edges, done: the groups of queries of an interrupted run, and its finished units.
        """
        cells = n_strands * int(lengths.sum()) * chunks[-1].end
        least = max(LEAST_UNIT_S, CLIENT_S * len(speeds))
        seconds = max(4 * least, min(LONGEST_UNIT_S, cells / sum(speeds) / UNITS_PER_WORKER))
        if edges is None:
            groups = query_groups(lengths, n_strands, chunks, seconds * max(speeds))
        else:
            groups = groups_between(edges, lengths, n_strands)
        return Plan(groups, chunks, UnitSize(seconds, least), done, speeds)

    @property
    def edges(self) -> list[int]:
        """The query numbers at which groups begin, and the number of queries."""
        return [0, *(group.query_end for group in self.groups)]

    def pool(self) -> Pool:
        """A new pool of the units that are left to do."""
        return Pool(self.groups, self.chunks, self.unit_size, self.done)

    def estimate(self, costs: Costs | None = None) -> Estimate:
        """The simulated course of the search."""
        return simulate(self.pool(), self.speeds, costs or Costs())

    def lines(self, engines: Sequence[str]) -> Iterator[str]:
        """Yield the plan as lines of text; engines: the description of each worker's engine."""
        kinds = ", ".join(f"{n} x {engine}" for engine, n in Counter(engines).items())
        n_workers = number_of(len(self.speeds), "worker")
        yield f"{n_workers} ({kinds}), {sum(self.speeds) / 1e9:,.3g} GCUPS measured"
        cells, left = sum(group.weight for group in self.groups) * self.chunks[-1].end, self.pool().cells_left
        n_groups = number_of(len(self.groups), "group") + " of queries"
        kept = f", {1 - left / cells:.0%} of it done before" if self.done else ""
        yield f"{cells:.3g} cells{kept}; {n_groups}, units of {self.unit_size.seconds:.1f} s or less"
        estimate = self.estimate()
        units = number_of(estimate.n_units, "unit")
        yield f"about {_duration(estimate.seconds)} in {units}, {estimate.efficiency:.0%} of it computing"


def _duration(seconds: float) -> str:
    """A duration as text.

    >>> _duration(4.2), _duration(750), _duration(90000)
    ('4 s', '12 min', '25.0 h')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
