"""Ascending numbers, such as the lengths of the rows of a segment, as runs of equal numbers; and their prefix sums.

Millions of targets have thousands of lengths, and whatever is added up over targets is linear within a run. So plans
take time by the number of lengths, and their memory does not grow with the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.runtime.constants import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def tiles_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[n]: the tiles of targets with these lengths.

    >>> tiles_of(np.array([0, 1, 4, 5]))
    array([1, 1, 1, 2])
    """
    return np.maximum(1, -(-lengths // COLUMNS))


@dataclass(frozen=True)
class PiecewiseLinear:
    """A column of n numbers that is piecewise linear. breakpoints: int64[k, 3] of first, value, step.

    Element i is value + (i - first) * step of the last breakpoint with first <= i.

    >>> PiecewiseLinear(np.array([[0, 5, 0], [2, 10, 3]]), 5).expanded()
    array([ 5,  5, 10, 13, 16])
    """

    breakpoints: NDArray[np.int64]
    n: int

    def expanded(self) -> NDArray[np.int64]:
        """Return int64[n]: the numbers, as kernels/expand.cu writes them."""
        places = np.arange(self.n)
        last = np.searchsorted(self.breakpoints[:, 0], places, side="right") - 1
        first, value, step = self.breakpoints[last].T
        numbers: NDArray[np.int64] = value + (places - first) * step
        return numbers


class PrefixSums:
    """The weights of all rows before each of n + 1 places, where the rows of a run have equal weights.

    firsts: int64[k], the first row of each run. steps: int64[k], the weight of a row, not negative. jump: a weight that
    the first row of each run has besides.

    >>> sums = PrefixSums(np.array([0, 2]), 5, np.array([3, 10]), jump=1)
    >>> sums.at(np.arange(6))
    array([ 0,  4,  7, 18, 28, 38])
    >>> sums.first_at_least(np.array([0, 1, 4, 5, 38]))
    array([0, 1, 1, 2, 5])
    """

    def __init__(self, firsts: NDArray[np.int64], n: int, steps: NDArray[np.int64], jump: int = 0) -> None:
        self.firsts, self.n, self.steps, self.jump = firsts, n, steps, jump
        of_runs = np.diff(firsts, append=n) * steps + jump
        self._before = np.concatenate([[0], np.cumsum(of_runs)])

    @property
    def total(self) -> int:
        """The weight of all rows."""
        return int(self._before[-1])

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64[...]: the weight of all rows before each of these places."""
        if not self.n:
            return np.zeros_like(places)
        runs = np.searchsorted(self.firsts, places, side="right") - 1
        in_run = places - self.firsts[runs]
        weights: NDArray[np.int64] = self._before[runs] + in_run * self.steps[runs] + self.jump * (in_run > 0)
        return weights

    def first_at_least(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64[...]: the first place before which the rows weigh at least so much; at most the total."""
        if not self.n:
            return np.zeros_like(weights)
        runs = np.maximum(np.searchsorted(self._before, weights, side="left") - 1, 0)
        missing = weights - self._before[runs]
        in_run = np.maximum(1, -((self.jump - missing) // np.maximum(self.steps[runs], 1)))
        return np.where(missing > 0, self.firsts[runs] + in_run, 0)


@dataclass(frozen=True)
class Sizes:
    """Ascending numbers, run-length encoded: values int64[k], firsts int64[k] (where each value begins), n in all.

    >>> sizes = Sizes.of(np.array([2, 2, 5, 5, 5, 9]))
    >>> sizes.values, sizes.firsts
    (array([2, 5, 9]), array([0, 2, 5]))
    """

    values: NDArray[np.int64]
    firsts: NDArray[np.int64]
    n: int

    def __len__(self) -> int:
        return self.n

    @staticmethod
    def of(numbers: NDArray[np.int64]) -> Sizes:
        """Encode ascending numbers."""
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        return Sizes(numbers[firsts], firsts, len(numbers))

    @staticmethod
    def of_rows(offsets: NDArray[np.int64]) -> Sizes:
        """Encode the lengths of rows that are sorted by length. Releases the GIL."""
        from exaln._core import length_runs

        return Sizes(*length_runs(offsets), len(offsets) - 1)

    @staticmethod
    def merged(parts: Sequence[Sizes]) -> Sizes:
        """Return the numbers of all parts together, ascending.

        >>> Sizes.merged([Sizes.of(np.array([2, 5])), Sizes.of(np.array([1, 5, 5]))]).expanded()
        array([1, 2, 5, 5, 5])
        """
        values, places = np.unique(np.concatenate([part.values for part in parts]), return_inverse=True)
        counts = np.zeros(len(values), np.int64)
        np.add.at(counts, places, np.concatenate([part.counts for part in parts]))
        return Sizes(values, np.cumsum(counts) - counts, int(counts.sum()))

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64[k]: how often each value occurs."""
        return np.diff(self.firsts, append=self.n)

    @property
    def total(self) -> int:
        """Sum of all numbers."""
        return int((self.counts * self.values).sum())

    @property
    def smallest(self) -> int:
        """The first number; 0 if there is none."""
        return int(self.values[0]) if self.n else 0

    @property
    def largest(self) -> int:
        """The last number; 0 if there is none."""
        return int(self.values[-1]) if self.n else 0

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64[...]: the numbers at these places."""
        return self.values[np.searchsorted(self.firsts, places, side="right") - 1]

    def n_up_to(self, number: int) -> int:
        """Return how many numbers are not larger than this one."""
        n_values = int(np.searchsorted(self.values, number, side="right"))
        return int(self.firsts[n_values]) if n_values < len(self.values) else self.n

    def expanded(self) -> NDArray[np.int64]:
        """Return int64[n]: the numbers."""
        return np.repeat(self.values, self.counts)

    def rows(self, first: int, end: int) -> Sizes:
        """Return the numbers from `first` up to `end`."""
        if end <= first:
            return Sizes(self.values[:0], self.firsts[:0], 0)
        begin, last = np.searchsorted(self.firsts, (first, end - 1), side="right") - 1
        own = slice(int(begin), int(last) + 1)
        return Sizes(self.values[own], np.maximum(self.firsts[own] - first, 0), end - first)

    @staticmethod
    def joined(parts: Sequence[Sizes]) -> Sizes:
        """Concatenate parts, whose numbers must ascend.

        >>> Sizes.joined([Sizes.of(np.array([2, 5])), Sizes.of(np.array([5, 7]))]).firsts
        array([0, 1, 3])
        """
        ends = np.cumsum([0, *(part.n for part in parts)])
        values = np.concatenate([part.values for part in parts])
        firsts = np.concatenate([part.firsts + begin for part, begin in zip(parts, ends[:-1].tolist(), strict=True)])
        is_new = np.diff(values, prepend=-1) > 0
        return Sizes(values[is_new], firsts[is_new], int(ends[-1]))

    def tiles(self) -> Sizes:
        """Return the tiles of targets with these lengths."""
        tiles = tiles_of(self.values)
        is_new = np.diff(tiles, prepend=0) > 0
        return Sizes(tiles[is_new], self.firsts[is_new], self.n)

    def larger_of_pairs(self) -> Sizes:
        """Return the second number of each pair, and the last number if it has no partner."""
        firsts = self.firsts // 2
        is_kept = np.diff(firsts, append=self.n) > 0
        return Sizes(self.values[is_kept], firsts[is_kept], -(-self.n // 2))

    def sums(self, begin: int = 0) -> PiecewiseLinear:
        """Return begin plus the sum of all numbers before each, and of all numbers: n + 1 in all."""
        if not self.n:
            return PiecewiseLinear(np.array([[0, begin, 0]]), 1)
        before = np.cumsum(np.diff(self.firsts, prepend=0) * np.append(0, self.values[:-1]))
        return PiecewiseLinear(np.stack((self.firsts, begin + before, self.values), axis=1), self.n + 1)

    def prefix_sums(self) -> PrefixSums:
        """Return the sums of all numbers before each place."""
        return PrefixSums(self.firsts, self.n, self.values)
