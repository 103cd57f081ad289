"""Models of run times, fitted to measurements by least squares of the relative error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fit:
    """coefficients: one per column; residuals: (measured - model) / measured, of each measurement."""

    coefficients: tuple[float, ...]
    residuals: tuple[float, ...]

    @property
    def worst(self) -> float:
        """The largest relative difference between model and measurement."""
        return max(map(abs, self.residuals))


def fitted(columns: Sequence[Sequence[float]], measured: Sequence[float]) -> Fit:
    """measured[k] as a sum of coefficient * columns[.][k]; small and large measurements count the same.

    >>> [round(value, 6) for value in fitted([[1, 2, 3], [1, 1, 1]], [12.0, 22.0, 32.0]).coefficients]
    [10.0, 2.0]
    """
    times = np.asarray(measured, float)
    scaled = np.array(columns, float).T / times[:, None]
    found, *_ = np.linalg.lstsq(scaled, np.ones(len(times)), rcond=None)
    residuals = 1 - scaled @ found
    return Fit(tuple(round(float(c), 15) for c in found), tuple(map(float, residuals)))
