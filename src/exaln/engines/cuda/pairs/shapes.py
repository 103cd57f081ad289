"""Shapes in which pairs.cu is compiled, as data, and their relative cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.engines.cuda.runtime.constants import WARP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROW_INSTRUCTIONS, STEP_INSTRUCTIONS = 96, 180
"""Instructions of pairs.cu for one row of a tile, and for the rest of a step."""

HIDING_WARPS = 8
"""Warps per multiprocessor below which latency is not hidden."""


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
        """Return int64[n]: the time of pairs with m rows and n_tiles tiles in this shape, relative to other shapes.

        The instructions of a warp, times the warps that share a scheduler. With fewer warps than hide each other's
        latency, a warp is no faster.
        """
        n_steps = -(-m // self.strip_rows) * (n_tiles + self.lanes - 1)
        n_warps = -(-len(m) * self.lanes // (2 * WARP))
        return n_steps * (self.rows * ROW_INSTRUCTIONS + STEP_INSTRUCTIONS) * max(n_warps, n_sms * HIDING_WARPS)


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
"""More lanes finish a pair sooner, and fewer pairs keep a device busy. The last shape takes the most memory."""
