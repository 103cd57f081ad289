"""Models of run times, fitted to measurements by least squares of the relative errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fit:
    """A fitted model. coefficients: one per column; residuals: (measured - model) / measured, one per measurement."""

    coefficients: tuple[float, ...]
    residuals: tuple[float, ...]

    @property
    def worst(self) -> float:
        """Largest relative error of the model."""
        return max(map(abs, self.residuals))


def fitted(columns: Sequence[Sequence[float]], measured: Sequence[float]) -> Fit:
    """Fit measured[k] as the sum over c of coefficients[c] * columns[c][k]; all measurements weigh the same.

    >>> [round(value, 6) for value in fitted([[1, 2, 3], [1, 1, 1]], [12.0, 22.0, 32.0]).coefficients]
    [10.0, 2.0]
    """
    times = np.asarray(measured, float)
    scaled = np.array(columns, float).T / times[:, None]
    coefficients, *_ = np.linalg.lstsq(scaled, np.ones(len(times)), rcond=None)
    residuals = 1 - scaled @ coefficients
    return Fit(tuple(round(float(c), 15) for c in coefficients), tuple(map(float, residuals)))
