"""Bit scores and E-values, as blastp and blastn compute them.

Proteins use Spouge's finite-size correction, which depends on the length of each target. Nucleotides use one search
space per query, reduced by NCBI's length adjustment. An empty sequence counts as one residue, so every score has a
finite E-value of at least 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.foundation.plurals import number_of
from exaln.statistics.karlin_altschul import NucleotideParameters, ProteinParameters, parameters_of
from exaln.statistics.length_bins import N_BINS, shortest_in_bin
from exaln.statistics.simulated import SimulatedParameters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from exaln.scoring.scoring import Scoring

    Floats = NDArray[np.float64]
    Cuts = NDArray[np.int32]

LEAST_EVALUE = 1e-180
"""Smaller E-value limits are treated like this one, so that the tables of scores stay small."""

LARGEST_EVALUE = 1e200
"""No E-value is higher, so larger limits are treated like this one."""

FEWEST_SCORES = 128
"""Scores for which the E-values of all length bins are prepared at first; twice as many until they are enough."""

SLACK = 1 - 1e-9
"""A computed E-value times this is at most the true one; the margin far exceeds rounding errors."""

MAX_CACHED_CUTS = 4096
ADJUSTMENT_STEPS = 20


class Statistics(ABC):
    """E-values of scores for one scoring and one search space: the residues and targets of a whole database.

    >>> from exaln import Scoring
    >>> statistics = Statistics.of(Scoring("BLOSUM62"), db_residues=206_000_000, db_targets=570_000)
    >>> statistics.bits([100]), statistics.evalues([100], 300, [400])
    (array([43.12818987]), array([0.00191603]))
    >>> print(statistics.describe())
    lambda 0.267, K 0.041, H 0.14; finite-size correction; 570,000 targets, 206,000,000 residues
    """

    method: str
    parameters: ProteinParameters | NucleotideParameters

    def __init__(
        self, parameters: ProteinParameters | NucleotideParameters, *, db_residues: int, db_targets: int
    ) -> None:
        self.lambda_, self.k, self.h = parameters.lambda_, parameters.k, parameters.h
        self.db_residues, self.db_targets = db_residues, db_targets
        self._cuts: dict[tuple[int, float], Cuts] = {}
        self._spaces: dict[int, float] = {}

    @staticmethod
    def of(scoring: Scoring, *, db_residues: int, db_targets: int) -> Statistics | None:
        """The statistics of a scoring; None if there is no table for its matrix and gap costs."""
        parameters = parameters_of(scoring)
        return None if parameters is None else Statistics.with_parameters(parameters, db_residues, db_targets)

    @staticmethod
    def with_parameters(
        parameters: ProteinParameters | NucleotideParameters, db_residues: int, db_targets: int
    ) -> Statistics:
        """The statistics with these parameters, from a table or simulated."""
        return _statistics(parameters, db_residues, db_targets)

    def bits(self, score: ArrayLike) -> Floats:
        """float64, in the shape of `score`: bit scores."""
        bits: Floats = (self.lambda_ * np.asarray(score, np.float64) - math.log(self.k)) / math.log(2)
        return bits

    @abstractmethod
    def evalues(self, score: ArrayLike, query_length: ArrayLike, target_length: ArrayLike) -> Floats:
        """float64: the number of targets expected by chance with at least this score. The arguments broadcast."""

    def minimum_scores(self, query_length: int, max_evalue: float) -> Cuts:
        """int32[N_BINS], read-only: a score of at least 1 below which no target in a length bin has E <= max_evalue.

        It is never too high, so no hit is lost; for some lengths of a wide bin it is slightly too low. InputError if
        max_evalue is negative or NaN.
        """
        if not max_evalue >= 0:
            raise InputError(f"the E-value limit is {max_evalue}; it must be a number of at least 0")
        key = (query_length, max(max_evalue, LEAST_EVALUE))
        cuts = self._cuts.get(key)
        if cuts is None:
            cuts = self._minimum_scores(*key)
            cuts.flags.writeable = False
            if len(self._cuts) >= MAX_CACHED_CUTS:
                self._cuts.clear()
            self._cuts[key] = cuts
        return cuts

    @abstractmethod
    def _minimum_scores(self, query_length: int, max_evalue: float) -> Cuts: ...

    @property
    @abstractmethod
    def _adjustment(self) -> tuple[float, float]:
        """Slope and intercept of the length adjustment."""

    def search_space(self, query_length: int) -> float:
        """The product of effective query length and effective database length. Only E-values of nucleotides use it."""
        space = self._spaces.get(query_length)
        if space is None:
            length = max(query_length, 1)
            adjustment = self.length_adjustment(length)
            space = float(length - adjustment) * max(self.db_residues - self.db_targets * adjustment, 1)
            if len(self._spaces) >= MAX_CACHED_CUTS:
                self._spaces.clear()
            self._spaces[query_length] = space
        return space

    def length_adjustment(self, query_length: int) -> int:
        """Residues by which the query and each target are shortened, because no alignment can start near their ends.

        NCBI's iteration for the whole number below the fixed point of x = intercept + slope * ln(K * space).
        """
        slope, intercept = self._adjustment
        m, n, targets = float(query_length), float(self.db_residues), float(self.db_targets)

        def proposal(x: float) -> float:
            space = (m - x) * (n - targets * x)
            return slope * (math.log(self.k) + math.log(space)) + intercept

        # the largest x with K * space >= max(m, n), by the quadratic formula
        c = n * m - max(m, n) / self.k
        if c < 0:
            return 0
        p = m * targets + n
        low, high, x = 0.0, 2 * c / (p + math.sqrt(p * p - 4 * targets * c)), 0.0
        for step in range(1, ADJUSTMENT_STEPS + 1):
            proposed = proposal(x)
            if proposed < x:
                high = x
            else:
                low = x
                if proposed - low <= 1:
                    above = math.ceil(low)
                    return above if above <= high and proposal(above) >= above else int(low)
                if low == high:
                    break
            x = proposed if low <= proposed <= high else high if step == 1 else (low + high) / 2
        return int(low)

    def describe(self) -> str:
        """One line for logs: the parameters, the method and the search space."""
        space = f"{number_of(self.db_targets, 'target')}, {number_of(self.db_residues, 'residue')}"
        values = f"lambda {self.lambda_:.4g}, K {self.k:.3g}, H {self.h:.3g}"
        if isinstance(self.parameters, SimulatedParameters):
            values += f"; by simulation: {self.origin}"
        return f"{values}; {self.method}; {space}"

    @property
    def origin(self) -> str:
        """Where the parameters come from, in one line."""
        return self.parameters.origin if isinstance(self.parameters, SimulatedParameters) else "NCBI's table"


class ProteinStatistics(Statistics):
    """E-values with the finite-size correction, which depend on the lengths of query and target.

        E(S, m, n) = area * K * exp(-lambda * S) * db_residues / n,    area = p(m) * p(n) + c * phi(m) * phi(n)

    p(n) is the mean number of positions that an alignment of score S leaves free in n residues, and phi(n) the
    probability that it fits at all; both grow with n.

    The score cutoff of a bin with lengths from `short` to `long`: as area grows with n, E(S, m, n) is at least
    area(short) * K * exp(-lambda * S) * db_residues / long for each length. This bound falls with S for every table
    (a test checks it), so bisection finds the first score at which it does not exceed the limit. A bin is at most an
    eighth wider than its shortest length, so the bound is too low by at most an eighth: about half a point of score.
    """

    method = "finite-size correction"

    def __init__(self, parameters: ProteinParameters, *, db_residues: int, db_targets: int) -> None:
        super().__init__(parameters, db_residues=db_residues, db_targets=db_targets)
        self.parameters: ProteinParameters = parameters
        edges = np.maximum(shortest_in_bin(np.arange(N_BINS + 1)), 1)
        self._long = np.maximum(edges[1:] - 1, 1).astype(np.float64)

    @property
    def _adjustment(self) -> tuple[float, float]:
        return self.parameters.a / self.lambda_, self.parameters.adjustment_beta

    def evalues(self, score: ArrayLike, query_length: ArrayLike, target_length: ArrayLike) -> Floats:
        scores, target_lengths = np.asarray(score, np.float64), _lengths(target_length)
        query, target = self._side(scores, _lengths(query_length)), self._side(scores, target_lengths)
        evalues: Floats = self._area(scores, query, target) * self._rate(scores) / target_lengths
        return evalues

    def _side(self, score: Floats, length: Floats) -> tuple[Floats, Floats]:
        return _side(self.parameters, score, length)

    def _area(self, score: Floats, query: tuple[Floats, Floats], target: tuple[Floats, Floats]) -> Floats:
        of = self.parameters
        covariance = np.maximum(2 * of.sigma / of.lambda_, of.sigma * score + of.tau)
        return query[0] * target[0] + covariance * (query[1] * target[1])

    def _rate(self, score: Floats) -> Floats:
        rate: Floats = self.k * np.exp(-self.lambda_ * score) * self.db_residues
        return rate

    def _minimum_scores(self, query_length: int, max_evalue: float) -> Cuts:
        limit = min(max_evalue, LARGEST_EVALUE) * self._long / SLACK
        bins = np.arange(N_BINS)
        p, phi = self._sides_enough_for(query_length, limit)
        scores = np.arange(len(p), dtype=np.float64)
        (query_p, query_phi), rate = self._side(scores, _lengths(query_length)), self._rate(scores)
        low, high = np.ones(N_BINS, np.int64), np.full(N_BINS, len(p) - 1)
        for _ in range(len(p).bit_length()):
            middle = (low + high) >> 1
            query, target = (query_p[middle], query_phi[middle]), (p[middle, bins], phi[middle, bins])
            is_enough = self._area(scores[middle], query, target) * rate[middle] <= limit
            high = np.where(is_enough, middle, high)
            low = np.where(is_enough, low, np.minimum(middle + 1, high))
        return high.astype(np.int32)

    def _sides_enough_for(self, query_length: int, limit: Floats) -> tuple[Floats, Floats]:
        """(p, phi) for the shortest length of each bin, float64[scores, N_BINS], with enough scores for every bin."""
        n_scores = FEWEST_SCORES
        while True:
            sides = _bin_sides(self.parameters, n_scores)
            last = np.array([n_scores - 1.0])
            target = sides[0][-1], sides[1][-1]
            area = self._area(last, self._side(last, _lengths(query_length)), target)
            if np.all(area * self._rate(last) <= limit):
                return sides
            n_scores *= 2


class NucleotideStatistics(Statistics):
    """E-values with the length adjustment, which depend on the length of the query only."""

    method = "length adjustment"

    def __init__(self, parameters: NucleotideParameters, *, db_residues: int, db_targets: int) -> None:
        super().__init__(parameters, db_residues=db_residues, db_targets=db_targets)
        self.parameters: NucleotideParameters = parameters

    @property
    def _adjustment(self) -> tuple[float, float]:
        return self.parameters.alpha / self.lambda_, self.parameters.beta

    def evalues(self, score: ArrayLike, query_length: ArrayLike, target_length: ArrayLike) -> Floats:
        lengths, inverse = np.unique(np.asarray(query_length, np.int64), return_inverse=True)
        spaces = np.array([self.search_space(length) for length in lengths.tolist()])[inverse]
        evalues = self.evalues_in(spaces.reshape(np.shape(query_length)), score)
        return np.broadcast_to(evalues, np.broadcast_shapes(evalues.shape, np.shape(target_length))).copy()

    def evalues_in(self, space: Floats, score: ArrayLike) -> Floats:
        """float64: E-values in search spaces of these sizes; the arguments broadcast."""
        scores = np.asarray(score, np.int64)
        if self.parameters.even_scores_only:
            scores = scores & ~1
        evalues: Floats = space * np.exp(math.log(self.k) - self.lambda_ * scores)
        return evalues

    def _minimum_scores(self, query_length: int, max_evalue: float) -> Cuts:
        if max_evalue == math.inf:
            return np.ones(N_BINS, np.int32)
        at_score_0 = max(self.search_space(query_length), 1) * self.k
        close = max(math.floor(math.log(at_score_0 / max_evalue) / self.lambda_), 0)
        scores = np.arange(max(close - 2, 1), close + 5)
        enough = scores[self.evalues(scores, query_length, 0) * SLACK <= max_evalue]
        return np.full(N_BINS, enough[0], np.int32)


@lru_cache(maxsize=16)
def _statistics(parameters: ProteinParameters | NucleotideParameters, db_residues: int, db_targets: int) -> Statistics:
    """Shared by searches of a database, which then compute the score cutoffs of a length once."""
    kind = ProteinStatistics if isinstance(parameters, ProteinParameters) else NucleotideStatistics
    return kind(parameters, db_residues=db_residues, db_targets=db_targets)  # type: ignore[arg-type]


def pair_statistics(
    scoring: Scoring, score: ArrayLike, query_length: ArrayLike, target_length: ArrayLike
) -> tuple[Floats, Floats]:
    """Bits and E-values of local alignments of pairs, float64[n] each; the search space is the query and its target.

    score: int64[n], multiplied by `scoring.scale`. The values are those of `blastp -subject` with one target; NaN if
    the scoring has no statistics.

    >>> from exaln import Scoring
    >>> [round(float(values[0]), 6) for values in pair_statistics(Scoring("BLOSUM62"), [100], [300], [400])]
    [43.12819, 0.0]
    """
    scores, targets = np.asarray(score, np.int64), np.maximum(np.asarray(target_length, np.int64), 1)
    statistics = Statistics.of(scoring, db_residues=1, db_targets=1)
    if statistics is None:
        nothing = np.full(len(scores), np.nan)
        return nothing, nothing
    bits, queries = statistics.bits(scores), np.asarray(query_length, np.int64)
    if isinstance(statistics, ProteinStatistics):  # E is proportional to the database size
        return bits, statistics.evalues(scores, queries, targets) * targets
    assert isinstance(statistics, NucleotideStatistics)
    sizes, inverse = np.unique(np.stack([queries, targets]), axis=1, return_inverse=True)
    spaces = np.array([_pair_space(statistics.parameters, *size) for size in sizes.T.tolist()], np.float64)
    return bits, statistics.evalues_in(spaces[inverse.reshape(-1)], scores)


@lru_cache(maxsize=1 << 16)
def _pair_space(parameters: NucleotideParameters, query_length: int, target_length: int) -> float:
    """The search space of one query and one target."""
    return NucleotideStatistics(parameters, db_residues=target_length, db_targets=1).search_space(query_length)


def _side(of: ProteinParameters, score: Floats, length: Floats) -> tuple[Floats, Floats]:
    """(p, phi) of one sequence; see ProteinStatistics."""
    room = length - (of.a * score + of.b)
    deviation = np.sqrt(np.maximum(2 * of.alpha / of.lambda_, of.alpha * score + of.beta))
    z = room / deviation
    phi = _erfc(z * -math.sqrt(0.5)) / 2
    p = room * phi + deviation * (np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))
    return np.maximum(p, 0), phi  # rounding can give values below 0 for very short sequences


@lru_cache(maxsize=32)
def _bin_sides(of: ProteinParameters, n_scores: int) -> tuple[Floats, Floats]:
    """(p, phi) for scores below n_scores and the shortest length of each bin, float64[n_scores, N_BINS] each."""
    shortest = np.maximum(shortest_in_bin(np.arange(N_BINS)), 1).astype(np.float64)
    return _side(of, np.arange(n_scores, dtype=np.float64)[:, np.newaxis], shortest)


def _lengths(length: ArrayLike) -> Floats:
    return np.maximum(np.asarray(length, np.float64), 1)


def _erfc(x: Floats) -> Floats:
    """The complementary error function, which NumPy lacks."""
    values = np.fromiter(map(math.erfc, x.ravel().tolist()), np.float64, x.size)
    return values.reshape(x.shape)


def format_evalue(evalue: float, *, digits: int = 2) -> str:
    """An E-value as BLAST prints it, "" for NaN. digits: decimals of small values, 2 in tables, 0 in pairwise text.

    >>> [format_evalue(e) for e in (1e-181, 3.394e-43, 0.00117, 0.0234, 0.246, 1.24, 12.3)]
    ['0.0', '3.39e-43', '0.001', '0.023', '0.25', '1.2', '12']
    """
    if math.isnan(evalue):
        return ""
    if evalue < 1e-180:
        return "0.0"
    if evalue < 0.0009:
        return f"{evalue:.{digits}e}"
    decimals = 3 if evalue < 0.1 else 2 if evalue < 1 else 1 if evalue < 10 else 0
    return f"{evalue:.{decimals}f}"


def format_bits(bits: float) -> str:
    """A bit score as BLAST prints it, without leading spaces; "" for NaN.

    >>> [format_bits(b) for b in (25.8, 99.94, 137.9, 123456.7)]
    ['25.8', '99', '137', '1.235e+05']
    """
    if math.isnan(bits):
        return ""
    if bits > 99999:
        return f"{bits:.3e}"
    return str(int(bits)) if bits > 99.9 else f"{bits:.1f}"
