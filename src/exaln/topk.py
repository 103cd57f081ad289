"""The best targets of each query, whatever the order in which an engine delivers the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.base import ScoreBlock


class BestTargets:
    """The k best targets of each query so far: score descending, then place in the input. Less than `minimum` is none.

    >>> from exaln.engines.base import ScoreBlock
    >>> best = BestTargets(n_queries=1, k=2)
    >>> lengths = np.array([5, 5, 5])
    >>> best.add(ScoreBlock(0, np.array([[7, 9, 3]], np.int32), np.array([4, 5, 6]), lengths))
    >>> best.add(ScoreBlock(0, np.array([[7, 1, 7]], np.int32), np.array([3, 1, 2]), lengths))
    >>> best.ordinals[0].tolist(), best.scores[0].tolist()
    ([5, 2], [9, 7])
    """

    def __init__(self, n_queries: int, k: int, minimum: int = 0) -> None:
        self.ordinals: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * n_queries
        self.scores: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * n_queries
        self._k = k
        self._minimum = minimum

    def add(self, block: ScoreBlock) -> None:
        """Take what is better in this block, or as good and earlier in the input."""
        for row, scores in enumerate(block.scores):
            query = block.first_query + row
            columns = np.flatnonzero(scores >= self._floor(query, scores))
            self._merge(query, block.ordinals[columns], scores[columns])

    def _floor(self, query: int, scores: NDArray[np.int32]) -> int:
        """No target below this score can be among the best. One with this score may be, if it comes first."""
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
