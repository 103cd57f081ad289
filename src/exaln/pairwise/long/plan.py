"""The plan of one long pair: slabs of rows that are filled at a time, and the spacing of checkpoints on each level.

    level 0   the whole table, with checkpoints every spacings[0] rows and columns
    level 1   a block of level 0 on the path, filled again with checkpoints every spacings[1]
    ...
    last      a block of the last spacing, filled with the directions of its cells, for the traceback

Checkpoints every R rows and columns of an m x n table take 4 m n / R scores, and the blocks on a path have at most
(m + n) R cells. With S scores stored per letter of the two sequences, these blocks are 4 / S of the table: 5 % for 80.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.regions import score_type
from exaln.errors import OutOfMemoryError

if TYPE_CHECKING:
    from exaln.scoring.scoring import Scoring

LAST_SPACING = 512
SCORES_PER_LETTER = 80
LEAST_SCORES_PER_LETTER = 4
"""With fewer, filling the blocks on the path again could take more work than the whole table."""

MOST_BLOCK_BYTES = 1 << 27
"""Limit for the checkpoints of a block below level 0, unless it needs more: beyond this, writing checkpoints takes
longer than filling larger blocks again.
"""


@dataclass(frozen=True)
class Room:
    """Bytes that checkpoints may take: those of the whole table, in `place`, and those of a block, in memory."""

    table: int
    block: int
    place: str = "memory"

    @staticmethod
    def of(memory: int, disk: int | None = None) -> Room:
        """Limits from the free bytes of memory and, with a work directory, of the disk.

        A quarter of the memory, or of the disk, is left for engines and paths.
        """
        if disk is None:
            return Room(memory // 2, memory // 4)
        return Room(disk // 4 * 3, memory // 2, "the work directory")


@dataclass(frozen=True)
class Plan:
    """score: the type of all scores. slab_rows: rows that are filled, and stored, at a time. spacings: of checkpoints,
    level by level; empty for the score alone. block_bytes: what the checkpoints of a block may take.
    """

    score: np.dtype[np.generic]
    slab_rows: int
    spacings: tuple[int, ...]
    block_bytes: int = MOST_BLOCK_BYTES

    def resumed_with(self, itemsize: int, spacing: int) -> Plan:
        """The plan for a run that resumes with checkpoints of this item size and spacing on level 0."""
        if (itemsize, spacing) == (self.score.itemsize, self.spacings[0]):
            return self
        finer = finer_spacings(spacing, itemsize, self.block_bytes)
        return replace(self, score=np.dtype(f"i{itemsize}"), spacings=(spacing, *finer))


def plan_path(
    n_rows: int,
    n_columns: int,
    scoring: Scoring,
    slab_rows: int,
    room: Room,
    most_block_bytes: int = MOST_BLOCK_BYTES,
) -> Plan:
    """The plan for an alignment. Raises OutOfMemoryError if not even the fewest checkpoints fit."""
    score = score_type(n_rows, n_columns, scoring)
    per_letter = score.itemsize * (n_rows + n_columns)
    if room.table < LEAST_SCORES_PER_LETTER * per_letter:
        raise OutOfMemoryError(
            f"a pair of {n_rows:,} and {n_columns:,} letters needs at least "
            f"{_size(LEAST_SCORES_PER_LETTER * per_letter)} of {room.place} for its path, better "
            f"{_size(SCORES_PER_LETTER * per_letter)}, and {_size(room.table)} may be used"
            + ("; --work-dir keeps it on a disk" if room.place == "memory" else "")
        )
    kept = min(room.table, SCORES_PER_LETTER * per_letter)
    spacing = max(LAST_SPACING, _spacing(n_rows * n_columns, score.itemsize, kept))
    if room.place == "memory":  # slabs gain nothing here, and engines are fastest on all rows at once
        slab_rows = n_rows
    else:  # the checkpoints of a slab are in memory until they are written
        most = room.block * spacing // (4 * score.itemsize * n_columns)
        slab_rows = max(LAST_SPACING, min(slab_rows, most))
    block_bytes = min(room.block, most_block_bytes)
    return Plan(score, slab_rows, (spacing, *finer_spacings(spacing, score.itemsize, block_bytes)), block_bytes)


def finer_spacings(spacing: int, itemsize: int, block_bytes: int) -> tuple[int, ...]:
    """The spacings of the levels below one with this spacing: each at most half of the one above."""
    finer: list[int] = []
    while spacing > LAST_SPACING:
        most = max(block_bytes, 8 * itemsize * spacing)
        spacing = max(LAST_SPACING, _spacing(spacing * spacing, itemsize, most))
        finer.append(spacing)
    return tuple(finer)


def plan_score(n_rows: int, n_columns: int, scoring: Scoring) -> Plan:
    """The plan for the score alone."""
    return Plan(score_type(n_rows, n_columns, scoring), max(1, n_rows), ())


def _spacing(cells: int, itemsize: int, n_bytes: int) -> int:
    """The spacing at which the checkpoints of a table with `cells` cells take `n_bytes`."""
    return -(-4 * itemsize * cells // n_bytes)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:,.1f} GiB" if n_bytes >= 1 << 30 else f"{n_bytes / 2**20:,.1f} MiB"
