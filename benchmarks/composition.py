"""Compare composition-based statistics with blastp, row by row, and measure what they cost.

    python benchmarks/composition.py                            # with EXALN_DATA set to a folder of real sequences
    python benchmarks/composition.py --queries 50 --modes 2     # fewer of everything
    python benchmarks/composition.py --keep FOLDER              # keep the reports, and use those that are there

Every mode is run with `blastp -use_sw_tback -seg no -max_hsps 1` and with `exaln search --max-hsps 1`. Of the pairs
that both report, score, bits and E-value are compared as printed, then ranges and counts. The cost is the CPU time of
`exaln search` with mode 2 over that with mode 0, measured in turns. Needs blastp and makeblastdb. Writes
benchmarks/runs/<date>-<machine>/composition.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from exaln.sequences.fasta import read_records

HERE = Path(__file__).parent
COLUMNS = "qseqid sseqid score bitscore evalue qstart qend sstart send length nident positive gapopen"
STRINGS, RANGES = slice(0, 3), slice(3, 7)
EXALN = [sys.executable, "-m", "exaln", "search", "--quiet"]

Rows = dict[tuple[str, str], list[str]]


def rows_of(path: Path) -> Rows:
    """The columns after the ids, by query and target."""
    rows: Rows = {}
    for line in path.read_text().splitlines():
        query, target, *values = line.split("\t")
        rows.setdefault((query, target), values)
    return rows


def compared(blast: Rows, exaln: Rows) -> Counter[str]:
    """How many rows agree, and in what the others differ."""
    found: Counter[str] = Counter()
    for pair in blast.keys() | exaln.keys():
        if pair not in exaln:
            found["only blastp"] += 1
        elif pair not in blast:
            found["only exaln: the heuristic of blastp has not found the pair"] += 1
        else:
            found[difference(blast[pair], exaln[pair])] += 1
    return found


def difference(blast: list[str], exaln: list[str]) -> str:
    """What differs in a row."""
    if blast[STRINGS] == exaln[STRINGS]:
        if blast[RANGES] != exaln[RANGES]:
            return "equal score, bits and E-value; another path of that score"
        same = blast == exaln
        return "equal" if same else "equal score, bits, E-value and ranges; another path of that score"
    if blast[0] == exaln[0]:
        return "equal score as printed, another one at 32 times the resolution"
    return "exaln has the higher score" if int(exaln[0]) > int(blast[0]) else "blastp has the higher score"


def run(command: list[object], out: Path) -> None:
    """Run a command with its output in a file, which appears when it is complete."""
    part = out.with_suffix(".part")
    with part.open("wb") as file:
        subprocess.run([str(word) for word in command], stdout=file, check=True)
    part.replace(out)


def cpu_seconds(command: list[object]) -> float:
    """User and system time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_queries(path: Path, n: int, out: Path) -> None:
    """Write the first n records of a FASTA file."""
    records = read_records(path)
    with out.open("w") as file:
        for row in range(min(n, len(records))):
            file.write(f">{records.ids[row]}\n{records.alphabet.decode(records.sequence(row))}\n")


def reports(mode: int, queries: Path, targets: Path, folder: Path) -> tuple[Rows, Rows]:
    """The rows of both programs."""
    blast, exaln = folder / f"blast{mode}.tsv", folder / f"exaln{mode}.tsv"
    if not blast.exists():
        database = folder / "blastdb"
        making = ["makeblastdb", "-in", targets, "-dbtype", "prot", "-out", database]
        subprocess.run([str(word) for word in making], check=True, stdout=subprocess.DEVNULL)
        options = ["-use_sw_tback", "-seg", "no", "-max_hsps", 1, "-max_target_seqs", 1_000_000, "-evalue", 10]
        command = ["blastp", "-query", queries, "-db", database, "-comp_based_stats", mode, *options]
        run([*command, "-outfmt", f"6 {COLUMNS}"], blast)
    if not exaln.exists():
        options = ["--comp-based-stats", mode, "--max-hsps", 1, "--max-target-seqs", 1_000_000]
        run([*EXALN, "--query", queries, "--db", targets, *options, "--outfmt", f"6 {COLUMNS}"], exaln)
    return rows_of(blast), rows_of(exaln)


def main() -> None:
    """Compare, measure, print and write."""
    data = Path(os.environ.get("EXALN_DATA", "."))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--query-file", type=Path, default=data / "protein/mmseqs_QUERY.fasta.gz")
    parser.add_argument("--targets", type=Path, default=data / "protein/mmseqs_DB.fasta.gz")
    parser.add_argument("--queries", type=int, default=500, help="number of queries to take from the file")
    parser.add_argument("--modes", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--cost", type=int, default=2, metavar="N", help="measure the cost N times; 0 for not at all")
    parser.add_argument("--keep", type=Path, help="folder for the reports of both programs")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        queries, targets = folder / "queries.fasta", folder / "targets.fasta"
        first_queries(chosen.query_file, chosen.queries, queries)
        first_queries(chosen.targets, sys.maxsize, targets)
        result: dict[str, object] = {"n_queries": chosen.queries, "modes": {}}
        modes: dict[int, dict[str, int]] = {}
        for mode in chosen.modes:
            modes[mode] = dict(compared(*reports(mode, queries, targets, folder)).most_common())
            print(f"mode {mode}")
            for name, count in modes[mode].items():
                print(f"{count:>8,}  {name}")
        result["modes"] = modes
        times: dict[int, list[float]] = {0: [], 2: []}
        for _ in range(chosen.cost):
            for mode, seconds in times.items():
                command = [*EXALN, "--query", queries, "--db", targets, "--comp-based-stats", mode, "--outfmt", 6]
                seconds.append(cpu_seconds(command))
        if chosen.cost:
            ratio = min(times[2]) / min(times[0])
            result["cost"] = {"cpu_seconds": times, "ratio": ratio}
            print(f"cost of mode 2: {min(times[2]):.1f} s of CPU time for {min(times[0]):.1f} s, {ratio:.3f} times")
    place = HERE / "runs" / f"{datetime.date.today()}-{platform.node() or 'machine'}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "composition.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
