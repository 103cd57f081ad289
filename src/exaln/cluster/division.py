"""How a search is divided: chosen from the numbers of queries and residues and from the speeds of the workers.

With many queries, groups of them pass over the whole database one after the other; with few, or with many workers, the
residues are divided. Either way units are as long as their worker is fast, so both follow from one rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.cluster.simulation import Costs, Estimate, simulate
from exaln.cluster.unit_pool import Pace, Pool
from exaln.cluster.units import Chunk, Group, Unit, groups_between, query_groups
from exaln.foundation.plurals import number_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST_UNIT_S, LEAST_UNIT_S = 20.0, 0.25
UNITS_PER_WORKER = 10
"""Units are so long that a worker gets about so many, within these limits."""

CLIENT_S = 0.002
"""What a unit costs the client, which has those of all workers: with many, units must be longer."""


@dataclass(frozen=True)
class Plan:
    """Groups of queries, chunks of the database, how long units are, and what is done already."""

    groups: Sequence[Group]
    chunks: Sequence[Chunk]
    pace: Pace
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
        """For a database in these chunks, queries of these lengths and workers of these speeds, in cells per second.

        edges, done: the groups of an earlier run, and its finished units.
        """
        cells = n_strands * int(lengths.sum()) * chunks[-1].end
        least = max(LEAST_UNIT_S, CLIENT_S * len(speeds))
        seconds = max(4 * least, min(LONGEST_UNIT_S, cells / sum(speeds) / UNITS_PER_WORKER))
        if edges is None:
            groups = query_groups(lengths, n_strands, chunks, seconds * max(speeds))
        else:
            groups = groups_between(edges, lengths, n_strands)
        return Plan(groups, chunks, Pace(seconds, least), done, speeds)

    @property
    def edges(self) -> list[int]:
        """Where groups begin and end."""
        return [0, *(group.query_end for group in self.groups)]

    def pool(self) -> Pool:
        """All that is to be done."""
        return Pool(self.groups, self.chunks, self.pace, self.done)

    def estimate(self, costs: Costs | None = None) -> Estimate:
        """How it would go."""
        return simulate(self.pool(), self.speeds, costs or Costs())

    def lines(self, engines: Sequence[str]) -> Iterator[str]:
        """The plan for people; engines: what each worker computes with."""
        kinds = ", ".join(f"{n} x {engine}" for engine, n in Counter(engines).items())
        n_workers = number_of(len(self.speeds), "worker")
        yield f"{n_workers} ({kinds}), {sum(self.speeds) / 1e9:,.3g} GCUPS measured"
        cells, left = sum(group.weight for group in self.groups) * self.chunks[-1].end, self.pool().cells_left
        n_groups = number_of(len(self.groups), "group") + " of queries"
        kept = f", {1 - left / cells:.0%} of it done before" if self.done else ""
        yield f"{cells:.3g} cells{kept}; {n_groups}, units of {self.pace.seconds:.1f} s or less"
        estimate = self.estimate()
        units = number_of(estimate.n_units, "unit")
        yield f"about {_duration(estimate.seconds)} in {units}, {estimate.efficiency:.0%} of it computing"


def _duration(seconds: float) -> str:
    """For people.

    >>> _duration(4.2), _duration(750), _duration(90000)
    ('4 s', '12 min', '25.0 h')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
