"""Shapes in which long.cu and long_packed.cu are compiled, as data, and the time that they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.runtime.constants import COLUMNS, MAX_PACKED, WARP

if TYPE_CHECKING:
    from exaln.scoring.scoring import Scoring

RING_TILES = 64
"""Tiles that a warp of long.cu has in shared memory; a warp of long_packed.cu has twice as many."""

PLAIN_LETTERS = 4
"""Letters among which long_packed.cu selects scores with one instruction."""

MAX_PADDED_ROWS = 16
"""Rows of a lane up to which the profile has room for one more letter."""

MAX_LARGE_ROWS = 4
"""Rows of a lane up to which registers hold scores of 64 bits."""

MAX_SMALL_END = 8_000_000
"""Times the 256 cells that a key of long.cu can name, plus what a piece can add, this fits 31 bits."""


@dataclass(frozen=True)
class LongShape:
    """How long.cu, or long_packed.cu, is compiled.

    rows: of a lane. threads: of a block. blocks: of a multiprocessor. piece: tiles of a piece. A warp of
    long_packed.cu has two lanes per thread.
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
        """Name of the kernel."""
        return "fill_region_packed" if self.is_packed else "fill_region"

    @property
    def has_pad(self) -> bool:
        """Whether the profile has a letter for columns beyond the last one."""
        return self.rows <= MAX_PADDED_ROWS

    @property
    def letter_bytes(self) -> int:
        """Bytes of one letter in the profile of a warp."""
        return self.rows * WARP * 4

    def shared_bytes(self, n_letters: int, score_bytes: int) -> int:
        """Return the shared memory of a block: profile, pieces of the row above and of the last row, tiles; per warp.

        A packed shape has the scores of plain and of other letters, these pieces twice, spilled registers, and tiles.
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
        """Return what to compile. large_ends: local scores can exceed MAX_SMALL_END."""
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
        """Return whether 16 bits hold all scores of a strip at a time; kernels/long_packed_range.cuh has the proof."""
        highest, extend = max(0, scoring.max_score), scoring.gap_extend
        columns = COLUMNS * self.piece
        n = self.strip_rows + 1 + COLUMNS * self.lanes + 2 * columns
        spread = 2 * (scoring.gap_first - extend) + n * (extend + highest)
        top = MAX_PACKED[True] - columns * highest
        return top - spread >= 4 * columns * (highest + extend) + scoring.gap_first


LONG_SHAPES = (
    LongShape(4, 32, 8, 8),
    LongShape(8, 32, 8, 8),
    LongShape(16, 32, 8, 8),
    LongShape(20, 512, 1, 8),
)
"""Shapes of long.cu. The first is for scores of 64 bits and for many letters."""

PACKED_SHAPES = (LongShape(16, 128, 4, 8, is_packed=True), LongShape(20, 128, 3, 8, is_packed=True))
"""Shapes of long_packed.cu. Blocks of four warps spread strips evenly over the quarters of multiprocessors."""


@dataclass(frozen=True)
class LongCost:
    """Cycles of a step of long.cu on a quarter of a multiprocessor, measured on an H200.

    step: per step. row: per row of a lane. piece: per piece, with one warp at a time. lag_pieces: how far a strip is
    behind the one above.
    """

    step: int
    row: int
    piece: int = 0
    lag_pieces: float = 0.0


ONE_WARP, BUSY = LongCost(82, 29, 520, 1.5), LongCost(150, 30)
PACKED_ONE_WARP, PACKED_BUSY = LongCost(200, 52, 1500, 4.0), LongCost(120, 38)


def long_shapes(n_letters: int, score_bytes: int, shared_bytes: int, packed: Scoring | None = None) -> list[LongShape]:
    """Return the shapes whose blocks fit, or one of small blocks if none does. packed: a scoring that fits bytes."""
    shapes: tuple[LongShape, ...] = LONG_SHAPES
    if score_bytes > 4:
        shapes = tuple(shape for shape in shapes if shape.rows <= MAX_LARGE_ROWS)
    elif packed is not None:
        shapes += tuple(shape for shape in PACKED_SHAPES if shape.holds(packed))
    fit = [shape for shape in shapes if shape.shared_bytes(n_letters, score_bytes) <= shared_bytes]
    return fit or [LongShape(LONG_SHAPES[0].rows, WARP, 1, LONG_SHAPES[0].piece)]


def long_cycles(shape: LongShape, n_rows: int, n_columns: int, n_warps: int, n_sms: int) -> float:
    """Return the cycles of a region on a device that runs n_warps warps of this shape at a time.

    A strip lags behind the one above by one tile per lane, one more tile, and some pieces. While the first strips
    start, multiprocessors are half full, but the warps of a block share one.
    """
    n_strips = -(-n_rows // shape.strip_rows)
    at_a_time = min(n_strips, n_warps)
    per_quarter = max(at_a_time / n_sms, min(at_a_time, shape.threads // WARP)) / 4
    one_warp, when_busy = (PACKED_ONE_WARP, PACKED_BUSY) if shape.is_packed else (ONE_WARP, BUSY)
    busy = per_quarter * (when_busy.step + when_busy.row * shape.rows)
    single = one_warp.step + one_warp.row * shape.rows + one_warp.piece / shape.piece
    n_tiles = -(-n_columns // COLUMNS)
    n_fill = at_a_time * (shape.lanes + 1 + one_warp.lag_pieces * shape.piece)
    return n_tiles * max(1.0, n_strips / n_warps) * max(single, busy) + n_fill * max(single, busy / 2)
