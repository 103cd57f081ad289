"""`Scoring`: the substitution scores of letters, and the one definition of the cost of a gap.

A gap of length k costs `gap_open + k * gap_extend`, as in BLAST: with 11/1 a gap of one residue costs 12. EMBOSS,
parasail, SSW and Biopython charge `open + (k - 1) * extend`; their 12/1 is 11/1 here. `gap_open=0` makes gaps linear.
Both costs may be 0: gaps are then free, and the score is that of the best common subsequence. All scores may be 0 or
below, as for the edit distance (match 0, mismatch -1, gaps 0/1); local alignments and searches refuse such a scoring.

Fractional values are made whole by one factor, `scale`: with gaps 9.5/0.5 everything is doubled, exactly.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.scoring import matrices
from exaln.scoring.letter_scores import (
    MATRIX,
    Number,
    common_factor,
    default_source,
    gap_cost,
    letter_scores,
    value_text,
)
from exaln.scoring.modes import Mode
from exaln.scoring.tasks import TASKS
from exaln.sequences.alphabet import BUILT_IN, DNA, PROTEIN, Alphabet, as_alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.letter_scores import ScoreArray


ScoringLike: TypeAlias = "Scoring | str | os.PathLike[str]"
"""A Scoring, the name of a BLAST task, or the name or file of a matrix, which brings its default gap costs."""


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Scoring:
    """A substitution matrix and gap costs; immutable.

    matrix: int32[n_letters, n_letters] in the order of `alphabet.letters`, row = query, column = target; read-only.
    gap_open, gap_extend: a gap of length k costs gap_open + k * gap_extend.
    scale: the factor by which all of these were multiplied to make them whole; 1 unless fractions were given.
    derived_letters: the letters that the matrix lacks, scored by the rules of docs/letters.md.
    match: (match, mismatch) as given, None for a matrix. With match and mismatch, `name` is "2/-3".

    >>> Scoring("blosum62")
    Scoring('BLOSUM62', gap_open=11, gap_extend=1)
    >>> print(Scoring(match=2, mismatch=-3).describe())
    match 2, mismatch -3, gaps 5/2: a gap of 1 costs 7
    >>> water = Scoring("BLOSUM62", gap_open=9.5, gap_extend=0.5)
    >>> water.scale, water.gap_first, water.unscale(587)
    (2, 20, 293.5)
    """

    name: str
    alphabet: Alphabet
    matrix: NDArray[np.int32]
    gap_open: int
    gap_extend: int
    scale: int
    derived_letters: str
    match: tuple[Fraction, Fraction] | None

    def __init__(
        self,
        matrix: str | os.PathLike[str] | ScoreArray | None = None,
        *,
        match: Number | None = None,
        mismatch: Number | None = None,
        gap_open: Number | None = None,
        gap_extend: Number | None = None,
        alphabet: Alphabet | str | None = None,
    ) -> None:
        """A scoring from a matrix, or from match and mismatch; the default of the alphabet if neither is given.

        matrix: a built-in name, a file, or an array [n_letters, n_letters] in the order of the alphabet, row = query.
        gap_open, gap_extend: default to those of the matrix. InputError if a value is wrong or out of range.
        """
        alphabet = as_alphabet(alphabet)
        if matrix is None and match is None and mismatch is None:
            matrix, match, mismatch = default_source(alphabet or PROTEIN)
        exact = letter_scores(matrix, match, mismatch, alphabet)
        default_open, default_extend = exact.gaps
        opening = gap_cost("gap_open", default_open if gap_open is None else gap_open)
        extending = gap_cost("gap_extend", default_extend if gap_extend is None else gap_extend)
        scale = common_factor(exact, opening, extending)
        self.__dict__.update(
            name=exact.name,
            alphabet=exact.alphabet,
            matrix=_read_only(exact.multiplied(scale)),
            gap_open=int(opening * scale),
            gap_extend=int(extending * scale),
            scale=scale,
            derived_letters=exact.derived,
            match=exact.match,
        )

    @staticmethod
    def default(alphabet: Alphabet | str) -> Scoring:
        """BLOSUM62 with gaps 11/1 for proteins; match 2, mismatch -3, gaps 5/2 for nucleotides."""
        found = as_alphabet(alphabet)
        if found is not None and found is BUILT_IN.get(found.name):
            return _built_in_default(found.name)
        return Scoring(alphabet=found)

    @staticmethod
    def of_task(task: str, alphabet: Alphabet | str | None = None) -> Scoring:
        """The scoring of a BLAST task; alphabet: of the sequences, if known. InputError if the task is for others.

        >>> Scoring.of_task("blastp-short")
        Scoring('PAM30', gap_open=9, gap_extend=1)
        """
        found, known = TASKS[arguments.choice("task", task, tuple(TASKS))], as_alphabet(alphabet)
        if known is not None:
            found.require_molecule(known, f"task {task!r}")
        return Scoring(**found.arguments(), alphabet=known)

    @staticmethod
    def names() -> tuple[str, ...]:
        """The names of the built-in matrices."""
        return tuple(matrices.DEFAULT_GAPS)

    def require_positive(self, what: str) -> None:
        """Raise InputError if no pair of letters scores above 0, so that `what` would find nothing."""
        if self.max_score <= 0:
            raise InputError(
                f"{self.name}: no pair of letters scores above 0, so {what} finds nothing; "
                "global, semiglobal and overlap alignments allow it"
            )

    @property
    def gap_first(self) -> int:
        """The cost of a gap of one residue."""
        return self.gap_open + self.gap_extend

    @cached_property
    def max_score(self) -> int:
        """The highest score of any pair of letters."""
        return int(self.matrix.max())

    @cached_property
    def min_score(self) -> int:
        """The lowest score of any pair of letters."""
        return int(self.matrix.min())

    def unscale(self, score: int) -> int | float:
        """A score divided by `scale`: in the units in which matrix and gaps were given."""
        return score if self.scale == 1 else score / self.scale

    def folded(self, is_used: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The matrix with equal letters merged: (small int32[k, k], fold uint8[256]).

        small[fold[a], fold[b]] == matrix[a, b]. Letters with equal rows and equal columns, such as U and C, share one
        of the k codes, which are numbered in order of first use. is_used: bool[n_letters], the letters to keep, None
        for all. Bytes that are no letter or not in use have the code 0.
        """
        kept, fold = equal_columns(np.concatenate([self.matrix, self.matrix.T]), is_used)
        return np.ascontiguousarray(self.matrix[np.ix_(kept, kept)]), fold

    def describe(self) -> str:
        """One line for logs and reports."""
        costs = (self.gap_open, self.gap_extend, self.gap_first)
        gap_open, gap_extend, gap_first = (value_text(Fraction(cost, self.scale)) for cost in costs)
        what = (
            self.name
            if self.match is None
            else f"match {value_text(self.match[0])}, mismatch {value_text(self.match[1])}"
        )
        return f"{what}, gaps {gap_open}/{gap_extend}: a gap of 1 costs {gap_first}"

    def to_values(self) -> dict[str, Any]:
        """A dict of plain values for JSON; `from_values` is the inverse."""
        return {
            "name": self.name,
            "alphabet": self.alphabet.to_values(),
            "matrix": self.matrix.tolist(),
            "gap_open": self.gap_open,
            "gap_extend": self.gap_extend,
            "scale": self.scale,
            "derived_letters": self.derived_letters,
            "match": None if self.match is None else [str(value) for value in self.match],
        }

    @staticmethod
    def from_values(values: dict[str, Any]) -> Scoring:
        """The scoring from the dict of `to_values`."""
        scoring = Scoring.__new__(Scoring)
        match = values["match"]
        scoring.__dict__.update(
            values,
            alphabet=Alphabet.from_values(values["alphabet"]),
            matrix=_read_only(np.array(values["matrix"], np.int32)),
            match=None if match is None else (Fraction(match[0]), Fraction(match[1])),
        )
        return scoring

    def __repr__(self) -> str:
        arguments = [repr(self.name)]
        if self.match is not None:
            arguments = [f"match={value_text(self.match[0])}", f"mismatch={value_text(self.match[1])}"]
        arguments.append(f"gap_open={value_text(Fraction(self.gap_open, self.scale))}")
        arguments.append(f"gap_extend={value_text(Fraction(self.gap_extend, self.scale))}")
        if self.alphabet != DNA and (self.alphabet != PROTEIN or self.match is not None):
            built_in = self.alphabet == BUILT_IN.get(self.alphabet.name)
            arguments.append(f"alphabet={(self.alphabet.name if built_in else self.alphabet)!r}")
        return f"Scoring({', '.join(arguments)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scoring) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return (self.name, self.alphabet, self.scale, self.gap_open, self.gap_extend, self.matrix.tobytes())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _read_only(self.matrix)


def as_scoring(scoring: ScoringLike | None, alphabet: Alphabet | None = None) -> Scoring:
    """The Scoring for what a user passed: a Scoring, a BLAST task, the name or file of a matrix; None for the default.

    alphabet: that of the sequences, if known.

    >>> as_scoring("BLOSUM45")
    Scoring('BLOSUM45', gap_open=14, gap_extend=2)
    """
    if isinstance(scoring, Scoring):
        return scoring
    if scoring is None:
        return Scoring.default(PROTEIN if alphabet is None else alphabet)
    if isinstance(scoring, str) and alphabet is None and scoring.upper() in matrices.DEFAULT_GAPS:
        return _built_in(scoring.upper())
    if isinstance(scoring, str) and scoring in TASKS:
        return Scoring.of_task(scoring, alphabet)
    return Scoring(arguments.path("scoring", scoring, f"a Scoring, {MATRIX}"), alphabet=alphabet)


@lru_cache
def _built_in_default(alphabet: str) -> Scoring:
    return Scoring(alphabet=alphabet)


@lru_cache
def _built_in(matrix: str) -> Scoring:
    return Scoring(matrix)


def require_scores_for(scoring: Scoring, mode: Mode) -> None:
    """Raise InputError for local alignments if no letters score above 0: all would be empty."""
    if mode.is_local:
        scoring.require_positive("a local alignment")


def equal_columns(
    matrix: NDArray[np.int32], is_used: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The distinct columns of a matrix: int64[k], the first of each kind, and uint8[256], the kind of each column.

    is_used: bool[columns], the columns to consider, None for all; the others have kind 0. k is at least 1.

    >>> kept, fold = equal_columns(np.array([[1, 2, 1, 3], [0, 0, 0, 3]]))
    >>> kept, fold[:4]
    (array([0, 1, 3]), array([0, 1, 0, 2], dtype=uint8))
    """
    used = np.arange(matrix.shape[1]) if is_used is None else np.flatnonzero(is_used)
    if not len(used):
        used = np.zeros(1, np.int64)
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(column.tobytes(), len(kinds)) for column in matrix.T[used]])
    fold = np.zeros(256, np.uint8)
    fold[used] = kind
    return used[np.searchsorted(np.maximum.accumulate(kind), np.arange(len(kinds)))], fold


def _read_only(array: NDArray[np.int32]) -> NDArray[np.int32]:
    array.flags.writeable = False
    return array
