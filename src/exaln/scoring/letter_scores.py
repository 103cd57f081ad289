"""From what a user gives as a scoring to exact scores: a matrix, a file, an array, or match and mismatch.

Values are exact fractions here; `common_factor` finds the factor that makes all of them whole numbers.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.scoring import letter_rules, matrices
from exaln.scoring.letter_rules import Scores
from exaln.scoring.matrices import MAX_DENOMINATOR, MAX_VALUE, ScoreTable
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet

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
"""Default gap costs for a matrix file, and for match and mismatch, as in blastp and blastn."""


@dataclass(frozen=True)
class LetterScores:
    """Exact scores of all pairs of letters.

    derived: the letters that were scored by a rule of `letter_rules`. gaps: default (gap_open, gap_extend).
    match: (match, mismatch), None for a matrix.
    """

    name: str
    alphabet: Alphabet
    scores: Scores
    derived: str
    gaps: tuple[int, int]
    match: tuple[Fraction, Fraction] | None = None

    @cached_property
    def denominator(self) -> int:
        """The least number that makes all scores whole when they are multiplied by it."""
        return math.lcm(*(score.denominator for score in self.scores.values()))

    @cached_property
    def largest(self) -> Fraction:
        """The largest absolute score."""
        return max(map(abs, self.scores.values()))

    def multiplied(self, factor: int) -> NDArray[np.int32]:
        """int32[n_letters, n_letters], row = query: the scores times a multiple of `denominator`."""
        return self._numerators * np.int32(factor // self.denominator)

    @cached_property
    def _numerators(self) -> NDArray[np.int32]:
        order = self.alphabet.letters
        scores = [self.scores[pair] for pair in product(order, order)]
        numerators = [score.numerator * (self.denominator // score.denominator) for score in scores]
        return np.array(numerators, np.int32).reshape(len(order), len(order))


def default_source(alphabet: Alphabet) -> tuple[str | None, int | None, int | None]:
    """The default (matrix, match, mismatch) of an alphabet; InputError for a custom alphabet."""
    if alphabet == PROTEIN:
        return DEFAULT_MATRIX, None, None
    if alphabet.is_nucleotide:
        return None, DEFAULT_MATCH, DEFAULT_MISMATCH
    raise InputError(f"the {alphabet.name} alphabet has no default scoring; give a matrix, or match and mismatch")


def letter_scores(
    matrix: str | os.PathLike[str] | ScoreArray | None,
    match: Number | None,
    mismatch: Number | None,
    alphabet: Alphabet | None,
) -> LetterScores:
    """Exact scores from a matrix (a name, a file or an array) or from match and mismatch; InputError for both."""
    if matrix is None:
        if match is None or mismatch is None:
            raise InputError("match and mismatch go together; give both")
        return _from_match(_exact("match", match), _exact("mismatch", mismatch), alphabet or DNA)
    if match is not None or mismatch is not None:
        raise InputError("a matrix cannot be combined with match or mismatch; give one or the other")
    if isinstance(matrix, np.ndarray):
        return _from_array(matrix, alphabet)
    return _from_matrix(arguments.path("matrix", matrix, f"{MATRIX}, or an array"), alphabet)


def _from_matrix(matrix: str | os.PathLike[str], alphabet: Alphabet | None) -> LetterScores:
    table = matrices.load(matrix)
    alphabet = alphabet or letter_rules.alphabet_of(table)
    return _from_built_in(table.name, *_key(alphabet)) if table.is_built_in else _from_table(table, alphabet)


def _key(alphabet: Alphabet) -> tuple[Alphabet, tuple[tuple[str, str], ...]]:
    """An alphabet as a key: alphabets are equal whatever their synonyms, but scores depend on these."""
    return alphabet, tuple(sorted(alphabet.synonyms.items()))


@lru_cache(maxsize=64)
def _from_built_in(name: str, alphabet: Alphabet, synonyms: tuple[tuple[str, str], ...]) -> LetterScores:
    return _from_table(matrices.load(name), alphabet)


def _from_table(table: ScoreTable, alphabet: Alphabet) -> LetterScores:
    scores = letter_rules.complete(table, alphabet)
    derived = "".join(letter for letter in alphabet.letters if letter not in table.letters)
    gaps = matrices.DEFAULT_GAPS[table.name] if table.is_built_in else FILE_GAPS
    return LetterScores(table.name, alphabet, scores, derived, gaps)


def _from_array(matrix: ScoreArray, alphabet: Alphabet | None) -> LetterScores:
    if alphabet is None:
        raise InputError("a matrix given as an array needs an alphabet")
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
    return LetterScores(ARRAY_NAME, alphabet, scores, "", FILE_GAPS)


def _from_match(match: Fraction, mismatch: Fraction, alphabet: Alphabet) -> LetterScores:
    if mismatch > 0:
        raise InputError(f"mismatch is {value_text(mismatch)}; it must be 0 or below (a penalty is written -3, not 3)")
    if match < mismatch:
        raise InputError(
            f"match is {value_text(match)}, which is below mismatch, {value_text(mismatch)}; exchange the two"
        )
    return _matching(match, mismatch, *_key(alphabet))


@lru_cache(maxsize=64)
def _matching(
    match: Fraction, mismatch: Fraction, alphabet: Alphabet, synonyms: tuple[tuple[str, str], ...]
) -> LetterScores:
    scores = letter_rules.identity_scores(alphabet, match, mismatch)
    derived = "".join(a for a in alphabet.letters if a in alphabet.synonyms or letter_rules.is_special(a, alphabet))
    return LetterScores(
        f"{value_text(match)}/{value_text(mismatch)}", alphabet, scores, derived, MATCH_GAPS, (match, mismatch)
    )


def gap_cost(name: str, value: Number) -> Fraction:
    """The exact gap cost; InputError if it is negative or not a number. name: of the argument."""
    cost = _exact(name, value)
    if cost < 0:
        raise InputError(f"{name} is {value_text(cost)}; a gap cost must be 0 or above (a cost is written 11, not -11)")
    return cost


def _exact(name: str, value: Number) -> Fraction:
    """The exact value of a number as written in decimals: 0.1 is a tenth. InputError if it is out of range."""
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


def common_factor(letters: LetterScores, opening: Fraction, extending: Fraction) -> int:
    """The least factor that makes all scores and gap costs whole; InputError if the results are too large."""
    scale = math.lcm(letters.denominator, opening.denominator, extending.denominator)
    if scale > MAX_DENOMINATOR:
        raise InputError(
            f"{letters.name}, gaps {value_text(opening)}/{value_text(extending)}: the fractions have the common "
            f"denominator {scale}; at most {MAX_DENOMINATOR} is possible, round the values"
        )
    for what, value in (("score", letters.largest), ("gap of 1", opening + extending)):
        if value * scale > MAX_VALUE:
            raise InputError(
                f"{letters.name}: a {what} of {value_text(value)} is too large; {MAX_VALUE} is possible"
                + (f" after multiplication by {scale}, which makes all values whole" if scale > 1 else "")
            )
    return scale


def value_text(value: Fraction) -> str:
    """A value as users write it: a whole number, or decimals."""
    return str(value.numerator) if value.denominator == 1 else str(float(value))
