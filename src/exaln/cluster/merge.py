"""Merges hits of parts of a database into the hits of the whole. Pure functions; the order of merges does not matter.

Each part has the true best k of its targets, so the best k of all targets are among them. They are evaluated again
with the E-values of the whole database and ranked as `search.ranking` does, as if one machine had seen every target.
A target has its place by its best alignment, and its alignments keep their order.
Parts are record batches of `part_hits`, and all queries are merged at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from exaln.alignments.query_hits import QueryHits
from exaln.cluster.part_checks import require_once
from exaln.cluster.part_hits import binary_lengths, hits_of_batch, list_array, number_array, numbers_of
from exaln.foundation.distinct import run_offsets
from exaln.search.evaluation import Evaluation
from exaln.search.hsp_filters import report_list
from exaln.search.spec import SearchSpec
from exaln.sequences.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAN_IN = 8


def merge_batches(batches: Sequence[Any], spec: SearchSpec) -> Any:
    """A record batch of the best hits of each query; batches: parts with the same queries in the same order.

    ValueError if a target is in two parts.
    """
    lists = [batch.column("hits") for batch in batches]
    row = np.concatenate([_rows(column) for column in lists])
    hits = pa.concat_arrays([column.flatten() for column in lists])
    ordinal, score = numbers_of(hits.field("ordinal")), numbers_of(hits.field("scaled_score"))
    part = np.repeat(np.arange(len(lists)), [len(column.flatten()) for column in lists])
    if len(batches) > 1:
        first = run_offsets(part, row, ordinal)[:-1]
        require_once(row[first], ordinal[first])
    evaluation = _evaluation(batches[0], row, hits, spec)
    passing = np.flatnonzero(evaluation.passes)
    start, end = (numbers_of(hits.field(f"query_{side}"))[passing] for side in ("start", "end"))
    evalue = evaluation.evalue[passing]
    order = passing[report_list(row[passing], evalue, score[passing], ordinal[passing], start, end, spec.options)]
    offsets = offsets_of(np.bincount(row[order], minlength=batches[0].num_rows))
    best = list_array(offsets, hits.take(number_array(order)))
    place = batches[0].schema.get_field_index("hits")
    return batches[0].set_column(place, batches[0].schema.field("hits"), best)


def ranked_hits(batch: Any, spec: SearchSpec) -> Iterator[QueryHits]:
    """The hits of each query of a merged record batch, with bits and E-values."""
    column = batch.column("hits")
    evaluation = _evaluation(batch, _rows(column), column.flatten(), spec)
    return hits_of_batch(batch, spec.scoring, evaluation, is_shuffled=spec.options.shuffles > 0)


class MergeTree:
    """Merges parts as they arrive: FAN_IN parts into one, FAN_IN of those into one, and so on."""

    def __init__(self, spec: SearchSpec) -> None:
        self._spec = spec
        self._levels: list[list[Any]] = []

    def add(self, batch: Any) -> None:
        """Add a part, a record batch."""
        for level in self._levels:
            level.append(batch)
            if len(level) < FAN_IN:
                return
            batch = merge_batches(level, self._spec)
            level.clear()
        self._levels.append([batch])

    def result(self) -> Iterator[QueryHits]:
        """The hits of each query in all parts."""
        merged = merge_batches([batch for level in self._levels for batch in level], self._spec)
        return ranked_hits(merged, self._spec)


def _rows(column: Any) -> NDArray[np.int64]:
    """int64: the row of each hit of a column of lists."""
    counts = np.diff(numbers_of(column.offsets))
    return np.repeat(np.arange(len(counts)), counts)


def _evaluation(batch: Any, row: NDArray[np.int64], hits: Any, spec: SearchSpec) -> Evaluation:
    query_lengths, target_lengths = binary_lengths(batch.column("query")), numbers_of(hits.field("target_length"))
    return spec.evaluator.evaluate(numbers_of(hits.field("scaled_score")), query_lengths[row], target_lengths)
