"""Shapes in which the scan kernels are compiled, as data: tuning edits rows of a table, not code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.runtime.constants import COLUMNS, MAX_COST

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import DeviceProperties
    from exaln.scoring.scoring import Scoring


class Packing(IntEnum):
    """What the two halves of a word hold, and how scores are looked up; kernels/profile.cuh."""

    TWO_QUERIES = 0
    LETTER_PAIRS = 1
    MERGED = 2

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")

    @property
    def is_paired(self) -> bool:
        """Whether a word holds two targets and one query, rather than two queries and one target."""
        return self != Packing.TWO_QUERIES


ROWS = {
    4: (768, 4.0),
    8: (768, 5.6),
    12: (640, 6.65),
    16: (512, 7.0),
    20: (512, 7.2),
    24: (384, 7.4),
    28: (512, 7.25),
    36: (384, 7.6),
    48: (256, 7.54),
    56: (256, 7.66),
}
"""Rows of a lane -> threads of a block, and the TCUPS of an H200. Registers limit rows x threads."""

LANES_SPEED = {8: 1.0, 16: 1.0, 32: 0.99}
"""Lanes of a group -> relative speed."""

PACKING_SPEED = {Packing.TWO_QUERIES: 1.0, Packing.LETTER_PAIRS: 0.98, Packing.MERGED: 0.85}
"""Packing -> relative speed."""

REFERENCE_SMS = 132
"""Multiprocessors of the device on which the speeds were measured."""

STACK_BYTES = 32
"""Shared memory for each lane of a group, besides the profile: its query rows."""

SCHEDULE_BYTES = 512
"""Shared memory for the strip schedule of a block, rounded up."""


@dataclass(frozen=True)
class Shape:
    """How stream.cu is compiled: lanes of a group, rows of a lane, threads of a block, and the packing of a word."""

    lanes: int
    rows: int
    threads: int
    packing: Packing

    def __str__(self) -> str:
        return f"{self.lanes} x {self.rows} {self.packing}"

    @property
    def is_paired(self) -> bool:
        """Whether a group scores one query against two targets at a time, rather than two queries against one."""
        return self.packing.is_paired

    @property
    def strip_rows(self) -> int:
        """Query rows of a strip, in one half of the words."""
        return self.lanes * self.rows

    def lanes_for(self, n_rows: int) -> int:
        """Return the number of lanes that n_rows rows of a query take."""
        return -(-n_rows // self.rows)

    def profile_bytes(self, n_letters: int) -> int:
        """Return the shared memory of the profile: a word per symbol and row; if merged, also half-words by eight."""
        n_symbols = (n_letters + 1) ** 2 if self.packing == Packing.LETTER_PAIRS else n_letters + 1
        halves = 16 * self.lanes * -(-self.rows // 8) if self.packing == Packing.MERGED else 0
        return n_symbols * (4 * self.strip_rows + halves)

    def shared_bytes(self, n_letters: int) -> int:
        """Return all shared memory of a block."""
        return self.profile_bytes(n_letters) + STACK_BYTES * self.lanes + SCHEDULE_BYTES

    def n_groups(self, n_sms: int) -> int:
        """Return the groups of lanes on a device, with one block on each multiprocessor."""
        return n_sms * (self.threads // self.lanes)

    @property
    def step_seconds(self) -> float:
        """Seconds in which every group of a busy device computes one tile."""
        cells = 2 * COLUMNS * self.rows * self.threads * REFERENCE_SMS
        speed = LANES_SPEED[self.lanes] * PACKING_SPEED[self.packing]
        return cells / (ROWS[self.rows][1] * speed * 1e12)

    def source(self, n_letters: int, gap_first: int, gap_extend: int, *, keeps_rows: bool) -> Source:
        """Return what to compile. keeps_rows: whether a query continues in another strip."""
        constants = {
            "LANES": self.lanes,
            "ROWS": self.rows,
            "THREADS": self.threads,
            "PACKING": int(self.packing),
            "KEEPS_ROWS": int(keeps_rows),
            "LETTERS": n_letters,
            "GAP_FIRST": gap_first,
            "GAP_EXTEND": gap_extend,
        }
        return Source("stream.cu", tuple(constants.items()))


SHAPES = tuple(
    Shape(lanes, rows, threads, packing)
    for packing, lanes, (rows, (threads, _)) in product(Packing, LANES_SPEED, ROWS.items())
)
"""All shapes of stream.cu."""

BLOCK_SHAPES = ((512, 4), (256, 4), (128, 4), (64, 4), (32, 4))
"""Threads of a block, and rows of a thread, of block.cu; the largest first."""

BLOCK_STATIC_BYTES = 2048
"""Shared memory of block.cu besides its profile, rounded up."""


def fits_packed(scoring: Scoring, properties: DeviceProperties) -> bool:
    """Return whether scores and gap costs fit packed numbers. If not, all pairs are scored one by one."""
    largest = max(scoring.gap_first, int(np.abs(scoring.matrix).max()))
    return largest <= MAX_COST[properties.dpx]


def block_shape(shared_bytes: int, n_letters: int, n_rows: int) -> tuple[int, int]:
    """Return threads and rows of block.cu for queries of at most n_rows rows.

    The fewest threads that take all rows at once, so that more blocks run at a time; otherwise the most that fit
    shared_bytes. Raises ValueError if none fits.
    """
    fit = [
        (threads, rows)
        for threads, rows in BLOCK_SHAPES
        if block_bytes(threads, rows, n_letters) <= shared_bytes - BLOCK_STATIC_BYTES
    ]
    if not fit:
        raise ValueError(f"{n_letters} letters do not fit {shared_bytes} bytes of shared memory")
    return smallest_block(fit, n_rows)


def smallest_block(shapes: Sequence[tuple[int, int]], n_rows: int) -> tuple[int, int]:
    """Return the shape with the fewest threads that takes n_rows rows at once, or the first if none does."""
    return min((shape for shape in shapes if shape[0] * shape[1] >= n_rows), default=shapes[0])


def block_source(threads: int, rows: int, n_letters: int, scoring: Scoring) -> Source:
    """Return what to compile of block.cu."""
    letters = (("LETTERS", n_letters), ("GAP_FIRST", scoring.gap_first), ("GAP_EXTEND", scoring.gap_extend))
    return Source("block.cu", (("THREADS", threads), ("ROWS", rows), *letters))


def block_bytes(threads: int, rows: int, n_letters: int) -> int:
    """Return the shared memory of the profile of block.cu."""
    return (n_letters + 1) * threads * rows * 4
