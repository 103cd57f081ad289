"""Segments as FASTA text, in input order and in blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from exaln.database.segment import Segment
from exaln.database.sorted_rows import text_bytes_before
from exaln.foundation.mapped_file import read_unchanged

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXPORT_BLOCK_BYTES = 16 << 20


def fasta_blocks(segments: Iterable[Segment], width: int) -> Iterator[bytes]:
    """All sequences as FASTA, in blocks; `width` letters per line, 0 for one line.

    DatabaseError if a file changes while it is read.
    """
    for segment in segments:
        blocks = (segment.fasta(rows, width).tobytes() for rows in _row_blocks(segment))
        yield from read_unchanged(segment.require_unchanged, blocks)


def _row_blocks(segment: Segment) -> Iterator[NDArray[np.int32]]:
    """The rows of a segment in input order, in blocks of about EXPORT_BLOCK_BYTES of text."""
    rows = segment.input_order
    ends = np.cumsum(np.diff(segment.offsets + text_bytes_before(segment.records))[rows])
    begin = 0
    while begin < len(rows):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + EXPORT_BLOCK_BYTES, side="right")))
        yield rows[begin:end]
        begin = end
