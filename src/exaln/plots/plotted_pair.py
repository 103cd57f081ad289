"""The alignment that a plot shows: two sequences, their names and the path between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import DELETION, EQUAL, INSERTION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

LONGEST_NAME = 40
IN_THOUSANDS, IN_MILLIONS = 10_000, 2_000_000
"""The axes of longer sequences count in thousands, or in millions."""


@dataclass(frozen=True)
class PlottedPair:
    """One alignment. query, target: uint8 codes of the whole sequences. operations: its path, see `cigar.Paths`.

    query_start, target_start: 0-based. text: the alignment drawn as text.
    """

    query: NDArray[np.uint8]
    target: NDArray[np.uint8]
    query_name: str
    target_name: str
    operations: NDArray[np.uint32]
    query_start: int
    target_start: int
    score: int | float
    scoring: Scoring
    mode: Mode
    text: str

    @property
    def title(self) -> str:
        """The names of query and target."""
        return f"{self.query_label} x {self.target_label}"

    @property
    def query_label(self) -> str:
        """The name of the query, or `query` if both sequences have the same name."""
        return "query" if self.query_name == self.target_name else short(self.query_name)

    @property
    def target_label(self) -> str:
        """The name of the target, or `target` if both sequences have the same name."""
        return "target" if self.query_name == self.target_name else short(self.target_name)

    @property
    def summary(self) -> str:
        """Mode, score, identity and gaps in one line."""
        lengths, codes = self.operations >> 4, self.operations & 15
        n_columns, identities = int(lengths.sum()), int(lengths[codes == EQUAL].sum())
        gaps = int(lengths[(codes == INSERTION) | (codes == DELETION)].sum())
        parts = [f"{self.mode}, score {self.score:,}"]
        if n_columns:
            percent = f"{100 * identities / n_columns:.1f} %"
            parts += [f"identities {identities:,} of {n_columns:,} ({percent})", f"gaps {gaps:,}"]
        else:
            parts.append("no letters are aligned")
        return ", ".join(parts)

    def corners(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64: target and query positions at the start of the path and after each of its operations."""
        lengths, codes = (self.operations >> 4).astype(np.int64), self.operations & 15
        target = np.cumsum(np.where(codes == INSERTION, 0, lengths))
        query = np.cumsum(np.where(codes == DELETION, 0, lengths))
        first = np.zeros(1, np.int64)
        return (
            self.target_start + np.concatenate([first, target]),
            self.query_start + np.concatenate([first, query]),
        )


def short(name: str) -> str:
    """A name cut to LONGEST_NAME, with `$` escaped, which would begin a formula."""
    name = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."
    return name.replace("$", r"\$")
