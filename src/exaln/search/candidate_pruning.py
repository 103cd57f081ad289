"""Drop candidates that cannot be among the best k, before anything is computed for each of them.

With a generous E-value nearly every target is a candidate, and ranking all of them would take more than a tenth of the
time of the scan. The k best scores of a query are not always its best hits, because E-values depend on the lengths of
the targets. But the largest of their E-values is a limit: k candidates are at least that good, so worse ones can go.
The statistics turn that limit into a minimum score per length bin, and only that is looked up for each candidate.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.statistics.length_bins import N_BINS, length_bin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.statistics.evalues import Statistics


@dataclass(frozen=True)
class LocatedCandidates:
    """Candidates with their origins; arrays of equal length.

    query: int64, the input query; strand: int8; row, ordinal, length: int64, of the target; start, end: int64, the part
    of the target that was scored; score: int32.
    """

    query: NDArray[np.int64]
    strand: NDArray[np.int8]
    row: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    length: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    score: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.query)

    def taken(self, places: NDArray[Any]) -> LocatedCandidates:
        """Some of them, by index or mask."""
        return LocatedCandidates(*(getattr(self, field.name)[places] for field in fields(self)))


class Pruner:
    """Drops candidates of one block of queries, piece by piece. Limits found in one piece apply to the next.

    k: the number of candidates of a query that must be kept: the hits to report, times the strands on which one target
    can be found.
    """

    def __init__(self, statistics: Statistics | None, query_lengths: NDArray[np.int64], k: int) -> None:
        self._statistics, self._lengths, self._k = statistics, query_lengths, k
        self._least_score = np.zeros(len(query_lengths), np.int64)
        self._largest_evalue = np.full(len(query_lengths), np.inf)

    def prune(self, candidates: LocatedCandidates) -> LocatedCandidates:
        """The candidates that can be among the best k of their query, given all candidates seen so far."""
        query = candidates.query
        order = np.argsort(query, kind="stable")
        edges = np.searchsorted(query[order], np.arange(len(self._lengths) + 1))
        bins = length_bin(candidates.length)
        kept = [
            own[self._is_promising(row, candidates.score[own], candidates.length[own], bins[own])]
            for row in np.flatnonzero(np.diff(edges)).tolist()
            for own in [order[edges[row] : edges[row + 1]]]
        ]
        places = np.concatenate([*kept, np.empty(0, np.int64)])
        return candidates.taken(places)

    def _is_promising(
        self, row: int, score: NDArray[np.int32], length: NDArray[np.int64], bins: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        if len(score) > self._k:
            self._tighten_limits(row, score, length)
        minimum: NDArray[Any] = self._least_score[row : row + 1]
        if self._statistics is not None:
            minimum = self._minimum_scores(row, self._statistics)[bins]
        is_enough: NDArray[np.bool_] = score >= minimum
        return is_enough

    def _minimum_scores(self, row: int, statistics: Statistics) -> NDArray[np.int32]:
        if np.isinf(self._largest_evalue[row]):
            return np.ones(N_BINS, np.int32)
        return statistics.minimum_scores(int(self._lengths[row]), float(self._largest_evalue[row]))

    def _tighten_limits(self, row: int, score: NDArray[np.int32], length: NDArray[np.int64]) -> None:
        best = np.argpartition(score, -self._k)[-self._k :]
        self._least_score[row] = max(self._least_score[row], int(score[best].min()))
        if self._statistics is not None:
            evalue = self._statistics.evalues(score[best], int(self._lengths[row]), length[best])
            self._largest_evalue[row] = min(self._largest_evalue[row], float(evalue.max()))
