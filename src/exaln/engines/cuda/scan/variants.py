"""The shapes that kernels are compiled in, as data: tuning edits rows of a table, not code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import TYPE_CHECKING

from exaln.engines.cuda.runtime.compiler import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring

COLUMNS = 4
"""Columns of a tile."""

MAX_PACKED = {True: 32767, False: 2048}
"""With and without DPX: the largest number that packed words hold exactly."""


class Packing(IntEnum):
    """What the two halves of a word are, and how scores get there; kernels/profile.cuh."""

    TWO_QUERIES = 0
    LETTER_PAIRS = 1
    MERGED = 2

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


WARP, PACK_THREADS = 32, 256
"""Threads of a warp; of a block of kernels that give each thing a warp."""


def blocks_of_warps(n: int) -> int:
    """Blocks of PACK_THREADS that give each of n a warp."""
    return max(1, -(-n * WARP // PACK_THREADS))


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
"""Rows of a lane -> threads of a block, and TCUPS of an H200 with that. Registers limit rows x threads."""

LANES_SPEED = {8: 1.0, 16: 1.0, 32: 0.99}
"""Lanes of a group -> relative speed."""

PACKING_SPEED = {Packing.TWO_QUERIES: 1.0, Packing.LETTER_PAIRS: 0.98, Packing.MERGED: 0.85}
"""What a word packs -> relative speed."""

REFERENCE_SMS = 132
"""Multiprocessors of the device that the speeds were measured on."""

STACK_BYTES = 32
"""Of shared memory, for each lane of a group, besides the profile: which rows it has."""

COURSE_BYTES = 512
"""Likewise for a block: where it is among the strips; rounded up."""


@dataclass(frozen=True)
class Shape:
    """How stream.cu is compiled: lanes of a group, rows of a lane, threads of a block, and what a word packs."""

    lanes: int
    rows: int
    threads: int
    packing: Packing

    def __str__(self) -> str:
        return f"{self.lanes} x {self.rows} {self.packing}"

    @property
    def is_paired(self) -> bool:
        """Whether a group scores two targets at a time, and one query; else one and two."""
        return self.packing != Packing.TWO_QUERIES

    @property
    def strip_rows(self) -> int:
        """Query rows of a launch, in one half of the words."""
        return self.lanes * self.rows

    def lanes_for(self, n_rows: int) -> int:
        """Lanes that so many rows of a query take."""
        return -(-n_rows // self.rows)

    def profile_bytes(self, n_letters: int) -> int:
        """Of shared memory: a word for each symbol and row; if they are merged, halves of words besides, by eight."""
        n_symbols = (n_letters + 1) ** 2 if self.packing == Packing.LETTER_PAIRS else n_letters + 1
        halves = 16 * self.lanes * -(-self.rows // 8) if self.packing == Packing.MERGED else 0
        return n_symbols * (4 * self.strip_rows + halves)

    def shared_bytes(self, n_letters: int) -> int:
        """Shared memory of a block in all."""
        return self.profile_bytes(n_letters) + STACK_BYTES * self.lanes + COURSE_BYTES

    def n_groups(self, n_sms: int) -> int:
        """Groups of lanes on a device, one block on each multiprocessor."""
        return n_sms * (self.threads // self.lanes)

    @property
    def step_seconds(self) -> float:
        """How long all groups of a busy device take for a tile each."""
        cells = 2 * COLUMNS * self.rows * self.threads * REFERENCE_SMS
        speed = LANES_SPEED[self.lanes] * PACKING_SPEED[self.packing]
        return cells / (ROWS[self.rows][1] * speed * 1e12)

    def source(self, n_letters: int, gap_first: int, gap_extend: int, *, keeps_rows: bool) -> Source:
        """What to compile. keeps_rows: whether a query goes on in another strip."""
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
"""All of them."""

BLOCK_SHAPES = ((512, 4), (256, 4), (128, 4), (64, 4), (32, 4))
"""Threads, and rows of a thread, of block.cu."""


@dataclass(frozen=True)
class PairShape:
    """How pairs.cu is compiled: lanes of a group, rows of a lane, threads of a block."""

    lanes: int
    rows: int
    threads: int

    @property
    def strip_rows(self) -> int:
        """Query rows of a strip."""
        return self.lanes * self.rows

    def cost(self, m: NDArray[np.int64], n_tiles: NDArray[np.int64], n_sms: int) -> NDArray[np.int64]:
        """int64[n]: time for pairs with m rows and so many tiles if all have this shape, relative to other shapes.

        That of a warp, one instruction after the other, times the warps that share a scheduler; where there are less
        than hide each other's waiting, they are no faster for it.
        """
        n_steps = -(-m // self.strip_rows) * (n_tiles + self.lanes - 1)
        n_warps = -(-len(m) * self.lanes // (2 * WARP))
        return n_steps * (self.rows * ROW_INSTRUCTIONS + STEP_INSTRUCTIONS) * max(n_warps, n_sms * HIDING_WARPS)


ROW_INSTRUCTIONS, STEP_INSTRUCTIONS = 96, 180
"""Of pairs.cu, for a row of a tile and besides."""

HIDING_WARPS = 8
"""Of a multiprocessor: with fewer, there are moments without one that can go on."""

PAIR_SHAPES = (
    PairShape(8, 8, 512),
    PairShape(8, 16, 512),
    PairShape(8, 24, 384),
    PairShape(8, 32, 384),
    PairShape(16, 24, 384),
    PairShape(16, 32, 384),
    PairShape(32, 8, 512),
    PairShape(32, 16, 512),
)
"""All of them: the more lanes, the sooner a pair is done, and the fewer pairs keep a device busy. The last takes the most
memory."""


@dataclass(frozen=True)
class LongShape:
    """How long.cu is compiled, or long_packed.cu if it is packed: rows of a lane, of which a warp of long_packed.cu has
    twice as many, threads of a block, blocks of a multiprocessor, tiles of a piece.
    """

    rows: int
    threads: int
    blocks: int
    piece: int
    is_packed: bool = False

    def __str__(self) -> str:
        return f"{self.rows} rows{' packed' * self.is_packed}"

    @property
    def lanes(self) -> int:
        """Lanes of a strip."""
        return 2 * WARP if self.is_packed else WARP

    @property
    def strip_rows(self) -> int:
        """Query rows of a strip."""
        return self.lanes * self.rows

    @property
    def kernel(self) -> str:
        """Its name."""
        return "fill_region_packed" if self.is_packed else "fill_region"

    @property
    def has_pad(self) -> bool:
        """Whether the profile has a letter for columns behind the last one."""
        return self.rows <= MAX_PADDED_ROWS

    @property
    def letter_bytes(self) -> int:
        """Of a letter in the profile of a warp."""
        return self.rows * WARP * 4

    def shared_bytes(self, n_letters: int, score_bytes: int) -> int:
        """For each warp of a block the profile, pieces of the row above and of the last row, and tiles.

        If it is packed, scores with plain letters and with odd ones, these pieces twice, what a lane puts aside, tiles.
        """
        if self.is_packed:
            scores = (1 + (n_letters > PLAIN_LETTERS)) * self.rows * WARP * 8
            edges = (4 * self.piece + 1) * 2 * COLUMNS * 4
            put_aside = -(-(2 * self.rows + 2 * COLUMNS + 1) // 4) * 16
            return self.threads // WARP * (scores + edges + put_aside + 2 * RING_TILES * 8)
        profile = (n_letters + self.has_pad) * self.letter_bytes
        edges = (2 * self.piece + 1) * 2 * COLUMNS * score_bytes
        return self.threads // WARP * (profile + edges + RING_TILES * 16)

    def source(self, n_letters: int, scoring: Scoring, *, is_local: bool, is_large: bool, large_ends: bool) -> Source:
        """What to compile. large_ends: local scores can be above MAX_SMALL_END."""
        constants = {
            "ROWS": self.rows,
            "THREADS": self.threads,
            "BLOCKS": self.blocks,
            "PIECE": self.piece,
            "LETTERS": n_letters,
            "HAS_PAD": int(self.has_pad),
            "GAP_FIRST": scoring.gap_first,
            "GAP_EXTEND": scoring.gap_extend,
            "LOCAL": int(is_local),
            "LARGE": int(is_large),
            "LARGE_ENDS": int(large_ends),
        }
        if not self.is_packed:
            return Source("long.cu", tuple(constants.items()))
        constants |= {"LARGE_ENDS": 0, "HIGHEST": max(0, scoring.max_score)}
        return Source("long_packed.cu", tuple(constants.items()))

    def holds(self, scoring: Scoring) -> bool:
        """Whether halves of words hold scores that a strip has at a time; kernels/long_packed_range.cuh has the proof."""
        highest, extend = max(0, scoring.max_score), scoring.gap_extend
        columns = COLUMNS * self.piece
        n = self.strip_rows + 1 + COLUMNS * self.lanes + 2 * columns
        spread = 2 * (scoring.gap_first - extend) + n * (extend + highest)
        top = MAX_PACKED[True] - columns * highest
        return top - spread >= 4 * columns * (highest + extend) + scoring.gap_first


WARP = 32
RING_TILES = 64
"""Tiles that a warp of long.cu has in shared memory; one of long_packed.cu has twice as many."""

PLAIN_LETTERS = 4
"""Of which long_packed.cu chooses scores at once."""

MAX_PADDED_ROWS = 16
"""Up to so many rows of a lane there is room for one letter more."""

LONG_SHAPES = (
    LongShape(4, 32, 8, 8),
    LongShape(8, 32, 8, 8),
    LongShape(16, 32, 8, 8),
    LongShape(20, 512, 1, 8),
)
"""Those of long.cu. The first is for scores of 64 bits and for many letters."""

PACKED_SHAPES = (LongShape(16, 128, 4, 8, is_packed=True), LongShape(20, 128, 3, 8, is_packed=True))
"""Those of long_packed.cu. Blocks of four warps: strips are spread over multiprocessors, evenly over their quarters."""


@dataclass(frozen=True)
class LongCost:
    """Cycles of a step of long.cu on a quarter of a multiprocessor, as measured on an H200: `step`, and `row` for each
    row; with one warp alone besides `piece` for each piece. lag_pieces: so many a strip is behind the one above.
    """

    step: int
    row: int
    piece: int = 0
    lag_pieces: float = 0.0


ALONE, BUSY = LongCost(82, 29, 520, 1.5), LongCost(150, 30)
PACKED_ALONE, PACKED_BUSY = LongCost(200, 52, 1500, 4.0), LongCost(120, 38)


def long_shapes(n_letters: int, score_bytes: int, shared_bytes: int, packed: Scoring | None = None) -> list[LongShape]:
    """Those whose blocks fit; where none does, small blocks of the least rows. packed: of scores that fit bytes."""
    shapes: tuple[LongShape, ...] = LONG_SHAPES
    if score_bytes > 4:  # registers hold half as many
        shapes = tuple(shape for shape in shapes if shape.rows <= MAX_LARGE_ROWS)
    elif packed is not None:
        shapes += tuple(shape for shape in PACKED_SHAPES if shape.holds(packed))
    fit = [shape for shape in shapes if shape.shared_bytes(n_letters, score_bytes) <= shared_bytes]
    return fit or [LongShape(LONG_SHAPES[0].rows, WARP, 1, LONG_SHAPES[0].piece)]


MAX_LARGE_ROWS = 4

MAX_SMALL_END = 8_000_000
"""Times the 256 cells that a key of long.cu knows at most, it fits 31 bits, with what a piece can add to it."""


def long_cycles(shape: LongShape, n_rows: int, n_columns: int, n_warps: int, n_sms: int) -> float:
    """How long a region takes on a device that has so many warps of this shape at a time.

    A strip is a tile for each lane, one more, and some pieces behind the one above. While not all of them run,
    multiprocessors are half full, but the warps of a block are on the same one.
    """
    n_strips = -(-n_rows // shape.strip_rows)
    at_a_time = min(n_strips, n_warps)
    per_quarter = max(at_a_time / n_sms, min(at_a_time, shape.threads // WARP)) / 4
    when_alone, when_busy = (PACKED_ALONE, PACKED_BUSY) if shape.is_packed else (ALONE, BUSY)
    busy = per_quarter * (when_busy.step + when_busy.row * shape.rows)
    alone = when_alone.step + when_alone.row * shape.rows + when_alone.piece / shape.piece
    n_tiles = -(-n_columns // COLUMNS)
    n_fill = at_a_time * (shape.lanes + 1 + when_alone.lag_pieces * shape.piece)
    return n_tiles * max(1.0, n_strips / n_warps) * max(alone, busy) + n_fill * max(alone, busy / 2)


MAX_COST = {True: 8192, False: 1024}
"""Likewise the largest score or gap cost with which they can be used; see kernels/packed.cuh."""


def packed_limit(dpx: bool, max_score: int) -> int:
    """Best scores up to this are exact in packed words; kernels/packed.cuh has the proof."""
    return MAX_PACKED[dpx] - max_score


def block_shape(shared_bytes: int, n_letters: int, n_rows: int) -> tuple[int, int]:
    """Threads and rows of block.cu, for queries of so many rows at most and blocks with so much shared memory.

    The fewest threads that take all rows at once, so that more blocks run at a time; else as many as fit.
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
    """The one with the fewest threads that takes so many rows at once, or else the first, the largest."""
    return min((shape for shape in shapes if shape[0] * shape[1] >= n_rows), default=shapes[0])


BLOCK_STATIC_BYTES = 2048
"""What block.cu needs besides its profile, rounded up."""


def block_bytes(threads: int, rows: int, n_letters: int) -> int:
    """The profile of block.cu."""
    return (n_letters + 1) * threads * rows * 4
