"""Which hits are wanted, and the one place where it is decided: bits, E-values, and who passes."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import ExalnWarning, InputError
from exaln.foundation import arguments
from exaln.search.target_ids import Ids, as_ids, ordinals_of
from exaln.sequences.strands import STRANDS
from exaln.statistics.evalues import Statistics
from exaln.statistics.length_bins import N_BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.database import Database
    from exaln.scoring.scoring import Scoring

ORDINALS = "ordinals of targets: whole numbers in one dimension"


OLD_NAMES = {"max_hits": "max_target_seqs", "strands": "strand", "db_residues": "dbsize"}
"""Names of options in earlier versions, which still work, and the present ones."""

MOST = (1 << 31) - 1
"""No query has more hits, and no pair of a search a higher score."""


@arguments.renamed_fields(**OLD_NAMES)
@dataclass(frozen=True)
class SearchOptions:
    """Which hits are wanted. Identity and coverage are percentages; None does not filter.

    evalue, min_bits: of scorings with statistics. max_target_seqs: hits per query, after all filters. min_score: in the
    units of the scoring. strand: both, plus or minus, for nucleotides. ids, exclude_ids: only these targets, or all
    others: their ids, or the pathlib.Path of a file with one id a line. dbsize: residues of the database for E-values,
    instead of its own. include, exclude: what ids become once the database is known, ordinals of targets.
    The names of earlier versions still work: max_hits, strands, db_residues.
    """

    evalue: float = 10.0
    max_target_seqs: int = 500
    min_bits: float | None = None
    min_score: int = 1
    min_identity: float | None = None
    min_query_coverage: float | None = None
    min_target_coverage: float | None = None
    strand: str = "both"
    ids: Ids | None = None
    exclude_ids: Ids | None = None
    dbsize: int | None = None
    include: NDArray[np.int64] | None = None
    exclude: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        checked: dict[str, object] = {
            "evalue": arguments.number("evalue", self.evalue, above=0),
            "max_target_seqs": min(arguments.integer("max_target_seqs", self.max_target_seqs, least=1), MOST),
            "min_score": min(arguments.integer("min_score", self.min_score), MOST),
            "strand": arguments.choice("strand", self.strand, STRANDS),
        }
        if self.min_bits is not None:
            checked["min_bits"] = arguments.number("min_bits", self.min_bits)
        for name in ("min_identity", "min_query_coverage", "min_target_coverage"):
            if getattr(self, name) is not None:
                checked[name] = arguments.number(name, getattr(self, name), least=0, most=100)
        if self.dbsize is not None:
            checked["dbsize"] = arguments.integer("dbsize", self.dbsize, least=1)
        for name in ("ids", "exclude_ids"):
            if getattr(self, name) is not None:
                checked[name] = as_ids(name, getattr(self, name))
        for name in ("include", "exclude"):
            if getattr(self, name) is not None:
                checked[name] = _ordinals(name, getattr(self, name))
        self.__dict__.update(checked)

    @property
    def needs_alignments(self) -> bool:
        """Whether a filter looks at the alignment, so that it acts before the best k are taken."""
        return any(x is not None for x in (self.min_identity, self.min_query_coverage, self.min_target_coverage))

    def require_resolved(self) -> None:
        """An InputError if ids are not ordinals yet: parts of a database, and other machines, cannot look them up."""
        if self.ids is not None or self.exclude_ids is not None:
            raise InputError("ids and exclude_ids need the whole database; call options.resolved(database) first")

    def resolved(self, database: Database) -> SearchOptions:
        """The same with ordinals in this database in place of ids; an id that no target has is an InputError."""
        from exaln.database.database import Database

        arguments.instance("database", database, Database)
        if self.ids is None and self.exclude_ids is None:
            return self
        include, exclude = self.include, self.exclude
        if self.ids is not None:
            include = ordinals_of("ids", self.ids, database)
            if not len(include):
                place = os.fspath(self.ids) if isinstance(self.ids, os.PathLike) else "ids"
                raise InputError(f"{place}: the list of ids is empty; leave ids out to search all targets")
        if self.exclude_ids is not None:
            exclude = ordinals_of("exclude_ids", self.exclude_ids, database)
        return replace(self, ids=None, exclude_ids=None, include=include, exclude=exclude)


def _ordinals(name: str, value: object) -> NDArray[np.int64]:
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):
        raise arguments.wrong(name, value, ORDINALS) from None
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise arguments.wrong(name, value, ORDINALS)
    return found.astype(np.int64)


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
        self._min_score = max(1, min(options.min_score * scoring.scale, MOST))
        self.statistics = Statistics.of(scoring, db_residues=options.dbsize or n_residues, db_targets=n_targets)
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
