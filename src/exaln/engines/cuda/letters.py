"""Letters that targets use, folded so that letters with equal scores share a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.scoring.scoring import equal_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring

IMPOSSIBLE = {True: 0x8000, False: 0xFC00}
"""With and without DPX: a half-word below any score; see kernels/packed.cuh."""


@dataclass(frozen=True)
class FoldedScores:
    """Scores of query letters with folded target letters.

    fold: uint8[256], from the code of a letter to 1 .. n_letters; letters with equal scores share a number.
    table: int16[letters of the alphabet, n_letters]; row = code of the query letter, column = folded letter - 1.
    """

    fold: NDArray[np.uint8]
    table: NDArray[np.int16]

    @property
    def n_letters(self) -> int:
        """Number of folded letters."""
        return int(self.table.shape[1])

    def packed(self, dpx: bool) -> NDArray[np.uint16]:
        """Return uint16[1 + letters of the alphabet, 1 + n_letters rounded up to 8]: scores as half-words.

        The first row is for padding of a query, the first column for padding of a target: nothing is aligned there.
        """
        scores = np.pad(self.table, ((1, 0), (1, -(1 + self.n_letters) % 8)))
        halves: NDArray[np.uint16] = (scores if dpx else scores.astype(np.float16)).view(np.uint16)
        halves[0], halves[:, 0] = IMPOSSIBLE[dpx], IMPOSSIBLE[dpx]
        return halves


def fold_letters(scoring: Scoring, is_used: NDArray[np.bool_]) -> FoldedScores:
    """Return the scores of the letters that targets use. is_used: bool[256], by code."""
    columns, fold = equal_columns(scoring.matrix, is_used[: len(scoring.matrix)])
    return FoldedScores(fold + np.uint8(1), np.ascontiguousarray(scoring.matrix[:, columns], np.int16))


def any_of(masks: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Return bool[256]: which codes are set in any mask."""
    is_used = np.zeros(256, np.bool_)
    for mask in masks:
        is_used |= mask
    return is_used
