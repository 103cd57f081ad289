"""Parameters that come from a simulation, with their standard errors, and as plain values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from exaln.statistics.karlin_altschul import ProteinParameters

DIGITS = 4
"""Significant digits of the parameters. Machines differ in the last bits of logarithms, and after the fit by 1e-7 at
most; rounding removes that.
"""


@dataclass(frozen=True)
class SimulatedParameters(ProteinParameters):
    """Parameters of any scoring, for E-values with the finite-size correction.

    lambda_error, k_error: standard errors, relative to lambda and K. seed: of the random sequences.
    """

    lambda_error: float
    k_error: float
    seed: int

    def rounded(self) -> SimulatedParameters:
        """These parameters with DIGITS significant digits."""
        values = {name: _rounded(value) for name, value in asdict(self).items() if name != "seed"}
        return SimulatedParameters(**values, seed=self.seed)

    @property
    def origin(self) -> str:
        """Where they come from and how sure they are, in one line."""
        return (
            f"lambda {self.lambda_:.4g} ± {self.lambda_ * self.lambda_error:.2g}, "
            f"K {self.k:.3g} ± {self.k * self.k_error:.2g}, seed {self.seed}"
        )

    def to_values(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    @staticmethod
    def from_values(values: Any) -> SimulatedParameters:
        """The parameters with these values. Raises ValueError if they are not usable."""
        names = {field.name for field in fields(SimulatedParameters)}
        if not isinstance(values, dict) or values.keys() != names:
            raise ValueError("the statistics are not those of a simulation")
        seed, numbers = values["seed"], {name: value for name, value in values.items() if name != "seed"}
        if type(seed) is not int or seed < 0:
            raise ValueError("the seed of the statistics is not a whole number of at least 0")
        if not all(type(value) in (int, float) and math.isfinite(value) for value in numbers.values()):
            raise ValueError("the statistics are not numbers")
        found = SimulatedParameters(**{name: float(value) for name, value in numbers.items()}, seed=seed)
        positive = found.lambda_, found.k, found.h, found.a, found.alpha, found.sigma
        if min(positive) <= 0 or max(map(abs, numbers.values())) > 1e9 or found.lambda_ > 1e3:
            raise ValueError("the statistics are out of range")
        return found


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
