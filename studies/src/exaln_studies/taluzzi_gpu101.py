"""Taluzzi, GPU101, 2023: a thousand pairs at a time with traceback, by three programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln_studies import _native
from exaln_studies.batches import GAP, Batch, GpuBatch, forward, random_batch, scoring
from exaln_studies.gpu import Lab
from exaln_studies.pairs import steps_of, task_of
from exaln_studies.study import Bench, Part, Row, Study
from exaln_studies.taluzzi_gpu101_page import SECTIONS, findings

if TYPE_CHECKING:
    from exaln.engines.contracts import Engine

LENGTHS = (128, 512)
N_PAIRS, QUICK_PAIRS = 1000, 100
TRACEBACK_THREADS = 32


@dataclass(frozen=True)
class DirectionStore:
    """Where one_block.cu stores directions. number: its constant WHERE.

    shared, in_global: bytes of shared and of global memory per pair, by length.
    """

    name: str
    number: int
    shared: Callable[[int], int]
    in_global: Callable[[int], int]


STORES = (
    DirectionStore("shared memory, a byte each", 0, lambda n: n * n, lambda n: 4),
    DirectionStore("shared memory, two bits each", 1, lambda n: 4 * n * -(-n // 16), lambda n: 4),
    DirectionStore("global memory, by rows", 2, lambda n: 0, lambda n: n * n),
    DirectionStore("global memory, by diagonals", 3, lambda n: 0, lambda n: 2 * n * n),
)


def shared_bytes(store: DirectionStore, length: int) -> int:
    """Dynamic shared memory of a block: three diagonals of scores, and directions."""
    return 12 * (length + 1) + store.shared(length)


def batch_for(bench: Bench, length: int) -> Batch:
    """As many random pairs as the report has."""
    return random_batch(QUICK_PAIRS if bench.quick else N_PAIRS, length)


def measure_core(bench: Bench) -> Iterator[Row]:
    """One core: complete tables pair by pair, as in the program that the report starts from; and exaln's engine."""
    from exaln.engines.cpu.engine import CpuEngine

    for length in LENGTHS:
        batch = batch_for(bench, length)
        bench.progress(f"length {length}, one core")
        yield {**core_row(bench, batch), "what": "plain"}
        yield engine_row(bench, CpuEngine(1), batch, "exaln, one core")


def core_row(bench: Bench, batch: Batch) -> Row:
    """The fastest of three runs of the plain program."""
    runs = [_native.align_pairs(batch.queries, batch.targets, scoring().matrix, GAP) for _ in range(3)]
    scores, ends, steps, offsets, fill, traceback = min(runs, key=lambda run: run[4] + run[5])
    paths = [forward(steps[begin:end]) for begin, end in pairwise(offsets)]
    batch.check(bench, "one core", scores, ends.reshape(-1, 2), paths)
    return {"length": batch.length, "pairs": len(batch), "fill": fill, "walk": traceback}


def engine_row(bench: Bench, engine: Engine, batch: Batch, name: str) -> Row:
    """exaln's batch of alignments, with all copies."""
    task = task_of(list(batch.queries), list(batch.targets), scoring())
    aligned = engine.align(task)
    paths = [steps_of(aligned.paths.operations[begin:end]) for begin, end in pairwise(aligned.paths.offsets)]
    batch.check(bench, name, aligned.scores.astype(np.int32), aligned.positions[:, [1, 3]], paths)
    seconds = bench.seconds(lambda: engine.align(task))
    return {"what": name, "length": batch.length, "pairs": len(batch), "seconds": seconds}


def measure_gpu(bench: Bench) -> Iterator[Row]:
    """The three programs of the report, filling alone and with traceback; and one core of the same machine."""
    lab = Lab(bench.gpu)
    for length in LENGTHS:
        batch = batch_for(bench, length)
        yield {"what": "plain", **core_row(bench, batch)}
        held = GpuBatch(lab, batch)
        bench.progress(f"length {length}, one thread per block")
        yield one_thread_row(bench, held)
        for store in STORES:
            bench.progress(f"length {length}, directions in {store.name}")
            yield from one_block_rows(bench, held, store)
        yield copies_row(lab, batch)
        yield engine_row(bench, _cuda_engine(), batch, "exaln, GPU")


def one_thread_row(bench: Bench, held: GpuBatch) -> Row:
    """One block of one thread per pair; tables and directions in global memory."""
    lab, length, n = held.lab, held.batch.length, len(held.batch)
    kernel = lab.kernel("one_thread.cu", "one_thread", length=length)
    tables, directions = lab.zeros(4 * n * (length + 1) ** 2), lab.zeros(n * (length + 1) ** 2)
    fill, both = timed_twice(
        lab,
        lambda traces: lab.launch(
            kernel, n, 1, *held.inputs, tables.address, directions.address, *held.outputs, traces
        ),
    )
    held.check(bench, "one thread per block")
    return {"what": "one thread", "length": length, "pairs": n, "fill": fill, "walk": both - fill}


def one_block_rows(bench: Bench, held: GpuBatch, store: DirectionStore) -> Iterator[Row]:
    """One thread per row; where the directions do not fit, a row with the shared memory that they would need."""
    lab, length, n = held.lab, held.batch.length, len(held.batch)
    row = {"what": "one block", "where": store.name, "length": length, "pairs": n}
    needed, there = shared_bytes(store, length), lab.device.properties.shared_bytes
    if needed > there:
        yield {**row, "refused": True, "needs": needed, "has": there}
        return
    kernel = lab.kernel("one_block.cu", "one_block", needed, length=length, where=store.number)
    directions = lab.zeros(n * store.in_global(length))
    fill, both = timed_twice(
        lab,
        lambda trace: lab.launch(kernel, n, length, *held.inputs, directions.address, *held.outputs, trace),
    )
    held.check(bench, store.name)
    resident = lab.device.blocks_per_sm(kernel, length)
    yield {**row, "fill": fill, "walk": both - fill, "shared": needed, "blocks_per_sm": resident}
    if store.number >= 2:
        lab.launch(kernel, n, length, *held.inputs, directions.address, *held.outputs, 0)
        yield traceback_row(bench, held, store, directions.address, fill)


def traceback_row(bench: Bench, held: GpuBatch, store: DirectionStore, directions: int, fill: float) -> Row:
    """Traceback of all pairs together, with one thread per pair."""
    lab, length, n = held.lab, held.batch.length, len(held.batch)
    kernel = lab.kernel("traceback_pairs.cu", "traceback_pairs", length=length, where=store.number)
    grid = -(-n // TRACEBACK_THREADS)
    traceback = min(lab.seconds(lambda: lab.launch(kernel, grid, TRACEBACK_THREADS, directions, *held.outputs, n)))
    held.check(bench, f"{store.name}, all together")
    return {
        "what": "walked together",
        "where": store.name,
        "length": length,
        "pairs": n,
        "fill": fill,
        "walk": traceback,
    }


def copies_row(lab: Lab, batch: Batch) -> Row:
    """Copies of sequences to the device and of paths back, in pageable memory, which the other times omit."""
    held = GpuBatch(lab, batch)
    steps = np.empty((len(batch), 2 * batch.length), np.uint8)

    def copy() -> None:
        lab.device.upload(held.queries.address, batch.queries, lab.stream)
        lab.device.upload(held.targets.address, batch.targets, lab.stream)
        lab.device.download(steps, held.steps.address, lab.stream)

    return {"what": "copies", "length": batch.length, "pairs": len(batch), "seconds": min(lab.seconds(copy))}


def timed_twice(lab: Lab, launch: Callable[[int], object]) -> tuple[float, float]:
    """Seconds of filling alone, and of filling and traceback."""
    return min(lab.seconds(lambda: launch(0))), min(lab.seconds(lambda: launch(1)))


def _cuda_engine() -> Engine:
    from exaln.engines.cuda.engine import CudaEngine

    return CudaEngine(memory=8 << 30)


STUDY = Study(
    name="taluzzi-gpu101",
    title="Taluzzi, GPU101: a thousand pairs with traceback",
    paper="A. Taluzzi, *GPU101 PiA Course Project* (Prof. A. Zeni), Politecnico di Milano, 2022/2023.",
    summary="""
A thousand pairs of length 512 (and 128), local, +2 / -1 and a linear gap of 1 (inferred from Fig. 2.1; exaln: gap_open
0, gap_extend 1), with traceback, on a Tesla T4. The report has three programs: one thread per block with complete
tables in global memory; one thread per row with the last diagonals and the directions in shared memory; and the same
with directions in global memory, since one byte per direction does not fit at 512. The kernels are `one_thread.cu`,
`one_block.cu` and `traceback_pairs.cu` in `studies/src/exaln_studies/kernels`; the program for one core is
`align_pairs` in `studies/native/table_fill.cpp`.

Times are those of the kernels, with the sequences on the GPU; copies have a row of their own. The report does not say
what its times include. Filling is the kernel without the traceback, the traceback is the difference to the whole. Pairs
are random nucleotides from a fixed seed; every score, end and path is compared with exaln's engine, and a sample of the
scores with the reference engine.
""",
    parts=(
        Part("core", "cpu", "one core", measure_core),
        Part("gpu", "gpu", "the three programs, and exaln", measure_gpu),
    ),
    sections=SECTIONS,
    findings=findings,
)
