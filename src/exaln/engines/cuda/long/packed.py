"""Inputs of kernels/long_packed.cu that differ from those of long.cu: scores as bytes, and selectors for columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.letters import FoldedScores

MAX_LETTERS = 8
"""Letters of the columns, after folding: one instruction selects among this many bytes."""

SIGN = 8
"""A digit with this bit selects the sign of a byte."""

SAMPLE = 1 << 20
"""Letters of the target that are counted."""


@dataclass(frozen=True)
class ByteScores:
    """Scores that fit bytes, ordered by the frequency of letters. The first four letters are plain, the others rare.

    ranks: uint8[256], from the code of a letter to its place in that order. table: int8[letters of the alphabet,
    MAX_LETTERS], row = code of the query's letter, column = rank.
    """

    ranks: NDArray[np.uint8]
    table: NDArray[np.int8]

    @staticmethod
    def of(folded: FoldedScores, target: NDArray[np.uint8]) -> ByteScores | None:
        """Order letters by their frequency at the beginning of the target.

        Returns None if there are more than MAX_LETTERS, or if a score does not fit a byte.
        """
        if folded.n_letters > MAX_LETTERS or folded.table.min() < -128 or folded.table.max() > 127:
            return None
        letters = folded.fold[target[:SAMPLE]] - np.uint8(1)
        order = np.argsort(-np.bincount(letters, minlength=folded.n_letters), kind="stable")
        ranks = np.zeros(folded.n_letters, np.uint8)
        ranks[order] = np.arange(folded.n_letters)
        table = np.zeros((len(folded.table), MAX_LETTERS), np.int8)
        table[:, : folded.n_letters] = folded.table[:, order]
        return ByteScores(ranks[np.minimum(folded.fold - 1, folded.n_letters - 1)], table)

    def places(self, target: NDArray[np.uint8], n: int) -> NDArray[np.uint16]:
        """uint16[n]: the selector of each letter, padded with that of rank 0.

        A selector has four digits. The lower two select the score of a low half and its sign, among plain letters and
        then rare ones; the upper two that of a high half, among rare letters and then plain ones.
        """
        low = np.arange(MAX_LETTERS, dtype=np.uint16)
        high = low ^ 4
        digits = low | (low | SIGN) << 4 | high << 8 | (high | SIGN) << 12
        places = np.full(n, digits[0], np.uint16)
        np.take(digits[self.ranks], target, out=places[: len(target)], mode="clip")
        return places
