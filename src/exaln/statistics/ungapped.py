"""The law of ungapped local scores of random sequences, which theory gives for any matrix (Karlin and Altschul 1990).

It is the anchor of simulated statistics: with dearer gaps the parameters of gapped scores approach these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BISECTIONS = 200
"""Enough halvings for any float64."""


@dataclass(frozen=True)
class UngappedLaw:
    """lambda_: the scale. a, alpha: mean and variance of the length of an alignment, per point of its score."""

    lambda_: float
    a: float
    alpha: float


def ungapped_law(matrix: NDArray[np.int32], frequencies: NDArray[np.float64]) -> UngappedLaw | None:
    """The law for letters with these frequencies, which sum to 1; None if there is none.

    There is none if the mean score of two letters is not negative, because scores then grow with length, or if no
    score is positive.

    >>> law = ungapped_law(np.array([[1, -3], [-3, 1]], np.int32), np.array([0.5, 0.5]))
    >>> round(law.lambda_, 4), round(law.a, 4)
    (0.6094, 1.4737)
    """
    used = np.flatnonzero(frequencies)
    scores = matrix[np.ix_(used, used)].astype(np.float64)
    chances = np.outer(frequencies[used], frequencies[used])
    if (chances * scores).sum() >= 0 or scores.max() <= 0:
        return None
    lambda_ = ungapped_lambda(scores, chances)
    tilted = chances * np.exp(lambda_ * scores)
    mean = float((tilted * scores).sum())
    variance = float((tilted * scores * scores).sum()) - mean * mean
    return UngappedLaw(lambda_, 1 / mean, variance / mean**3)


def ungapped_lambda(scores: NDArray[np.float64], chances: NDArray[np.float64]) -> float:
    """The positive root of sum(p * exp(lambda * s)) = 1. The sum is convex and below 1 between 0 and the root."""
    low, high = 0.0, 1.0 / float(scores.max())
    while (chances * np.exp(high * scores)).sum() < 1:
        high *= 2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if (chances * np.exp(middle * scores)).sum() < 1:
            low = middle
        else:
            high = middle
    return (low + high) / 2
