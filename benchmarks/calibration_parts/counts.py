"""Counts of hits by E-value: what is expected, what chance allows, and what is required."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from exaln.statistics.evalues import Statistics

LIMITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
TOLERANCE, DEVIATIONS = 0.15, 3.0
"""How far a count may be from the expected one: a share of it, or a number of Poisson standard deviations."""


@dataclass(frozen=True)
class Count:
    """Hits with E <= limit, per query: as expected at the scores that exist, and as found."""

    limit: float
    expected: float
    observed: float
    n_queries: int

    @property
    def ratio(self) -> float:
        """Found over expected; NaN if nothing is expected."""
        return self.observed / self.expected if self.expected else math.nan

    @property
    def is_kept(self) -> bool:
        """Whether the count is as required, compared with what is expected."""
        return self.is_close_to(self.expected)

    @property
    def is_limit_kept(self) -> bool:
        """The same, compared with the limit itself."""
        return self.is_close_to(self.limit)

    def is_close_to(self, expected: float) -> bool:
        """Whether the count is within the requirement of this number of hits per query."""
        allowed = max(TOLERANCE * expected, DEVIATIONS * math.sqrt(expected / self.n_queries))
        return abs(self.observed - expected) <= allowed


def expected_hits(
    statistics: Statistics, query_length: int, target_lengths: ArrayLike, limits: Sequence[float]
) -> list[float]:
    """For each limit, the hits with E <= limit that the E-values themselves promise for one query.

    Scores are whole numbers, so a target has no E-value between that of one score and that of the next. It is a hit
    from the first score S on whose E-value is within the limit. E is proportional to the database, and of its E(S)
    hits the share of this target is that of its residues: the sum of E(S) * length / residues of the database over all
    targets. This is below the limit, by half the step between two E-values or so.
    """
    lengths, numbers = np.unique(np.asarray(target_lengths, np.int64), return_counts=True)
    n_scores = 64
    while True:
        scores = np.arange(1, n_scores + 1)[:, np.newaxis]
        evalues = statistics.evalues(scores, query_length, lengths)
        if np.all(evalues[-1] <= min(limits)):
            break
        n_scores *= 2
    shares = numbers * lengths / statistics.db_residues
    first = [np.argmax(evalues <= limit, axis=0) for limit in limits]
    return [float(evalues[rows, np.arange(len(lengths))] @ shares) for rows in first]


def hits_within(evalues: NDArray[np.float64], limits: Sequence[float]) -> list[int]:
    """How many E-values are within each limit.

    >>> hits_within(np.array([0.5, 0.1, 3.0]), (0.1, 1.0, 10.0))
    [1, 2, 3]
    """
    return [int(np.count_nonzero(evalues <= limit)) for limit in limits]
