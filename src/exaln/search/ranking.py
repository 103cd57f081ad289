"""Ranking: the best targets of each query, independent of the order in which an engine delivers scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BestTargets:
    """The k best targets of each query so far, by descending score, then place in the input. Scores below `minimum` do
    not count.

    >>> best = BestTargets(n_queries=1, k=2)
    >>> best.add(0, np.array([[7, 9, 3]], np.int32), np.array([4, 5, 6]))
    >>> best.add(0, np.array([[7, 1, 7]], np.int32), np.array([3, 1, 2]))
    >>> best.ordinals[0].tolist(), best.scores[0].tolist()
    ([5, 2], [9, 7])
    """

    def __init__(self, n_queries: int, k: int, minimum: int = 0) -> None:
        self.ordinals: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * n_queries
        self.scores: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * n_queries
        self._k = k
        self._minimum = minimum

    def add(self, first_query: int, scores: NDArray[np.int32], ordinals: NDArray[np.int64]) -> None:
        """Add a block of scores.

        scores: int32[queries, targets], from query `first_query` on; ordinals: int64[targets].
        """
        for row, own in enumerate(scores):
            query = first_query + row
            columns = np.flatnonzero(own >= self._floor(query, own))
            self._merge(query, ordinals[columns], own[columns])

    def _floor(self, query: int, scores: NDArray[np.int32]) -> int:
        """Targets below this score cannot be among the best k; one with this score can, if it is early in the input."""
        floor = self._minimum
        if len(self.scores[query]) == self._k:
            floor = max(floor, int(self.scores[query][-1]))
        if len(scores) > self._k:
            floor = max(floor, int(np.partition(scores, -self._k)[-self._k]))
        return floor

    def _merge(self, query: int, ordinals: NDArray[np.int64], scores: NDArray[np.int32]) -> None:
        ordinals = np.concatenate([self.ordinals[query], ordinals])
        scores = np.concatenate([self.scores[query], scores])
        order = np.lexsort((ordinals, -scores.astype(np.int64)))[: self._k]
        self.ordinals[query], self.scores[query] = ordinals[order], scores[order]


@dataclass(frozen=True)
class Ranked:
    """Candidates with bits and E-values. Arrays of equal length.

    query: int64; strand: int8; row (of the database), ordinal, length (of the target): int64; start, end: int64, the
    part of the target that was scored; score: int32, the best of that part; bits, evalue: float64, NaN without
    statistics.
    """

    query: NDArray[np.int64]
    strand: NDArray[np.int8]
    row: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    length: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    score: NDArray[np.int32]
    bits: NDArray[np.float64]
    evalue: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.query)

    def take(self, places: NDArray[Any]) -> Ranked:
        """Some of them, by index or mask."""
        return Ranked(*(getattr(self, field.name)[places] for field in fields(self)))

    @staticmethod
    def joined(parts: Sequence[Ranked]) -> Ranked:
        """All candidates of these parts, one part after the other."""
        return Ranked(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Ranked)))


def empty_ranking() -> Ranked:
    """No candidates."""
    whole, real = np.empty(0, np.int64), np.empty(0, np.float64)
    strand, score = np.empty(0, np.int8), np.empty(0, np.int32)
    return Ranked(whole, strand, whole, whole, whole, whole, whole, score, real, real)


def rank(candidates: Ranked) -> Ranked:
    """Candidates in the order of the report: ascending E-value (unrounded), then descending score, then place in the
    input; without statistics, score and place.

    Of the parts and strands of a target one with the best score is kept; if they are equal, one of the plus strand.
    """
    score = candidates.score.astype(np.int64)
    sorted_by_target = candidates.take(np.lexsort((-candidates.strand, -score, candidates.ordinal, candidates.query)))
    is_first = np.ones(len(sorted_by_target), np.bool_)
    is_first[1:] = (np.diff(sorted_by_target.query) != 0) | (np.diff(sorted_by_target.ordinal) != 0)
    best = sorted_by_target.take(is_first)
    return best.take(hit_order(best.query, best.evalue, best.score, best.ordinal))


def hit_order(
    query: NDArray[np.int64],
    evalue: NDArray[np.float64],
    score: NDArray[np.integer],
    ordinal: NDArray[np.int64],
) -> NDArray[np.int64]:
    """int64[n]: the indices of hits in the order of the report, which `rank` defines."""
    order: NDArray[np.int64] = np.lexsort((ordinal, -score.astype(np.int64), np.nan_to_num(evalue, nan=0.0), query))
    return order


def report_order(
    query: NDArray[np.int64],
    evalue: NDArray[np.float64],
    score: NDArray[np.integer],
    ordinal: NDArray[np.int64],
    max_targets: int,
) -> NDArray[np.int64]:
    """int64[n]: the indices of alignments in the order of the report, of at most `max_targets` targets per query.

    Targets are ranked by their best alignment, as `rank` does; the alignments of a target keep their order.

    >>> report_order(np.zeros(4, int), np.array([1, 3, 2, 4.0]), np.array([9, 7, 8, 6]), np.array([5, 2, 5, 2]), 2)
    array([0, 2, 1, 3])
    """
    if not len(query):
        return np.empty(0, np.int64)
    by_target = np.lexsort((ordinal, query))
    is_first = np.ones(len(query), np.bool_)
    is_first[1:] = (np.diff(query[by_target]) != 0) | (np.diff(ordinal[by_target]) != 0)
    starts, target = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    owner, best_evalue = query[by_target][starts], np.fmin.reduceat(evalue[by_target], starts)
    best_score = np.maximum.reduceat(score[by_target], starts)
    order = hit_order(owner, best_evalue, best_score, ordinal[by_target][starts])
    order = order[is_among_first(owner[order], max_targets)]
    place = np.full(len(starts), -1)
    place[order] = np.arange(len(order))
    by_target, place = by_target[place[target] >= 0], place[target][place[target] >= 0]
    found: NDArray[np.int64] = by_target[np.argsort(place, kind="stable")]
    return found


def is_among_first(query: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """bool[n]: whether each element is among the first k of its query. query: sorted.

    >>> is_among_first(np.array([0, 0, 0, 2]), 2)
    array([ True,  True, False,  True])
    """
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    place_in_query = np.arange(len(query)) - np.repeat(starts, np.diff(starts, append=len(query)))
    return place_in_query < k
