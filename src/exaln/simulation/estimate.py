"""Simulated statistics of a scoring: random sequences, their scores on an engine, and the fit.

Three lengths tell what the ends of sequences do to the best scores of pairs. A sequence is in few pairs, so that its
composition does not weigh much; in one pair each they would take twice the time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.tasks import PairTask, QueryRows
from exaln.errors import ExalnError
from exaln.scoring.modes import LOCAL
from exaln.scoring.scoring import Scoring
from exaln.simulation.random_sequences import RandomSequences, background
from exaln.statistics.gumbel_fit import ScoreSample, fit
from exaln.statistics.ungapped import ungapped_law

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from exaln.engines.contracts import PairEngine
    from exaln.statistics.simulated import SimulatedParameters

Plan = tuple[tuple[int, int], ...]

METHOD = 3
"""The version of the method. Change it when anything changes that can change a parameter."""

PAIRS_PER_SEQUENCE = 32

PLAN = ((400, 7680), (800, 1216), (1600, 192))
"""The sample: length, and number of queries and of targets; 8e10 cells in all."""

PILOT = ((400, 128), (800, 64), (1600, 48))
"""The sample that tells whether scores grow with the logarithm of the length, or with the length."""

MOST_GROWTH = 1.25
"""Growth of the mean score from 800 to 1,600 letters over that from 400 to 800: 1 with a Gumbel law, 2 in the linear
phase, and between them where no sample of this size tells.
"""

LARGEST_ERROR = 0.06
"""Standard error of lambda, relative, above which the parameters are refused."""

DEFAULT_SEED = 1


class NoGumbelLawError(ExalnError):
    """The best scores of random sequences have no Gumbel law; the message says why, and what to change."""


def simulated_parameters(
    scoring: Scoring,
    engine: PairEngine,
    *,
    seed: int = DEFAULT_SEED,
    weights: NDArray[np.int64] | None = None,
    plan: Plan | None = None,
) -> SimulatedParameters:
    """The parameters of a scoring; the engine does not change them. Raises NoGumbelLawError if it has none.

    weights: int64[n_letters], how often each letter occurs; None for the background of the alphabet. plan: the sample,
    None for PLAN.
    """
    weights = background(scoring.alphabet) if weights is None else weights
    law = ungapped_law(scoring.matrix, weights / weights.sum())
    if law is None:
        raise NoGumbelLawError("the mean score of two random letters is not negative; lower the scores of mismatches")
    _require_logarithmic(sampled(scoring, engine, weights, PILOT, seed))
    samples = sampled(scoring, engine, weights, PLAN if plan is None else plan, seed)
    found = fit(samples, law, scoring.gap_extend, seed, _span(_used_scores(scoring, weights)))
    if found is None or not found.lambda_error <= LARGEST_ERROR:
        raise _linear()
    return found


def sampled(
    scoring: Scoring, engine: PairEngine, weights: NDArray[np.int64], plan: Plan, seed: int
) -> list[ScoreSample]:
    """The best scores of random pairs, one sample per length of the plan."""
    sequences = RandomSequences(scoring.alphabet, weights, seed)
    samples = []
    for length, n in plan:
        queries, targets = sequences.records(n, length), sequences.records(n, length)
        query = np.repeat(np.arange(n), PAIRS_PER_SEQUENCE)
        target = (query + np.tile(np.arange(PAIRS_PER_SEQUENCE), n)) % n
        task = PairTask(QueryRows.of_sequences(queries, scoring), targets, query, target, LOCAL)
        samples.append(ScoreSample(length, np.bincount(engine.score(task))))
    return samples


def _require_logarithmic(samples: Sequence[ScoreSample]) -> None:
    short, middle, long = (sample.mean for sample in samples)
    if not long - middle <= MOST_GROWTH * (middle - short):
        raise _linear()


def _linear() -> NoGumbelLawError:
    return NoGumbelLawError(
        "its scores grow in proportion to the length, or nearly so; raise the gap costs or lower the scores of "
        "mismatches"
    )


def without_common_factor(scoring: Scoring) -> tuple[Scoring, int]:
    """The scoring with scores and gap costs divided by what they have in common, and that number.

    Only letters of the background count: the scores of others, such as N, do not affect a simulation.
    """
    scores = _used_scores(scoring, background(scoring.alphabet))
    divisor = math.gcd(scoring.gap_open, scoring.gap_extend, *scores)
    if divisor <= 1:
        return scoring, 1
    values = scoring.to_values()
    values |= {"gap_open": scoring.gap_open // divisor, "gap_extend": scoring.gap_extend // divisor}
    return Scoring.from_values(values | {"matrix": (scoring.matrix // divisor).tolist()}), divisor


def _used_scores(scoring: Scoring, weights: NDArray[np.int64]) -> list[int]:
    """The distinct scores of the letters that occur."""
    used = np.flatnonzero(weights)
    scores: list[int] = np.unique(scoring.matrix[np.ix_(used, used)]).tolist()
    return scores


def _span(scores: list[int]) -> int:
    """The distance of scores that follow one law; see `fit`.

    With one score for a match and one for a mismatch, long runs of matches make their multiples more frequent than the
    scores between them.
    """
    return max(scores) if len(scores) == 2 else math.gcd(*scores)
