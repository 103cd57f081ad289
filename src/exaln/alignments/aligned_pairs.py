"""Alignments of many pairs as columns: what engines return, before anything is known of ids and E-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.alignments.cigar import Paths, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.sequences.alphabet import Alphabet


@dataclass(frozen=True)
class PairList:
    """Pairs of rows of two sets of records: query, target int64[n]."""

    query: NDArray[np.int64]
    target: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True)
class AlignedPairs:
    """One alignment per pair.

    scores: int64[n].
    positions: int64[n, 4], query start and end, target start and end, 0-based half-open.
    counts: int32[n, 6]: identities, positives (equal letters, and pairs that score above 0), mismatches, gap opens, gap
    columns, columns.
    paths: one per alignment; empty where nothing aligns.
    """

    scores: NDArray[np.int64]
    positions: NDArray[np.int64]
    counts: NDArray[np.int32]
    paths: Paths

    def __len__(self) -> int:
        return len(self.scores)

    def counted_in(self, alphabet: Alphabet) -> AlignedPairs:
        """These alignments with positives as BLAST counts them: of nucleotides, equal letters alone."""
        if not alphabet.is_nucleotide or np.array_equal(self.counts[:, 0], self.counts[:, 1]):
            return self
        counts = self.counts.copy()
        counts[:, 1] = counts[:, 0]
        return replace(self, counts=counts)

    @staticmethod
    def joined(parts: Sequence[AlignedPairs]) -> AlignedPairs:
        """The alignments of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        return AlignedPairs(
            np.concatenate([np.empty(0, np.int64), *(part.scores for part in parts)]),
            np.concatenate([np.empty((0, 4), np.int64), *(part.positions for part in parts)]),
            np.concatenate([np.empty((0, 6), np.int32), *(part.counts for part in parts)]),
            Paths.joined([part.paths for part in parts]),
        )

    def taken(self, rows: NDArray[np.int64]) -> AlignedPairs:
        """The alignments of these rows, in their order."""
        return AlignedPairs(self.scores[rows], self.positions[rows], self.counts[rows], taken(self.paths, rows))


@dataclass(frozen=True)
class SeveralAligned:
    """Any number of alignments per pair. pair: int64[k], the pair of each, ascending; those of a pair as found.

    uncertain: int64[m], pairs without alignments because not enough of their targets is known; see `TargetEnds`.
    """

    pair: NDArray[np.int64]
    aligned: AlignedPairs
    uncertain: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.pair)

    def taken(self, rows: NDArray[np.int64]) -> SeveralAligned:
        """The alignments of these rows, in their order."""
        return replace(self, pair=self.pair[rows], aligned=self.aligned.taken(rows))

    def of_pairs(self, pairs: NDArray[np.int64]) -> SeveralAligned:
        """These alignments with other numbers of pairs. pairs: int64[n_pairs], the new number of each."""
        return SeveralAligned(pairs[self.pair], self.aligned, pairs[self.uncertain])

    @staticmethod
    def joined(parts: Sequence[SeveralAligned]) -> SeveralAligned:
        """The alignments of all parts, ordered by pair."""
        pair = np.concatenate([np.empty(0, np.int64), *(part.pair for part in parts)])
        uncertain = np.concatenate([np.empty(0, np.int64), *(part.uncertain for part in parts)])
        joined = SeveralAligned(pair, AlignedPairs.joined([part.aligned for part in parts]), uncertain)
        return joined if (np.diff(pair) >= 0).all() else joined.taken(np.argsort(pair, kind="stable"))
