"""Hits of parts of a database become the hits of the whole. Pure functions; any tree of merges gives the same.

Each part has the true best k of its targets, so the best k of all are among them. They are judged again, with the
E-values of the whole database, and ranked by the rule of `exaln.topk`: as if one machine had seen every target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from exaln.cluster.parts import NUMBERS, joined_paths
from exaln.cluster.spec import SearchSpec
from exaln.query_hits import QueryHits
from exaln.topk import hit_order


def merge_hits(parts: Sequence[QueryHits], spec: SearchSpec) -> QueryHits:
    """The best hits of one query in all parts, with bits and E-values; the targets of the parts must differ."""
    lengths = np.array([len(target) for part in parts for target in part.targets], np.int64)
    numbers: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in NUMBERS}
    score, ordinal = numbers["score"], numbers["ordinal"]
    query_lengths = np.full(len(lengths), len(parts[0].query), np.int64)
    verdict = spec.judge.verdict(score, query_lengths, lengths)
    order = hit_order(np.zeros(len(score), np.int64), verdict.evalue, score, ordinal)
    kept = order[verdict.passes[order]][: spec.options.max_hits]
    places = kept.tolist()
    ids, titles, targets = (
        [value for part in parts for value in getattr(part, name)]
        for name in ("target_ids", "target_descriptions", "targets")
    )
    paths = [part.paths[place] for part in parts for place in range(len(part))]
    return replace(
        parts[0],
        target_ids=[ids[place] for place in places],
        target_descriptions=[titles[place] for place in places],
        targets=[targets[place] for place in places],
        paths=joined_paths(paths[place] for place in places),
        bits=verdict.bits[kept],
        evalue=verdict.evalue[kept],
        **{name: values[kept] for name, values in numbers.items()},
    )


def merge_queries(parts: Sequence[Iterable[QueryHits]], spec: SearchSpec) -> Iterator[QueryHits]:
    """The same for parts that have the same queries in the same order."""
    for rows in zip(*parts, strict=True):
        yield merge_hits(rows, spec)
