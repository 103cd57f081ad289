"""Hits of one query, as columns: what the search hands to reports and to Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alphabet import Alphabet
    from exaln.scoring import Scoring

OPERATIONS = "MIDNSHP=X"
"""Letters of CIGAR operations by code, as in SAM. Paths use = X I D: I consumes the query, D the target."""


@dataclass(frozen=True)
class Paths:
    """Alignment paths: the path of hit i is operations[offsets[i]:offsets[i + 1]], each `length << 4 | code`.

    operations: uint32, codes as in `OPERATIONS`, from the start of the alignment on the query's plus strand.
    """

    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, hit: int) -> NDArray[np.uint32]:
        return self.operations[self.offsets[hit] : self.offsets[hit + 1]]


@dataclass(frozen=True)
class QueryHits:
    """All hits of one query, best first; n hits, 0 allowed. Positions are 0-based half-open.

    query: uint8 codes of the whole query; targets: uint8 codes of each whole target (views into the database).
    ordinal: int64[n], place of the target in the database. score: int64[n], multiplied by `scoring.scale`.
    bits, evalue: float64[n], NaN where there are no statistics for the scoring.
    strand: int8[n], 1, or -1 if the query aligns with the reverse complement of the target. query_start and query_end
    count on the query as given, target_start and target_end on the target as stored, always start < end; the path runs
    along the query, so on strand -1 it runs down the target from target_end.
    identities, positives, mismatches, gap_opens, gaps, columns: int32[n], counts over the alignment: columns is its
    length, gaps the gap columns, gap_opens the runs of gaps, positives the pairs of letters that score above 0.
    """

    index: int
    query_id: str
    query_description: str
    query: NDArray[np.uint8]
    alphabet: Alphabet
    scoring: Scoring
    target_ids: Sequence[str]
    target_descriptions: Sequence[str]
    targets: Sequence[NDArray[np.uint8]]
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

    def __len__(self) -> int:
        return len(self.ordinal)
