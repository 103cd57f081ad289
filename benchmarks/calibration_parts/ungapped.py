"""The exact number of hits without gaps that chance gives to a short query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln import Scoring


def score_distribution(scoring: Scoring, composition: dict[str, float]) -> tuple[int, NDArray[np.float64]]:
    """The lowest score of two random letters, and the chance of each score from there on."""
    letters = scoring.alphabet.encode("".join(composition))
    shares = np.array(list(composition.values())) / sum(composition.values())
    scores = np.asarray(scoring.matrix)[np.ix_(letters, letters)].astype(np.int64)
    lowest = int(scores.min())
    chances = np.bincount((scores - lowest).ravel(), weights=np.outer(shares, shares).ravel())
    return lowest, chances


def chances_of_diagonals(lowest: int, chances: NDArray[np.float64], longest: int, score: int) -> NDArray[np.float64]:
    """float64[longest + 1]: the chance of n random pairs of letters to have a segment with at least this score.

    The best segment that ends at a pair scores 0 or more: its distribution is carried from pair to pair, and what
    reaches the score leaves it.
    """
    running = np.zeros(score)
    running[0] = 1
    reached = np.zeros(longest + 1)
    for length in range(1, longest + 1):
        after = np.convolve(running, chances)
        scores = np.arange(len(after)) + lowest
        reached[length] = reached[length - 1] + after[scores >= score].sum()
        running = np.zeros(score)
        running[0] = after[scores <= 0].sum()
        between = (scores > 0) & (scores < score)
        running[scores[between]] += after[between]
    return reached


def expected_without_gaps(
    diagonals: NDArray[np.float64], query_length: int, target_lengths: NDArray[np.int64]
) -> float:
    """The sum over all diagonals of a query with these targets, of which none is shorter than the query."""
    whole = np.asarray(target_lengths) - query_length + 1
    return float(whole.sum() * diagonals[query_length] + len(whole) * 2 * diagonals[:query_length].sum())
