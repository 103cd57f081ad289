"""The hits of a query as named columns of values: what JSON, Arrow and Python show. Positions are 0-based half-open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.report.clean import encodable
from exaln.report.columns import query_lengths, target_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alignments.query_hits import AnyHits

Values = Sequence[Any] | np.ndarray


def target_values(hits: AnyHits) -> dict[str, Values]:
    """What each hit says of its target."""
    return {
        "target_ordinal": hits.ordinal,
        "target_id": [encodable(text) for text in hits.target_ids],
        "target_description": [encodable(text) for text in hits.target_descriptions],
        "target_length": target_lengths(hits),
    }


def alignment_values(hits: AnyHits) -> dict[str, Values]:
    """The numbers of each alignment; bits and evalue are NaN where there are no statistics."""
    return {
        "strand": hits.strand,
        "query_start": hits.query_start,
        "query_end": hits.query_end,
        "target_start": hits.target_start,
        "target_end": hits.target_end,
        "score": hits.score if hits.scoring.scale == 1 else hits.score / hits.scoring.scale,
        "bits": hits.bits,
        "evalue": hits.evalue,
        "percent_identity": _percent(hits.identities, hits.columns),
        "percent_query_coverage": _percent(hits.query_end - hits.query_start, query_lengths(hits)),
        "percent_target_coverage": _percent(hits.target_end - hits.target_start, target_lengths(hits)),
        "identities": hits.identities,
        "positives": hits.positives,
        "mismatches": hits.mismatches,
        "gap_opens": hits.gap_opens,
        "gaps": hits.gaps,
        "columns": hits.columns,
    }


def _percent(part: NDArray[np.integer], whole: NDArray[np.integer]) -> NDArray[np.float64]:
    """Of nothing, 0: sequences without residues can be aligned with gaps."""
    return np.asarray(100.0 * part / np.maximum(whole, 1), np.float64)
