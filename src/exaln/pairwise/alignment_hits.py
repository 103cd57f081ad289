"""Alignments of pairs as hits, the form from which reports are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.alignments.cigar import Paths, taken
from exaln.alignments.hit_columns import COUNTS, POSITIONS
from exaln.alignments.query_hits import PairHits, QueryHits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.pairwise.alignment import Alignments
    from exaln.sequences.records import Records, Text

FEW_ROWS = 8
"""Ids and descriptions of fewer rows are read one by one; of more, whole columns are converted."""


def query_hits(alignments: Alignments, first_query: int, first_target: int, *, joined: bool) -> Iterator[QueryHits]:
    """Yield the hits of each pair; see `Alignments.query_hits`."""
    pairs: Iterator[list[int]] = ([row] for row in range(len(alignments)))
    if joined:
        query = alignments.pairs.query.tolist()
        pairs = (list(rows) for _, rows in groupby(range(len(alignments)), query.__getitem__))
    for rows in pairs:
        yield _query_hits(alignments, rows, first_query, first_target)


def pair_hits(alignments: Alignments, first_query: int, first_target: int, *, also_empty: bool) -> PairHits:
    """The hits of all pairs at once; see `Alignments.pair_hits`."""
    rows = np.arange(len(alignments)) if also_empty else np.flatnonzero(alignments.counts[:, 5])
    query = alignments.pairs.query[rows]
    ids, descriptions, codes = _texts_and_codes(alignments.queries, query)
    return PairHits(
        indices=(first_query + query).tolist(),
        query_ids=ids,
        query_descriptions=descriptions,
        queries=codes,
        query_qualities=[alignments.queries.quality(row) for row in query.tolist()],
        **_hit_columns(alignments, rows, taken(alignments.paths, rows), first_target),
    )


def _query_hits(alignments: Alignments, rows: list[int], first_query: int, first_target: int) -> QueryHits:
    """The hits of one query, which all these rows have."""
    queries, counts, query = alignments.queries, alignments.counts, int(alignments.pairs.query[rows[0]])
    if len(rows) == 1:
        own: Any = slice(rows[0], rows[0] + 1 if counts[rows[0], 5] else rows[0])
        paths = Paths(alignments.paths.operations, alignments.paths.offsets[own.start : own.stop + 1])
    else:
        own = np.array([row for row in rows if counts[row, 5]], np.int64)
        paths = taken(alignments.paths, own)
    return QueryHits(
        index=first_query + query,
        query_id=queries.ids[query],
        query_description=queries.descriptions[query],
        query=queries.sequence(query),
        query_quality=queries.quality(query),
        **_hit_columns(alignments, own, paths, first_target),
    )


def _hit_columns(alignments: Alignments, rows: Any, paths: Paths, first_target: int) -> dict[str, Any]:
    """The columns that QueryHits and PairHits share. rows: a slice, or int64[n]."""
    target, positions = alignments.pairs.target[rows], alignments.positions[rows]
    ids, descriptions, codes = _texts_and_codes(alignments.targets, target)
    ranges = zip(codes, positions[:, 2].tolist(), positions[:, 3].tolist(), strict=True)
    return {
        "alphabet": alignments.queries.alphabet,
        "scoring": alignments.scoring,
        "target_ids": ids,
        "target_descriptions": descriptions,
        "target_slices": [whole[start:end] for whole, start, end in ranges],
        "target_lengths": alignments.targets.lengths[target],
        "ordinal": first_target + target,
        "score": alignments.scaled_scores[rows],
        "bits": alignments.bits[rows],
        "evalue": alignments.evalues[rows],
        "strand": alignments.strands[rows],
        "paths": paths,
        **dict(zip(POSITIONS, positions.T, strict=True)),
        **dict(zip(COUNTS, alignments.counts[rows].T, strict=True)),
    }


def _texts_and_codes(records: Records, rows: NDArray[np.int64]) -> tuple[list[str], list[str], list[NDArray[np.uint8]]]:
    """Ids, descriptions and codes of these rows."""
    some = rows.tolist()
    ids: Sequence[str] | Text = records.ids if len(some) < FEW_ROWS else records.ids.to_list()
    titles: Sequence[str] | Text = records.descriptions if len(some) < FEW_ROWS else records.descriptions.to_list()
    codes, offsets = records.codes, records.offsets if len(some) < FEW_ROWS else records.offsets.tolist()
    sequences = [codes[offsets[row] : offsets[row + 1]] for row in some]
    return [ids[row] for row in some], [titles[row] for row in some], sequences
