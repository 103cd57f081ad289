"""Time whole `exaln search` processes on a GPU: 20 standard queries, a synthetic Swiss-Prot, 10 hits each.

    python benchmarks/search_end_to_end.py                       # needs an NVIDIA GPU
    python benchmarks/search_end_to_end.py --targets 50000 --repeats 1

Wall time from the start of the process to its end, with alignments, E-values and the report: with an empty cache of
compiled kernels, with a filled one, and with --gpu-memory at a quarter of the database, so that it is streamed. All
reports must be the same, byte for byte, and so must those of the cuda and the cpu engine on a smaller database.
Writes benchmarks/runs/<date>-<GPU>/search_end_to_end.json. The exit code is 1 if a report differs or a limit is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exaln import Database
from exaln.engines.bench.cuda import machine_name
from exaln.engines.bench.runs import driver_version, machine, runs_folder, write_run
from exaln.engines.bench.swissprot import N_TARGETS, standard_queries, synthetic_swissprot
from exaln.errors import ExalnError

ROOT = Path(__file__).resolve().parent.parent
QUERIES = "queries.fasta"
HITS = 10
OPTIONS = ["--max-target-seqs", str(HITS), "--evalue", "1000", "--outfmt", "6 std score cigar"]
"""With an E-value up to 1000 every query has enough hits by chance."""

MAX_SECONDS = 3.5
MAX_COMPILE_SECONDS = 20.0


@dataclass(frozen=True)
class Run:
    """A process: its command, wall time, report and messages."""

    name: str
    command: str
    seconds: float
    n_hits: int
    report_sha256: str
    said: list[str]


class Searches:
    """Runs of `exaln search` in the folder of queries and databases, with a separate cache of compiled kernels."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "EXALN_CACHE": str(cache)}

    def run(self, name: str, database: Path, *more: str) -> Run:
        """Run one process and time it from outside."""
        arguments = ["search", "--query", QUERIES, "--db", database.name, *OPTIONS, *more, "--verbose"]
        command = [sys.executable, "-m", "exaln", *arguments]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, env=self._environment, cwd=self._folder)
        seconds = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(f"{name}: exit code {done.returncode}: {done.stderr.decode()}")
        digest, n_hits = hashlib.sha256(done.stdout).hexdigest(), done.stdout.count(b"\n")
        print(f"{name:36} {seconds:8.2f} s  {n_hits:5} hits", flush=True)
        said = done.stderr.decode().splitlines()
        return Run(name, shlex.join(["exaln", *arguments]), seconds, n_hits, digest, said)


def made(folder: Path, n_targets: int) -> Path:
    """The database of `n_targets` targets, built if it is missing."""
    database = folder / f"swissprot-{n_targets}.exaln"
    try:
        Database.open(database)
    except ExalnError:
        Database.build_records([synthetic_swissprot(n_targets)], database, force=True)
    return database


def measure(searches: Searches, database: Path, repeats: int) -> list[Run]:
    """Searches of the whole database: kernels compiled, then cached; resident, then streamed."""
    quarter = str(Database.open(database).n_residues // 4)
    gpu = ["--engine", "cuda"]
    streamed = [*gpu, "--gpu-memory", quarter]
    return [
        searches.run("resident, empty cache", database, *gpu),
        *(searches.run("resident, cached", database, *gpu) for _ in range(repeats)),
        searches.run("streamed, first", database, *streamed),
        *(searches.run("streamed, cached", database, *streamed) for _ in range(repeats)),
    ]


def compare(searches: Searches, database: Path) -> list[Run]:
    """Searches of the smaller database with both engines."""
    return [searches.run(f"{engine}, smaller database", database, "--engine", engine) for engine in ("cuda", "cpu")]


def problems(full: list[Run], small: list[Run]) -> list[str]:
    """Descriptions of reports that differ and of limits that are missed."""
    fastest = {name: min(run.seconds for run in full if run.name == name) for name in {run.name for run in full}}
    found = []
    for what, runs in (("the whole database", full), ("the smaller one", small)):
        if len({run.report_sha256 for run in runs}) > 1:
            found.append(f"the reports of {what} differ")
    found += [f"{run.name}: {run.n_hits} hits" for run in full if run.n_hits != 20 * HITS]
    if fastest["resident, cached"] > MAX_SECONDS:
        found.append(f"resident, cached: more than {MAX_SECONDS} s")
    if fastest["resident, empty cache"] - fastest["resident, cached"] > MAX_COMPILE_SECONDS:
        found.append(f"compiling takes more than {MAX_COMPILE_SECONDS} s")
    return found


def installation() -> dict[str, Any]:
    """Versions, engines and GPUs according to `exaln info`."""
    done = subprocess.run([sys.executable, "-m", "exaln", "info", "--json"], capture_output=True, check=True)
    facts = json.loads(done.stdout)
    facts["cuda"].pop("cache")
    return {name: facts[name] for name in ("exaln", "threads", "engines", "cuda")} | {"driver": driver_version()}


def main() -> int:
    """Build missing data, run the searches, compare them and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=N_TARGETS)
    parser.add_argument("--smaller", type=int, default=20_000, help="targets of the database for both engines")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "search_end_to_end", help="for databases")
    parser.add_argument("--out", type=Path, help="folder for the figures")
    arguments = parser.parse_args()

    arguments.folder.mkdir(parents=True, exist_ok=True)
    Database.in_memory([standard_queries()]).export(arguments.folder / QUERIES)
    database, smaller = (made(arguments.folder, n_targets) for n_targets in (arguments.targets, arguments.smaller))
    with tempfile.TemporaryDirectory() as cache:
        searches = Searches(arguments.folder, Path(cache))
        full = measure(searches, database, arguments.repeats)
        small = compare(searches, smaller)
    wrong = problems(full, small)
    facts = installation()
    content = {
        "machine": machine(),
        "installation": facts,
        "targets": arguments.targets,
        "smaller_targets": arguments.smaller,
        "runs": [asdict(run) for run in (*full, *small)],
        "problems": wrong,
    }
    folder = arguments.out or runs_folder(machine_name(facts["cuda"]))
    print(f"written to {write_run(folder, 'search_end_to_end', content)}" if folder else "not in a clone: not written")
    print("\n".join(wrong) or "all reports agree, all bounds are kept")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
