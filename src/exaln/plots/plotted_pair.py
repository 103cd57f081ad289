"""What a plot shows: two sequences, their names, and one alignment of them or several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import DELETION, EQUAL, INSERTION
from exaln.foundation.plurals import number_of
from exaln.sequences.strands import reverse_complement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

LONGEST_NAME = 40
IN_THOUSANDS, IN_MILLIONS = 10_000, 2_000_000
"""The axes of longer sequences count in thousands, or in millions."""


@dataclass(frozen=True)
class PlottedAlignment:
    """One alignment of a pair. operations: its path, see `cigar.Paths`.

    query_start, target_start: 0-based, in both sequences as given. strand: 1, or -1 where the query aligns with the
    reverse complement of the target.
    """

    operations: NDArray[np.uint32]
    query_start: int
    target_start: int
    strand: int
    score: int | float

    def corners(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64: target and query positions at the start of the path and after each of its operations.

        On the minus strand the path runs down the target, from the end of the alignment to its start.
        """
        lengths, codes = (self.operations >> 4).astype(np.int64), self.operations & 15
        first = np.zeros(1, np.int64)
        target = np.concatenate([first, np.cumsum(np.where(codes == INSERTION, 0, lengths))])
        query = np.concatenate([first, np.cumsum(np.where(codes == DELETION, 0, lengths))])
        along = target if self.strand > 0 else target[-1] - target
        return self.target_start + along, self.query_start + query

    def counts(self) -> tuple[int, int, int]:
        """Identities, gap columns and columns."""
        lengths, codes = self.operations >> 4, self.operations & 15
        gaps = lengths[(codes == INSERTION) | (codes == DELETION)]
        return int(lengths[codes == EQUAL].sum()), int(gaps.sum()), int(lengths.sum())


@dataclass(frozen=True)
class PlottedPair:
    """A pair and its alignments, the best first. query, target: uint8 codes of the whole sequences.

    text: the alignments drawn as text. both_strands: of nucleotides, show similarity with the reverse complement of
    the target even if no alignment is there.
    """

    query: NDArray[np.uint8]
    target: NDArray[np.uint8]
    query_name: str
    target_name: str
    alignments: tuple[PlottedAlignment, ...]
    scoring: Scoring
    mode: Mode
    text: str
    both_strands: bool = False

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
    def drawn(self) -> tuple[PlottedAlignment, ...]:
        """The alignments that have columns."""
        return tuple(one for one in self.alignments if len(one.operations))

    @property
    def drawn_strands(self) -> set[int]:
        """The strands, 1 and -1, on which alignments are drawn."""
        return {one.strand for one in self.drawn}

    @property
    def shown_strands(self) -> tuple[int, ...]:
        """The strands of the target, 1 and -1, whose similarity with the query is shown."""
        is_asked = self.both_strands and self.scoring.alphabet.is_nucleotide
        return (1, -1) if is_asked or -1 in self.drawn_strands else (1,)

    def target_on(self, strand: int) -> NDArray[np.uint8]:
        """The codes of the target, or of its reverse complement."""
        return self.target if strand > 0 else reverse_complement(self.target, self.scoring.alphabet)

    @property
    def summary(self) -> str:
        """Mode, score, identity and gaps of an alignment in one line; of several, their number and the best score."""
        best, n_minus = self.alignments[0], sum(one.strand < 0 for one in self.drawn)
        if len(self.alignments) > 1:
            counted = number_of(len(self.alignments), "alignment")
            minus = [f"{n_minus:,} on the minus strand"] if n_minus else []
            return ", ".join([f"{self.mode}, {counted}, best score {best.score:,}", *minus])
        identities, gaps, n_columns = best.counts()
        if not n_columns:
            return f"{self.mode}, score {best.score:,}, no letters are aligned"
        percent = f"{100 * identities / n_columns:.1f} %"
        parts = [f"identities {identities:,} of {n_columns:,} ({percent})", f"gaps {gaps:,}"]
        return ", ".join([f"{self.mode}, score {best.score:,}", *parts, *(["minus strand"] if n_minus else [])])


def short(name: str) -> str:
    """A name cut to LONGEST_NAME, with `$` escaped, which would begin a formula."""
    name = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."
    return name.replace("$", r"\$")
