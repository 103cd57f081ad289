"""Read substitution matrices: the built-in ones, and files in NCBI's format.

    # comment
       A  R  N          the letters of the targets
    A  4 -1 -2          one row per letter of the queries; the matrix need not be symmetric
    R -1  5  0          integers or decimals

Values are exact fractions. `exaln.scoring.letter_rules` completes them for an alphabet.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from exaln.errors import InputError
from exaln.foundation.paths import checked_path, is_folder
from exaln.foundation.plurals import number_of

MAX_VALUE = 32767
"""Upper limit for scores and gap costs after scaling, so that they fit the engines' 16-bit lanes."""

MAX_DENOMINATOR = 1000
"""Upper limit for the factor that makes fractional values whole."""

MAX_FILE_BYTES = 1 << 20

DATA = Path(__file__).with_name("data")

DEFAULT_GAPS: dict[str, tuple[int, int]] = {
    # NCBI's preferred costs (blastp)
    "BLOSUM45": (14, 2),
    "BLOSUM50": (13, 2),
    "BLOSUM62": (11, 1),
    "BLOSUM80": (10, 1),
    "BLOSUM90": (10, 1),
    "PAM30": (9, 1),
    "PAM70": (10, 1),
    "PAM120": (11, 1),  # NCBI prefers none; a half-bit matrix of about the entropy of BLOSUM80
    "PAM250": (14, 2),
    # ssearch36's
    "VTML10": (16, 2),
    "VTML20": (15, 2),
    "VTML40": (14, 2),
    "VTML80": (14, 2),
    "VTML120": (10, 1),
    "VTML160": (12, 2),
    "VTML200": (10, 2),
    # one of the two pairs for which NCBI has statistics at +5/-4
    "NUC.4.4": (10, 6),
}
"""Default (gap_open, gap_extend) of each built-in matrix, by name."""

ALIASES = {"EDNAFULL": "NUC.4.4", "DNAFULL": "NUC.4.4", "NUC44": "NUC.4.4"}

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?")
SMALL = re.compile(r"[+-]?[0-9]{1,4}")
NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class ScoreTable:
    """A matrix as written: `scores[query letter, target letter]` for every pair of `letters`.

    name: of the matrix or file, for messages. header_line: number of the line with the letters.
    """

    name: str
    letters: str
    scores: dict[tuple[str, str], Fraction]
    header_line: int
    is_built_in: bool = False


def load(matrix: str | os.PathLike[str]) -> ScoreTable:
    """The built-in matrix of this name, in any case, or else the matrix in the file of this name.

    InputError if there is neither, or if the file is not a matrix.
    """
    if isinstance(matrix, str):
        name = ALIASES.get(matrix.upper(), matrix.upper())
        if name in DEFAULT_GAPS:
            return _load_built_in(name)
        if _is_missing(checked_path(matrix, "the matrix")):
            known = ", ".join(DEFAULT_GAPS)
            raise InputError(f"matrix {matrix!r} is neither a file nor one of the built-in matrices {known}")
    return parse(_read_text(Path(matrix)), os.fspath(matrix))


def _is_missing(path: Path) -> bool:
    try:
        return is_folder(path) is None
    except OSError:
        return False  # opening it will tell what is wrong


@lru_cache
def _load_built_in(name: str) -> ScoreTable:
    table = parse((DATA / f"{name}.txt").read_text(encoding="ascii"), name)
    return ScoreTable(table.name, table.letters, table.scores, table.header_line, is_built_in=True)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot read the matrix: {error.strerror}") from None
    if len(raw) > MAX_FILE_BYTES or b"\0" in raw:
        raise InputError(f"{path}: this is not a matrix in NCBI's text format")
    return raw.decode("utf-8-sig", errors="replace")


def parse(text: str, name: str) -> ScoreTable:
    """The matrix in `text`; InputError, which gives `name` and the line, if it is malformed.

    >>> parse("#  ours\\n  A B\\nA 2 -1\\nB 0 1.5", "ours").scores["B", "B"]
    Fraction(3, 2)
    """
    lines = _fields(text)
    try:
        header_line, header = next(lines)
    except StopIteration:
        raise InputError(
            f"{name}: the matrix is empty; expected a line of letters and a row for each of them"
        ) from None
    letters = _header_letters(header, f"{name}, line {header_line}")
    scores: dict[tuple[str, str], Fraction] = {}
    for number, fields in lines:
        scores |= _row(fields, letters, scores, f"{name}, line {number}")
    missing = [letter for letter in letters if (letter, letter) not in scores]
    if missing:
        raise InputError(f"{name}: the matrix has no row for {', '.join(missing)}, named in line {header_line}")
    return ScoreTable(name, letters, scores, header_line)


def _fields(text: str) -> Iterator[tuple[int, list[str]]]:
    """(line number, fields) of each line that is not blank or a comment."""
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        fields = line.split("#", 1)[0].split()
        if fields:
            yield number, fields


def _header_letters(header: list[str], place: str) -> str:
    for letter in header:
        if len(letter) != 1 or not letter.isascii():
            raise InputError(f"{place}: {_short(letter)} is not a letter; the first line must name the letters")
    letters = "".join(header).upper()
    for letter in letters:
        if letters.count(letter) > 1:
            raise InputError(f"{place}: letter {letter} is named twice (upper and lower case are the same letter)")
    return letters


def _row(
    fields: list[str], letters: str, before: dict[tuple[str, str], Fraction], place: str
) -> dict[tuple[str, str], Fraction]:
    letter, values = fields[0].upper(), fields[1:]
    if len(letter) != 1 or letter not in letters:
        raise InputError(f"{place}: the row of {_short(fields[0])}, which is not among the letters {letters}")
    if (letter, letter) in before:
        raise InputError(f"{place}: a second row for letter {letter}")
    if len(values) != len(letters):
        raise InputError(
            f"{place}: the row of {letter} has {number_of(len(values), 'value')}, "
            f"but {number_of(len(letters), 'letter')} above it"
        )
    return {
        (letter, other): _value(value, f"{place}, row {letter}, column {other}")
        for other, value in zip(letters, values, strict=True)
    }


@lru_cache(maxsize=1 << 12)
def _whole(text: str) -> Fraction | None:
    """The value of a small whole number, or None for other text. A matrix has few different values."""
    return Fraction(int(text)) if SMALL.fullmatch(text) else None


def _value(text: str, place: str) -> Fraction:
    whole = _whole(text)
    if whole is not None:
        return whole
    if NOT_FINITE.fullmatch(text):
        raise InputError(f"{place}: {text} is not a finite number")
    if len(text) > 40 or not NUMBER.fullmatch(text):
        raise InputError(f"{place}: {_short(text)} is not a number")
    value = Fraction(text)
    if abs(value) > MAX_VALUE:
        raise InputError(f"{place}: {text} is too large; scores must lie between -{MAX_VALUE} and {MAX_VALUE}")
    if value.denominator > MAX_DENOMINATOR:
        raise InputError(f"{place}: {text} has too many decimals; steps of 1/{MAX_DENOMINATOR} are possible")
    return value


def _short(text: str) -> str:
    return repr(text if len(text) <= 20 else f"{text[:17]}...")
