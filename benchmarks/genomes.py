"""Whole searches of genes in a genome, and what several alignments per target cost in a protein search.

    python benchmarks/genomes.py --genome genome.fasta --genes is186.fasta operon.fasta
    python benchmarks/genomes.py --queries Q.fasta --targets T.fasta --proteome yeast.fasta

Every search is a fresh process on one thread, unless --threads says otherwise. The fastest run counts, by CPU time, so
that other work on the machine disturbs least. Each part runs if its files are given:

- genes: each gene against the genome on both strands, with the default options. GCUPS are query x genome x 2 strands
  per second of the whole process, and without start-up, which is what the gene takes against itself. If blastn is
  installed it runs with the same scoring, and its copies of the gene, which are its alignments of at least nine tenths
  of the gene, are looked for in the report.
- proteins: queries against targets with the default options and with --max-hsps 1, in turn.
- record: the first queries against targets of 3,000,000 residues joined to one record, and against the same residues
  as they are, both with --evalue 1e-3, in turn.
- repeats: a query of 200 glutamines against the proteome, which has hundreds of alignments with some targets.

--out writes the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXALN = str(Path(sys.executable).with_name("exaln"))
COPY = 0.9
"""Of a gene, the part that a copy of it has at least."""
RECORD = 3_000_000
"""Residues of the long record."""
FIRST = 50
"""Queries that are compared with it."""
BLASTN = "-task blastn -dust no -reward 2 -penalty -3 -gapopen 5 -gapextend 2 -evalue 10 -num_threads 1 -outfmt"


def timed(command: list[str]) -> tuple[float, float, str, str]:
    """Run a command: seconds by the clock, seconds of CPU time, stdout and stderr. Ends the program if it fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        sys.exit(f"{' '.join(command)}: {ended.stderr.strip()}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ended.stdout, ended.stderr


def best_of(rounds: int, *commands: list[str]) -> list[tuple[float, float, str, str]]:
    """The fastest run of each command, by CPU time; the commands take turns."""
    runs = [[timed(command) for command in commands] for _ in range(rounds)]
    return [min(own, key=lambda run: run[1]) for own in zip(*runs, strict=True)]


def search(query: Path, target: Path, threads: int, *options: str) -> list[str]:
    """A search that prints a table with coordinates."""
    fixed = ["--engine", "cpu", "--threads", str(threads), "--outfmt", "6 std score"]
    return [EXALN, "search", "--query", str(query), "--db", str(target), *fixed, *options]


def residues(path: Path) -> int:
    """Letters of all sequences of a FASTA file without gaps and spaces."""
    with path.open() as file:
        return sum(len(line.strip()) for line in file if not line.startswith(">"))


def sequences(path: Path) -> Iterator[tuple[str, str]]:
    """Headers and sequences of a FASTA file."""
    for text in path.read_text().split(">")[1:]:
        header, *lines = text.splitlines()
        yield header, "".join(line.strip() for line in lines)


def ranges(table: str) -> list[tuple[int, int, int, int, float]]:
    """Query range, target range and E-value of each row."""
    rows = [line.split("\t") for line in table.splitlines()]
    return [(*map(int, row[6:10]), float(row[10])) for row in rows]  # type: ignore[misc]


def is_found(copy: tuple[int, ...], rows: list[tuple[int, int, int, int, float]]) -> bool:
    """Whether a row has the same strand as the copy and most of its letters."""
    low, high = sorted(copy[2:4])
    for _, _, first, last, _ in rows:
        common = min(high, max(first, last)) - max(low, min(first, last))
        if (first < last) == (copy[2] < copy[3]) and common >= COPY * (high - low):
            return True
    return False


def gene(path: Path, genome: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One gene against the genome, by exaln and by blastn."""
    cells = 2 * residues(path) * residues(genome)
    commands = [search(path, target, options.threads) for target in (genome, path)]
    (wall, cpu, table, said), (_, start, _, _) = best_of(options.rounds, *commands)
    rows = ranges(table)
    found = {
        "query": path.name,
        "residues": residues(path),
        "alignments": len(rows),
        "seconds": wall,
        "cpu_seconds": cpu,
        "gcups": cells / wall / 1e9,
        "cpu_seconds_of_start_up": start,
        "gcups_by_cpu_time": cells / cpu / 1e9,
        "gcups_by_cpu_time_without_start_up": cells / (cpu - start) / 1e9,
        "notes": [line for line in said.splitlines() if "note:" in line],
    }
    if shutil.which("blastn"):
        command = ["blastn", "-query", str(path), "-subject", str(genome), *BLASTN.split(), "6 std score"]
        ((wall, cpu, table, _),) = best_of(options.rounds, command)
        copies = [row for row in ranges(table) if row[1] - row[0] + 1 >= COPY * residues(path)]
        found["blastn"] = {
            "alignments": len(ranges(table)),
            "seconds": wall,
            "copies": len(copies),
            "copies_found": sum(is_found(copy, rows) for copy in copies),
        }
    return found


def proteins(options: argparse.Namespace) -> dict[str, Any]:
    """The same search with all alignments of each target, and with one."""
    several = search(options.queries, options.targets, options.threads, "--out", os.devnull)
    runs = best_of(options.rounds, several, [*several, "--max-hsps", "1"])
    (wall, cpu, *_), (wall_of_one, cpu_of_one, *_) = runs
    return {
        "seconds": wall,
        "seconds_with_one": wall_of_one,
        "cpu_seconds": cpu,
        "cpu_seconds_with_one": cpu_of_one,
        "ratio": wall / wall_of_one,
        "ratio_by_cpu_time": cpu / cpu_of_one,
    }


def record(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The first queries against one long record, and against the sequences that it is joined from."""
    queries, parts, joined = folder / "first.fasta", folder / "parts.fasta", folder / "joined.fasta"
    first, size = [], 0
    for header, sequence in sequences(options.targets):
        first.append((header, sequence[: RECORD - size]))
        size += len(first[-1][1])
        if size == RECORD:
            break
    parts.write_text("".join(f">{header}\n{sequence}\n" for header, sequence in first))
    joined.write_text(">joined\n" + "\n".join(sequence for _, sequence in first) + "\n")
    chosen = [found for found, _ in zip(sequences(options.queries), range(FIRST), strict=False)]
    queries.write_text("".join(f">{header}\n{sequence}\n" for header, sequence in chosen))
    cells = residues(queries) * size
    commands = [search(queries, target, options.threads, "--evalue", "1e-3") for target in (joined, parts)]
    runs = best_of(options.rounds, *commands)
    names = ("one_record", f"{len(first)}_records")
    return {"queries": len(chosen), "residues_of_queries": residues(queries), "residues": size} | {
        name: {
            "alignments": table.count("\n"),
            "seconds": wall,
            "cpu_seconds": cpu,
            "gcups": cells / wall / 1e9,
            "gcups_by_cpu_time": cells / cpu / 1e9,
        }
        for name, (wall, cpu, table, _) in zip(names, runs, strict=True)
    }


def repeats(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """A query of one letter against a proteome."""
    query = folder / "glutamines.fasta"
    query.write_text(f">glutamines\n{'Q' * 200}\n")
    ((wall, cpu, table, said),) = best_of(options.rounds, search(query, options.proteome, options.threads))
    notes = [line for line in said.splitlines() if "note:" in line]
    return {"alignments": table.count("\n"), "seconds": wall, "cpu_seconds": cpu, "notes": notes}


def main() -> None:
    """Run the parts whose files are given, and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--genome", type=Path, metavar="FASTA")
    parser.add_argument("--genes", type=Path, nargs="+", default=[], metavar="FASTA", help="one record each")
    parser.add_argument("--queries", type=Path, metavar="FASTA")
    parser.add_argument("--targets", type=Path, metavar="FASTA")
    parser.add_argument("--proteome", type=Path, metavar="FASTA")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="the fastest of so many runs counts")
    parser.add_argument("--out", type=Path, metavar="JSON")
    options = parser.parse_args()
    found: dict[str, Any] = {
        "load": os.getloadavg()[0],
        "machine": f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "command": " ".join(["benchmarks/genomes.py", *(Path(text).name for text in sys.argv[1:])]),
        "exaln": timed([EXALN, "--version"])[2].strip(),
    }
    with tempfile.TemporaryDirectory() as folder:
        if options.genome:
            found["genes"] = [gene(path, options.genome, options) for path in options.genes]
        if options.queries and options.targets:
            found["proteins"] = proteins(options)
            found["record"] = record(options, Path(folder))
        if options.proteome:
            found["repeats"] = repeats(options, Path(folder))
    text = json.dumps(found, indent=1)
    print(text)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n")


def processor() -> str:
    """The name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    main()
