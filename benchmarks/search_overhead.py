"""Measure the cost of a search beyond scoring: ranking, traceback, statistics and the report, on real proteins.

    python benchmarks/search_overhead.py                         # with EXALN_DATA set to a folder of real sequences
    python benchmarks/search_overhead.py --targets T.fasta --queries Q.fasta

Three kinds of processes are compared, each the best of several repetitions: all scores computed and none kept; `exaln
search` with default options; and `exaln search --evalue 1e6`, which reports as many alignments as possible. Prints
seconds, the ratio to scoring only, and peak resident memory, with the mapped pages of the database. A search also
reports its own time for scoring and traceback: the ratio of total to scoring is disturbed less by other load on the
machine. Writes benchmarks/runs/<date>-<machine>/search_overhead.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exaln import Database, Scoring
from exaln.__main__ import run
from exaln.database.row_ranges import query_blocks
from exaln.engines.cpu import core_calls
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.tasks import QueryRows, ScanTask
from exaln.sequences.fasta import read_records
from exaln.statistics.length_bins import N_BINS

HERE = Path(__file__).parent
SEARCHES = {"default": ([], 1.1), "evalue 1e6": (["--evalue", "1e6"], 1.5)}
"""Options of each search, and the largest accepted ratio to scoring only."""

MAX_RESIDENT_MB = 500
QUERIES_AT_A_TIME = 256


@dataclass(frozen=True)
class Run:
    """A process: wall and CPU seconds, peak resident memory, lines written, and seconds of scoring and traceback."""

    seconds: float
    cpu_seconds: float
    resident_mb: float
    n_hits: int
    scoring_seconds: float
    tracing_seconds: float

    @property
    def own_ratio(self) -> float:
        """Ratio of the wall time of the process to its scoring."""
        return self.seconds / self.scoring_seconds


def measured(command: list[str], out: Path) -> Run:
    """Run a command and measure its process from start to end."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    n_hits = out.read_bytes().count(b"\n") if out.exists() else 0
    stages = json.loads(process.stdout.read()) if process.stdout else {}
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, n_hits, **stages)


@dataclass
class Timed:
    """A function that counts the seconds spent in it."""

    function: Callable[..., Any]
    seconds: float = 0.0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        start = time.perf_counter()
        try:
            return self.function(*arguments, **named)
        finally:
            self.seconds += time.perf_counter() - start


def search_timed(arguments: list[str]) -> None:
    """Run `exaln search` with timers around scoring and traceback."""
    scoring, tracing = Timed(core_calls.score_arrays), Timed(CpuEngine.align)
    core_calls.score_arrays = scoring
    CpuEngine.align = lambda *given: tracing(*given)  # type: ignore[method-assign]
    if run(["search", *arguments]):
        raise SystemExit(1)
    print(json.dumps({"scoring_seconds": scoring.seconds, "tracing_seconds": tracing.seconds}))


def score_only(queries: Path, database: Path, threads: int) -> None:
    """Compute all scores with a cutoff that no target reaches: the baseline of the comparison."""
    engine, scoring, records = CpuEngine(threads), Scoring("BLOSUM62"), read_records(queries)
    resident = engine.open(Database.open(database))
    start = time.perf_counter()
    for first, end in query_blocks(len(records), QUERIES_AT_A_TIME):
        cutoff = np.full((end - first, N_BINS), np.iinfo(np.int32).max, np.int32)
        rows = QueryRows.of_sequences(records.rows(first, end), scoring)
        for candidates in engine.scan(ScanTask(rows, resident, cutoff)):
            assert len(candidates.query) == 0
    print(json.dumps({"scoring_seconds": time.perf_counter() - start, "tracing_seconds": 0.0}))


def compare(queries: Path, targets: Path, threads: int, repeats: int) -> dict[str, list[Run]]:
    """All runs; each repetition runs every kind once."""
    with tempfile.TemporaryDirectory() as folder:
        database, out = Path(folder) / "targets.exaln", Path(folder) / "hits.tsv"
        Database.build(targets, database)
        common = ["--query", str(queries), "--db", str(database), "--out", str(out), "--threads", str(threads)]
        commands = {
            "scores alone": [sys.executable, __file__, "--score-only", str(queries), str(database), str(threads)],
            **{
                name: [sys.executable, __file__, "--search", *common, "--quiet", *options]
                for name, (options, _) in SEARCHES.items()
            },
        }
        runs: dict[str, list[Run]] = {name: [] for name in commands}
        for _ in range(repeats):
            for name, command in commands.items():
                out.unlink(missing_ok=True)
                runs[name].append(measured(command, out))
        return runs


def report(runs: dict[str, list[Run]]) -> bool:
    """Print the best of each kind. Returns whether all limits are met."""
    best = {name: min(of, key=lambda one: one.seconds) for name, of in runs.items()}
    alone, is_good = best["scores alone"], True
    print("| run | seconds | ratio | own ratio | traced s | processor s | peak MB | hits |\n" + "|---" * 8 + "|")
    for name, of in runs.items():
        ratio, own = best[name].seconds / alone.seconds, min(one.own_ratio for one in of)
        traced, used = min(one.tracing_seconds for one in of), min(one.cpu_seconds for one in of)
        resident = max(one.resident_mb for one in of)
        times = f"{best[name].seconds:.2f} | {ratio:.3f} | {own:.3f} | {traced:.2f} | {used:.2f}"
        print(f"| {name} | {times} | {resident:.0f} | {best[name].n_hits:,} |")
        if name in SEARCHES:
            is_good &= ratio <= SEARCHES[name][1] and resident <= MAX_RESIDENT_MB
    return is_good


def save(runs: dict[str, list[Run]], arguments: argparse.Namespace) -> Path:
    """Write the figures as JSON. Returns the path."""
    name = "-".join(processor().lower().replace("(r)", "").split())
    folder = HERE / "runs" / f"{datetime.date.today()}-{name}-{os.cpu_count()}-cores"
    folder.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "engine": CpuEngine(arguments.threads).describe(),
        "load_before": arguments.load,
        "runs": {name: [asdict(one) for one in of] for name, of in runs.items()},
    }
    path = folder / "search_overhead.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def processor() -> str:
    """The name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    """Run, print and save; exit code 1 if a limit is missed."""
    if sys.argv[1:2] == ["--search"]:
        search_timed(sys.argv[2:])
        return
    if sys.argv[1:2] == ["--score-only"]:
        score_only(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
        return
    data = Path(os.environ.get("EXALN_DATA", "."))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=Path, default=data / "protein" / "mmseqs_QUERY.fasta.gz")
    parser.add_argument("--targets", type=Path, default=data / "protein" / "mmseqs_DB.fasta.gz")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    arguments.load = os.getloadavg()[0]
    runs = compare(arguments.queries, arguments.targets, arguments.threads, arguments.repeats)
    is_good = report(runs)
    print(f"written to {save(runs, arguments)}")
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
