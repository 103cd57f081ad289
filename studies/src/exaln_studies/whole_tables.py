"""One pair over the whole GPU with complete tables in memory: the techniques of Xiao, Aji and Feng."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.reference.engine import mode_score
from exaln.scoring.modes import Mode
from exaln.scoring.scoring import Scoring
from exaln_studies.batches import forward
from exaln_studies.gpu import Lab, source
from exaln_studies.pairs import Answer, answer_of, similar_pair
from exaln_studies.study import Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Launches

THREADS = 128
SIDE = 32
PLACE_BITS, MAX_PLACE = 21, (1 << 21) - 1
"""As in kernels/traceback_tables.cu."""

BARRIERS = {"none": 0, "counter": 1, "flags": 2, "cooperative": 3}
LARGE = 1 << 28
LOADS = {"plain": 0, "constant": 1, "read-only": 2}
RELAUNCHES = ("host", "graph")


@dataclass(frozen=True)
class Technique:
    """The layout of tables in memory. words: each diagonal starts at a multiple of this; 0 for tiles."""

    name: str
    words: int

    @property
    def is_tiled(self) -> bool:
        """Whether blocks fill tiles instead of diagonals."""
        return self.words == 0

    @property
    def file(self) -> str:
        """File of the kernels."""
        return "tiles.cu" if self.is_tiled else "diagonals.cu"

    @property
    def plural(self) -> str:
        """Last part of the names of the kernels."""
        return "tiles" if self.is_tiled else "diagonals"


SIMPLE, COALESCED_64, COALESCED_128, TILED = TECHNIQUES = (
    Technique("simple", 1),
    Technique("coalesced, 64 bytes", 16),
    Technique("coalesced, 128 bytes", 32),
    Technique("tiled", 0),
)


def scoring() -> Scoring:
    """The paper does not state its scoring. Here BLOSUM62, gaps 11/1."""
    return Scoring("BLOSUM62", gap_open=11, gap_extend=1)


class AffinePair:
    """Two similar proteins, and their best local alignment."""

    def __init__(self, length: int) -> None:
        self.query, self.target = similar_pair("proteins", length)
        self.scoring = scoring()

    @cached_property
    def answer(self) -> Answer:
        """The expected alignment."""
        return answer_of(self.query, self.target, self.scoring)

    @cached_property
    def global_score(self) -> int:
        """Score of the global alignment, by the reference engine."""
        return mode_score(self.query, self.target, self.scoring, Mode.parse("global"))


def diagonal_starts(m: int, n: int, words: int) -> NDArray[np.int64]:
    """Return int64[m + n + 2]: the start of each diagonal, and the end of the last.

    >>> diagonal_starts(2, 2, 1).tolist(), diagonal_starts(2, 2, 4).tolist()
    ([0, 1, 3, 6, 8, 9], [0, 4, 8, 12, 16, 20])
    """
    d = np.arange(m + n + 1)
    counts = np.minimum(m, d) - np.maximum(0, d - n) + 1
    padded = -(-counts // words) * words
    return np.concatenate([[0], np.cumsum(padded)]).astype(np.int64)


class GpuTables:
    """A pair and its three tables on a device, filled by one technique."""

    def __init__(self, lab: Lab, pair: AffinePair, technique: Technique) -> None:
        self.lab, self.pair, self.technique = lab, pair, technique
        m, n = len(pair.query), len(pair.target)
        self.m, self.n = m, n
        starts = diagonal_starts(m, n, max(technique.words, 1))
        tiles = -(-m // SIDE), -(-n // SIDE)
        self.n_cells = tiles[0] * tiles[1] * SIDE * SIDE if technique.is_tiled else int(starts[-1])
        self.n_steps = sum(tiles) - 1 if technique.is_tiled else m + n + 1
        self._held = [lab.put(pair.query), lab.put(pair.target), lab.put(pair.scoring.matrix), lab.put(starts)]
        self._tables = [lab.device.allocate(4 * self.n_cells) for _ in range(3)]
        self._state = lab.zeros(4 * (1 + 64 * lab.device.properties.n_sms))
        self._best, self._steps, self._n_steps = lab.zeros(8), lab.zeros(m + n), lab.zeros(4)

    @property
    def arguments(self) -> list[int]:
        """First arguments of all kernels."""
        query, target, matrix, starts = (memory.address for memory in self._held)
        scoring = self.pair.scoring
        costs = [len(scoring.matrix), scoring.gap_first, scoring.gap_extend, self.m, self.n]
        return [query, target, matrix, *costs, *(table.address for table in self._tables), starts]

    def constants(self, barrier: str, loads: str = "plain", *, is_local: bool = True) -> dict[str, int]:
        """Constants of the kernels that fill tables."""
        constants = {"barrier": BARRIERS[barrier]}
        if not self.technique.is_tiled:
            constants |= {"loads": LOADS[loads], "local": int(is_local)}
        return constants

    def launches(self, n_blocks: int) -> Launches:
        """One launch per step, all with the same number of blocks."""
        kernel = self.lab.kernel(self.technique.file, f"step_{self.technique.plural}", **self.constants("none"))
        steps = [(n_blocks, [*self.arguments, step]) for step in range(self.n_steps)]
        return self.lab.device.prepare(kernel, THREADS, steps, self.lab.stream)

    def relaunch_seconds(self, n_blocks: int, by: str) -> list[float]:
        """Seconds of filling with one launch per step, by the host or in a graph."""
        device, stream, prepared = self.lab.device, self.lab.stream, self.launches(n_blocks)
        if by == "host":
            return self.lab.seconds(lambda: device.launch_all(prepared))
        ready = device.graph(prepared, stream)
        return self.lab.seconds(lambda: device.launch_graph(ready, stream))

    def barrier_seconds(
        self, n_blocks: int, barrier: str, loads: str = "plain", *, is_local: bool = True
    ) -> list[float]:
        """Seconds of filling in one launch, with a barrier after each step; large tables are filled once."""
        fill = self.filling(n_blocks, barrier, loads, is_local=is_local)
        is_large = self.n_cells > LARGE
        return self.lab.seconds(fill, 1 if is_large else 3, warm=is_large)

    def filling(
        self, n_blocks: int, barrier: str, loads: str = "plain", *, is_local: bool = True
    ) -> Callable[[], None]:
        """Return a function that enqueues one launch with a barrier after each step."""
        device, constants = self.lab.device, self.constants(barrier, loads, is_local=is_local)
        kernel = self.lab.kernel(self.technique.file, f"all_{self.technique.plural}", **constants)
        if loads == "constant":
            matrix = np.ascontiguousarray(self.pair.scoring.matrix)
            device.upload(
                device.variable(source(self.technique.file, **constants), "constant_matrix"), matrix, self.lab.stream
            )

        def fill() -> None:
            device.fill(self._state.address, 0, 1 + n_blocks, self.lab.stream)
            device.launch_together(kernel, n_blocks, THREADS, self.lab.stream, [*self.arguments, self._state.address])

        return fill

    def max_blocks(self) -> int:
        """Largest number of blocks that can be resident, so that they can wait for each other."""
        kernel = self.lab.kernel(self.technique.file, f"all_{self.technique.plural}", **self.constants("counter"))
        return self.lab.device.properties.n_sms * self.lab.device.blocks_per_sm(kernel, THREADS)

    def _traceback_seconds(self) -> tuple[float, float]:
        """Seconds of finding the best cell, and of the traceback from it."""
        lab, tiled = self.lab, int(self.technique.is_tiled)
        best, trace = (
            lab.kernel("traceback_tables.cu", name, tiled=tiled) for name in ("best_cell", "traceback_tables")
        )
        places = self._best.address, self._steps.address, self._n_steps.address

        def find_best() -> None:
            lab.device.fill(self._best.address, 0, 2, lab.stream)
            table, starts = self._tables[0].address, self._held[3].address
            lab.launch(best, 8 * lab.device.properties.n_sms, 256, self.m, self.n, table, starts, self._best.address)

        (finding,) = lab.seconds(find_best, 1, warm=True)
        (tracing,) = lab.seconds(lambda: lab.launch(trace, 1, 1, *self.arguments, *places), 1, warm=True)
        return finding, tracing

    def check(self, bench: Bench, what: str) -> tuple[float, float]:
        """Compare score, end and path; return the seconds of finding the best cell and of the traceback.

        Invalidates the tables.
        """
        finding, tracing = self._traceback_seconds()
        key = int(self.lab.get(self._best, np.uint64, 1)[0])
        count = int(self.lab.get(self._n_steps, np.int32, 1)[0])
        steps = self.lab.get(self._steps, np.uint8, self.m + self.n)[:count]
        ends = [MAX_PLACE - (key >> shift & MAX_PLACE) for shift in (0, PLACE_BITS)]
        answer = self.pair.answer
        result = (key >> 2 * PLACE_BITS, *ends, forward(steps))
        bench.check(what, result, (answer.score, answer.query_end, answer.target_end, answer.steps))
        self.invalidate()
        return finding, tracing

    def corner(self) -> int:
        """H of the last cell, for tables by diagonals: the score of a global alignment."""
        table = self.lab.get(self._tables[0], np.int32, self.n_cells)
        return int(table[diagonal_starts(self.m, self.n, self.technique.words)[-2]])

    def invalidate(self) -> None:
        """Overwrite the scores, so that no later check can pass with earlier ones."""
        self.lab.device.fill(self._tables[0].address, 0xA5A5A5, self.n_cells, self.lab.stream)
