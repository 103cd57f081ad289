"""Ranges of segment rows and of queries: pieces of work of bounded size, independent of any engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rows(Protocol):
    """Rows of variable length, such as a segment or a part of one."""

    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64[n + 1]: where each row starts."""
        ...


@dataclass(frozen=True)
class RowRange:
    """Rows [first, end) of the segment with number `segment`, and their total length."""

    segment: int
    first: int
    end: int
    n_residues: int

    def __len__(self) -> int:
        return self.end - self.first


def row_ranges(segments: Sequence[Rows], max_rows: int) -> Iterator[RowRange]:
    """All rows of all segments, in ranges of at most `max_rows`, as equal as possible within a segment."""
    for number, segment in enumerate(segments):
        offsets = segment.offsets
        n_rows = len(offsets) - 1
        n_pieces = -(-n_rows // max(1, max_rows))
        edges = [n_rows * piece // n_pieces for piece in range(n_pieces + 1)] if n_pieces else []
        for first, end in pairwise(edges):
            yield RowRange(number, first, end, int(offsets[end] - offsets[first]))


def query_blocks(n_queries: int, max_queries: int) -> Iterator[tuple[int, int]]:
    """Ranges [first, end) of at most `max_queries` queries each.

    >>> list(query_blocks(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for first in range(0, n_queries, max(1, max_queries)):
        yield first, min(n_queries, first + max(1, max_queries))
