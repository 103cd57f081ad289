"""The cost of a cluster: one search without a cluster, with local:1 and with local:2; the reports are compared.

    python benchmarks/cluster_overhead.py QUERIES DATABASE [--only overhead|efficiency] [--rounds 3] [--out FILE.json]

Overhead: local:1 with all cores against no cluster with all cores, for the whole command and for the search without
starting and stopping workers. Efficiency: one worker with one thread against two such workers. Rounds alternate, and
the fastest of each setup counts. The CPU time of all processes depends less on other load than the wall time.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from exaln import __version__
from exaln.engines.bench.runs import machine

ALONE, ONE = "alone, all threads", "local:1, all threads"
SINGLE, DOUBLE = "local:1, 1 thread", "local:2, 1 thread each"
OPTIONS = {
    ALONE: [],
    ONE: ["--cluster", "local:1"],
    SINGLE: ["--cluster", "local:1", "--threads", "1"],
    DOUBLE: ["--cluster", "local:2", "--threads", "1"],
}
WAYS = {"overhead": (ALONE, ONE), "efficiency": (SINGLE, DOUBLE)}
SEARCHED = re.compile(r"hits of .* in ([\d.]+) s")


@dataclass(frozen=True)
class Times:
    """Seconds: wall time of the whole command, wall time of the search in it, and CPU time."""

    command: float
    search: float
    processors: float

    def __str__(self) -> str:
        return f"{self.command:.1f} s, the search {self.search:.1f} s, processors {self.processors:.1f} s"


def processor_seconds() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def search(queries: str, database: str, options: list[str], out: Path) -> Times:
    """Run one search in its own process."""
    command = [sys.executable, "-m", "exaln", "search", "--query", queries, "--db", database, "--out", str(out)]
    started, used = time.perf_counter(), processor_seconds()
    done = subprocess.run([*command, "--engine", "cpu", *options], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    found = SEARCHED.search(done.stderr)
    assert found is not None, done.stderr
    return Times(seconds, float(found[1]), processor_seconds() - used)


def measure(queries: str, database: str, ways: list[str], n_rounds: int) -> dict[str, list[Times]]:
    """Times of each setup in each round. All reports must be the same."""
    times: dict[str, list[Times]] = {way: [] for way in ways}
    reports = set()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(n_rounds):
            for way in ways:
                out = Path(folder, "hits.tsv")
                times[way].append(search(queries, database, OPTIONS[way], out))
                reports.add(out.read_bytes())
                print(f"{way}: {times[way][-1]}", flush=True)
    assert len(reports) == 1, "the reports differ"
    return times


def summary(times: dict[str, list[Times]]) -> Iterator[str]:
    """Yield lines that compare the fastest run of each setup."""
    best = {way: min(seen, key=lambda one: one.command) for way, seen in times.items()}
    if ONE in best:
        one, alone = best[ONE], best[ALONE]
        yield (
            f"overhead of local:1: the command {one.command / alone.command - 1:+.1%}, "
            f"the search {one.search / alone.search - 1:+.1%}, processors {one.processors / alone.processors - 1:+.1%}"
        )
    if DOUBLE in best:
        single, double = best[SINGLE], best[DOUBLE]
        yield (
            f"efficiency on 2 workers: the search {single.search / double.search / 2:.1%}, "
            f"processors {single.processors / double.processors:.1%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries")
    parser.add_argument("database")
    parser.add_argument("--only", choices=list(WAYS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    kinds = [options.only] if options.only else list(WAYS)
    times = measure(options.queries, options.database, [way for kind in kinds for way in WAYS[kind]], options.rounds)
    print("\n".join(summary(times)))
    if options.out is not None:
        save(options.out, Path(options.queries).name, Path(options.database).name, times)


def save(out: Path, queries: str, database: str, times: dict[str, list[Times]]) -> None:
    """Write all rounds, with the machine, as JSON."""
    content = {
        "queries": queries,
        "database": database,
        "machine": machine(),
        "exaln": __version__,
        "seconds": {way: [asdict(one) for one in seen] for way, seen in times.items()},
        "summary": list(summary(times)),
    }
    out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
