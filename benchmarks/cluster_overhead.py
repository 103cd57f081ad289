"""What a cluster costs: the same search on one machine, with local:1 and with local:2, the results compared.

    python benchmarks/cluster_overhead.py QUERIES DATABASE [REPEATS]

Overhead: local:1 with all cores against no cluster with all cores, from the start of the command to its end, and
without starting and stopping. Efficiency: one worker of one thread against two of them. Rounds alternate; medians.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = {
    "alone, all threads": [],
    "local:1, all threads": ["--cluster", "local:1"],
    "local:1, 1 thread": ["--cluster", "local:1", "--threads", "1"],
    "local:2, 1 thread each": ["--cluster", "local:2", "--threads", "1"],
}
SEARCHED = re.compile(r"hits of .* in ([\d.]+) s")


def search(queries: str, database: str, options: list[str], out: Path) -> tuple[float, float]:
    """Seconds of the whole command, and of the search in it."""
    command = [sys.executable, "-m", "exaln", "search", "--query", queries, "--db", database, "--out", str(out)]
    started = time.perf_counter()
    done = subprocess.run([*command, "--engine", "cpu", *options], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    found = SEARCHED.search(done.stderr)
    assert found is not None, done.stderr
    return seconds, float(found[1])


def main() -> None:
    queries, database = sys.argv[1:3]
    n_rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(n_rounds):
            reports = set()
            for way, options in WAYS.items():
                out = Path(folder, "hits.tsv")
                times[way].append(search(queries, database, options, out))
                reports.add(out.read_bytes())
                print(f"{way}: {times[way][-1][0]:.1f} s, the search {times[way][-1][1]:.1f} s", flush=True)
            assert len(reports) == 1, "the reports differ"
    whole, inner = ({way: statistics.median(one[i] for one in seen) for way, seen in times.items()} for i in (0, 1))
    alone, one, single, double = WAYS
    print(
        f"overhead of local:1: {whole[one] / whole[alone] - 1:+.1%}, of the search {inner[one] / inner[alone] - 1:+.1%}"
    )
    print(f"efficiency on 2 workers: {inner[single] / inner[double] / 2:.1%}")


if __name__ == "__main__":
    main()
