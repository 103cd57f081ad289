"""The Gumbel law of a plain sample of scores: lambda and mu of many samples at once, and P-values under them.

A score exceeds s with probability 1 - exp(-exp(-lambda * (s - mu))). The most likely lambda solves

    1 / lambda = mean(s) - sum(s * w) / sum(w),   w = exp(-lambda * s)

whose left side minus right side falls with lambda: there is one solution, found by Newton's method within bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_STEPS = 100
SMALLEST_STEP = 1e-12
"""Of lambda, as a part of it."""


@dataclass(frozen=True)
class GumbelLaws:
    """The laws of n samples, float64[n] each; NaN for a sample whose scores are all equal."""

    lambda_: Floats
    mu: Floats

    @staticmethod
    def fit(scores: NDArray[np.integer]) -> GumbelLaws:
        """The most likely laws of the rows of `scores`, [n, size]. A row alone decides its law, to the last bit.

        >>> laws = GumbelLaws.fit(np.array([[30, 31, 33, 30, 36], [7, 7, 7, 7, 7]]))
        >>> laws.lambda_.round(3).tolist(), laws.mu.round(2).tolist()
        ([0.631, nan], [30.97, nan])
        """
        least = scores.min(axis=1, initial=np.iinfo(np.int64).max)
        above = (scores - least[:, np.newaxis]).astype(np.float64)
        lambda_ = _most_likely(above)
        mean = np.exp(-lambda_[:, np.newaxis] * above).mean(axis=1)
        return GumbelLaws(lambda_, least - np.log(mean) / lambda_)

    def chances(self, law: NDArray[np.int64], score: NDArray[np.integer]) -> Floats:
        """float64[m]: the probability of at least each score under the law with this number."""
        found: Floats = -np.expm1(-np.exp(np.minimum(-self.lambda_[law] * (score - self.mu[law]), 700.0)))
        return found


def _most_likely(above: Floats) -> Floats:
    """float64[n]: lambda of samples with their least scores subtracted; NaN where nothing differs."""
    found = np.full(len(above), np.nan)
    means = above.mean(axis=1)
    rows = np.flatnonzero(means > 0)
    low, high = np.zeros(len(rows)), np.full(len(rows), np.inf)
    guess = np.pi / (np.sqrt(6) * above[rows].std(axis=1))
    for _ in range(MOST_STEPS):
        own, mean = above[rows], means[rows]
        weight = np.exp(-guess[:, np.newaxis] * own)
        total = weight.sum(axis=1)
        weighted = (own * weight).sum(axis=1) / total
        spread = (own * own * weight).sum(axis=1) / total - weighted * weighted
        value = 1 / guess - mean + weighted
        low, high = np.where(value > 0, guess, low), np.where(value > 0, high, guess)
        new = guess + value / (1 / (guess * guess) + np.maximum(spread, 0))
        middle = np.where(np.isinf(high), 2 * guess, (low + high) / 2)
        new = np.where((new > low) & (new < high), new, middle)
        is_done = np.abs(new - guess) <= SMALLEST_STEP * guess
        found[rows] = new
        rows, guess, low, high = (values[~is_done] for values in (rows, new, low, high))
        if not len(rows):
            break
    return found
