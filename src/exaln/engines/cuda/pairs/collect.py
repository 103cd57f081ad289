"""What comes back from batches of pairs, as columns in the order of the pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.alignments.aligned_pairs import AlignedPairs
from exaln.alignments.cigar import Paths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.pairs.plan import PairPlan


class Download(Protocol):
    """Copies runs of the paths of a batch from the device: the array to fill, and the first run."""

    def __call__(self, runs: NDArray[np.uint32], first: int) -> None: ...


class Scores:
    """Collects scores, int64[n]."""

    def __init__(self, n_pairs: int, threads: int) -> None:
        self._scores = np.empty(n_pairs, np.int64)

    def take(self, plan: PairPlan, number: int, block: NDArray[np.uint8], n_runs: int, download: Download) -> None:
        """Take the results of batch `number` of a plan from its block. n_runs: of all its paths."""
        from exaln._core import collect_pair_scores

        collect_pair_scores(block, plan.rows[number], plan.order, self._scores)

    def result(self) -> NDArray[np.int64]:
        """The scores of all pairs."""
        return self._scores


class Alignments:
    """Collects alignments. The paths of each batch wait in an array of their own until the places of all are known."""

    def __init__(self, n_pairs: int, threads: int) -> None:
        self._threads = threads
        self._scores = np.empty(n_pairs, np.int64)
        self._positions, self._counts = np.empty((n_pairs, 4), np.int64), np.empty((n_pairs, 6), np.int32)
        self._offsets, self._first_runs = np.zeros(n_pairs + 1, np.int64), np.empty(n_pairs, np.int64)
        self._runs: list[NDArray[np.uint32]] = []
        self._n_runs = 0

    def take(self, plan: PairPlan, number: int, block: NDArray[np.uint8], n_runs: int, download: Download) -> None:
        """As `Scores.take`."""
        from exaln._core import collect_pair_block

        batch = plan[number]
        runs = np.empty(n_runs, np.uint32)
        n_here = min(n_runs, batch.expected_runs)
        columns = (self._scores, self._positions.reshape(-1), self._counts.reshape(-1), self._offsets[1:])
        collect_pair_block(
            block,
            plan.rows[number],
            plan.order,
            (*columns, self._first_runs),
            runs,
            n_here,
            self._n_runs,
            self._threads,
        )
        if n_here < n_runs:
            download(runs[n_here:], n_here)
        self._runs.append(runs)
        self._n_runs += n_runs

    def result(self) -> AlignedPairs:
        """The alignments of all pairs."""
        from exaln._core import gather_paths

        np.cumsum(self._offsets, out=self._offsets)
        operations = np.empty(self._n_runs, np.uint32)
        gather_paths(self._runs, self._first_runs, self._offsets, operations, self._threads)
        self._runs.clear()
        return AlignedPairs(self._scores, self._positions, self._counts, Paths(operations, self._offsets))
