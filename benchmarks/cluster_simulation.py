"""Simulated clusters: the efficiency on 64 and 1,024 GPUs, and where it is lost. Prints the tables of docs/cluster.md.

    python benchmarks/cluster_simulation.py                             # the tables
    python benchmarks/cluster_simulation.py --check QUERIES DATABASE    # real runs beside simulated ones

The scheduling is that of `cluster.unit_pool`, which also hands out real units; only the clock is simulated. The costs
of a unit besides its cells were measured: see COSTS.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from exaln import Database
from exaln.cluster.division import Plan
from exaln.cluster.simulation import Costs, Estimate
from exaln.cluster.units import Chunk, chunks_of
from exaln.sequences.fasta import read_records

H200 = 7.0e12
"""Cells per second of one GPU with batches of queries, from benchmarks/runs."""

SEGMENT = 256 << 20
BYTES_PER_RESIDUE = 1.35
"""Bytes of a segment per residue, with ids and descriptions, in UniProt."""

COSTS = Costs(unit_s=0.05, merge_s=0.002, query_s=0.0006, bytes_per_second=1e9, bytes_per_second_of_all=5e10)
"""Each unit has 50 ms that no other work hides. On CPUs a small unit takes 17 ms more than its cells, and workers wait
less than 10 ms between units (--verbose). The client takes 2 ms per unit, with Dask's messages. Its work per hit,
measured with 9,397 hits, is 1.4 us to decode, 0.7 us to merge and 1.5 us to report; a query has about 150 hits.
Storage gives 1 GB/s to one node and 50 GB/s to all, as a modest parallel file system does.
"""


@dataclass(frozen=True)
class Size:
    """A database by name and size."""

    name: str
    n_residues: int


SIZES = (Size("UniRef50", 19_600_000_000), Size("TrEMBL", 88_000_000_000))
QUERIES = {"1 query": 1, "16 queries": 16, "500 queries": 500, "a proteome, 20,000": 20_000}
LENGTH = 400


def plan_of(size: Size, n_queries: int, n_gpus: int) -> Plan:
    """The plan of a search of a database of which only the size is known."""
    edges = [*range(0, size.n_residues, SEGMENT), size.n_residues]
    chunks = [Chunk(first, end, int((end - first) * BYTES_PER_RESIDUE)) for first, end in pairwise(edges)]
    return Plan.of(chunks, np.full(n_queries, LENGTH), 1, [H200] * n_gpus)


def row(size: Size, name: str, n_gpus: int, costs: Costs) -> str:
    estimate = plan_of(size, QUERIES[name], n_gpus).estimate(costs)
    lost = (estimate.fetch, estimate.unit, estimate.idle, estimate.client)
    cells = [
        size.name,
        name,
        f"{n_gpus:,}",
        f"{estimate.seconds:,.1f} s",
        f"{estimate.n_units:,}",
        f"{100 * estimate.efficiency:.0f} %",
        *(f"{100 * part / estimate.seconds:.0f} %" for part in lost),
    ]
    return f"| {' | '.join(cells)} |"


def tables() -> None:
    heading = (
        "| database | queries | GPUs | time | units | efficiency | fetching | per unit | idle at the end | client |"
    )
    for title, costs in (
        ("Every worker fetches what it needs", COSTS),
        (
            "The same again: segments are on the workers",
            replace(COSTS, bytes_per_second=1e30, bytes_per_second_of_all=1e30),
        ),
    ):
        print(f"\n{title}\n\n{heading}\n|{'---|' * 10}")
        for size in SIZES:
            for name in QUERIES:
                for n_gpus in (64, 1024):
                    print(row(size, name, n_gpus, costs), flush=True)


def check(queries: str, database: str) -> None:
    """Run a search and simulate it with the speeds of the real workers; print both."""
    manifest, lengths = Database.open(database).manifest, read_records(queries).lengths
    for n_workers in (1, 2):
        seconds, n_units, speeds = _real(queries, database, n_workers)
        estimate: Estimate = Plan.of(chunks_of(manifest), lengths, 1, speeds).estimate(COSTS)
        simulated = f"simulated {estimate.seconds:.1f} s in {estimate.n_units} ({estimate.seconds / seconds - 1:+.1%})"
        print(f"local:{n_workers}: {seconds:.1f} s in {n_units} units, {simulated}", flush=True)


def _real(queries: str, database: str, n_workers: int) -> tuple[float, int, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        options = ["--cluster", f"local:{n_workers}", "--threads", "1", "--engine", "cpu", "--verbose"]
        command = [sys.executable, "-m", "exaln", "search", "--query", queries, "--db", database, *options]
        out = ["--out", str(Path(folder, "hits.tsv"))]
        said = subprocess.run([*command, *out], capture_output=True, text=True, check=True).stderr
    workers = re.findall(r"(\d+) units?, ([\d.]+) GCUPS", said)
    found = re.search(r"hits of .* in ([\d.]+) s", said)
    assert found is not None
    return float(found[1]), sum(int(n) for n, _ in workers), [float(rate) * 1e9 for _, rate in workers]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        check(*sys.argv[2:4])
    else:
        tables()
