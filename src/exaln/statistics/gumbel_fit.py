"""The fit of E-value parameters to the best scores of random pairs of sequences.

The best score of a pair of lengths m and n exceeds s with probability 1 - exp(-E(s, m, n)), where E is the E-value with
the finite-size correction (`ProteinStatistics`) for a database of this one target. Lambda, K and the three lengths of
the correction are those that make the observed scores most likely; the lowest scores of each sample are only counted,
because the law holds for high scores.

Scores of a few lengths tell lambda and K well and the corrections badly. These follow the ungapped law closely, though:
with r = lambda / lambda of ungapped scores,

    a     = a of ungapped scores     * exp(g * (4.1 - 1.1 * x)),   g = (1 - r) ** 0.75
    alpha = alpha of ungapped scores * exp(g * (11 - 4.5 * x))
    b     = -5.2 * a / lambda

hold for NCBI's scorings within the spreads in `SPREAD`; x is the cost of a further letter of a gap times lambda of
ungapped scores, and at most 0.8. The fit takes them as normal priors on the logarithm of what departs from them, so
that a sample overrules them where it can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.statistics.evalues import ProteinStatistics
from exaln.statistics.karlin_altschul import ProteinParameters
from exaln.statistics.simulated import SimulatedParameters
from exaln.statistics.ungapped import UngappedLaw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GROWTH_OF_A, GROWTH_OF_ALPHA, GROWTH_POWER, NATS_BEFORE = (4.1, -1.1), (11.0, -4.5), 0.75, 5.2
DEAREST_EXTENSION = 0.8
SOFTENING = 0.01
"""Keeps the derivative of the growth finite where gaps hardly occur and r is 1."""

SPREAD = np.array([math.inf, math.inf, 0.07, 0.08, 0.35])
"""Standard deviations of the five coordinates: ln lambda and ln K are free, then those of a, b and alpha."""

N_COORDINATES = len(SPREAD)
HIGHEST_SHARE = 0.5
"""The part of the pairs of a sample whose scores are used, at most."""

LEAST_NATS = 7.0
"""lambda times score of the lowest score that is used."""

MOST_STEPS, STEP, LONGEST_STEP, SMALLEST_STEP = 60, 1e-4, 0.3, 1e-6

LAST_STEPS = 4
"""Steps without a look at the likelihood, whose rounding errors hide its last digits; the slope tells more of them."""

ERROR_FACTOR = 1.5
"""Errors of the simulation of NCBI's proteins, over those that the information allows: pairs share sequences."""


@dataclass(frozen=True)
class ScoreSample:
    """The best scores of pairs with `length` letters each: counts int64[s], the number of pairs with score s."""

    length: int
    counts: NDArray[np.int64]

    @property
    def n_pairs(self) -> int:
        """Pairs in the sample."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean score."""
        return float(self.counts @ np.arange(len(self.counts))) / self.n_pairs

    def at_least(self) -> NDArray[np.int64]:
        """int64[s]: the number of pairs with at least score s."""
        return self.counts[::-1].cumsum()[::-1]


def fit(
    samples: Sequence[ScoreSample], ungapped: UngappedLaw, gap_extend: int, seed: int, span: int = 1
) -> SimulatedParameters | None:
    """The most likely parameters, with standard errors; None if no law fits. The first sample gives the start.

    gap_extend: the cost of a further letter of a gap. seed: of the samples. span: the distance of the scores whose
    numbers of pairs follow the law. If all letters score even numbers, odd scores need a gap and are rare: it is 2.
    """
    law = _Anchor(**vars(ungapped), extension=min(ungapped.lambda_ * gap_extend, DEAREST_EXTENSION))
    start = _start(samples[0], law, span)
    if start is None:
        return None
    censored = [_Censored.of(sample, math.exp(start[0]), span) for sample in samples]
    found, _ = _climb(censored, law, start, 2)
    found, information = _climb(censored, law, found, N_COORDINATES)
    if not np.isfinite(found).all():
        return None
    errors = ERROR_FACTOR * np.sqrt(np.diag(np.linalg.inv(information)))
    parameters = vars(_parameters(found, law))
    return SimulatedParameters(
        **parameters, lambda_error=float(errors[0]), k_error=float(errors[1]), seed=seed
    ).rounded()


@dataclass(frozen=True)
class _Anchor(UngappedLaw):
    """The law of ungapped scores, and the cost of a further letter of a gap in its units."""

    extension: float


@dataclass(frozen=True)
class _Censored:
    """A sample with its low scores as one class: scores float64[n], the least of each further class; counts float64[n
    + 1], of that class and of these.
    """

    length: float
    scores: Floats
    counts: Floats

    @staticmethod
    def of(sample: ScoreSample, lambda_: float, span: int) -> _Censored:
        enough = int(np.argmax(sample.at_least() <= HIGHEST_SHARE * sample.n_pairs))
        first = -(-max(enough, round(LEAST_NATS / lambda_)) // span) * span
        scores = np.arange(first, max(len(sample.counts), first + 1) + span, span)
        reaching = np.append(sample.at_least(), np.zeros(2 * span + first, np.int64))[scores]
        counts = -np.diff(np.concatenate([[sample.n_pairs], reaching, [0]]))
        return _Censored(float(sample.length), scores.astype(float), counts.astype(float))

    def log_chances(self, parameters: ProteinParameters) -> Floats:
        """float64[classes]: the logarithm of the probability of each class."""
        expected = _expected(parameters, self.scores, self.length)
        reaches = -np.expm1(-np.minimum.accumulate(expected))
        chances = np.concatenate([[1 - reaches[0]], reaches[:-1] - reaches[1:], reaches[-1:]])
        logarithms: Floats = np.log(np.maximum(chances, 1e-300))
        return logarithms


def _expected(parameters: ProteinParameters, scores: Floats, length: float) -> Floats:
    """E-values of scores of a pair of two sequences of this length."""
    statistics = ProteinStatistics(parameters, db_residues=1, db_targets=1)
    return statistics.evalues(scores, length, length) * length


def _parameters(place: Floats, law: _Anchor) -> ProteinParameters:
    lambda_ = math.exp(place[0])
    short_of_one = max(1 - lambda_ / law.lambda_, 0)
    growth = (short_of_one + SOFTENING) ** GROWTH_POWER - SOFTENING**GROWTH_POWER
    of_a, of_alpha = (at_0 + slope * law.extension for at_0, slope in (GROWTH_OF_A, GROWTH_OF_ALPHA))
    a = law.a * math.exp(of_a * growth + place[2])
    alpha = law.alpha * math.exp(of_alpha * growth + place[4])
    before = -NATS_BEFORE / lambda_ * math.exp(place[3])
    return ProteinParameters(
        lambda_=lambda_,
        k=math.exp(place[1]),
        h=lambda_ / a,
        a=a,
        b=a * before,
        alpha=alpha,
        beta=alpha * before,
        sigma=alpha,
        tau=alpha * before,
        adjustment_beta=a * before,
    )


def _start(sample: ScoreSample, law: _Anchor, span: int) -> Floats | None:
    """Lambda from two quantiles of a sample, and K from one of them."""
    share = sample.at_least() / sample.n_pairs
    often, seldom = (span * int(np.argmax(share[::span] <= limit)) for limit in (0.5, 0.01))
    if seldom <= often or share[often] in (0, 1) or share[seldom] == 0:
        return None
    expected = -np.log1p(-share[[often, seldom]])
    lambda_ = min(math.log(expected[0] / expected[1]) / (seldom - often), 0.99 * law.lambda_)
    place = np.zeros(N_COORDINATES)
    place[0] = math.log(lambda_)
    at_k_1 = _expected(_parameters(place, law), np.array([float(often)]), sample.length)[0]
    place[1] = math.log(expected[0] / at_k_1)
    return place


def _climb(samples: list[_Censored], law: _Anchor, place: Floats, n_free: int) -> tuple[Floats, Floats]:
    """The most likely place, by Fisher scoring, and the information there. The first `n_free` coordinates move."""
    height = _height(samples, law, place)
    for _ in range(MOST_STEPS):
        step, _ = _step(samples, law, place, n_free)
        step *= min(1, LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        while np.abs(step).max() > SMALLEST_STEP:
            higher = _height(samples, law, place + step)
            if higher >= height:
                place, height = place + step, higher
                break
            step /= 2
        else:
            break
    for _ in range(LAST_STEPS):
        step, information = _step(samples, law, place, n_free)
        place = place + np.clip(step, -1e-3, 1e-3)
    return place, information


def _step(samples: list[_Censored], law: _Anchor, place: Floats, n_free: int) -> tuple[Floats, Floats]:
    """The step to the maximum of a parabola with the slope and the information here, and this information."""
    prior = 1 / SPREAD**2
    slope, information = _slopes(samples, law, place, n_free)
    slope -= (place * prior)[:n_free]
    information += np.diag(prior[:n_free])
    step = np.zeros(N_COORDINATES)
    step[:n_free] = np.linalg.solve(information, slope)
    return step, information


def _height(samples: list[_Censored], law: _Anchor, place: Floats) -> float:
    """The logarithm of the likelihood times the prior, up to a constant."""
    parameters = _parameters(place, law)
    likelihood = sum(float(sample.counts @ sample.log_chances(parameters)) for sample in samples)
    return likelihood - 0.5 * float(((place / SPREAD) ** 2).sum())


def _slopes(samples: list[_Censored], law: _Anchor, place: Floats, n_free: int) -> tuple[Floats, Floats]:
    """The gradient of the log likelihood, and Fisher's information."""
    slope, information = np.zeros(n_free), np.zeros((n_free, n_free))
    moves = STEP * np.eye(N_COORDINATES)[:n_free]
    around = [(_parameters(place + move, law), _parameters(place - move, law)) for move in moves]
    here = _parameters(place, law)
    for sample in samples:
        chances = np.exp(sample.log_chances(here))
        gradient = np.array([sample.log_chances(up) - sample.log_chances(down) for up, down in around]) / (2 * STEP)
        slope += gradient @ sample.counts
        information += (gradient * (chances * sample.counts.sum())) @ gradient.T
    return slope, information
