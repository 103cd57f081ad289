"""Options of a search: which hits are reported."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.search.masks import SearchMasks
from exaln.search.target_ids import Ids, as_ids, ordinals_of
from exaln.sequences.strands import STRANDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.database import Database

ORDINALS = "ordinals of targets: whole numbers in one dimension"


OLD_NAMES = {"max_hits": "max_target_seqs", "strands": "strand", "db_residues": "dbsize"}
"""Names of options in earlier versions, which still work, and the present names."""

MOST = (1 << 31) - 1
"""Limit of hits per query, and of the score of a pair in a search."""

STATISTICS = ("auto", "table", "simulated", "none")
"""Where E-values come from."""

LEAST_SHUFFLES, MOST_SHUFFLES = 20, 10_000
"""Limits of `shuffles`: fewer copies than this tell nothing of their law."""

MOST_ALIGNMENTS = 100
"""Alignments of a target that are reported unless a number is given: stretches of one letter have hundreds."""


@arguments.renamed_fields(**OLD_NAMES)
@dataclass(frozen=True)
class SearchOptions:
    """Which hits are reported. Identity and coverage are percentages; None means no filter.

    evalue, min_bits: only for scorings with statistics. max_target_seqs: hits per query, after all filters. min_score:
    in the units of the scoring. strand: both, plus or minus, for nucleotides. ids: search only these targets;
    exclude_ids: all others. Both are ids, or the pathlib.Path of a file with one id per line. dbsize: residues for
    E-values, in place of those of the database. max_hsps: alignments per target, before filters on them; None for all
    that reach the E-value, MOST_ALIGNMENTS at most. subject_besthit, culling_limit: see `hsp_filters`. statistics:
    where E-values come from: NCBI's table, or else a simulation (auto), one of these alone (table, simulated), or none.
    seed: of the simulation and of shuffles. query_mask: what is masked in queries, none, lowercase, seg, dust or
    tantan, with numbers as in "seg 12 2.2 2.5", several separated by commas; query_masking: hard or soft. target_mask:
    what the masks of the database do, none, hard or soft. comp_based_stats: the mode of `statistics.composition`, 0 to
    3; margin: pairs that reach this many times the E-value under the standard matrix are rescored. shuffles: shuffled
    copies of each target that is hit, for its evalue2, or 0 for none; shuffle_window: letters move only within windows
    of this many, 0 for anywhere. include, exclude: ordinals of targets, to which `resolved` turns ids. The names of
    earlier versions still work: max_hits, strands, db_residues.
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
    max_hsps: int | None = None
    subject_besthit: bool = False
    culling_limit: int | None = None
    statistics: str = "auto"
    seed: int = 1
    query_mask: str = "none"
    query_masking: str = "hard"
    target_mask: str = "none"
    comp_based_stats: int = 0
    margin: float = 5.0
    shuffles: int = 0
    shuffle_window: int = 0
    include: NDArray[np.int64] | None = None
    exclude: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        checked: dict[str, object] = {
            "evalue": arguments.number("evalue", self.evalue, above=0),
            "max_target_seqs": min(arguments.integer("max_target_seqs", self.max_target_seqs, least=1), MOST),
            "min_score": min(arguments.integer("min_score", self.min_score), MOST),
            "strand": arguments.choice("strand", self.strand, STRANDS),
            "statistics": arguments.choice("statistics", self.statistics, STATISTICS),
            "seed": arguments.integer("seed", self.seed, most=MOST),
        }
        checked["comp_based_stats"] = arguments.integer("comp_based_stats", self.comp_based_stats, least=0, most=3)
        checked["margin"] = arguments.number("margin", self.margin, least=1)
        checked["shuffles"] = arguments.integer("shuffles", self.shuffles)
        checked["shuffle_window"] = arguments.integer("shuffle_window", self.shuffle_window, most=MOST)
        checked["subject_besthit"] = arguments.flag("subject_besthit", self.subject_besthit)
        if self.culling_limit is not None:
            checked["culling_limit"] = arguments.integer("culling_limit", self.culling_limit)
        if self.max_hsps is not None:
            checked["max_hsps"] = min(arguments.integer("max_hsps", self.max_hsps, least=1), MOST)
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
        _ = self.masks
        self._require_shuffles()

    def _require_shuffles(self) -> None:
        """Raise InputError for numbers of shuffles that are not possible, or not with other options."""
        if not self.shuffles:
            if self.shuffle_window:
                raise InputError("--shuffle-window needs --shuffles")
            return
        if not LEAST_SHUFFLES <= self.shuffles <= MOST_SHUFFLES:
            expected = f"{LEAST_SHUFFLES} to {MOST_SHUFFLES:,} copies, or 0 for none"
            raise InputError(f"--shuffles {self.shuffles} is not possible; choose {expected}")
        if self.comp_based_stats:
            raise InputError("--shuffles and --comp-based-stats cannot be combined; both correct for composition")

    @property
    def masks(self) -> SearchMasks:
        """What is masked in queries and targets."""
        return SearchMasks(self.query_mask, self.query_masking, self.target_mask)

    @property
    def alignments_per_target(self) -> int:
        """The most alignments of a target."""
        return MOST_ALIGNMENTS if self.max_hsps is None else self.max_hsps

    @property
    def needs_alignments(self) -> bool:
        """Whether a filter needs alignments; it then applies before the best k are taken."""
        limits = self.min_identity, self.min_query_coverage, self.min_target_coverage, self.culling_limit or None
        return any(limit is not None for limit in limits)

    def require_resolved(self) -> None:
        """Raise InputError if ids are not ordinals yet: parts of a database and other machines cannot look them up."""
        if self.ids is not None or self.exclude_ids is not None:
            raise InputError("ids and exclude_ids need the whole database; call options.resolved(database) first")

    def resolved(self, database: Database) -> SearchOptions:
        """These options with ordinals in place of ids. Raises InputError for an id that the database does not have."""
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
