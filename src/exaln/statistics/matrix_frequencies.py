"""The frequencies of aligned amino acids behind the standard matrices, from which pairs get scores of their own.

A matrix has the score log(ratio) / lambda for two letters that are aligned `ratio` times as often as by chance. The
frequencies in `matrix_frequencies.json` are NCBI's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.scoring.letter_rules import AMINO_ACIDS
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN
from exaln.statistics.background import ROBINSON
from exaln.statistics.karlin_altschul import is_built_in
from exaln.statistics.ungapped import ungapped_lambda

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA = Path(__file__).with_suffix(".json")

RATIO_LETTERS = AMINO_ACIDS + "BZJ*"


@dataclass(frozen=True)
class MatrixFrequencies:
    """What is behind a matrix.

    joint: float64[20, 20], frequencies of aligned amino acids, in the order of AMINO_ACIDS, with which the protein
    alphabet begins. background: float64[20], their sums. ratios:
    float64[27, 27], in the order of the protein alphabet, 0 for X, U and O. lambda_: the ungapped lambda of the matrix
    in proteins of average composition.
    """

    joint: NDArray[np.float64]
    background: NDArray[np.float64]
    ratios: NDArray[np.float64]
    lambda_: float


def frequencies_of(scoring: Scoring) -> MatrixFrequencies | None:
    """What is behind the matrix of a scoring; None if it is not known.

    >>> round(frequencies_of(Scoring("BLOSUM62")).lambda_, 4), frequencies_of(Scoring("VTML160"))
    (0.3176, None)
    """
    known = scoring.alphabet == PROTEIN and scoring.name in names() and is_built_in(scoring)
    return _frequencies(scoring.name) if known else None


def names() -> tuple[str, ...]:
    """The matrices whose frequencies are known."""
    return tuple(_data()["matrices"])


@lru_cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(DATA.read_text(encoding="ascii"))
    return data


@lru_cache
def _frequencies(name: str) -> MatrixFrequencies:
    values = _data()["matrices"][name]
    joint = _symmetric(values["joint"])
    given, n_letters = _symmetric(values["ratios"]), len(PROTEIN.letters)
    places = [PROTEIN.letters.index(letter) for letter in RATIO_LETTERS]
    ratios = np.zeros((n_letters, n_letters))
    ratios[np.ix_(places, places)] = given
    stop = PROTEIN.letters.index("*")
    unknown = [place for place in range(n_letters) if place not in places]
    ratios[stop, unknown] = ratios[unknown, stop] = ratios[stop, 0]
    matrix = Scoring(name).matrix[: len(AMINO_ACIDS), : len(AMINO_ACIDS)].astype(np.float64)
    shares = np.array([ROBINSON[letter] for letter in AMINO_ACIDS]) / sum(ROBINSON.values())
    return MatrixFrequencies(joint, joint.sum(axis=1), ratios, ungapped_lambda(matrix, np.outer(shares, shares)))


def _symmetric(triangle: list[float]) -> NDArray[np.float64]:
    """The matrix of which this is the lower triangle, row by row."""
    size = int((2 * len(triangle)) ** 0.5)
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = triangle
    return np.maximum(matrix, matrix.T)
