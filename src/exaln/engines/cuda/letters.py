"""Letters that targets use, folded so that letters with equal scores share a number."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.foundation.resources import available_threads
from exaln.scoring.scoring import equal_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring

IMPOSSIBLE = {True: 0x8000, False: 0xFC00}
"""With and without DPX: a half-word below any score; see kernels/packed.cuh."""

LETTER_PIECE = 1 << 20
"""Codes that are searched at a time."""

THREAD_CODES = 1 << 22
"""Codes that are worth another thread."""


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


def used_letters(
    codes: NDArray[np.uint8], n_letters: int, initial: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Return bool[256]: which codes occur. initial: codes that are known to occur.

    A short prefix finds the frequent letters, so that only rare ones are searched for in the rest.
    """
    is_used = np.zeros(256, np.bool_) if initial is None else initial.copy()
    is_used[np.unique(codes[: LETTER_PIECE // 16])] = True
    for begin in range(0, len(codes), LETTER_PIECE):
        missing = np.flatnonzero(~is_used[:n_letters])
        if not len(missing):
            break
        piece = codes[begin : begin + LETTER_PIECE]
        missing = missing[missing <= piece.max()]
        is_used[missing] = [bool((piece == code).any()) for code in missing]
    return is_used


def used_letters_parallel(codes: NDArray[np.uint8], n_letters: int) -> NDArray[np.bool_]:
    """Return the same as `used_letters`, computed by several threads."""
    pieces = np.array_split(codes, max(1, min(available_threads(), len(codes) // THREAD_CODES)))
    with ThreadPoolExecutor(len(pieces)) as pool:
        return any_of(pool.map(lambda piece: used_letters(piece, n_letters), pieces))


def any_of(masks: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Return bool[256]: which codes are set in any mask."""
    is_used = np.zeros(256, np.bool_)
    for mask in masks:
        is_used |= mask
    return is_used
