"""Hit evaluation: bit scores, E-values, and the filters that need no alignment, all in one place."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import ExalnWarning, InputError
from exaln.foundation.distinct import distinct
from exaln.search.options import MOST, SearchOptions
from exaln.statistics.composition import SCALE
from exaln.statistics.evalues import Statistics
from exaln.statistics.karlin_altschul import parameters_of
from exaln.statistics.length_bins import N_BINS, length_bin
from exaln.statistics.simulated import SimulatedParameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine
    from exaln.scoring.scoring import Scoring


@dataclass(frozen=True)
class Evaluation:
    """Arrays of equal length, one element per pair: bits and evalue float64, NaN without statistics; passes bool."""

    bits: NDArray[np.float64]
    evalue: NDArray[np.float64]
    passes: NDArray[np.bool_]


class HitEvaluator:
    """E-values and filters of one search, whichever part of the database is searched.

    n_targets, n_residues: of the whole database. simulated: parameters for a scoring that NCBI's table lacks. With
    composition-based statistics, scores are those of rescored pairs, `scale` times as large; the scan has an evaluator
    of its own.
    """

    def __init__(
        self,
        scoring: Scoring,
        options: SearchOptions,
        *,
        n_targets: int,
        n_residues: int,
        simulated: SimulatedParameters | None = None,
    ) -> None:
        self._options = options
        self._min_score = max(1, min(options.min_score * scoring.scale, MOST))
        self.scale = SCALE if options.comp_based_stats else 1
        self.simulated = simulated
        parameters = simulated or (parameters_of(scoring) if options.statistics in ("auto", "table") else None)
        space = options.dbsize or n_residues, n_targets
        self.statistics = None if parameters is None else Statistics.with_parameters(parameters, *space)
        if self.statistics is None and options.min_bits is not None:
            raise InputError(f"{_short_name(scoring)} has no bit scores; use --min-score instead of --min-bits")

    @property
    def alignments_per_target(self) -> int:
        """The most alignments of a target. Without E-values and a least score nothing tells which are by chance, so
        that there is one, unless a number is given.
        """
        has_limit = self.statistics is not None or self._min_score > 1
        return self._options.alignments_per_target if has_limit or self._options.max_hsps is not None else 1

    @property
    def has_cap(self) -> bool:
        """Whether `alignments_per_target` is a cap that the user did not ask for, which is reported when it cuts."""
        return self._options.max_hsps is None and self.alignments_per_target > 1

    def cutoff(self, query_lengths: NDArray[np.int64]) -> NDArray[np.int32]:
        """int32[n, N_BINS]: the least score of a hit, for each query and length bin of the target."""
        minimum = np.full((len(query_lengths), N_BINS), self._min_score, np.int32)
        if self.statistics is not None:
            for row, length in enumerate(query_lengths.tolist()):
                cut = self.statistics.minimum_scores(length, self._options.evalue)
                np.maximum(minimum[row], cut, out=minimum[row])
        return minimum

    def least_scores(self, query_length: NDArray[np.int64], target_length: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[n]: the least score of pairs with these lengths that passes the filters."""
        if self.scale > 1:
            return self._least_rescored(query_length, target_length)
        lengths = distinct(query_length)
        cutoff = self.cutoff(lengths)[np.searchsorted(lengths, query_length), length_bin(target_length)]
        score = cutoff.astype(np.int64)
        while not (passes := self.evaluate(score, query_length, target_length).passes).all():
            score += ~passes
        return score

    def _least_rescored(self, query_length: NDArray[np.int64], target_length: NDArray[np.int64]) -> NDArray[np.int64]:
        """As `least_scores`, by bisection: E-values fall with the score."""
        low = np.ones(len(query_length), np.int64)
        high = np.full(len(query_length), self.scale)
        while not (passes := self.evaluate(high, query_length, target_length).passes).all():
            low[~passes] = high[~passes] + 1
            high[~passes] *= 2
        while (low < high).any():
            middle = (low + high) // 2
            passes = self.evaluate(middle, query_length, target_length).passes
            high, low = np.where(passes, middle, high), np.where(passes, low, middle + 1)
        return high

    def reported(self, score: NDArray[np.integer]) -> NDArray[np.int64]:
        """int64[n]: scores as reports show them: those of rescored pairs divided by `scale` and rounded."""
        rounded: NDArray[np.int64] = (score.astype(np.int64) + self.scale // 2) // self.scale
        return rounded

    def evaluate(
        self, score: NDArray[np.integer], query_length: NDArray[np.int64], target_length: NDArray[np.int64]
    ) -> Evaluation:
        """Bits and E-values of pairs with these scores and lengths, and whether they pass the filters."""
        reported = self.reported(score)
        passes = reported >= self._min_score
        if self.statistics is None:
            nothing = np.full(len(score), np.nan)
            return Evaluation(nothing, nothing, passes)
        bits = self.statistics.bits(reported)
        evalue = self.statistics.evalues(score / self.scale, query_length, target_length)
        passes &= evalue <= self._options.evalue
        if self._options.min_bits is not None:
            passes &= bits >= self._options.min_bits
        return Evaluation(bits, evalue, passes)


def warn_without_statistics(scoring: Scoring, reason: str = "") -> None:
    """Warn that this scoring has no E-values. reason: why, and what to change."""
    because = f": {reason}; " if reason else ": "
    warnings.warn(
        f"{_short_name(scoring)} has no E-value statistics{because}ranking hits by score, --evalue is ignored",
        ExalnWarning,
        stacklevel=4,
    )


def simulated_for(scoring: Scoring, options: SearchOptions, engine: Engine | None) -> SimulatedParameters | None:
    """The simulated parameters of a search, or None if it needs none. Warns if there are no E-values for the scoring,
    and raises InputError if simulated ones were asked for.

    engine: where to compute them, None for the cpu engine; it does not change them.
    """
    if options.statistics == "none" or (options.statistics != "simulated" and parameters_of(scoring) is not None):
        return None
    if options.statistics == "table":
        warn_without_statistics(scoring)
        return None
    from exaln.simulation.estimate import NoGumbelLawError
    from exaln.simulation.kept import parameters_of_any

    try:
        return parameters_of_any(scoring, engine, options.seed)
    except NoGumbelLawError as error:
        if options.statistics == "simulated":
            raise InputError(f"{_short_name(scoring)} has no E-values: {error}") from None
        warn_without_statistics(scoring, str(error))
        return None


def origin_note(scoring: Scoring, statistics: Statistics | None) -> str | None:
    """One line that says where E-values come from and how sure they are; None for those of NCBI's table."""
    if statistics is None or not isinstance(statistics.parameters, SimulatedParameters):
        return None
    return f"{_short_name(scoring)} has E-values by simulation: {statistics.origin}"


def _short_name(scoring: Scoring) -> str:
    """A scoring in messages, as in "BLOSUM62 with gaps 5/5"."""
    name, _, gaps = scoring.describe().partition(":")[0].rpartition(", ")
    return f"{name} with {gaps}"
