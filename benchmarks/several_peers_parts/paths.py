"""An alignment of any program: its stated score, and its path as runs of aligned pairs and gaps."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from exaln import Scoring
from exaln.sequences.strands import complements

Runs = tuple[tuple[str, int], ...]
"""(M, I or D, length) from the first column to the last; I consumes the query, D the target."""


@dataclass(frozen=True)
class Path:
    """An alignment. Positions are 0-based on the plus strand of both sides; steps are 1, or -1 on the other strand.

    score: as the program states it. query_first, target_first: positions of the first column.
    evalue: as `exaln search` states it.
    """

    query: str
    target: str
    score: int
    query_first: int
    query_step: int
    target_first: int
    target_step: int
    runs: Runs
    evalue: float | None = field(default=None, compare=False)

    @property
    def strand(self) -> str:
        """Whether the query is aligned with the target as it is (+) or with its other strand (-)."""
        return "+" if self.query_step == self.target_step else "-"

    @property
    def ends(self) -> tuple[int, int, int, int]:
        """First and last position, 1-based, on the query and on the target, in ascending order on each."""
        n_query = sum(length for kind, length in self.runs if kind != "D") - 1
        n_target = sum(length for kind, length in self.runs if kind != "I") - 1
        on_query = sorted((self.query_first, self.query_first + self.query_step * n_query))
        on_target = sorted((self.target_first, self.target_first + self.target_step * n_target))
        return on_query[0] + 1, on_query[1] + 1, on_target[0] + 1, on_target[1] + 1

    @property
    def steps_from_ends(self) -> tuple[tuple[int, int, int, int], Runs]:
        """Ends, and runs in the order of the query's plus strand: the same for the same path."""
        return self.ends, self.runs if self.query_step == 1 else self.runs[::-1]

    def pairs(self) -> NDArray[np.int64]:
        """int64[2, n]: query and target positions of the aligned pairs, in the order of the path."""
        query, target, parts = self.query_first, self.target_first, []
        for kind, length in self.runs:
            if kind == "M":
                steps = np.arange(length)
                parts.append(np.stack((query + self.query_step * steps, target + self.target_step * steps)))
            query += self.query_step * length * (kind != "D")
            target += self.target_step * length * (kind != "I")
        return np.concatenate(parts, axis=1)

    def rescored(self, pairs: NDArray[np.int64], letters: Letters) -> int:
        """The score of the path: the scores of its pairs, less gap_open + k * gap_extend for a gap of k letters."""
        scoring = letters.scoring
        gaps = (scoring.gap_first + (length - 1) * scoring.gap_extend for kind, length in self.runs if kind != "M")
        aligned = letters.codes[self.target][pairs[1]]
        if self.strand == "-":
            aligned = complements(scoring.alphabet)[aligned]
        return int(scoring.matrix[letters.codes[self.query][pairs[0]], aligned].sum()) - sum(gaps)

    def shown(self) -> str:
        """The alignment in a line, for exceptions."""
        query_start, query_end, target_start, target_end = self.ends
        cigar = "".join(f"{length}{kind}" for kind, length in self.runs)
        return (
            f"{self.query} {query_start}-{query_end} x {self.target} {target_start}-{target_end} {self.strand}, "
            f"score {self.score}, {cigar if len(cigar) < 60 else cigar[:57] + '...'}"
        )


@dataclass(frozen=True)
class Letters:
    """The codes of all sequences by id, and the scoring by which all programs align them."""

    codes: dict[str, NDArray[np.uint8]]
    scoring: Scoring

    @staticmethod
    def of(texts: dict[str, str], scoring: Scoring) -> Letters:
        """Encode sequences."""
        return Letters({name: scoring.alphabet.encode(text) for name, text in texts.items()}, scoring)


def runs_of_cigar(cigar: str) -> Runs:
    """The runs of a CIGAR with M, I and D.

    >>> runs_of_cigar("12M2D3M")
    (('M', 12), ('D', 2), ('M', 3))
    """
    return tuple((kind, int(length)) for length, kind in re.findall(r"(\d+)([MID])", cigar))


def runs_of_letters(query: str, target: str) -> Runs:
    """The runs of two aligned texts with `-` for gaps.

    >>> runs_of_letters("ACG-T", "A-GGT")
    (('M', 1), ('I', 1), ('M', 1), ('D', 1), ('M', 1))
    """
    kinds = ("D" if one == "-" else "I" if other == "-" else "M" for one, other in zip(query, target, strict=True))
    return tuple((kind, sum(1 for _ in run)) for kind, run in groupby(kinds))
