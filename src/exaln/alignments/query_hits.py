"""Hits as columns, of one query or of many pairs: the form from which reports are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from exaln.alignments.cigar import Paths
from exaln.alignments.hit_columns import NUMBERS
from exaln.foundation.distinct import run_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring
    from exaln.sequences.alphabet import Alphabet

PART_HITS = 1 << 14
PART_COLUMNS = 1 << 22
"""Limits for one part of a query's hits: number of hits, and total alignment columns, which the last hit may exceed."""


@dataclass(frozen=True, kw_only=True)
class HitRows:
    """Columns of n >= 0 alignments; those of one target are consecutive rows. Positions are 0-based half-open.

    target_slices: uint8 codes of the aligned part of each target, [target_start, target_end) as stored.
    target_lengths: int64[n], residues of each whole target. ordinal: int64[n], its position in the database.
    score: int64[n], multiplied by `scoring.scale`. scaled_score: int64[n], the exact score under the scores of the
    pair, multiplied by SCALE of `statistics.composition`, which E-values come from; the score itself where pairs are
    not rescored. adjustments: for each, bytes that show the scores of the pair (`search.rescoring`), or none.
    bits, evalue: float64[n], NaN if the scoring has no statistics. evalue2: float64[n], the E-value among shuffled
    copies of the target (`search.shuffling`), NaN if there is none; None if it was not asked for.
    strand: int8[n], 1, or -1 if the query aligns with the reverse complement of the target. query_start and query_end
    refer to the query as given, target_start and target_end to the target as stored, always start < end. The path runs
    along the query, so on strand -1 it runs down the target from target_end.
    identities, positives, mismatches, gap_opens, gaps, columns: int32[n], counts over the alignment. columns is its
    length, gaps counts gap columns, gap_opens runs of gaps, and positives pairs of letters that are equal or, in
    proteins, score above 0. cut_from: of a part, the whole that it was cut from, and its first row there.
    """

    alphabet: Alphabet
    scoring: Scoring
    target_ids: Sequence[str]
    target_descriptions: Sequence[str]
    target_slices: Sequence[NDArray[np.uint8]]
    target_lengths: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    score: NDArray[np.int64]
    bits: NDArray[np.float64]
    evalue: NDArray[np.float64]
    strand: NDArray[np.int8]
    query_start: NDArray[np.int64]
    query_end: NDArray[np.int64]
    target_start: NDArray[np.int64]
    target_end: NDArray[np.int64]
    paths: Paths
    identities: NDArray[np.int32]
    positives: NDArray[np.int32]
    mismatches: NDArray[np.int32]
    gap_opens: NDArray[np.int32]
    gaps: NDArray[np.int32]
    columns: NDArray[np.int32]
    cut_from: tuple[HitRows, int] | None = None
    scaled_score: NDArray[np.int64] | None = None
    adjustments: Sequence[NDArray[np.uint8]] | None = None
    evalue2: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.ordinal)

    @property
    def target_offsets(self) -> NDArray[np.int64]:
        """int64[n_targets + 1]: the first row of each target of each query, and the number of rows."""
        return run_offsets(self.ordinal)

    @property
    def n_targets(self) -> int:
        """Targets that are hit."""
        return len(self.target_offsets) - 1

    @property
    def places_in_target(self) -> NDArray[np.int64]:
        """int64[n]: the place of each alignment among those of its target, from 0."""
        if self.cut_from is not None:
            whole, start = self.cut_from
            return whole.places_in_target[start : start + len(self)]
        offsets = self.target_offsets
        return np.arange(len(self)) - np.repeat(offsets[:-1], np.diff(offsets))

    @cached_property
    def query_covered(self) -> NDArray[np.int64]:
        """int64[n]: letters of the query in any alignment with the target of each row, on both strands."""
        if self.cut_from is not None:
            whole, start = self.cut_from
            return whole.query_covered[start : start + len(self)]
        return covered(self.query_start, self.query_end, self.target_offsets)

    def parts(self) -> Iterator[Self]:
        """The hits in parts of bounded size, in order, so that their text fits into memory; no part without hits."""
        if 0 < len(self) <= PART_HITS and int(self.columns.sum(dtype=np.int64)) <= PART_COLUMNS:
            yield self
            return
        total, start = np.cumsum(self.columns, dtype=np.int64), 0
        while start < len(self):
            done = int(total[start - 1]) if start else 0
            end = min(start + PART_HITS, int(np.searchsorted(total, done + PART_COLUMNS)) + 1, len(self))
            yield self.part(start, end)
            start = end

    def part(self, start: int, end: int) -> Self:
        """The hits [start, end)."""
        cut = {name: getattr(self, name)[start:end] for name in _COLUMNS}
        for name in ("scaled_score", "adjustments", "evalue2"):
            if getattr(self, name) is not None:
                cut[name] = getattr(self, name)[start:end]
        whole, first = self.cut_from or (self, 0)
        paths = Paths(self.paths.operations, self.paths.offsets[start : end + 1])
        return replace(self, paths=paths, cut_from=(whole, first + start), **cut)


def covered(starts: NDArray[np.int64], ends: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: how much the ranges [starts, ends) of each group cover together; offsets: where groups begin.

    >>> covered(np.array([0, 5, 2, 4]), np.array([3, 9, 4, 6]), np.array([0, 3, 4])).tolist()
    [8, 8, 8, 2]
    """
    counts = np.diff(offsets)
    if (counts == 1).all():
        return ends - starts
    group = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((starts, group))
    start, end = starts[order], ends[order]
    shift = group * (int(ends.max()) + 1)  # ranges of different groups then lie apart, in ascending order
    reached = np.maximum.accumulate(end + shift)
    fresh = start + shift
    fresh[1:] = np.maximum(fresh[1:], reached[:-1])
    sums = np.add.reduceat(np.maximum(end + shift - fresh, 0), offsets[:-1])
    return np.repeat(sums, counts)


@dataclass(frozen=True, kw_only=True)
class QueryHits(HitRows):
    """All hits of one query, best first. index: its position in the input; query: its uint8 codes.

    cut_ordinals: int64, those of targets that have more alignments than the cap of the search allows.

    A hit is a target with one alignment or several, best first: rows [target_offsets[i], target_offsets[i + 1]).
    query_quality: uint8, its FASTQ quality characters; None if there are none.
    """

    index: int
    query_id: str
    query_description: str
    query: NDArray[np.uint8]
    query_quality: NDArray[np.uint8] | None = None
    cut_ordinals: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def indices(self) -> Sequence[int]:
        """The query's position in the input, repeated for each hit."""
        return [self.index] * len(self)

    @property
    def query_ids(self) -> Sequence[str]:
        """The query's id, repeated for each hit."""
        return [self.query_id] * len(self)

    @property
    def query_descriptions(self) -> Sequence[str]:
        """The query's description, repeated for each hit."""
        return [self.query_description] * len(self)

    @property
    def queries(self) -> Sequence[NDArray[np.uint8]]:
        """The query's codes, repeated for each hit."""
        return [self.query] * len(self)

    @property
    def query_qualities(self) -> Sequence[NDArray[np.uint8] | None]:
        """The query's qualities, repeated for each hit."""
        return [self.query_quality] * len(self)


@dataclass(frozen=True, kw_only=True)
class PairHits(HitRows):
    """Hits of many queries in one table, so that formats with a line per hit write many at once.

    indices, query_ids, query_descriptions, queries, query_qualities: for the query of each hit, as in `QueryHits`.
    """

    indices: Sequence[int]
    query_ids: Sequence[str]
    query_descriptions: Sequence[str]
    queries: Sequence[NDArray[np.uint8]]
    query_qualities: Sequence[NDArray[np.uint8] | None]

    @property
    def target_offsets(self) -> NDArray[np.int64]:
        """int64[n_targets + 1]: the first row of each target of each query, and the number of rows."""
        return run_offsets(np.asarray(self.indices, np.int64), self.ordinal)

    def part(self, start: int, end: int) -> PairHits:
        """The hits [start, end)."""
        own = {name: getattr(self, name)[start:end] for name in _OF_QUERIES}
        return replace(super().part(start, end), **own)


AnyHits = QueryHits | PairHits
"""What formats with a line per hit take."""

_OF_QUERIES = ("indices", "query_ids", "query_descriptions", "queries", "query_qualities")
_COLUMNS = ("target_ids", "target_descriptions", "target_slices", "target_lengths", "bits", "evalue", *NUMBERS)
