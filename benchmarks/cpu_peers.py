"""Compare the cpu engine with parasail and pyopal in one run, on real proteins, with every score checked.

    make bench                                                   # with EXALN_DATA set to a folder of real sequences
    make bench BENCH="--targets T.fasta --queries Q.fasta"

Prints the GCUPS of each (cells = query x target residues, without padding), the ratio of exaln to the faster peer, and
the fraction of the bound: the cell update alone, in registers, measured in the same run on as many threads. Writes
benchmarks/runs/<date>-<machine>/cpu_peers.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import exaln
from exaln import _core
from exaln.engines.contracts import score_matrix
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.tasks import QueryRows, ScanTask
from exaln.sequences.fasta import read_records
from exaln.sequences.records import Records

HERE = Path(__file__).parent
LENGTHS = (144, 567, 1000, 2005, 5478)


class Exaln:
    """The cpu engine over a database in memory."""

    def __init__(self, database: exaln.Database) -> None:
        self.database, self.scoring = database, exaln.Scoring("BLOSUM62", gap_open=11, gap_extend=1)

    def run(self, query: Records, threads: int) -> tuple[float, np.ndarray[Any, Any]]:
        """Seconds and scores."""
        engine = CpuEngine(threads)
        start = time.perf_counter()
        task = ScanTask(QueryRows.of_sequences(query, self.scoring), engine.open(self.database))
        scores = score_matrix(engine, task)
        return time.perf_counter() - start, scores[0]


class Peers:
    """parasail and pyopal in a separate process."""

    def __init__(self, python: Path, targets: list[str]) -> None:
        command = [str(python), str(HERE / "peer_worker.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions: dict[str, str] = self._ask({"targets": targets})

    def run(self, peer: str, query: str, threads: int) -> tuple[float, np.ndarray[Any, Any]]:
        """Seconds and scores."""
        answer = self._ask({"peer": peer, "query": query, "threads": threads})
        return answer["seconds"], np.array(answer["scores"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


def bound(threads: int, isa: str) -> float:
    """GCUPS of the bare loop on all threads together."""
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(lambda _: _core.bare_loop(isa, 8, 0.3), range(threads)))


def measure(query: Records, targets: list[str], ours: Exaln, peers: Peers, threads: int, rounds: int) -> dict[str, Any]:
    """The best of several rounds of each tool, run in turn, and the number of scores that differ."""
    text = query.alphabet.decode(query.sequence(0))
    isa = CpuEngine(threads).isa
    best: dict[str, float] = {}
    scores: dict[str, np.ndarray[Any, Any]] = {}
    bounds = []
    for _ in range(rounds):
        bounds.append(bound(threads, isa))
        for name in ("exaln", *peers.versions):
            seconds, scores[name] = ours.run(query, threads) if name == "exaln" else peers.run(name, text, threads)
            best[name] = min(best.get(name, seconds), seconds)
    differences = {name: int((scores[name] != scores["exaln"]).sum()) for name in peers.versions}
    gcups = {name: len(text) * sum(map(len, targets)) / seconds / 1e9 for name, seconds in best.items()}
    return {
        "query_length": len(text),
        "threads": threads,
        "gcups": gcups,
        "ratio": gcups["exaln"] / max(gcups[name] for name in peers.versions),
        "bound": max(bounds),
        "fraction": gcups["exaln"] / max(bounds),
        "differing_scores": differences,
    }


def print_row(row: dict[str, Any]) -> None:
    """Print one line of the table."""
    gcups = "".join(f"{value:11.1f}" for value in row["gcups"].values())
    wrong = sum(row["differing_scores"].values())
    agreement = "agree" if wrong == 0 else f"{wrong} DIFFER"
    print(
        f"{row['query_length']:6}{row['threads']:9}{gcups}{row['ratio']:8.2f}{row['bound']:9.1f}"
        f"{100 * row['fraction']:9.0f} %  {agreement}",
        flush=True,
    )


def machine() -> dict[str, Any]:
    """The computer on which the figures are measured."""
    described = [line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    fields = {name.strip(): value.strip() for name, value in described}
    return {
        "cpu": fields.get("model name", platform.processor() or "unknown"),
        "family_model": f"{fields.get('cpu family')}/{fields.get('model')}",
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def main() -> int:
    """Run the benchmark. Returns exit code 1 if a score differs."""
    data = Path(os.environ.get("EXALN_DATA", "")) / "protein"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=Path, default=data / "mmseqs_DB.fasta.gz")
    parser.add_argument("--queries", type=Path, default=data / "cudasw4_allqueries.fasta")
    parser.add_argument("--peers-python", type=Path, default=HERE.parent / ".venv-peers" / "bin" / "python")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for path in (options.targets, options.queries):
        if not path.is_file():
            parser.error(f"{path} is missing: set EXALN_DATA, or give --targets and --queries")

    records = read_records(options.targets)
    targets = [records.alphabet.decode(records.sequence(row)) for row in range(len(records))]
    queries = read_records(options.queries)
    ours, peers = Exaln(exaln.Database.in_memory([records])), Peers(options.peers_python, targets)
    versions = {"exaln": exaln.__version__, **peers.versions}
    print(
        f"{len(targets):,} targets, {sum(map(len, targets)):,} residues; {ours.scoring.describe()}; "
        f"best of {options.rounds}"
    )
    print(f"{machine()['cpu']}, {os.cpu_count()} cores; exaln on {CpuEngine().isa}")
    header = "".join(f"{name:>11}" for name in versions)
    print(f" query  threads{header}   ratio    bound  fraction  scores")
    rows = []
    for threads in options.threads:
        for length in LENGTHS:
            row = int(np.argmin(abs(queries.lengths - length)))
            query = Records.of(queries.alphabet, [queries.sequence(row)], [queries.ids[row]])
            rows.append(measure(query, targets, ours, peers, threads, options.rounds))
            print_row(rows[-1])
    name = "-".join(machine()["cpu"].lower().replace("(r)", "").split())
    directory = HERE / "runs" / f"{datetime.date.today()}-{name}-{os.cpu_count()}-cores"
    write_run(directory, {"command": sys.argv, "machine": machine(), "versions": versions, "rows": rows})
    return int(any(any(row["differing_scores"].values()) for row in rows))


def write_run(directory: Path, run: dict[str, Any]) -> None:
    """Write the figures as JSON."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cpu_peers.json").write_text(json.dumps(run, indent=1) + "\n")
    print(f"written to {directory / 'cpu_peers.json'}")


if __name__ == "__main__":
    sys.exit(main())
