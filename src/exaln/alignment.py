"""One alignment: its score, where it lies, its path; `print` draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.cigar import Paths, cigars

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring import Scoring


@dataclass(frozen=True, eq=False)
class Alignment:
    """The optimal local alignment of two sequences. Positions are 0-based half-open; without any similarity all are 0.

    query, target: uint8 codes of the whole sequences. operations: uint32, the path, see `exaln.cigar.Paths`.
    score: in the units of the scoring as given.
    """

    score: int | float
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    identities: int
    positives: int
    mismatches: int
    gap_opens: int
    gaps: int
    columns: int
    query: NDArray[np.uint8]
    target: NDArray[np.uint8]
    operations: NDArray[np.uint32]
    scoring: Scoring

    @property
    def cigar(self) -> str:
        """The path as CIGAR: M, I (consumes the query), D (consumes the target)."""
        return cigars(self._paths())[0]

    @property
    def extended_cigar(self) -> str:
        """The path as CIGAR with = for equal and X for different letters in place of M."""
        return cigars(self._paths(), extended=True)[0]

    @property
    def identity(self) -> float:
        """Identical letters per column, between 0 and 1."""
        return self.identities / self.columns if self.columns else 0.0

    def _paths(self) -> Paths:
        return Paths(self.operations, np.array([0, len(self.operations)], np.int64))

    def __repr__(self) -> str:
        where = f"query {self.query_start}:{self.query_end}, target {self.target_start}:{self.target_end}"
        return f"<Alignment score {self.score}, {where}, {self.cigar or 'empty'}>"

    def __str__(self) -> str:
        from exaln.report.drawing import draw

        if not self.columns:
            return "score 0: no similarity"
        share = f"{self.identities}/{self.columns} ({100 * self.identity:.0f}%)"
        picture = draw(
            self.query,
            self.target,
            self.operations,
            scoring=self.scoring,
            query_start=self.query_start,
            target_start=self.target_start,
        )
        return f"score {self.score}, identities {share}, gaps {self.gaps}\n\n{picture}"
