"""Scores for letters that a matrix lacks: complete a matrix, or match and mismatch, to all letters of an alphabet.

1. A score that the matrix has is used.
2. A letter that stands for others (`Alphabet.synonyms`: U for C, J for I or L, N for any base) scores the mean of
   their scores, rounded down to the grid of the matrix.
3. X scores -1 against anything, or the lowest score of the matrix if that is higher. `*` scores the lowest score
   against anything, and +1 against itself.
4. N never scores above 0.

With match and mismatch, rule 2 is blastn's (see `identity_scores`). Reasons and the rules of other tools are in
docs/letters.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from exaln.errors import InputError
from exaln.scoring.matrices import ScoreTable
from exaln.sequences.alphabet import DNA, PROTEIN, RNA, Alphabet

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
UNKNOWN, STOP, ANY_BASE = "X", "*", "N"

Scores = dict[tuple[str, str], Fraction]


def kind_of(table: ScoreTable) -> str | None:
    """The kind of sequences a matrix is for, by its letters: "protein", "nucleotide", or None."""
    letters = set(table.letters) - {UNKNOWN, STOP}
    if letters >= set(AMINO_ACIDS):
        return "protein"
    if letters >= set("ACG") and letters & set("TU") and letters <= set(DNA.letters):
        return "nucleotide"
    return None


def alphabet_of(table: ScoreTable) -> Alphabet:
    """The built-in alphabet of a matrix; InputError if its letters fit none."""
    kind = kind_of(table)
    if kind is None:
        raise InputError(
            f"{table.name}, line {table.header_line}: letters {table.letters} are neither the 20 amino acids nor "
            "A, C, G, T; give their alphabet"
        )
    if kind == "protein":
        return PROTEIN
    return DNA if "T" in table.letters else RNA


def check_fit(table: ScoreTable, alphabet: Alphabet) -> None:
    """Raise InputError if a matrix is for other sequences, or if a file has letters outside the alphabet."""
    kind = kind_of(table)
    expected = {PROTEIN.name: "protein", DNA.name: "nucleotide", RNA.name: "nucleotide"}.get(alphabet.name)
    if kind and expected and kind != expected:
        raise InputError(f"{table.name} is a {kind} matrix and cannot score {alphabet.name} sequences")
    unknown = sorted(set(table.letters) - set(alphabet.letters) - {UNKNOWN, STOP})
    if unknown and not table.is_built_in:
        raise InputError(
            f"{table.name}, line {table.header_line}: {', '.join(unknown)} not in the {alphabet.name} alphabet "
            f"{alphabet.letters}"
        )


def complete(table: ScoreTable, alphabet: Alphabet) -> Scores:
    """A score for every pair of letters of the alphabet; InputError if the rules give none for a letter."""
    check_fit(table, alphabet)
    stands_for = {letter: _known_letters(letter, table.letters, alphabet) for letter in alphabet.letters}
    missing = [letter for letter in alphabet.letters if not stands_for[letter] and not is_special(letter, alphabet)]
    if missing:
        raise InputError(
            f"{table.name}: the matrix has no scores for {', '.join(missing)} of the {alphabet.name} alphabet"
        )
    grid = math.lcm(*(score.denominator for score in table.scores.values()))
    scores = {
        (a, b): _mean_rounded_down([table.scores[pair] for pair in product(stands_for[a], stands_for[b])], grid)
        for a, b in product(alphabet.letters, alphabet.letters)
        if stands_for[a] and stands_for[b]
    }
    return _with_special_letters(scores, alphabet, derived=set(alphabet.letters) - set(table.letters))


def identity_scores(alphabet: Alphabet, match: Fraction, mismatch: Fraction) -> Scores:
    """A score for every pair of letters from match and mismatch, with ambiguity codes scored as in blastn.

    Two codes that share no base are a mismatch. Otherwise the score is (match + (n - 1) * mismatch) / n, rounded to the
    nearest, halves away from zero; n is the number of bases of the more ambiguous code.
    """
    grid = math.lcm(match.denominator, mismatch.denominator)
    plain = [a for a in alphabet.letters if a not in alphabet.synonyms and not is_special(a, alphabet)]
    stands_for = {a: a if a in plain else alphabet.synonyms.get(a, "") for a in alphabet.letters}

    def score(a: str, b: str) -> Fraction:
        if not set(stands_for[a]) & set(stands_for[b]):
            return mismatch
        n = max(len(stands_for[a]), len(stands_for[b]))
        return _rounded_to_nearest((match + (n - 1) * mismatch) / n, grid)

    scores = {
        (a, b): score(a, b) for a, b in product(alphabet.letters, alphabet.letters) if stands_for[a] and stands_for[b]
    }
    return _with_special_letters(scores, alphabet, derived=set(alphabet.letters) - set(plain))


def _known_letters(letter: str, known: str, alphabet: Alphabet) -> str:
    """The letters of a matrix that give the score of `letter`: itself, or all that it stands for, or none."""
    if letter in known:
        return letter
    stands_for = alphabet.synonyms.get(letter, letter)
    # the U of RNA is the T of a DNA matrix, and vice versa
    other_name = stands_for.translate(str.maketrans("TU", "UT")) if alphabet.is_nucleotide else stands_for
    return next((candidate for candidate in (stands_for, other_name) if set(candidate) <= set(known)), "")


def is_special(letter: str, alphabet: Alphabet) -> bool:
    """Whether rule 3 applies: to X and `*` in proteins. In other alphabets they are ordinary letters."""
    return alphabet.name == PROTEIN.name and letter in (UNKNOWN, STOP)


def _with_special_letters(scores: Scores, alphabet: Alphabet, derived: set[str]) -> Scores:
    """Apply rules 3 and 4: fill in missing scores of X and `*`, and limit N to 0. derived: letters the matrix lacks."""
    few = {(score.numerator, score.denominator): score for score in scores.values()}.values()
    lowest, highest = min(few), max(few)
    unknown = min(Fraction(0), max(Fraction(-1), lowest))
    full: Scores = {}
    for pair in product(alphabet.letters, alphabet.letters):
        if pair in scores:
            full[pair] = scores[pair]
        elif STOP in pair:
            full[pair] = min(Fraction(1), highest) if pair == (STOP, STOP) else lowest
        else:
            full[pair] = unknown
        if alphabet.is_nucleotide and ANY_BASE in pair and ANY_BASE in derived:
            full[pair] = min(full[pair], Fraction(0))
    return full


def _mean_rounded_down(values: list[Fraction], grid: int) -> Fraction:
    if len(values) == 1:
        return values[0]
    return Fraction(math.floor(sum(values, Fraction(0)) / len(values) * grid), grid)


def _rounded_to_nearest(value: Fraction, grid: int) -> Fraction:
    steps = math.floor(abs(value) * grid + Fraction(1, 2))
    return Fraction(steps if value >= 0 else -steps, grid)
