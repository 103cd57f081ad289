"""Shapes in which pairs.cu is compiled, as data, and their relative cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.runtime.constants import WARP

if TYPE_CHECKING:
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring

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

    def source(self, n_letters: int, scoring: Scoring, mode: Mode, *, paths: bool) -> Source:
        """Return what to compile. paths: whether directions are stored."""
        constants = {
            "LANES": self.lanes,
            "ROWS": self.rows,
            "THREADS": self.threads,
            "LETTERS": n_letters,
            "GAP_FIRST": scoring.gap_first,
            "GAP_EXTEND": scoring.gap_extend,
            "LOCAL": int(mode.is_local),
            "QUERY_START": int(mode.query_start),
            "QUERY_END": int(mode.query_end),
            "TARGET_START": int(mode.target_start),
            "TARGET_END": int(mode.target_end),
            "PATHS": int(paths),
        }
        return Source("pairs.cu", tuple(constants.items()))

    def step_cost(self, n_pairs: int, n_sms: int) -> int:
        """Return the time of a step of a group of lanes, one of n_pairs pairs, relative to other shapes.

        The instructions of a warp, times the warps that share a scheduler. With fewer warps than hide each other's
        latency, a warp is no faster. A table takes ceil(rows / strip_rows) * (tiles + lanes - 1) steps.
        """
        n_warps = -(-n_pairs * self.lanes // (2 * WARP))
        return (self.rows * ROW_INSTRUCTIONS + STEP_INSTRUCTIONS) * max(n_warps, n_sms * HIDING_WARPS)


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
"""More lanes finish a pair sooner, and fewer pairs keep a device busy."""
