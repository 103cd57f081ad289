"""Long targets, cut into overlapping parts so that many blocks share one target.

An alignment with a query of m letters has at most m columns that match or mismatch, and its gaps in the query cost no
more than these can score. So it spans a bounded number of columns of the target. If parts overlap by that much, every
alignment lies within one part, and the best score of the parts is that of the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import EngineError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring

ITEM_BYTES = 16
MAX_ITEMS = 1 << 20
"""Most items of a launch, approximately."""

MAX_LENGTH = (1 << 32) - 4096
"""Longest target: positions in it, and some beyond its end, are counted in 32 bits."""

SPANS, MIN_SPANS = 4.0, 0.25
"""Spans between the beginnings of two parts, so that little is computed twice; the second if blocks are idle."""

PARTS_PER_BLOCK = 4
"""Parts of each block; parts are not made smaller than that."""


def alignment_span(query_length: int, scoring: Scoring) -> int | None:
    """Return the most columns of a target that an alignment spans; None if gap extension is free."""
    if scoring.gap_extend == 0:
        return None
    in_gaps = (query_length * max(0, scoring.max_score) - scoring.gap_first) // scoring.gap_extend + 1
    return query_length + max(0, in_gaps)


def pair_items(
    rows: NDArray[np.int64],
    lengths: NDArray[np.int64],
    query_lengths: Sequence[int],
    scoring: Scoring,
    n_blocks: int,
    *,
    is_idle: bool = False,
) -> Iterator[NDArray[np.uint32]]:
    """Yield all queries against rows of these lengths as items of block.cu: uint32[n, 4] of query, row, begin, length.

    About MAX_ITEMS at most at a time, the longest queries first. Empty queries are left out, because they score 0.
    is_idle: the device has no other work meanwhile. Raises EngineError if a target is longer than MAX_LENGTH.
    """
    if lengths.max(initial=0) > MAX_LENGTH:
        raise EngineError(f"a target has {int(lengths.max()):,} residues, too many for a GPU; use engine cpu")
    order = sorted((query for query, length in enumerate(query_lengths) if length), key=lambda q: -query_lengths[q])
    share = len(order) * int(lengths.sum()) // (PARTS_PER_BLOCK * max(1, n_blocks))
    waiting: list[NDArray[np.uint32]] = []
    for query in order:
        span = alignment_span(query_lengths[query], scoring)
        for begin in range(0, len(rows), MAX_ITEMS):
            own = slice(begin, begin + MAX_ITEMS)
            step = int(lengths.max(initial=1)) if span is None else _step(span, share, is_idle=is_idle)
            waiting.append(_query_items(query, rows[own], lengths[own], step, span or 0))
            if sum(map(len, waiting)) >= MAX_ITEMS:
                yield _longest_first(waiting)
                waiting = []
    if waiting:
        yield _longest_first(waiting)


def _query_items(
    query: int, rows: NDArray[np.int64], lengths: NDArray[np.int64], step: int, overlap: int
) -> NDArray[np.uint32]:
    n_parts = np.maximum(1, -(-(lengths - overlap) // step))
    items = np.empty((int(n_parts.sum()), 4), np.uint32)
    first = np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    begin = (np.arange(len(items)) - first) * step
    left = np.repeat(lengths, n_parts) - begin
    items[:, 0] = query
    items[:, 1] = np.repeat(rows, n_parts)
    items[:, 2] = begin
    items[:, 3] = np.minimum(left, step + overlap)
    return items


def _step(span: int, share: int, *, is_idle: bool) -> int:
    """Return the columns from the beginning of one part to that of the next.

    >>> [_step(100, share, is_idle=True) for share in (0, 50, 90, 200, 1000)]
    [25, 100, 260, 400, 1000]
    """
    n_spans = PARTS_PER_BLOCK * share / max(1, span) - 1 if is_idle else SPANS
    return max(int(min(SPANS, max(MIN_SPANS, n_spans)) * span), share, 1)


def _longest_first(parts: list[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Join parts, the longest first: blocks take them in order, so that the last ones should be short."""
    items = np.concatenate(parts)
    return np.ascontiguousarray(items[np.argsort(-items[:, 3].astype(np.int64), kind="stable")])
