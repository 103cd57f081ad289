"""Xiao, Aji and Feng, 2009: one pair over the whole GPU, six implementations and further barriers."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import EngineError
from exaln_studies import _native
from exaln_studies.counters import ProfiledLaunch, counted
from exaln_studies.gpu import Lab, source
from exaln_studies.pairs import align_by, score_by
from exaln_studies.study import Bench, Part, Row, Study
from exaln_studies.whole_tables import (
    BARRIERS,
    COALESCED_128,
    LOADS,
    RELAUNCHES,
    SIDE,
    SIMPLE,
    TECHNIQUES,
    THREADS,
    TILED,
    AffinePair,
    GpuTables,
)
from exaln_studies.xiao_aji_feng_page import SECTIONS, findings

if TYPE_CHECKING:
    from exaln.engines.contracts import Engine

LENGTH, QUICK_LENGTH = 3000, 1000
BLOCKS, QUICK_BLOCKS = (8, 16, 22, 30, 44, 66, 88, 110, 132), (8, 30, 132)
LARGER, QUICK_LARGER = (8461, 30_000), (3000,)
LARGEST_PLACE = 1 << 20
CPU_THREADS = (1, 2, 4, 6, 8, 12, 16)
BYTES_PER_CELL = 13.5
"""Three tables of 32 bits, and some memory for the rest."""


def length_of(bench: Bench) -> int:
    """Length of the sequences."""
    return QUICK_LENGTH if bench.quick else LENGTH


def blocks_of(bench: Bench) -> list[int]:
    """Numbers of blocks, from 8 to one per multiprocessor."""
    n_sms = bench.gpu.properties.n_sms
    counts = QUICK_BLOCKS if bench.quick else BLOCKS
    return sorted({min(n, n_sms) for n in (*counts, n_sms)})


def mean(seconds: list[float]) -> float:
    """Mean of the runs, as in the paper."""
    return sum(seconds) / len(seconds)


def measure_blocks(bench: Bench) -> Iterator[Row]:
    """Figures 8 and 10: every technique with every kind of synchronisation, by number of blocks."""
    lab, pair = Lab(bench.gpu), AffinePair(length_of(bench))
    barriers = barriers_of(bench)
    for technique in TECHNIQUES:
        held = GpuTables(lab, pair, technique)
        for n_blocks in blocks_of(bench):
            for sync in (*RELAUNCHES, *barriers):
                bench.progress(f"{technique.name}, {sync}, {n_blocks} blocks")
                is_relaunch = sync in RELAUNCHES
                seconds = held.relaunch_seconds(n_blocks, sync) if is_relaunch else held.barrier_seconds(n_blocks, sync)
                row = {"length": held.m, "technique": technique.name, "sync": sync, "blocks": n_blocks}
                row |= {"steps": held.n_steps, "seconds": mean(seconds)}
                if sync != "none":
                    row["looking"], row["walking"] = held.check(bench, f"{technique.name}, {sync}, {n_blocks} blocks")
                yield row
    yield engine_row(bench, pair)


def barriers_of(bench: Bench) -> list[str]:
    """All barriers, or all but cooperative groups where CUDA's headers are missing; compiles their kernels."""
    constants = [{"barrier": number, "loads": 0, "local": 1} for number in BARRIERS.values()]
    for barriers in (list(BARRIERS), [name for name in BARRIERS if name != "cooperative"]):
        chosen = [one for one in constants if one["barrier"] in [BARRIERS[name] for name in barriers]]
        try:
            bench.gpu.load(source("diagonals.cu", **one) for one in chosen)
            bench.gpu.load(source("tiles.cu", barrier=one["barrier"]) for one in chosen)
        except EngineError as error:
            bench.progress(f"no cooperative groups: {error}")
        else:
            return barriers
    raise EngineError("the kernels do not compile")


def measure_future(bench: Bench) -> Iterator[Row]:
    """Future work of the paper: cached loads, and the barrier in another dynamic program (global alignment)."""
    lab, pair = Lab(bench.gpu), AffinePair(length_of(bench))
    n_blocks = min(30, bench.gpu.properties.n_sms)
    for technique in (SIMPLE, COALESCED_128):
        held = GpuTables(lab, pair, technique)
        for loads in LOADS:
            seconds = held.barrier_seconds(n_blocks, "counter", loads)
            held.check(bench, f"{technique.name}, {loads} loads")
            yield {"what": "loads", "technique": technique.name, "loads": loads, "seconds": mean(seconds)}
        for barrier in ("counter", "flags"):
            seconds = held.barrier_seconds(n_blocks, barrier, is_local=False)
            bench.check(f"{technique.name}, global, {barrier}", held.corner(), pair.global_score)
            held.invalidate()
            yield {"what": "global", "technique": technique.name, "barrier": barrier, "seconds": mean(seconds)}


COUNTERS = {
    "theoretical_occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "loads": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "stores": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "branches": "smsp__sass_branch_targets.sum",
    "divergent": "smsp__sass_branch_targets_threads_divergent.sum",
    "instructions": "smsp__inst_executed.sum",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "dram_bytes": "dram__bytes.sum",
}
"""The counters of today's profiler that are nearest to the columns of Table 1."""


def measure_counters(bench: Bench) -> Iterator[Row]:
    """Table 1 and Figure 9: hardware counters for all four layouts."""
    return counted(bench, "xiao-aji-feng", COUNTERS)


def launches(bench: Bench) -> Iterator[ProfiledLaunch]:
    """All steps in one launch, one block per multiprocessor.

    Without a barrier, which would be counted as well; and with the counter barrier, whose results can be compared.
    """
    lab, pair, n_blocks = Lab(bench.gpu), AffinePair(length_of(bench)), bench.gpu.properties.n_sms
    for technique in TECHNIQUES:
        held = GpuTables(lab, pair, technique)
        for barrier in ("none", "counter"):
            label = {"technique": technique.name, "barrier": barrier, "length": held.m, "steps": held.n_steps}
            compare = (lambda: held.check(bench, technique.name)) if barrier == "counter" else held.invalidate  # noqa: B023
            yield ProfiledLaunch(label, held.filling(n_blocks, barrier), compare)


def measure_larger(bench: Bench) -> Iterator[Row]:
    """The paper's largest pair, 8,461, and larger ones up to the memory of the device."""
    lab = Lab(bench.gpu)
    largest = min(LARGEST_PLACE, int(math.sqrt(bench.gpu.budget / BYTES_PER_CELL)))
    lengths = QUICK_LARGER if bench.quick else (*LARGER, largest // 1000 * 1000)
    for length in sorted({min(one, largest) for one in lengths}):
        pair = AffinePair(length)
        for technique in (SIMPLE, COALESCED_128, TILED):
            bench.progress(f"length {length:,}, {technique.name}")
            held = GpuTables(lab, pair, technique)
            for n_blocks in (bench.gpu.properties.n_sms, held.max_blocks()):
                row = {"what": "fill", "length": length, "technique": technique.name, "blocks": n_blocks}
                row["seconds"] = mean(held.barrier_seconds(n_blocks, "counter"))
                row["looking"], row["walking"] = held.check(bench, f"length {length:,}, {technique.name}")
                yield row
            del held
        yield engine_row(bench, pair)


def engine_row(bench: Bench, pair: AffinePair) -> Row:
    """exaln's kernel for long pairs on the same pair: the score, and the alignment, both with all copies.

    Its strips pass boundary words to each other, and it keeps checkpoint rows and columns instead of tables.
    """
    engine, sequences = _cuda_engine(), (pair.query, pair.target, pair.scoring)
    bench.check("exaln: score", score_by(engine, *sequences), pair.answer.score)
    bench.check("exaln: path", align_by(engine, *sequences), pair.answer)
    score = bench.seconds(lambda: score_by(engine, *sequences))
    both = bench.seconds(lambda: align_by(engine, *sequences))
    return {"what": "engine", "length": len(pair.query), "technique": "exaln", "score": score, "align": both}


def measure_tiles(bench: Bench) -> Iterator[Row]:
    """Instead of the Cell (Fig. 11): the tiled wavefront on CPU threads, with times of computing and waiting."""
    pair = AffinePair(length_of(bench))
    m, n = len(pair.query), len(pair.target)
    tables = [np.full((m + 1) * (n + 1), -1, np.int32) for _ in range(3)]
    costs = pair.scoring.matrix, pair.scoring.gap_first, pair.scoring.gap_extend
    for threads in [count for count in CPU_THREADS if count <= max(2, bench.threads)]:
        bench.progress(f"{threads} threads")
        tables[0].fill(-1)
        runs = []
        for _ in range(5):
            begun = time.perf_counter()
            waited = _native.fill_tiles(pair.query, pair.target, *costs, threads, SIDE, *tables)
            runs.append((time.perf_counter() - begun, mean(list(waited))))
        seconds, waiting = min(runs)
        bench.check(f"{threads} threads: score", int(tables[0].max()), pair.answer.score)
        yield {"length": m, "threads": threads, "seconds": seconds, "waiting": waiting}


def _cuda_engine() -> Engine:
    from exaln.engines.cuda.engine import CudaEngine

    return CudaEngine(memory=4 << 30)


STUDY = Study(
    name="xiao-aji-feng",
    title="Xiao, Aji, Feng: one pair over the whole GPU",
    paper=(
        "S. Xiao, A. M. Aji, W. Feng, *On the Robust Mapping of Dynamic Programming onto a Graphics Processing Unit*,"
        " ICPADS 2009."
    ),
    summary=f"""
One pair, affine gaps, all tables kept for the traceback, on a GTX 280 (30 multiprocessors). The diagonals of the table
are stored one after another (simple), or each starts at a multiple of 64 bytes (coalesced); or tiles of {SIDE} x {SIDE}
cells are computed in shared memory (tiled). Each version synchronises by launching a kernel per step, or by a barrier
on the GPU. The paper does not state its scoring; here it is BLOSUM62, gaps 11/1, on similar proteins. All blocks have
{THREADS} threads. The kernels are `diagonals.cu`, `tiles.cu`, `barrier.cuh` and `traceback_tables.cu` in
`studies/src/exaln_studies/kernels`.

Times are for filling the tables only, the mean of three runs after a warm-up, with everything on the GPU. The barrier
in the paper's Fig. 7 can hang as printed: it compares with `!=`, has no fence, and its goal is valid for one barrier
only; here it has fences, a growing goal, and `>=`. The paper's text once calls its filling times synchronisation times.
Its Table 1 has 10,359 launches, so m + n is near 10,360, not the 6,000 of two sequences of 3K.
""",
    parts=(
        Part("blocks", "gpu", "six implementations by number of blocks", measure_blocks),
        Part("future", "gpu", "cached loads, and a global alignment", measure_future),
        Part("larger", "gpu", "as large as memory allows", measure_larger),
        Part("counters", "gpu", "counters of the profiler", measure_counters),
        Part("tiles", "cpu", "the tiled wavefront on CPU threads", measure_tiles),
    ),
    sections=SECTIONS,
    findings=findings,
    launches=launches,
)
