"""The facts about a search as a whole that reports print: program, database, scoring and statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln import __version__
from exaln.scoring.modes import LOCAL

if TYPE_CHECKING:
    from exaln.scoring.scoring import Scoring
    from exaln.statistics.evalues import Statistics


@dataclass(frozen=True)
class SearchSummary:
    """The search that a report is about.

    database: its name, as the user gave it. n_targets, n_residues: of the whole database. statistics: None if the
    scoring has no bits and E-values. max_evalue: the limit of the E-value; None if there is none. is_pairs: True if
    nothing was searched and pairs were aligned, in this mode.
    """

    database: str
    n_targets: int
    n_residues: int
    scoring: Scoring
    statistics: Statistics | None = None
    max_evalue: float | None = None
    program: str = "exaln"
    version: str = __version__
    is_pairs: bool = False
    mode: str = LOCAL.name
