"""Taluzzi, GPU101, 2023: a thousand pairs at a time with backtracing, three ways: measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln import _core
from exaln.engines.contracts import PairList
from exaln.scoring.modes import LOCAL
from exaln.sequences.records import Records
from exaln_studies.batches import GAP, Batch, GpuBatch, forward, random_batch, scoring
from exaln_studies.gpu import Lab
from exaln_studies.pairs import steps_of
from exaln_studies.study import Bench, Part, Row, Study
from exaln_studies.taluzzi_gpu101_page import SECTIONS, findings

if TYPE_CHECKING:
    from exaln.engines.contracts import Engine

LENGTHS = (128, 512)
N_PAIRS, QUICK_PAIRS = 1000, 100
WALK_THREADS = 32


@dataclass(frozen=True)
class Kept:
    """Where one_block.cu keeps directions. number: its constant WHERE."""

    name: str
    number: int
    shared: Callable[[int], int]
    in_global: Callable[[int], int]


KEPT = (
    Kept("shared memory, a byte each", 0, lambda n: n * n, lambda n: 4),
    Kept("shared memory, two bits each", 1, lambda n: 4 * n * -(-n // 16), lambda n: 4),
    Kept("global memory, by rows", 2, lambda n: 0, lambda n: n * n),
    Kept("global memory, by diagonals", 3, lambda n: 0, lambda n: 2 * n * n),
)


def shared_bytes(kept: Kept, length: int) -> int:
    """Dynamic shared memory of a block: three diagonals of scores, and directions."""
    return 12 * (length + 1) + kept.shared(length)


def batch_for(bench: Bench, length: int) -> Batch:
    """As many random pairs as the paper has."""
    return random_batch(QUICK_PAIRS if bench.quick else N_PAIRS, length)


def measure_core(bench: Bench) -> Iterator[Row]:
    """One core: whole tables one pair after another, as the program that the paper starts from; and exaln's engine."""
    from exaln.engines.cpu.engine import CpuEngine

    for length in LENGTHS:
        batch = batch_for(bench, length)
        bench.tell(f"length {length}, one core")
        yield {**core_row(bench, batch), "what": "plain"}
        yield engine_row(bench, CpuEngine(1), batch, "exaln, one core")


def core_row(bench: Bench, batch: Batch) -> Row:
    """The fastest of some runs of the plain program."""
    runs = [_core.study_align_plainly(batch.queries, batch.targets, scoring().matrix, GAP) for _ in range(3)]
    scores, ends, steps, offsets, fill, walk = min(runs, key=lambda run: run[4] + run[5])
    paths = [forward(steps[begin:end]) for begin, end in pairwise(offsets)]
    batch.check(bench, "one core", scores, ends.reshape(-1, 2), paths)
    return {"length": batch.length, "pairs": len(batch), "fill": fill, "walk": walk}


def engine_row(bench: Bench, engine: Engine, batch: Batch, name: str) -> Row:
    """exaln's own batch, scores and paths, with all copies."""
    records = [Records.of(scoring().alphabet, list(codes)) for codes in (batch.queries, batch.targets)]
    places = np.arange(len(batch), dtype=np.int64)
    arguments = (records[0], records[1], PairList(places, places), scoring(), LOCAL)
    scores, traces = engine.align_pairs(*arguments)
    offsets = traces.paths.offsets
    paths = [steps_of(traces.paths.operations[begin:end]) for begin, end in pairwise(offsets)]
    batch.check(bench, name, scores.astype(np.int32), traces.positions[:, [1, 3]], paths)
    seconds = bench.seconds(lambda: engine.align_pairs(*arguments))
    return {"what": name, "length": batch.length, "pairs": len(batch), "seconds": seconds}


def measure_gpu(bench: Bench) -> Iterator[Row]:
    """The three programs of the paper; filling alone, and with the walk back; one core of the same machine beside."""
    lab = Lab(bench.gpu)
    for length in LENGTHS:
        batch = batch_for(bench, length)
        yield {"what": "plain", **core_row(bench, batch)}
        held = GpuBatch(lab, batch)
        bench.tell(f"length {length}, one thread per block")
        yield one_thread_row(bench, held)
        for kept in KEPT:
            bench.tell(f"length {length}, directions in {kept.name}")
            yield from one_block_rows(bench, held, kept)
        yield copies_row(lab, batch)
        yield engine_row(bench, _cuda_engine(), batch, "exaln, GPU")


def one_thread_row(bench: Bench, held: GpuBatch) -> Row:
    """A thread per pair and block; tables and directions in global memory."""
    lab, length, n = held.lab, held.batch.length, len(held.batch)
    kernel = lab.kernel("one_thread.cu", "one_thread", length=length)
    tables, directions = lab.room(4 * n * (length + 1) ** 2), lab.room(n * (length + 1) ** 2)
    fill, both = timed_twice(
        lab,
        lambda walks: lab.launch(kernel, n, 1, *held.inputs, tables.address, directions.address, *held.outputs, walks),
    )
    held.check(bench, "one thread per block")
    return {"what": "one thread", "length": length, "pairs": n, "fill": fill, "walk": both - fill}


def one_block_rows(bench: Bench, held: GpuBatch, kept: Kept) -> Iterator[Row]:
    """A thread per row; refused where the directions do not fit, with the room that they would need."""
    lab, length, n = held.lab, held.batch.length, len(held.batch)
    row = {"what": "one block", "where": kept.name, "length": length, "pairs": n}
    needed, there = shared_bytes(kept, length), lab.device.properties.shared_bytes
    if needed > there:
        yield {**row, "refused": True, "needs": needed, "has": there}
        return
    kernel = lab.kernel("one_block.cu", "one_block", needed, length=length, where=kept.number)
    directions = lab.room(n * kept.in_global(length))
    fill, both = timed_twice(
        lab,
        lambda walks: lab.launch(kernel, n, length, *held.inputs, directions.address, *held.outputs, walks),
    )
    held.check(bench, kept.name)
    resident = lab.device.blocks_per_sm(kernel, length)
    yield {**row, "fill": fill, "walk": both - fill, "shared": needed, "blocks_per_sm": resident}
    if kept.number >= 2:
        lab.launch(kernel, n, length, *held.inputs, directions.address, *held.outputs, 0)
        yield walk_row(bench, held, kept, directions.address, fill)


def walk_row(bench: Bench, held: GpuBatch, kept: Kept, directions: int, fill: float) -> Row:
    """Walking back with a thread per pair, all pairs at a time."""
    lab, length, n = held.lab, held.batch.length, len(held.batch)
    kernel = lab.kernel("walk_pairs.cu", "walk_pairs", length=length, where=kept.number)
    grid = -(-n // WALK_THREADS)
    walk = min(lab.seconds(lambda: lab.launch(kernel, grid, WALK_THREADS, directions, *held.outputs, n)))
    held.check(bench, f"{kept.name}, walked together")
    return {"what": "walked together", "where": kept.name, "length": length, "pairs": n, "fill": fill, "walk": walk}


def copies_row(lab: Lab, batch: Batch) -> Row:
    """Sequences to the device, and scores and paths back, from ordinary memory: what the other times leave out."""
    held = GpuBatch(lab, batch)
    steps = np.empty((len(batch), 2 * batch.length), np.uint8)

    def copy() -> None:
        lab.device.upload(held.queries.address, batch.queries, lab.stream)
        lab.device.upload(held.targets.address, batch.targets, lab.stream)
        lab.device.download(steps, held.steps.address, lab.stream)

    return {"what": "copies", "length": batch.length, "pairs": len(batch), "seconds": min(lab.seconds(copy))}


def timed_twice(lab: Lab, launch: Callable[[int], object]) -> tuple[float, float]:
    """Seconds of filling alone, and of filling and walking back."""
    return min(lab.seconds(lambda: launch(0))), min(lab.seconds(lambda: launch(1)))


def _cuda_engine() -> Engine:
    from exaln.engines.cuda.engine import CudaEngine

    return CudaEngine(memory=8 << 30)


STUDY = Study(
    name="taluzzi-gpu101",
    title="Taluzzi, GPU101: a thousand pairs with backtracing",
    paper="A. Taluzzi, *GPU101 PiA Course Project* (Prof. A. Zeni), Politecnico di Milano, 2022/2023.",
    summary="""
A thousand pairs of length 512 (and 128), local, +2 / -1 and a linear gap of 1 (read off its Fig. 2.1; exaln: gap_open
0, gap_extend 1), with backtracing, on a Tesla T4. Three programs, one after another: a thread per block with whole
tables in global memory; a thread per row with the last diagonals and the directions in shared memory; the same with
directions in global memory, since bytes do not fit for 512. The kernels are `one_thread.cu`, `one_block.cu` and
`walk_pairs.cu` in `src/exaln/studies/kernels`, the program for one core is `align_plainly` in
`native/study_fill.cpp`.

Times are of kernels, on sequences that are on the device; copies are a line of their own. The paper does not say what
its times include. Filling is the kernel told not to walk back, walking back the difference to the whole. Pairs are
random nucleotides, from a fixed seed; every score, end and path is compared with exaln's engine, and a sample of the
scores with the reference engine.
""",
    parts=(
        Part("core", "cpu", "one core", measure_core),
        Part("gpu", "gpu", "the three programs, and exaln", measure_gpu),
    ),
    sections=SECTIONS,
    findings=findings,
)
