"""Which hits are wanted, and the one place where it is decided: bits, E-values, and who passes."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import ExalnWarning, InputError
from exaln.lengths import N_BINS
from exaln.statistics import Statistics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring import Scoring


@dataclass(frozen=True)
class SearchOptions:
    """Which hits are wanted. Identity and coverage are percentages; None does not filter.

    evalue, min_bits: of scorings with statistics. min_score: in the units of the scoring, before scaling. max_hits: per
    query, after all filters. strands: both, plus or minus, for nucleotides. include, exclude: ordinals of targets.
    db_residues: the size of the database for E-values, instead of its own.
    """

    evalue: float = 10.0
    max_hits: int = 500
    min_bits: float | None = None
    min_score: int = 1
    min_identity: float | None = None
    min_query_coverage: float | None = None
    min_target_coverage: float | None = None
    strands: str = "both"
    include: NDArray[np.int64] | None = None
    exclude: NDArray[np.int64] | None = None
    db_residues: int | None = None

    def __post_init__(self) -> None:
        if self.strands not in ("both", "plus", "minus"):
            raise InputError(f"strands is {self.strands!r}; choose both, plus or minus")
        if self.max_hits < 1:
            raise InputError(f"max_hits is {self.max_hits}; at least 1 is needed")
        if not self.evalue > 0:
            raise InputError(f"evalue is {self.evalue}; it must be above 0")
        for name in ("min_bits", "min_identity", "min_query_coverage", "min_target_coverage"):
            if math.isnan(getattr(self, name) or 0.0):
                raise InputError(f"{name} is not a number")

    @property
    def needs_alignments(self) -> bool:
        """Whether a filter looks at the alignment, so that it acts before the best k are taken."""
        return any(x is not None for x in (self.min_identity, self.min_query_coverage, self.min_target_coverage))


@dataclass(frozen=True)
class Verdict:
    """Of pairs, arrays of equal length: bits and evalue float64, NaN without statistics; passes bool."""

    bits: NDArray[np.float64]
    evalue: NDArray[np.float64]
    passes: NDArray[np.bool_]


class Judge:
    """The E-values of one search and its limits on them, whichever part of the database is searched.

    n_targets, n_residues: of the whole database.
    """

    def __init__(self, scoring: Scoring, options: SearchOptions, *, n_targets: int, n_residues: int) -> None:
        self._options = options
        self._min_score = max(1, options.min_score * scoring.scale)
        self.statistics = Statistics.of(scoring, db_residues=options.db_residues or n_residues, db_targets=n_targets)
        if self.statistics is None and options.min_bits is not None:
            raise InputError(f"there are no bit scores for {scoring.describe()}; use the least score instead")

    def minimum_scores(self, query_lengths: NDArray[np.int64]) -> NDArray[np.int32]:
        """int32[n, N_BINS]: scores below these cannot be hits."""
        minimum = np.full((len(query_lengths), N_BINS), self._min_score, np.int32)
        if self.statistics is not None:
            for row, length in enumerate(query_lengths.tolist()):
                cut = self.statistics.minimum_scores(length, self._options.evalue)
                np.maximum(minimum[row], cut, out=minimum[row])
        return minimum

    def verdict(
        self, score: NDArray[np.integer], query_length: NDArray[np.int64], target_length: NDArray[np.int64]
    ) -> Verdict:
        """Of pairs with these scores and lengths, by the filters that need no alignment."""
        passes = score >= self._min_score
        if self.statistics is None:
            nothing = np.full(len(score), np.nan)
            return Verdict(nothing, nothing, passes)
        bits = self.statistics.bits(score)
        evalue = self.statistics.evalues(score, query_length, target_length)
        passes &= evalue <= self._options.evalue
        if self._options.min_bits is not None:
            passes &= bits >= self._options.min_bits
        return Verdict(bits, evalue, passes)


def warn_without_statistics(scoring: Scoring) -> None:
    """A warning that there are no E-values for this scoring."""
    warnings.warn(
        f"no statistics for {scoring.describe()}: bits and E-values are empty, "
        "hits are ranked by score and no E-value limits them",
        ExalnWarning,
        stacklevel=4,
    )
