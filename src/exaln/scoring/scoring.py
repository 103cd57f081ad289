"""Scoring: what a pair of letters scores, and the one definition of what a gap costs.

A gap of length k costs `gap_open + k * gap_extend`, as in BLAST: 11/1 charges 12 for one residue. Tools that charge
`open + (k - 1) * extend` (EMBOSS, parasail, SSW, Biopython) call 12/1 what is 11/1 here. Linear gaps are `gap_open=0`.
Both may be 0: gaps are then free, and the score is that of the best common subsequence. Scores may all be 0 or below,
as for the edit distance (match 0, mismatch -1, gaps 0/1); local alignments and searches refuse such a scoring.

Fractional values are made whole by one factor, `scale`: with gaps 9.5/0.5 everything is doubled, exactly.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.scoring import letter_rules, matrices
from exaln.scoring.letter_rules import Scores
from exaln.scoring.matrices import MAX_DENOMINATOR, MAX_VALUE
from exaln.scoring.modes import Mode
from exaln.sequences.alphabet import BUILT_IN, DNA, PROTEIN, Alphabet, as_alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    ScoreArray = NDArray[np.integer | np.floating]

ARRAY_NAME = "custom matrix"
Number = int | float | Fraction | Decimal
MATRIX = "the name of a matrix, such as 'BLOSUM62', or the path of a matrix file"

DEFAULT_MATRIX = "BLOSUM62"
DEFAULT_MATCH, DEFAULT_MISMATCH = 2, -3
FILE_GAPS = (11, 1)
MATCH_GAPS = (5, 2)
"""Gap costs that go with a matrix file, and with match and mismatch, as in blastp and blastn."""


ScoringLike: TypeAlias = "Scoring | str | os.PathLike[str]"
"""A scoring, or the name or file of a matrix with the gap costs that go with it."""


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Scoring:
    """A substitution matrix and gap costs; immutable.

    matrix: int32[n_letters, n_letters] in the order of `alphabet.letters`, row = query, column = target; read-only.
    gap_open, gap_extend: a gap of length k costs gap_open + k * gap_extend.
    scale: the factor that all of these have been multiplied by, so that they are whole; 1 unless fractions were given.
    derived_letters: the letters that the matrix lacks, scored by the rules of docs/letters.md.
    match: (match, mismatch) as given, None for a matrix; `name` is then the two with a slash: 2/-3.

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
        """A built-in matrix, a matrix file, or match and mismatch; without any, the default of the alphabet.

        An array [n_letters, n_letters] in the order of the alphabet, row = query, is also a matrix.
        """
        alphabet = as_alphabet(alphabet)
        if matrix is None and match is None and mismatch is None:
            matrix, match, mismatch = _default_source(alphabet or PROTEIN)
        letters = _letter_scores(matrix, match, mismatch, alphabet)
        default_open, default_extend = letters.gaps
        opening = _gap_cost("gap_open", default_open if gap_open is None else gap_open)
        extending = _gap_cost("gap_extend", default_extend if gap_extend is None else gap_extend)
        scale = _scale(letters, opening, extending)
        order = letters.alphabet.letters
        values = [[int(letters.scores[a, b] * scale) for b in order] for a in order]
        self.__dict__.update(
            name=letters.name,
            alphabet=letters.alphabet,
            matrix=_read_only(np.array(values, np.int32)),
            gap_open=int(opening * scale),
            gap_extend=int(extending * scale),
            scale=scale,
            derived_letters=letters.derived,
            match=letters.match,
        )

    @staticmethod
    def default(alphabet: Alphabet | str) -> Scoring:
        """BLOSUM62 11/1 for proteins; match 2, mismatch -3, gaps 5/2 for nucleotides."""
        return Scoring(alphabet=alphabet)

    @staticmethod
    def names() -> tuple[str, ...]:
        """The built-in matrices."""
        return tuple(matrices.DEFAULT_GAPS)

    def require_positive(self, what: str) -> None:
        """Refuses a scoring in which no pair of letters scores above 0, where `what` finds nothing then."""
        if self.max_score <= 0:
            raise InputError(
                f"{self.name}: no pair of letters scores above 0, so {what} finds nothing; "
                "global, semiglobal and overlap alignments allow it"
            )

    @property
    def gap_first(self) -> int:
        """What a gap of one residue costs."""
        return self.gap_open + self.gap_extend

    @property
    def max_score(self) -> int:
        """The highest score of any pair of letters."""
        return int(self.matrix.max())

    @property
    def min_score(self) -> int:
        """The lowest score of any pair of letters."""
        return int(self.matrix.min())

    def unscale(self, score: int) -> int | float:
        """A score in the units in which matrix and gaps were given."""
        return score if self.scale == 1 else score / self.scale

    def folded(self, is_used: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The matrix without repetition, as (small int32[k, k], fold uint8[256]), or of the letters in use.

        small[fold[a], fold[b]] == matrix[a, b]. Letters with equal rows and equal columns, as U and C, share one of the
        k codes, which are in order of first use. What is no letter, or not in use, has the code 0.
        """
        kept, fold = equal_columns(np.concatenate([self.matrix, self.matrix.T]), is_used)
        return np.ascontiguousarray(self.matrix[np.ix_(kept, kept)]), fold

    def describe(self) -> str:
        """One line for logs and reports."""
        costs = (self.gap_open, self.gap_extend, self.gap_first)
        gap_open, gap_extend, gap_first = (_text(Fraction(cost, self.scale)) for cost in costs)
        what = self.name if self.match is None else f"match {_text(self.match[0])}, mismatch {_text(self.match[1])}"
        return f"{what}, gaps {gap_open}/{gap_extend}: a gap of 1 costs {gap_first}"

    def to_values(self) -> dict[str, Any]:
        """All of it as plain values, for JSON; `from_values` makes an equal one of them."""
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
        """The scoring that these values are of."""
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
            arguments = [f"match={_text(self.match[0])}", f"mismatch={_text(self.match[1])}"]
        arguments.append(f"gap_open={_text(Fraction(self.gap_open, self.scale))}")
        arguments.append(f"gap_extend={_text(Fraction(self.gap_extend, self.scale))}")
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


@dataclass(frozen=True)
class _LetterScores:
    """Exact scores of all pairs of letters, and the gap costs that go with them when none are given."""

    name: str
    alphabet: Alphabet
    scores: Scores
    derived: str
    gaps: tuple[int, int]
    match: tuple[Fraction, Fraction] | None = None


def _default_source(alphabet: Alphabet) -> tuple[str | None, int | None, int | None]:
    if alphabet == PROTEIN:
        return DEFAULT_MATRIX, None, None
    if alphabet.is_nucleotide:
        return None, DEFAULT_MATCH, DEFAULT_MISMATCH
    raise InputError(f"the {alphabet.name} alphabet has no default scoring; give a matrix, or match and mismatch")


def _letter_scores(
    matrix: str | os.PathLike[str] | ScoreArray | None,
    match: Number | None,
    mismatch: Number | None,
    alphabet: Alphabet | None,
) -> _LetterScores:
    if matrix is None:
        if match is None or mismatch is None:
            raise InputError("match and mismatch go together; give both of them")
        return _from_match(_exact("match", match), _exact("mismatch", mismatch), alphabet or DNA)
    if match is not None or mismatch is not None:
        raise InputError("a matrix and match or mismatch were given; choose one of the two")
    if isinstance(matrix, np.ndarray):
        return _from_array(matrix, alphabet)
    return _from_matrix(arguments.path("matrix", matrix, f"{MATRIX}, or an array"), alphabet)


def _from_matrix(matrix: str | os.PathLike[str], alphabet: Alphabet | None) -> _LetterScores:
    table = matrices.load(matrix)
    alphabet = alphabet or letter_rules.alphabet_of(table)
    scores = letter_rules.complete(table, alphabet)
    derived = "".join(letter for letter in alphabet.letters if letter not in table.letters)
    gaps = matrices.DEFAULT_GAPS[table.name] if table.is_built_in else FILE_GAPS
    return _LetterScores(table.name, alphabet, scores, derived, gaps)


def _from_array(matrix: ScoreArray, alphabet: Alphabet | None) -> _LetterScores:
    if alphabet is None:
        raise InputError("a matrix given as an array needs its alphabet")
    if matrix.dtype.kind not in "iufO":
        raise arguments.wrong("matrix", matrix, "an array of numbers")
    n_letters = len(alphabet.letters)
    if matrix.shape != (n_letters, n_letters):
        shape = " x ".join(map(str, matrix.shape))
        raise InputError(f"the matrix is {shape}; the {alphabet.name} alphabet needs {n_letters} x {n_letters}")
    pairs = product(alphabet.letters, alphabet.letters)
    scores = {
        (a, b): _exact(f"score {a}/{b}", value) for (a, b), value in zip(pairs, matrix.ravel().tolist(), strict=True)
    }
    return _LetterScores(ARRAY_NAME, alphabet, scores, "", FILE_GAPS)


def _from_match(match: Fraction, mismatch: Fraction, alphabet: Alphabet) -> _LetterScores:
    if mismatch > 0:
        raise InputError(f"mismatch is {_text(mismatch)}; it must be 0 or below (a penalty is written -3, not 3)")
    if match < mismatch:
        raise InputError(f"match is {_text(match)}, which is below mismatch, {_text(mismatch)}; exchange the two")
    scores = letter_rules.identity_scores(alphabet, match, mismatch)
    derived = "".join(a for a in alphabet.letters if a in alphabet.synonyms or letter_rules.is_special(a, alphabet))
    return _LetterScores(f"{_text(match)}/{_text(mismatch)}", alphabet, scores, derived, MATCH_GAPS, (match, mismatch))


def _gap_cost(name: str, value: Number) -> Fraction:
    cost = _exact(name, value)
    if cost < 0:
        raise InputError(f"{name} is {_text(cost)}; a gap cost must be 0 or above (a cost is written 11, not -11)")
    return cost


def _exact(name: str, value: Number) -> Fraction:
    """The value as it is written in decimals: 0.1 is a tenth."""
    try:
        if isinstance(value, str | bool):
            raise TypeError
        exact = Fraction(str(value)) if isinstance(value, float | np.floating) else Fraction(value)
    except (TypeError, ValueError, ArithmeticError):
        raise InputError(f"{name} is {arguments.shown(value)}; it must be a finite number") from None
    if abs(exact) > MAX_VALUE:
        raise InputError(f"{name} is {value}; at most {MAX_VALUE} is possible")
    if exact.denominator > MAX_DENOMINATOR:
        raise InputError(f"{name} is {value}; it must be a multiple of 1/{MAX_DENOMINATOR} or of a coarser fraction")
    return exact


def _scale(letters: _LetterScores, opening: Fraction, extending: Fraction) -> int:
    """The factor that makes all values whole; refuses what would then not fit the engines."""
    scale = math.lcm(*(value.denominator for value in (*letters.scores.values(), opening, extending)))
    if scale > MAX_DENOMINATOR:
        raise InputError(
            f"{letters.name}, gaps {_text(opening)}/{_text(extending)}: the fractions have the common denominator "
            f"{scale}; at most {MAX_DENOMINATOR} is possible, round the values"
        )
    for what, value in (("score", max(map(abs, letters.scores.values()))), ("gap of 1", opening + extending)):
        if value * scale > MAX_VALUE:
            raise InputError(
                f"{letters.name}: a {what} of {_text(value)} is too large; {MAX_VALUE} is possible"
                + (f" after multiplication by {scale}, which makes all values whole" if scale > 1 else "")
            )
    return scale


def as_scoring(scoring: ScoringLike | None, alphabet: Alphabet | None = None) -> Scoring:
    """What users pass as a scoring: a Scoring, a matrix by its name or file, or None for the default of the alphabet.

    alphabet: that of the sequences if it is known; a matrix then scores its letters.

    >>> as_scoring("BLOSUM45")
    Scoring('BLOSUM45', gap_open=14, gap_extend=2)
    """
    if isinstance(scoring, Scoring):
        return scoring
    if scoring is None:
        return Scoring.default(PROTEIN if alphabet is None else alphabet)
    return Scoring(arguments.path("scoring", scoring, f"a Scoring, {MATRIX}"), alphabet=alphabet)


def require_scores_for(scoring: Scoring, mode: Mode) -> None:
    """Refuses local alignments with a scoring without positive scores: all of them would be empty."""
    if mode.is_local:
        scoring.require_positive("a local alignment")


def equal_columns(
    matrix: NDArray[np.int32], is_used: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Columns of a matrix that differ: the first of each kind, int64[k], and the kind of each column, uint8[256].

    is_used: bool, by column, which are looked at; the others are of kind 0. There is at least one kind.

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


def _text(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))


def _read_only(array: NDArray[np.int32]) -> NDArray[np.int32]:
    array.flags.writeable = False
    return array
