"""Searches on exaln's Dask cluster for the cluster study: many queries, split by query or by residues of the database.

Workers have one core each, all on this machine. Larger clusters are simulated with the same decisions and a clock that
is only counted (`exaln.cluster.simulate`).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exaln.cluster.plan import Plan
from exaln.cluster.pool import Pace
from exaln.cluster.simulate import Costs
from exaln.cluster.spec import SearchSpec
from exaln.cluster.units import Chunk, chunks_of, groups_between
from exaln.database import Database
from exaln.engines.cpu import CpuEngine
from exaln.errors import ExalnError
from exaln.judge import SearchOptions
from exaln.pipeline import Search
from exaln.scoring import Scoring
from exaln.selfbench.swissprot import random_sequences, synthetic_swissprot
from exaln.studies.pairs import SEED
from exaln.studies.study import Bench, NotMeasurable, Row

if TYPE_CHECKING:
    from exaln.cluster.crew import Crew
    from exaln.query_hits import QueryHits
    from exaln.records import Records

LENGTHS = (63, 127, 191, 255, 319, 383, 447, 511)
N_TARGETS, QUICK_TARGETS = 25_014, 2000
"""A tenth of the paper's database: a task then takes a worker about a tenth of a second."""

N_QUERIES, QUICK_QUERIES = (8, 32, 128, 256), (8, 16)
MOST_QUERIES_PER_WORKER = 32
"""Of the largest job that few workers get, to bound the time; speed-ups are per cell, so jobs need not be the same."""

PAPER_RESIDUES = 90_588_910
COSTS = Costs(unit_s=0.002, merge_s=0.001)
"""Of a unit: what Dask and the client take, as far as nothing hides it."""

WORKERS = (1, 2, 4, 8, 16)
SIMULATED, SIMULATED_QUERIES = (1, 2, 4, 8, 16, 32, 64, 128, 256), (8, 16, 32, 64, 128, 256)
SPLITS = ("queries", "database")
PIECES_PER_WORKER, LEAST_PIECE_SECONDS = 5, 0.02
WHOLE = Pace(seconds=1e9, least_seconds=1e9)
"""Units that are not cut: a query with all of the database, as in the paper."""


@dataclass(frozen=True)
class Job:
    """A database on disk and many queries."""

    database: Database
    queries: Records
    chunks: Sequence[Chunk]

    @property
    def spec(self) -> SearchSpec:
        """BLOSUM62 and default gaps: the paper's scoring has no statistics, and the time does not depend on it."""
        return SearchSpec.of("synthetic", self.database.manifest, Scoring(), SearchOptions())

    def cells(self, n_queries: int) -> int:
        """Of the first so many queries."""
        return self.queries.rows(0, n_queries).n_residues * self.chunks[-1].end

    def plan(self, n_queries: int, split: str, speeds: Sequence[float]) -> Plan:
        """A query per unit, or all queries together and the database in pieces."""
        lengths, chunks = self.queries.lengths[:n_queries], self.chunks
        if split == "queries":
            return Plan(groups_between(range(n_queries + 1), lengths, 1), chunks, WHOLE, (), speeds)
        groups = groups_between([0, n_queries], lengths, 1)
        seconds = groups[0].weight * chunks[-1].end / sum(speeds) / PIECES_PER_WORKER
        return Plan(groups, chunks, Pace(seconds, LEAST_PIECE_SECONDS), (), speeds)

    def alone(self, n_queries: int) -> tuple[float, list[str]]:
        """One core without a cluster: seconds, and what was found."""
        search, begun = Search(self.database, Scoring(), CpuEngine(1), SearchOptions()), time.perf_counter()
        found = [told(hits) for hits in search.run([self.queries.rows(0, n_queries)])]
        return time.perf_counter() - begun, found

    def on_cluster(self, crew: Crew, n_queries: int, split: str) -> tuple[float, list[str]]:
        """All workers of a crew."""
        from exaln.cluster.run import ClusterSearch

        plan = self.plan(n_queries, split, [worker.speed for worker in crew.workers.values()])
        queries, begun = self.queries.rows(0, n_queries), time.perf_counter()
        search = ClusterSearch(crew, self.spec, str(self.database.path), queries, plan.pool())
        found = [told(hits) for hits in search.run()]
        return time.perf_counter() - begun, found


def told(hits: QueryHits) -> str:
    """Enough of a query's hits to compare them."""
    return f"{hits.query_id}: {list(hits.target_ids)} {hits.score.tolist()}"


def job_in(folder: Path, bench: Bench) -> Job:
    """The queries have the paper's eight lengths in turn."""
    targets = synthetic_swissprot(QUICK_TARGETS if bench.quick else N_TARGETS)
    n = max(QUICK_QUERIES if bench.quick else N_QUERIES)
    lengths = np.resize(LENGTHS, n).astype(np.int64)
    queries = random_sequences(np.random.default_rng((SEED, n)), lengths, [f"q{number}" for number in range(n)])
    database = Database.build_records([targets], folder / "targets.exaln")
    return Job(database, queries, chunks_of(database.manifest))


def measure_cluster(bench: Bench) -> Iterator[Row]:
    """Figures 9 to 11: by workers, by queries, split both ways; then simulated with the speed of one core here."""
    try:
        from exaln.cluster.needs import require_dask

        require_dask()
    except ExalnError as error:
        raise NotMeasurable(str(error)) from None
    sizes = QUICK_QUERIES if bench.quick else N_QUERIES
    with tempfile.TemporaryDirectory() as folder:
        job = job_in(Path(folder), bench)
        bench.tell("one core, no cluster")
        seconds, expected = job.alone(min(MOST_QUERIES_PER_WORKER, max(sizes)))
        cells = job.cells(len(expected))
        yield {"what": "alone", "queries": len(expected), "cells": cells, "seconds": seconds}
        for n_workers in [n for n in WORKERS if n <= (1 if bench.quick else max(2, bench.threads))]:
            for row in crew_rows(bench, job, n_workers, sizes, expected):
                yield {**row, "speed": cells / seconds}
        yield from simulated(job, sizes if bench.quick else SIMULATED_QUERIES, cells / seconds, quick=bench.quick)


def crew_rows(bench: Bench, job: Job, n_workers: int, sizes: Sequence[int], expected: list[str]) -> Iterator[Row]:
    """Jobs of several sizes on one crew of workers, which is there before the first begins."""
    from exaln.cluster.crew import Crew
    from exaln.cluster.hosts import local_cluster
    from exaln.cluster.work import Settings

    with local_cluster(n_workers, Settings("cpu", 1)) as cluster:
        crew = Crew(cluster)
        crew.wait(n_workers)
        for n_queries, split in product([n for n in sizes if n <= MOST_QUERIES_PER_WORKER * n_workers], SPLITS):
            bench.tell(f"{n_workers} workers, {n_queries} queries, split by {split}")
            seconds, found = job.on_cluster(crew, n_queries, split)
            n = min(len(found), len(expected))
            bench.check(f"{n_workers} workers, {n_queries} queries", found[:n], expected[:n])
            row = {"what": "cluster", "workers": n_workers, "queries": n_queries, "split": split}
            yield {**row, "cells": job.cells(n_queries), "seconds": seconds}


def simulated(job: Job, sizes: Sequence[int], speed: float, *, quick: bool) -> Iterator[Row]:
    """The same jobs, and those with a database of the paper's size, on any number of workers with this speed."""
    large = replace(job, chunks=[Chunk(0, PAPER_RESIDUES, PAPER_RESIDUES)])
    counts = SIMULATED[:4] if quick else SIMULATED
    for what, one in (("simulated", job), ("simulated, database of the paper", large)):
        for n_workers, n_queries, split in product(counts, sizes, SPLITS):
            seconds = one.plan(n_queries, split, [speed] * n_workers).estimate(COSTS).seconds
            row = {"what": what, "workers": n_workers, "queries": n_queries, "split": split}
            yield {**row, "cells": one.cells(n_queries), "seconds": seconds, "speed": speed}
