"""Paths and counts of alignments by the letters of their sequences, whatever scores the alignments were found with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import DELETION, DIFFERENT, EQUAL, INSERTION, MATCH, Paths, merged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.aligned_pairs import AlignedPairs
    from exaln.scoring.scoring import Scoring


def positive_pairs(scoring: Scoring) -> NDArray[np.bool_]:
    """bool[n_letters, n_letters]: the pairs of letters that count as positive: equal ones and, of proteins, those that
    score above 0.
    """
    is_equal = np.eye(len(scoring.matrix), dtype=np.bool_)
    return is_equal if scoring.alphabet.is_nucleotide else is_equal | (scoring.matrix > 0)


def recounted(
    aligned: AlignedPairs,
    queries: tuple[NDArray[np.uint8], NDArray[np.int64]],
    targets: tuple[NDArray[np.uint8], NDArray[np.int64]],
    scoring: Scoring,
) -> AlignedPairs:
    """The same alignments with = and X, identities and positives by these letters and the matrix of a scoring.

    queries, targets: codes, and int64[n], where the sequence of each alignment begins in them.
    """
    n = len(aligned)
    paths = merged(aligned.paths)
    kinds, lengths = paths.operations & 15, (paths.operations >> 4).astype(np.int64)
    kind = np.repeat(kinds, lengths)
    owner = np.repeat(np.repeat(np.arange(n), np.diff(paths.offsets)), lengths)
    firsts = np.searchsorted(owner, np.arange(n))[owner]
    letters = []
    for (codes, begins), other, side in ((queries, DELETION, 0), (targets, INSERTION, 2)):
        consumed = (kind != other).astype(np.int64)
        before = np.cumsum(consumed) - consumed
        place = before - before[firsts] + (begins + aligned.positions[:, side])[owner]
        letters.append(codes[np.where(kind == MATCH, place, 0)] if len(codes) else codes)
    is_pair, is_equal = kind == MATCH, letters[0] == letters[1]
    kind[is_pair] = np.where(is_equal[is_pair], EQUAL, DIFFERENT)
    is_positive = is_pair & positive_pairs(scoring)[letters[0], letters[1]]
    is_first = np.ones(len(kind), np.bool_)
    is_first[1:] = (kind[1:] != kind[:-1]) | (owner[1:] != owner[:-1])
    first = np.flatnonzero(is_first)
    runs = np.diff(first, append=len(kind)).astype(np.uint32) << 4 | kind[first]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(owner[first], minlength=n))])
    counts = aligned.counts.copy()
    for column, which in ((0, is_pair & is_equal), (1, is_positive), (2, is_pair & ~is_equal)):
        counts[:, column] = np.bincount(owner[which], minlength=n)
    return replace(aligned, counts=counts, paths=Paths(runs.astype(np.uint32), offsets))
