"""Karlin-Altschul parameters of a scoring, from NCBI's tables of matrices and gap costs.

The tables in `karlin_altschul.json` come from simulations. Scorings that are not in them have no parameters here and
are simulated (`exaln.simulation`). The exception are nucleotide scorings whose gaps are too expensive to occur: for
these theory gives the parameters (`ungapped_parameters`).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA = Path(__file__).with_suffix(".json")

MATCH_MATRICES = {"NUC.4.4": (5, -4)}
"""Built-in matrices that equal match and mismatch except for ambiguity codes."""

# NCBI stops the series for K here; more terms would give other digits than blastn's.
SMALLEST_TERM, MOST_TERMS = 1e-4, 100


@dataclass(frozen=True)
class ProteinParameters:
    """Parameters of gapped protein scores: lambda, K and H, and the constants of the finite-size correction.

    An alignment of score S takes about a * S + b residues of each sequence, with variance alpha * S + beta and
    covariance sigma * S + tau (Park, Sheetlin, Ma, Madden and Spouge 2012). The length adjustment, which BLAST reports
    although its E-values do not use it, is a / lambda * x + adjustment_beta.
    """

    lambda_: float
    k: float
    h: float
    a: float
    b: float
    alpha: float
    beta: float
    sigma: float
    tau: float
    adjustment_beta: float


@dataclass(frozen=True)
class NucleotideParameters:
    """Parameters of nucleotide scores: lambda, K and H, and the length adjustment alpha / lambda * x + beta.

    even_scores_only: the table is for even scores, so an odd score counts as the even one below it.
    """

    lambda_: float
    k: float
    h: float
    alpha: float
    beta: float
    even_scores_only: bool


def parameters_of(scoring: Scoring) -> ProteinParameters | NucleotideParameters | None:
    """The parameters of a scoring; None if NCBI has none.

    >>> parameters_of(Scoring("BLOSUM62")).lambda_, parameters_of(Scoring(match=1, mismatch=-3, gap_extend=1))
    (0.267, None)
    """
    if scoring.alphabet.is_nucleotide:
        return _of_nucleotides(scoring)
    if scoring.alphabet == PROTEIN and scoring.name in _tables()["protein"] and is_built_in(scoring):
        return _of_proteins(scoring.name, scoring.gap_open, scoring.gap_extend)
    return None


def is_built_in(scoring: Scoring) -> bool:
    """Whether a scoring has the built-in matrix of its name; a user's file may be called BLOSUM62 as well."""
    if scoring.scale != 1 or scoring.name not in Scoring.names():
        return False
    built_in = Scoring(scoring.name, alphabet=scoring.alphabet)
    return np.array_equal(scoring.matrix, built_in.matrix)


def _of_proteins(name: str, gap_open: int, gap_extend: int) -> ProteinParameters | None:
    table = _tables()["protein"][name]
    row = _row(table, gap_open, gap_extend)
    if row is None:
        return None
    lambda_, k, h, a, alpha, sigma, adjustment_beta = row
    _, _, _, ungapped_a, ungapped_alpha, _ = table["ungapped"]
    both_gaps = 2 * (gap_open + gap_extend)
    return ProteinParameters(
        lambda_=lambda_,
        k=k,
        h=h,
        a=a,
        b=both_gaps * (ungapped_a - a),
        alpha=alpha,
        beta=both_gaps * (ungapped_alpha - alpha),
        sigma=sigma,
        tau=both_gaps * (ungapped_alpha - sigma),
        adjustment_beta=adjustment_beta,
    )


def _of_nucleotides(scoring: Scoring) -> NucleotideParameters | None:
    """The parameters of a nucleotide scoring, looked up by the ratio of match and mismatch.

    Multiplying all scores and gap costs by d divides lambda and alpha by d, so scaled fractions need no special rule.
    """
    if scoring.match is not None:
        match, mismatch = (int(value * scoring.scale) for value in scoring.match)
    elif scoring.name in MATCH_MATRICES and is_built_in(scoring):
        match, mismatch = MATCH_MATRICES[scoring.name]
    else:
        return None
    divisor = math.gcd(match, mismatch)
    match, mismatch = match // divisor, mismatch // divisor
    table = _tables()["nucleotide"].get(f"{match}/{mismatch}")
    if table is None:
        return None
    gap_open, gap_extend = scoring.gap_open / divisor, scoring.gap_extend / divisor
    row = _row(table, gap_open, gap_extend)
    if row is None and "linear" in table and (gap_open, gap_extend) == (0, match / 2 - mismatch):
        row = table["linear"]
    if row is None and gap_open >= table["gap_open_max"] and gap_extend >= table["gap_extend_max"]:
        row = ungapped_parameters(match, mismatch)
    if row is None:
        return None
    lambda_, k, h, alpha, beta = row
    return NucleotideParameters(lambda_ / divisor, k, h, alpha / divisor, beta, table["even_scores_only"])


def _row(table: dict[str, Any], gap_open: float, gap_extend: float) -> list[float] | None:
    """The values of the row with these gap costs; None if there is no such row."""
    return next((row[2:] for row in table["rows"] if row[:2] == [gap_open, gap_extend]), None)


@lru_cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(DATA.read_text(encoding="ascii"))
    return tables


@lru_cache
def ungapped_parameters(match: int, mismatch: int) -> list[float]:
    """Lambda, K, H, alpha and beta of ungapped scores, for equally frequent bases.

    Match and mismatch must have no common divisor and a negative mean. (For multiples such as 4/-6 the E-value of
    blastn 2.12 is twice too high, because its K changes with the unit of score.)

    >>> [round(value, 3) for value in ungapped_parameters(1, -3)]
    [1.374, 0.711, 1.307, 1.051, 0]
    """
    scores, chances = np.array([match, mismatch]), np.array([0.25, 0.75])
    lambda_ = _ungapped_lambda(scores, chances)
    mean = float(scores @ (chances * np.exp(lambda_ * scores)))
    h = lambda_ * mean
    # blastn treats two ratios differently in the length adjustment
    beta = -2 if (match, mismatch) in {(1, -1), (2, -3)} else 0
    return [lambda_, _ungapped_k(match, mismatch, lambda_, mean), h, lambda_ / h, beta]


def _ungapped_lambda(scores: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """The positive root of sum(p * exp(lambda * s)) = 1. The sum is convex, so Newton from the right converges."""
    lambda_ = -math.log(chances[0]) / scores[0]
    for _ in range(60):
        terms = chances * np.exp(lambda_ * scores)
        lambda_ -= (terms.sum() - 1) / (terms @ scores)
    return float(lambda_)


def _ungapped_k(match: int, mismatch: int, lambda_: float, mean: float) -> float:
    """K after Karlin and Altschul 1990; there is a closed form if a match scores 1."""
    if match == 1:
        return mean * (1 - math.exp(-lambda_))
    step = np.zeros(match - mismatch + 1)
    step[0], step[-1] = 0.75, 0.25
    walk = np.ones(1)
    term, total = 1.0, 0.0
    for n_steps in range(1, MOST_TERMS + 1):
        walk = np.convolve(walk, step)
        scores = n_steps * mismatch + np.arange(len(walk))
        term = float(walk @ np.exp(lambda_ * np.minimum(scores, 0))) / n_steps
        total += term
        if term <= SMALLEST_TERM:
            break
    return math.exp(-2 * total) / (mean * (1 - math.exp(-lambda_)))
