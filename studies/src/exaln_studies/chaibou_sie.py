"""Chaibou and Sie, 2015: a rotated table, filled on one core, on threads, and on a GPU with a launch per diagonal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from exaln.scoring.scoring import Scoring
from exaln_studies import _native
from exaln_studies.chaibou_sie_page import SECTIONS, findings
from exaln_studies.gpu import Lab
from exaln_studies.pairs import Answer, answer_of, score_by, similar_pair
from exaln_studies.rotation import (
    BY_DIAGONALS,
    LAYOUTS,
    ORIGINAL,
    ROTATED,
    cells_of_step,
    rotated_back,
    strides_of,
    table_size,
    trace_back,
)
from exaln_studies.study import Bench, Part, Row, Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.contracts import Engine
    from exaln.engines.cuda.runtime.device import Kernel

    Codes = NDArray[np.uint8]
    Table = NDArray[np.int32]

LENGTHS, QUICK_LENGTHS = (2500, 5000, 10_000, 14_000), (500, 1000, 2500)
KINDS = ("nucleotides", "proteins")
CHUNKS, BEST_CHUNK = (1, 50, 250), 50
THREADS = (1, 2, 4, 8, 16)
GAP = 2
BLOCK_SIZES, QUICK_BLOCK_SIZES = (32, 64, 128, 256, 512, 1024), (64, 256)
ROTATED_BLOCK_SIZES = (64, 256)
N_EMPTY_LAUNCHES = 20_000
THREADS_ENOUGH_SECONDS = 0.5
"""Fills by threads that have taken this long are not repeated."""

SAMPLED = 97
"""Every 97th cell of a table is overwritten before threads fill it, and compared afterwards."""

LARGEST_COMPARED = 5000
"""Up to this length, tables are copied from the GPU and compared cell by cell."""


def scoring() -> Scoring:
    """BLOSUM62 and a linear gap of 2, for nucleotides too, as in the paper."""
    return Scoring("BLOSUM62", gap_open=0, gap_extend=GAP)


class Pair:
    """Two sequences and their expected alignment. Its tables are touched first, so that no page fault is timed."""

    def __init__(self, kind: str, length: int) -> None:
        self.query, self.target = similar_pair(kind, length)
        self.scoring = scoring()
        self.answer: Answer = answer_of(self.query, self.target, self.scoring)

    @property
    def shape(self) -> tuple[int, int]:
        """Lengths of query and target."""
        return len(self.query), len(self.target)

    def new_table(self, layout: str) -> Table:
        """Allocate a table."""
        return np.full(table_size(layout, *self.shape), -1, np.int32)

    def fill(self, table: Table, layout: str, threads: int = 1, chunk: int = 1 << 40) -> None:
        """Fill a table on the CPU."""
        matrix = self.scoring.matrix
        _native.fill_table(self.query, self.target, matrix, GAP, layout, threads, chunk, table)

    def check(self, bench: Bench, what: str, table: Table, layout: str, *, path: bool = False) -> None:
        """Compare the score, and the path read through the inverse; table entries outside the rotation are -1 or 0."""
        bench.check(f"{what}: score", int(table.max()), self.answer.score)
        if path:
            h = rotated_back(table, layout, *self.shape)
            result = trace_back(h, self.query, self.target, self.scoring)
            bench.check(f"{what}: path", result, (self.answer.query_end, self.answer.target_end, self.answer.steps))


def lengths_of(bench: Bench) -> tuple[int, ...]:
    """Lengths of the sequences."""
    return QUICK_LENGTHS if bench.quick else LENGTHS


def measure_sequential(bench: Bench) -> Iterator[Row]:
    """Figure 6: one thread, in the original order and in the two layouts of the rotated order."""
    for kind in KINDS:
        for length in lengths_of(bench):
            pair = Pair(kind, length)
            bench.check("cells per step", sum(cells_of_step(length, s) for s in range(1, 2 * length)), length**2)
            expected: Table | None = None
            for layout in LAYOUTS:
                bench.progress(f"{kind}, length {length:,}, {layout}")
                table = pair.new_table(layout)
                seconds = bench.seconds(lambda: pair.fill(table, layout))  # noqa: B023
                pair.check(bench, f"{kind} {length} {layout}", table, layout, path=True)
                found = rotated_back(table, layout, *pair.shape)
                expected = found if expected is None else expected
                bench.check(f"{kind} {length} {layout}: every cell", np.array_equal(found, expected), True)
                yield {"kind": kind, "length": length, "order": layout, "seconds": seconds}
            from exaln.engines.cpu.engine import CpuEngine

            yield engine_row(bench, CpuEngine(1), pair, kind, length, "exaln, one core")


def engine_row(bench: Bench, engine: Engine, pair: Pair, kind: str, length: int, name: str) -> Row:
    """Seconds that exaln's engine takes for the score of the same pair."""
    sequences = pair.query, pair.target, pair.scoring
    bench.check(name, score_by(engine, *sequences), pair.answer.score)
    seconds = bench.seconds(lambda: score_by(engine, *sequences))
    return {"kind": kind, "length": length, "order": name, "seconds": seconds}


def measure_threads(bench: Bench) -> Iterator[Row]:
    """Figures 7 and 8: one step per diagonal, its cells assigned to threads one by one or in chunks."""
    counts = [threads for threads in THREADS if threads <= max(2, bench.threads)]
    for threads in counts:
        n_steps = 20_000 if threads <= bench.threads else 2000
        beta = min(_native.time_empty_steps(threads, n_steps) for _ in range(3)) / n_steps
        yield {"what": "empty step", "threads": threads, "seconds": beta}
    for length, kind in product(lengths_of(bench), KINDS):
        yield from thread_rows(bench, Pair(kind, length), kind, counts)


def thread_rows(bench: Bench, pair: Pair, kind: str, counts: Sequence[int]) -> Iterator[Row]:
    """One pair: all chunk sizes for nucleotides, as in the paper, and the paper's best for proteins."""
    length = pair.shape[0]
    is_paper = kind == KINDS[0]
    for layout in (BY_DIAGONALS, ROTATED) if is_paper else (BY_DIAGONALS,):
        table = pair.new_table(layout)
        first: Table | None = None
        for threads, chunk in product(
            counts if layout == BY_DIAGONALS else (2,), CHUNKS if is_paper else (BEST_CHUNK,)
        ):
            bench.progress(f"{kind}, length {length:,}, {layout}, {threads} threads, chunks of {chunk}")
            table[::SAMPLED] = -1
            seconds = bench.seconds(lambda: pair.fill(table, layout, threads, chunk), THREADS_ENOUGH_SECONDS)  # noqa: B023
            work = {"kind": kind, "length": length, "layout": layout, "threads": threads, "chunk": chunk}
            if first is None:
                pair.check(bench, f"{work}", table, layout, path=True)
                first = table[::SAMPLED].copy()
            bench.check(f"{work}: every {SAMPLED}th cell", table[::SAMPLED], first)
            yield {"what": "fill", **work, "seconds": seconds}


class GpuPair:
    """A pair and its table on a device."""

    def __init__(self, lab: Lab, pair: Pair, layout: str) -> None:
        self.lab, self.pair, self.layout = lab, pair, layout
        m, n = pair.shape
        self.n_cells = table_size(layout, m, n)
        self._matrix = lab.put(pair.scoring.matrix)
        self._query, self._target = lab.put(pair.query), lab.put(pair.target)
        self.table = lab.zeros(4 * self.n_cells)
        self._kernel: Kernel = lab.kernel("rotated.cu", "rotated_step")

    def launches(self, block_size: int) -> list[tuple[int, list[int]]]:
        """Grid and arguments of the launch of each diagonal."""
        (m, n), (down, right) = self.pair.shape, strides_of(self.layout, *self.pair.shape)
        n_letters = len(self.pair.scoring.matrix)
        fixed = [self._query.address, self._target.address, self._matrix.address, n_letters, GAP, m, n]
        result = []
        for step in range(2, m + n + 1):
            n_cells = min(m, step - 1) - max(1, step - n) + 1
            result.append((-(-n_cells // block_size), [*fixed, step, down - right, right, self.table.address]))
        return result

    def fill_seconds(self, block_size: int, *, graph: bool) -> float:
        """Seconds of filling with launches by the host, or with a graph of the same launches."""
        device, stream = self.lab.device, self.lab.stream
        prepared = device.prepare(self._kernel, block_size, self.launches(block_size), stream)
        if not graph:
            return min(self.lab.seconds(lambda: device.launch_all(prepared)))
        ready = device.graph(prepared, stream)
        return min(self.lab.seconds(lambda: device.launch_graph(ready, stream)))

    def best(self) -> int:
        """The score, computed on the device."""
        best = self.lab.zeros(4)
        kernel = self.lab.kernel("rotated.cu", "largest")
        n_blocks = 4 * self.lab.device.properties.n_sms
        self.lab.launch(kernel, n_blocks, 256, self.table.address, self.n_cells, best.address)
        return int(self.lab.get(best, np.int32, 1)[0])


def measure_gpu(bench: Bench) -> Iterator[Row]:
    """Figure 9: one launch per diagonal, for several block sizes and both layouts; and empty launches."""
    lab = Lab(bench.gpu)
    yield from empty_launches(lab)
    for kind in KINDS[:1] if bench.quick else KINDS:
        for length in lengths_of(bench):
            pair = Pair(kind, length)
            base = pair.new_table(ORIGINAL)
            seconds = bench.seconds(lambda: pair.fill(base, ORIGINAL))  # noqa: B023
            yield {"what": "one core", "kind": kind, "length": length, "seconds": seconds}
            yield from gpu_rows(bench, lab, pair, base, kind)
            yield {"what": "engine", **engine_row(bench, _cuda_engine(), pair, kind, length, "exaln, GPU")}


def gpu_rows(bench: Bench, lab: Lab, pair: Pair, base: Table, kind: str) -> Iterator[Row]:
    """One pair with all block sizes; the table is cleared between them."""
    length = pair.shape[0]
    sizes = QUICK_BLOCK_SIZES if bench.quick else BLOCK_SIZES if kind == KINDS[0] else (256,)
    for layout in (BY_DIAGONALS, ROTATED):
        held = GpuPair(lab, pair, layout)
        for block_size in sizes if layout == BY_DIAGONALS else ROTATED_BLOCK_SIZES:
            for graph in (False, True):
                bench.progress(f"{kind}, length {length:,}, {layout}, blocks of {block_size}")
                lab.device.fill(held.table.address, 0, held.n_cells, lab.stream)
                seconds = held.fill_seconds(block_size, graph=graph)
                bench.check(f"{kind} {length} {layout} {block_size}: score", held.best(), pair.answer.score)
                shape = {"length": length, "layout": layout, "block_size": block_size, "graph": graph}
                yield {"what": "fill", "kind": kind, **shape, "seconds": seconds}
        if length <= LARGEST_COMPARED:
            table = lab.get(held.table, np.int32, held.n_cells)
            found = rotated_back(table, layout, *pair.shape)
            expected = rotated_back(base, ORIGINAL, *pair.shape)
            bench.check(f"{kind} {length} {layout}: every cell", np.array_equal(found, expected), True)
            pair.check(bench, f"{kind} {length} {layout}", table, layout, path=True)


def empty_launches(lab: Lab) -> Iterator[Row]:
    """The paper's alpha: seconds of an empty launch, by the host and in a graph."""
    n, kernel = N_EMPTY_LAUNCHES, lab.kernel("rotated.cu", "empty_step")
    prepared = lab.device.prepare(kernel, 32, [(1, [])] * n, lab.stream)
    yield {
        "what": "empty launch",
        "graph": False,
        "seconds": min(lab.seconds(lambda: lab.device.launch_all(prepared))) / n,
    }
    ready = lab.device.graph(prepared, lab.stream)
    seconds = min(lab.seconds(lambda: lab.device.launch_graph(ready, lab.stream))) / n
    yield {"what": "empty launch", "graph": True, "seconds": seconds}


def _cuda_engine() -> Engine:
    from exaln.engines.cuda.engine import CudaEngine

    return CudaEngine(memory=4 << 30)


STUDY = Study(
    name="chaibou-sie",
    title="Chaibou and Sie: the table of scores, rotated",
    paper=(
        "A. Chaibou and O. Sie, *Comparative Study of the Parallelization of the Smith-Waterman Algorithm on OpenMP and"
        " Cuda C*, Journal of Computer and Communications 3 (2015) 107-117, doi:10.4236/jcc.2015.36011."
    ),
    summary="""
The paper rotates the table of scores by (i, j) -> (i, i + j - 1), so that the cells of an anti-diagonal, which do not
depend on each other, become a column. It fills this table on one core, on the two cores of a Pentium E5500 with OpenMP
(one cell per thread, or chunks of 50 or 250), and on a GTX 670 with one launch per column, and gives models of the run
time. Scoring: BLOSUM62 applied to nucleotide letters, linear gap 2 (exaln: gap_open 0, gap_extend 2). The rotation is
in `studies/src/exaln_studies/rotation.py`, the filling on threads in `studies/native/table_fill.cpp`, the GPU kernel in
`studies/src/exaln_studies/kernels/rotated.cu`.

Times are for filling the whole table only: it is allocated and touched before, the sequences are in memory (for the
GPU, in its own), and neither the maximum nor the traceback is included. The first sequence is random, the second a copy
of it with a quarter of the letters changed. The paper contradicts itself in two places: formula (2) gives the second
range of steps as 1..2N-1, but it is N+1..2N-1; and the alignment printed in section 2.2 has rows of different length.
""",
    parts=(
        Part("sequential", "cpu", "one core, original order and rotated", measure_sequential),
        Part("threads", "cpu", "threads, one cell each or chunks", measure_threads, is_gradual=True),
        Part("gpu", "gpu", "a launch per diagonal", measure_gpu),
    ),
    sections=SECTIONS,
    findings=findings,
)
