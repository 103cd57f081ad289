"""Munekawa, Ino and Hagihara, 2010: a database search on chip, with packed letters and a pipeline."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.bench.swissprot import synthetic_swissprot
from exaln.engines.cpu.engine import CpuEngine
from exaln.scoring.scoring import Scoring
from exaln.sequences.alphabet import PROTEIN
from exaln_studies.cluster_runs import measure_cluster
from exaln_studies.counters import ProfiledLaunch, counted
from exaln_studies.gpu import Lab
from exaln_studies.munekawa_ino_hagihara_page import SECTIONS, findings
from exaln_studies.search_lab import cuda_engine, random_query
from exaln_studies.searches import GpuSearch, TargetList, expected_scores, sorted_targets
from exaln_studies.study import REPEATS, Bench, Part, Row, Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUERIES, QUICK_QUERIES = (63, 127, 191, 255, 319, 383, 447, 511), (63, 255)
N_TARGETS, QUICK_TARGETS = 250_143, 20_000
AT_A_TIME = 8192
"""The paper's L: targets per launch."""

MATCH, MISMATCH = 2, -1


@dataclass(frozen=True)
class Packing:
    """Rows and columns that a thread computes per step.

    fetched: bytes of off-chip memory read and written per cell, counted in the code.
    """

    name: str
    rows: int
    columns: int
    fetched: float


NAIVE = Packing("naive (Fig. 5)", 1, 1, 1.0)
PACKED = Packing("packed letters", 4, 1, 0.25)
LOOKAHEAD = Packing("packed, with lookahead", 4, 4, 0.25)
PACKINGS = (NAIVE, PACKED, LOOKAHEAD)
OFF_CHIP, OFF_CHIP_FETCHED = "off chip", 34.0
"""Bytes per cell: two letters, five words read and three written."""


def scoring() -> Scoring:
    """+2 / -1, gaps of 10 for the first residue and 2 for each further one (exaln: 8/2)."""
    return Scoring(match=MATCH, mismatch=MISMATCH, gap_open=8, gap_extend=2, alphabet=PROTEIN)


class RowSearch:
    """Launches of query_rows.cu for a query, AT_A_TIME targets per launch."""

    def __init__(self, lab: Lab, query: NDArray[np.uint8], packing: Packing) -> None:
        self.lab, self.packing, self.costs = lab, packing, scoring()
        self.threads = -(-len(query) // packing.rows)
        padded = np.full(self.threads * packing.rows, 255, np.uint8)
        padded[: len(query)] = query
        self._query = lab.put(padded)
        self._kernel = lab.kernel("query_rows.cu", "query_rows", rows_each=packing.rows, columns_each=packing.columns)
        self.size = -(-self.threads // 16) * 16
        self.row_scores = lab.zeros(4 * AT_A_TIME * self.size)

    def launch(self, letters: int, starts: int, lengths: int, first: int, n: int) -> None:
        """Score n targets."""
        tail = [self._query.address, MATCH, MISMATCH, self.costs.gap_first, self.costs.gap_extend, first]
        arguments = [letters, starts, lengths, *tail, self.row_scores.address, self.size]
        self.lab.launch(self._kernel, n, self.threads, *arguments)

    def scores(self, n: int) -> NDArray[np.int32]:
        """Scores of the last launch; the maximum over rows is taken on the host, as in the paper."""
        rows = np.empty((n, self.size), np.int32)
        self.lab.device.download(rows, self.row_scores.address, self.lab.stream)
        best: NDArray[np.int32] = rows[:, : self.threads].max(axis=1)
        return best


def chunks_of(targets: TargetList) -> list[tuple[int, int]]:
    """First target and number of targets of each launch."""
    n = len(targets)
    return [(first, min(AT_A_TIME, n - first)) for first in range(0, n, AT_A_TIME)]


def database(bench: Bench) -> TargetList:
    """A synthetic database with as many targets as the paper's, of about the same mean length."""
    return sorted_targets(synthetic_swissprot(QUICK_TARGETS if bench.quick else N_TARGETS))


def measure_kernels(bench: Bench) -> Iterator[Row]:
    """Tables 3 and 4 for the kernels alone: all launches of a query, targets on the device."""
    lab, targets, engine = Lab(bench.gpu), database(bench), cuda_engine()
    held = [lab.put(array) for array in (targets.codes, targets.starts, targets.lengths)]
    letters, starts, lengths = (memory.address for memory in held)
    residues = int(targets.lengths.sum())
    for query in map(random_query, QUICK_QUERIES if bench.quick else QUERIES):
        expected = expected_scores(engine, query, targets, scoring())
        head = {"query": len(query), "targets": len(targets), "residues": residues}
        for packing in PACKINGS:
            bench.progress(f"query {len(query)}, {packing.name}")
            search = RowSearch(lab, query, packing)
            for first, n in chunks_of(targets):
                search.launch(letters, starts, lengths, first, n)
                bench.check(f"{packing.name}, query {len(query)}", search.scores(n), expected[first : first + n])

            def all_launches(search: RowSearch = search) -> None:
                for first, n in chunks_of(targets):
                    search.launch(letters, starts, lengths, first, n)

            seconds = lab.fastest(all_launches)
            yield {**head, "kernel": packing.name, "seconds": seconds, "fetched": packing.fetched}
        off_chip = GpuSearch(lab, targets, query, scoring())
        launch = off_chip.original(0)
        off_chip.check(bench, "off chip", [launch], expected)
        seconds = lab.fastest(launch)
        yield {**head, "kernel": OFF_CHIP, "seconds": seconds, "fetched": OFF_CHIP_FETCHED}
        del off_chip
        seconds = bench.seconds(lambda: expected_scores(engine, query, targets, scoring()))  # noqa: B023
        yield {**head, "kernel": "exaln", "seconds": seconds, "fetched": 0.0}


PIPES = ("alu", "fma", "fmaheavy", "lsu", "adu", "cbu", "uniform")
COUNTERS = {
    "instructions": "smsp__inst_executed.sum",
    **{name: f"sm__inst_executed_pipe_{name}.sum" for name in PIPES},
    **{f"{name}_busy": f"sm__inst_executed_pipe_{name}.avg.pct_of_peak_sustained_active" for name in PIPES},
    "issue_busy": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "shared_busy": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "dram_bytes": "dram__bytes.sum",
    "nanoseconds": "gpu__time_duration.sum",
}
"""Warp instructions and utilization, by pipe."""

COUNTED_TARGETS, QUICK_COUNTED, COUNTED_QUERY = 4096, 1024, 255


def measure_counters(bench: Bench) -> Iterator[Row]:
    """Table 4: the instruction mix, and the pipe that bounds each kernel."""
    return counted(bench, "munekawa-ino-hagihara", COUNTERS)


def launches(bench: Bench) -> Iterator[ProfiledLaunch]:
    """One launch of each kernel with the same targets."""
    lab, query = Lab(bench.gpu), random_query(COUNTED_QUERY)
    targets = sorted_targets(synthetic_swissprot(QUICK_COUNTED if bench.quick else COUNTED_TARGETS))
    off_chip, n = GpuSearch(lab, targets, query, scoring()), len(targets)
    expected = expected_scores(CpuEngine(), query, targets, scoring())
    label = {"query": len(query), "residues": int(targets.lengths.sum())}
    letters, starts, lengths = off_chip.arguments
    for packing in PACKINGS:
        search = RowSearch(lab, query, packing)
        yield ProfiledLaunch(
            {"kernel": packing.name, **label},
            lambda: search.launch(letters, starts, lengths, 0, n),  # noqa: B023
            lambda: bench.check(packing.name, search.scores(n), expected),  # noqa: B023
        )
    yield ProfiledLaunch(
        {"kernel": OFF_CHIP, **label},
        off_chip.original(0),
        lambda: bench.check(OFF_CHIP, off_chip.scores(), expected),
    )


class FileSearch:
    """A whole search: read a file, copy letters to the device, compute, copy scores back; plain or pipelined."""

    def __init__(self, lab: Lab, targets: TargetList, query: NDArray[np.uint8], path: Path) -> None:
        self.lab, self.targets, self.path = lab, targets, path
        self.search = RowSearch(lab, query, LOOKAHEAD)
        self.chunks = chunks_of(targets)
        ends = np.append(targets.starts, len(targets.codes))
        self._sizes = [int(ends[first + n] - ends[first]) for first, n in self.chunks]
        starts = np.concatenate([targets.starts[first : first + n] - targets.starts[first] for first, n in self.chunks])
        self._starts, self._lengths = lab.put(starts.astype(np.int64)), lab.put(targets.lengths)
        self._pinned = [lab.device.pinned(max(self._sizes)) for _ in range(2)]
        self._letters = lab.device.allocate(max(self._sizes))
        self.times = {"read": 0.0, "copy": 0.0, "kernel": 0.0}

    def read(self, file: FileIO, chunk: int) -> None:
        """Read a chunk of the database: the paper's t3."""
        buffer = self._pinned[chunk % 2].array[: self._sizes[chunk]].data
        if file.readinto(buffer) != self._sizes[chunk]:
            raise OSError("the file of the study is too short")

    def send(self, chunk: int) -> None:
        """Copy the letters of a chunk to the device: a part of the paper's t2."""
        array = self._pinned[chunk % 2].array[: self._sizes[chunk]]
        self.lab.device.upload(self._letters.address, array, self.lab.stream)

    def launch(self, chunk: int) -> None:
        """Enqueue the kernel of a chunk: the paper's t1."""
        first, n = self.chunks[chunk]
        self.search.launch(self._letters.address, self._starts.address, self._lengths.address, first, n)

    def plain(self) -> NDArray[np.int32]:
        """Scores without overlap, chunk by chunk; the times of reading, copies and kernels are in `times`."""
        scores = []
        self.times = dict.fromkeys(self.times, 0.0)
        with self.path.open("rb", buffering=0) as file:
            for chunk, (_, n) in enumerate(self.chunks):
                marks = [time.perf_counter()]
                self.read(file, chunk)
                marks.append(time.perf_counter())
                self.send(chunk)
                self.lab.device.synchronize()
                marks.append(time.perf_counter())
                self.launch(chunk)
                self.lab.device.synchronize()
                marks.append(time.perf_counter())
                scores.append(self.search.scores(n))
                marks.append(time.perf_counter())
                read, sent, ran, got = np.diff(marks).tolist()
                self.times["read"] += read
                self.times["copy"] += sent + got
                self.times["kernel"] += ran
        return np.concatenate(scores)

    def pipelined(self) -> NDArray[np.int32]:
        """Scores with overlap: the next chunk is read while a kernel runs (Fig. 7b)."""
        scores = []
        with self.path.open("rb", buffering=0) as file:
            self.read(file, 0)
            for chunk, (_, n) in enumerate(self.chunks):
                self.send(chunk)
                self.launch(chunk)
                if chunk + 1 < len(self.chunks):
                    self.read(file, chunk + 1)
                scores.append(self.search.scores(n))
        return np.concatenate(scores)


def model_seconds(n_chunks: int, kernel: float, copy: float, read: float) -> float:
    """The paper's model of the pipelined search; kernel, copy and read are seconds per chunk.

    >>> model_seconds(1, 1, 2, 3), model_seconds(3, 1, 2, 3)
    (6, 16)
    """
    return (n_chunks - 1) * (max(kernel, read) + copy) + kernel + copy + read


def fastest_plain(whole: FileSearch) -> tuple[float, dict[str, float]]:
    """Seconds of the fastest of REPEATS plain runs, and of its parts."""
    runs = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        whole.plain()
        runs.append((time.perf_counter() - begun, whole.times))
    return min(runs, key=lambda run: run[0])


def measure_pipeline(bench: Bench) -> Iterator[Row]:
    """Table 3 and Figure 8: with reading the database from a file and all copies, plain and pipelined."""
    lab, targets = Lab(bench.gpu), database(bench)
    residues = int(targets.lengths.sum())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "targets"
        path.write_bytes(targets.codes.tobytes())
        for query in map(random_query, QUICK_QUERIES if bench.quick else QUERIES):
            bench.progress(f"query {len(query)}, from a file")
            whole = FileSearch(lab, targets, query, path)
            expected = expected_scores(cuda_engine(), query, targets, scoring())
            bench.check(f"plain, query {len(query)}", whole.plain(), expected)
            bench.check(f"pipelined, query {len(query)}", whole.pipelined(), expected)
            (plain, times), pipelined = fastest_plain(whole), bench.seconds(whole.pipelined)
            n = len(whole.chunks)
            model = model_seconds(n, *(times[name] / n for name in ("kernel", "copy", "read")))
            row = {"query": len(query), "targets": len(targets), "residues": residues, "chunks": n, **times}
            yield {**row, "plain": plain, "pipelined": pipelined, "model": model}


STUDY = Study(
    name="munekawa-ino-hagihara",
    title="Munekawa, Ino, Hagihara: a database search on chip, pipelined",
    paper=(
        "Y. Munekawa, F. Ino, K. Hagihara, *Accelerating Smith-Waterman Algorithm for Biological Database Search on"
        " CUDA-Compatible GPUs*, IEICE Transactions on Information and Systems E93-D (2010) 1479-1488."
    ),
    summary=f"""
One block per target and one thread per row of the query, with everything but the letters on chip; letters packed in
words, four rows per thread, with and without lookahead; the database is read while the kernel runs. The paper measured
on a GTX 280 with a Swiss-Prot of 250,143 sequences, {AT_A_TIME:,} targets per launch; +2 / -1, gaps of 10 for the first
residue and 2 for each further one (exaln: 8/2). The kernel is `query_rows.cu` in `studies/src/exaln_studies/kernels`;
`intra_original.cu`, which keeps H, E and F in global memory, takes the place of the OpenGL program.

The kernel in the paper's Fig. 5 is not correct as printed: a row must end at the target's length, the cost of a gap is
subtracted twice, F belongs to the row below, the rows above the first and the score need initial values, and H of the
row above needs a second barrier or buffer. The paper's conclusion gives 8.12 GCUPS as the peak, its Table 3 gives 8.32.
Its packing without lookahead computes six cells per fetch; here it is four rows by one column per step, with one word
for four columns.

The cluster is exaln's own, on Dask, with one-core workers and exaln's engine on the CPU; the paper's cluster had a GPU
in each of 32 nodes. Times run from when the workers are there, as in the paper, until all hits have been received.
""",
    parts=(
        Part("kernels", "gpu", "kernels alone", measure_kernels),
        Part("pipeline", "gpu", "with reading and copies", measure_pipeline),
        Part("counters", "gpu", "counters of the profiler", measure_counters),
        Part("cluster", "cpu", "a cluster of workers", measure_cluster),
    ),
    sections=SECTIONS,
    findings=findings,
    launches=launches,
)
