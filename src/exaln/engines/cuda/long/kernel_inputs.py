"""Arrays that kernels/long.cu and long_packed.cu read: strips of rows, tiles of columns, scores, and the boundary.

The structured types are those of kernels/long_row_queues.cuh.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.cuda.long.shapes import LongShape
from exaln.engines.cuda.runtime.constants import COLUMNS, WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.letters import FoldedScores
    from exaln.engines.cuda.long.packed import ByteScores
    from exaln.engines.regions import Line, PairTable, Region

STRIP = np.dtype([("first_row", "u4"), ("n_rows", "u4"), ("checkpoint", "i4"), ("is_narrow", "u4")])
CONTROL = np.dtype(
    [(name, "u4") for name in ("ticket", "stop", "rows", "unused")]
    + [("best", "i8"), ("tiles", "u8"), ("pruned", "u8")]
)
END = np.dtype([("score", "i8"), ("row", "i8"), ("column", "i8")])

STOP_OFFSET = 4
"""Bytes from the beginning of CONTROL to `stop`."""

CANCELLED, LOST = 1, 2
"""Values of `stop`: the host cancelled the kernel; a strip waited too long for another."""

NEVER = 0xFFFFFFFF
"""The end of a list of checkpoint columns."""


def target_letters(pair: PairTable, region: Region) -> NDArray[np.uint8]:
    """The codes of the target in the columns of a region."""
    return pair.target[region.first_column : region.end_column]


def strips_of(n_rows: int, shape: LongShape, checkpoint_rows: NDArray[np.int64]) -> NDArray[Any]:
    """STRIP[n]: rows cut into strips, so that each checkpoint row is the last row of a strip.

    checkpoint_rows: ascending, the number of rows up to and including each checkpoint.

    >>> strips_of(300, LongShape(4, 32, 8, 8), np.array([130])).tolist()
    [(0, 128, -1, 0), (128, 2, 0, 1), (130, 128, -1, 0), (258, 40, -1, 0), (298, 2, -1, 1)]
    """
    ends = np.unique(np.append(checkpoint_rows, n_rows))
    begins = np.concatenate([[0], ends[:-1]])
    whole, left = np.divmod(ends - begins, shape.strip_rows)
    lanes, narrow = np.divmod(left, shape.rows)
    n_parts = np.stack([whole, lanes > 0, narrow > 0], axis=1)
    heights = np.stack([np.full_like(whole, shape.strip_rows), lanes * shape.rows, narrow], axis=1)
    strips = np.zeros(int(n_parts.sum()), STRIP)
    strips["n_rows"] = np.repeat(heights.reshape(-1), n_parts.reshape(-1))
    strips["is_narrow"] = np.repeat(np.tile([0, 0, 1], len(ends)), n_parts.reshape(-1))
    below = np.cumsum(strips["n_rows"])
    strips["first_row"] = below - strips["n_rows"]
    checkpoint = np.searchsorted(checkpoint_rows, below)
    is_checkpoint = checkpoint < len(checkpoint_rows)
    is_checkpoint[is_checkpoint] = checkpoint_rows[checkpoint[is_checkpoint]] == below[is_checkpoint]
    strips["checkpoint"] = np.where(is_checkpoint, checkpoint, -1)
    return strips


def score_table(
    shape: LongShape, folded: FoldedScores, byte_scores: ByteScores | None
) -> NDArray[np.int32] | NDArray[np.int8]:
    """The scores of two letters in the format of the kernel of this shape."""
    if shape.is_packed:
        assert byte_scores is not None
        return byte_scores.table
    return folded.table.astype(np.int32)


def column_tiles(
    target: NDArray[np.uint8], n_pieces: int, shape: LongShape, folded: FoldedScores, byte_scores: ByteScores | None
) -> NDArray[np.uint32] | NDArray[np.uint16]:
    """The letters of the columns in the format of the kernel: offsets in the profile, or selectors of bytes.

    Columns after the last one have the padding letter, if the profile has one.
    """
    n = ((n_pieces + 2) * shape.piece + 2 * WARP) * COLUMNS
    if shape.is_packed:
        assert byte_scores is not None
        return byte_scores.places(target, n)
    offsets = (folded.fold.astype(np.uint32) - 1) * np.uint32(shape.letter_bytes)
    tiles = np.full(n, folded.n_letters * shape.letter_bytes if shape.has_pad else 0, np.uint32)
    np.take(offsets, target, out=tiles[: len(target)], mode="clip")
    return tiles


def padded_row(row: Line, n: int) -> Line:
    """[n]: a row, which has at least one column, followed by copies of its last value."""
    padded: Line = np.empty(n, row.dtype)
    padded[: len(row)] = row
    padded[len(row) :] = row[-1]
    return padded
