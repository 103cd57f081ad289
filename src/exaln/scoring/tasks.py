"""BLAST's tasks: the scorings that -task of blastp and blastn stands for.

A task of BLAST also sets its heuristics, which an exact search does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exaln.errors import InputError
from exaln.scoring.letter_scores import Number

if TYPE_CHECKING:
    import os

    from exaln.scoring.letter_scores import ScoreArray
    from exaln.sequences.alphabet import Alphabet

Gaps = tuple[Number, Number]


@dataclass(frozen=True)
class Task:
    """A scoring for a purpose.

    molecule: protein or nucleotide. matrix, or match and mismatch: the scores of letters. gaps: gap_open and
    gap_extend; None for linear gaps that cost as much as in BLAST's greedy alignments, match / 2 - mismatch a letter.
    """

    molecule: str
    matrix: str | None = None
    match: int | None = None
    mismatch: int | None = None
    gaps: Gaps | None = None

    def require_molecule(self, alphabet: Alphabet, named: str) -> None:
        """Raise InputError if the task is for other sequences. named: the task as the user gave it."""
        if self.molecule != ("nucleotide" if alphabet.is_nucleotide else alphabet.name):
            raise InputError(f"{named} is for {self.molecule} sequences, but these are {alphabet.name}; leave it out")

    def arguments(
        self,
        matrix: str | os.PathLike[str] | ScoreArray | None = None,
        match: Number | None = None,
        mismatch: Number | None = None,
        gap_open: Number | None = None,
        gap_extend: Number | None = None,
    ) -> dict[str, Any]:
        """The arguments of `Scoring`: those given, and the task's for the others.

        A matrix brings its own gap costs, as without a task.

        >>> TASKS["blastn-short"].arguments(gap_open=4)
        {'matrix': None, 'match': 1, 'mismatch': -3, 'gap_open': 4, 'gap_extend': 2}
        """
        given: dict[str, Any] = {"matrix": matrix, "match": match, "mismatch": mismatch}
        if matrix is not None or (self.match is None and (match is not None or mismatch is not None)):
            return given | {"gap_open": gap_open, "gap_extend": gap_extend}
        match = self.match if match is None else match
        mismatch = self.mismatch if mismatch is None else mismatch
        opening, extending = self.gaps or _linear(match, mismatch)
        return {
            "matrix": self.matrix,
            "match": match,
            "mismatch": mismatch,
            "gap_open": opening if gap_open is None else gap_open,
            "gap_extend": extending if gap_extend is None else gap_extend,
        }


def _linear(match: Any, mismatch: Any) -> Gaps:
    return 0, match / 2 - mismatch


TASKS = {
    "blastp": Task("protein", "BLOSUM62", gaps=(11, 1)),
    "blastp-short": Task("protein", "PAM30", gaps=(9, 1)),
    "blastn": Task("nucleotide", match=2, mismatch=-3, gaps=(5, 2)),
    "blastn-short": Task("nucleotide", match=1, mismatch=-3, gaps=(5, 2)),
    "megablast": Task("nucleotide", match=1, mismatch=-2),
}
"""The tasks by name. The short ones are for queries of about 30 residues, or 50 bases, and less."""

SHORT_TASKS = {"protein": "blastp-short", "nucleotide": "blastn-short"}
"""The task for short queries of each kind of molecule."""
