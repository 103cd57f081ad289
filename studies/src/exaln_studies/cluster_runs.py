"""Searches on exaln's Dask cluster for the study of Munekawa et al., split by queries or by residues of the database.

Workers have one core each, all on this machine. Larger clusters are simulated with the same scheduling decisions and a
simulated clock (`exaln.cluster.simulation`).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exaln.cluster.division import Plan
from exaln.cluster.simulation import Costs
from exaln.cluster.unit_pool import UnitSize
from exaln.cluster.units import Chunk, chunks_of, groups_between
from exaln.database.database import Database
from exaln.engines.bench.swissprot import random_sequences, synthetic_swissprot
from exaln.engines.cpu.engine import CpuEngine
from exaln.errors import ExalnError
from exaln.scoring.scoring import Scoring
from exaln.search.options import SearchOptions
from exaln.search.pipeline import Search
from exaln.search.spec import SearchSpec
from exaln_studies.pairs import SEED
from exaln_studies.study import REPEATS, Bench, NotMeasurable, Row

if TYPE_CHECKING:
    from exaln.alignments.query_hits import QueryHits
    from exaln.cluster.workers import Workers
    from exaln.sequences.records import Records

LENGTHS = (63, 127, 191, 255, 319, 383, 447, 511)
N_TARGETS, QUICK_TARGETS = 25_014, 2000
"""A tenth of the paper's database: a task then takes about a tenth of a second."""

N_QUERIES, QUICK_QUERIES = (8, 16, 32, 64, 128, 256), (8, 16)
MAX_QUERIES_PER_WORKER = 16
"""Bounds the jobs of few workers; speed-ups are by cells per second, so jobs need not have the same size."""

ENOUGH_SECONDS = 0.6
"""Jobs that have taken this long are not repeated."""

PAPER_RESIDUES = 90_588_910
COSTS = Costs(unit_s=0.002, merge_s=0.001)
"""Overhead of Dask and of the client per unit, as far as it is not overlapped."""

WORKERS = (1, 2, 4, 8, 16)
SIMULATED = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SPLITS = ("queries", "database")
PIECES_PER_WORKER, MIN_PIECE_SECONDS = 5, 0.02
WHOLE = UnitSize(seconds=1e9, least_seconds=1e9)
"""Units are not split: one query and the whole database, as in the paper."""


@dataclass(frozen=True)
class Job:
    """A database on disk and its queries."""

    database: Database
    queries: Records
    chunks: Sequence[Chunk]

    @property
    def spec(self) -> SearchSpec:
        """BLOSUM62 and default gaps: the paper's scoring has no E-values, and the time does not depend on it."""
        return SearchSpec.of("synthetic", self.database.manifest, Scoring(), SearchOptions())

    def cells(self, n_queries: int) -> int:
        """Number of cells of the first n_queries queries."""
        return self.queries.rows(0, n_queries).n_residues * self.chunks[-1].end

    def plan(self, n_queries: int, split: str, speeds: Sequence[float]) -> Plan:
        """Plan one query per unit, or all queries together with pieces of the database."""
        lengths, chunks = self.queries.lengths[:n_queries], self.chunks
        if split == "queries":
            return Plan(groups_between(range(n_queries + 1), lengths, 1), chunks, WHOLE, (), speeds)
        groups = groups_between([0, n_queries], lengths, 1)
        seconds = groups[0].weight * chunks[-1].end / sum(speeds) / PIECES_PER_WORKER
        return Plan(groups, chunks, UnitSize(seconds, MIN_PIECE_SECONDS), (), speeds)

    def in_one_process(self, n_queries: int, threads: int) -> tuple[float, list[str]]:
        """Search in this process without a cluster; return seconds and hits."""
        search, begun = Search(self.database, Scoring(), CpuEngine(threads), SearchOptions()), time.perf_counter()
        hits = [hits_text(one) for one in search.run([self.queries.rows(0, n_queries)])]
        return time.perf_counter() - begun, hits

    def on_cluster(self, workers: Workers, n_queries: int, split: str) -> tuple[float, list[str]]:
        """Search with all workers; return seconds and hits."""
        from exaln.cluster.dask_search import ClusterSearch
        from exaln.cluster.groups import GroupResults

        plan = self.plan(n_queries, split, [worker.speed for worker in workers.present.values()])
        queries, begun = self.queries.rows(0, n_queries), time.perf_counter()
        results = GroupResults(plan.groups, self.database.manifest, self.spec, queries, None)
        search = ClusterSearch(workers, self.spec, str(self.database.path), queries, plan.pool(), results)
        hits = [hits_text(one) for one in search.run()]
        return time.perf_counter() - begun, hits


def hits_text(hits: QueryHits) -> str:
    """Targets and scores of a query's hits, for comparison."""
    return f"{hits.query_id}: {list(hits.target_ids)} {hits.score.tolist()}"


def job_in(folder: Path, n_targets: int, n: int) -> Job:
    """Build a job of n queries, which have the paper's eight lengths in turn."""
    targets = synthetic_swissprot(n_targets)
    lengths = np.resize(LENGTHS, n).astype(np.int64)
    queries = random_sequences(np.random.default_rng((SEED, n)), lengths, [f"q{number}" for number in range(n)])
    database = Database.build_records([targets], folder / "targets.exaln")
    return Job(database, queries, chunks_of(database.manifest))


def measure_cluster(bench: Bench) -> Iterator[Row]:
    """Figures 9 to 11: by workers and by queries, for both splits; then simulated with the speed of one core here."""
    try:
        from exaln.cluster.requirements import require_dask

        require_dask()
    except ExalnError as error:
        raise NotMeasurable(str(error)) from None
    sizes = QUICK_QUERIES if bench.quick else N_QUERIES
    counts = [n for n in WORKERS if n <= (1 if bench.quick else max(2, bench.threads))]
    with tempfile.TemporaryDirectory() as folder:
        job = job_in(Path(folder), QUICK_TARGETS if bench.quick else N_TARGETS, max(sizes))
        speeds: dict[int, float] = {}
        expected: list[str] = []
        for threads in counts:
            row, hits = one_process_row(bench, job, threads, _largest(sizes, threads))
            speeds[threads], expected = row["cells"] / row["seconds"] / threads, expected or hits
            bench.check(f"{threads} threads", hits[: len(expected)], expected)
            yield row
        for n_workers in counts:
            yield from cluster_rows(bench, job, n_workers, sizes, expected)
        yield from simulated(job, sizes, speeds, quick=bench.quick)


def one_process_row(bench: Bench, job: Job, threads: int, n_queries: int) -> tuple[Row, list[str]]:
    """Threads of one process without a cluster: the most that this machine can give as many workers."""
    bench.progress(f"{threads} threads, no cluster")
    seconds, hits = fastest(lambda: job.in_one_process(n_queries, threads))
    row = {"what": "alone", "workers": threads, "queries": n_queries}
    return {**row, "cells": job.cells(n_queries), "seconds": seconds}, hits


def cluster_rows(bench: Bench, job: Job, n_workers: int, sizes: Sequence[int], expected: list[str]) -> Iterator[Row]:
    """Jobs of several sizes on the same workers, which are started before the first job."""
    from exaln.cluster.hosts import local_cluster
    from exaln.cluster.unit_search import Settings
    from exaln.cluster.workers import Workers

    with local_cluster(n_workers, Settings("cpu", 1)) as cluster:
        workers = Workers(cluster)
        workers.wait(n_workers)
        for n_queries, split in product([n for n in sizes if n <= _largest(sizes, n_workers)], SPLITS):
            bench.progress(f"{n_workers} workers, {n_queries} queries, split by {split}")
            seconds, hits = fastest(lambda: job.on_cluster(workers, n_queries, split))  # noqa: B023
            n = min(len(hits), len(expected))
            bench.check(f"{n_workers} workers, {n_queries} queries", hits[:n], expected[:n])
            row = {"what": "cluster", "workers": n_workers, "queries": n_queries, "split": split}
            yield {**row, "cells": job.cells(n_queries), "seconds": seconds}


def fastest(work: Callable[[], tuple[float, list[str]]]) -> tuple[float, list[str]]:
    """Return the fastest of up to REPEATS runs; long ones are not repeated."""
    runs = [work()]
    while len(runs) < REPEATS and sum(seconds for seconds, _ in runs) < ENOUGH_SECONDS:
        runs.append(work())
    return min(runs)


def _largest(sizes: Sequence[int], n_workers: int) -> int:
    return max(n for n in sizes if n <= max(MAX_QUERIES_PER_WORKER * n_workers, sizes[0]))


def simulated(job: Job, sizes: Sequence[int], speeds: dict[int, float], *, quick: bool) -> Iterator[Row]:
    """Simulate the measured jobs, and then jobs with a database of the paper's size on many workers.

    speeds: cells per second of a core, by the number of busy cores of the machine. In the second simulation each worker
    has a machine of its own, so the speed of a single busy core.
    """
    large = replace(job, chunks=[Chunk(0, PAPER_RESIDUES, PAPER_RESIDUES)])
    many = SIMULATED[:4] if quick else SIMULATED
    for what, one, by_count in (
        ("simulated", job, speeds),
        ("simulated, database of the paper", large, dict.fromkeys(many, speeds[1])),
    ):
        for n_workers, n_queries, split in product(by_count, sizes, SPLITS):
            seconds = one.plan(n_queries, split, [by_count[n_workers]] * n_workers).estimate(COSTS).seconds
            row = {"what": what, "workers": n_workers, "queries": n_queries, "split": split}
            yield {**row, "cells": one.cells(n_queries), "seconds": seconds}
