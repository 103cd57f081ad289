"""The columns of hits in Arrow, Parquet, JSON and Python, listed once with their types; a row is an alignment.

| column | type | meaning |
|---|---|---|
| query_index | int64 | position of the query in the input, from 0 |
| query_id | text | |
| query_length | int64 | residues of the whole query |
| target_ordinal | int64 | position of the target in the database, from 0 |
| target_id, target_description | text | |
| target_length | int64 | residues of the whole target |
| strand | int8 | 1, or -1 if the query aligns with the reverse complement of the target |
| query_start, query_end | int64 | 0-based, half-open |
| target_start, target_end | int64 | 0-based, half-open, on the target as stored; start < end on both strands |
| score | int64 | raw score; float64 if the scoring has fractions |
| bits, evalue | float64 | not rounded; null if there are no statistics |
| percent_identity | float64 | 100 * identities / columns |
| percent_query_coverage, percent_target_coverage | float64 | aligned residues as a percentage of all residues |
| identities, positives, mismatches, gap_opens, gaps, columns | int32 | counts over the alignment |
| cigar | text | M, I (consumes the query), D (consumes the target) |
| evalue2 | float64 | E-value among shuffled copies of the target, only of a search with shuffles; null if none |

JSON has the columns of the query once per query. Each format writes `cigar` itself, from the paths of the hits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.hit_columns import COUNTS, NUMBERS, POSITIONS
from exaln.report.clean import encodable
from exaln.report.columns import query_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import AnyHits

TEXT, SCORE = "text", "score"
"""Types of columns besides those of numpy; SCORE is int64, or float64 if the scoring has fractions."""

Values = Sequence[Any] | np.ndarray


@dataclass(frozen=True)
class HitColumn:
    """A column: its name, its type (numpy's name of it, TEXT or SCORE), and its values, one per hit."""

    name: str
    kind: str
    values: Callable[[AnyHits], Values]


def _texts(texts: Sequence[str]) -> list[str]:
    return [encodable(text) for text in texts]


def _scores(hits: AnyHits) -> Values:
    return hits.score if hits.scoring.scale == 1 else hits.score / hits.scoring.scale


def _identity(hits: AnyHits) -> Values:
    return _percent(hits.identities, hits.columns)


def _query_coverage(hits: AnyHits) -> Values:
    return _percent(hits.query_end - hits.query_start, query_lengths(hits))


def _target_coverage(hits: AnyHits) -> Values:
    return _percent(hits.target_end - hits.target_start, hits.target_lengths)


def _percent(part: NDArray[np.integer], whole: NDArray[np.integer]) -> NDArray[np.float64]:
    """float64[n]; 0 where `whole` is 0: sequences without residues can be aligned with gaps."""
    return np.asarray(100.0 * part / np.maximum(whole, 1), np.float64)


def _number(name: str) -> HitColumn:
    """A column that `HitRows` has under the same name."""
    return HitColumn(name, np.dtype(NUMBERS[name]).name, attrgetter(name))


QUERY_COLUMNS = (
    HitColumn("query_index", "int64", attrgetter("indices")),
    HitColumn("query_id", TEXT, lambda hits: _texts(hits.query_ids)),
    HitColumn("query_length", "int64", query_lengths),
)
TARGET_COLUMNS = (
    HitColumn("target_ordinal", "int64", attrgetter("ordinal")),
    HitColumn("target_id", TEXT, lambda hits: _texts(hits.target_ids)),
    HitColumn("target_description", TEXT, lambda hits: _texts(hits.target_descriptions)),
    HitColumn("target_length", "int64", attrgetter("target_lengths")),
)
ALIGNMENT_COLUMNS = (
    _number("strand"),
    *map(_number, POSITIONS),
    HitColumn("score", SCORE, _scores),
    HitColumn("bits", "float64", attrgetter("bits")),
    HitColumn("evalue", "float64", attrgetter("evalue")),
    HitColumn("percent_identity", "float64", _identity),
    HitColumn("percent_query_coverage", "float64", _query_coverage),
    HitColumn("percent_target_coverage", "float64", _target_coverage),
    *map(_number, COUNTS),
)
EVALUE2 = HitColumn("evalue2", "float64", attrgetter("evalue2"))
"""Of searches with shuffles, the last column."""
