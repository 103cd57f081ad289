"""Compare one whole protein search by exaln, SWIPE, ssearch36, blastp, parasail and pyopal, one thread each.

    python benchmarks/search_peers.py --queries Q.fasta --targets T.fasta
    python benchmarks/search_peers.py --swipe swipe/swipe --ssearch fasta3/ssearch36 --rounds 5

Every tool is a fresh process that reads the same sequences, scores them with BLOSUM62 and gaps 11/1 (a gap of k
residues costs 11 + k) and writes its hits. The command-line tools report alignments and E-values; the two libraries are
called from Python and report the best scores only. Databases are built beforehand. Rounds are interleaved. Tools that
are not installed are left out: Debian has ncbi-blast+ and fasta3 (ssearch36), and SWIPE is built from its repository,
torognes/swipe. GCUPS are query residues x target residues per second of the best round, both by wall time and by the
CPU time of the process, which other work on the machine disturbs less. Writes
benchmarks/runs/<date>-<machine>/search_peers.json, which charts.py draws.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GAP_FIRST, GAP_EXTEND = 12, 1  # the libraries count the first residue of a gap in its opening
MAX_TARGETS = 500
SIGNIFICANT = 1e-3
"""Hits of exaln up to this E-value are counted in the other reports."""

EXALN_OPTIONS = "--engine cpu --threads 1 --quiet --evalue 10 --max-target-seqs 500 --out report"
BLAST_OPTIONS = "-num_threads 1 -evalue 10 -max_target_seqs 500 -max_hsps 1 -out report"
SAME_SCORING = "-matrix BLOSUM62 -gapopen 11 -gapextend 1 -comp_based_stats F -seg no"
SWIPE_OPTIONS = "-M BLOSUM62 -G 11 -E 1 -e 10 -v 500 -b 500 -a 1 -m 8 -o report"
SSEARCH_OPTIONS = "-q -s BL62 -f -11 -g -1 -E 10 -b 500 -d 500 -T 1 -m 8"


@dataclass(frozen=True)
class Tool:
    """A program, its arguments, how it tells its version, and the column of its report that has raw scores."""

    name: str
    program: str
    arguments: list[str]
    version_arguments: list[str]
    is_heuristic: bool = False
    reports: str = "alignments and E-values"
    score_column: int | None = None

    def version(self) -> str:
        """Return the first version number that the program prints."""
        command = [self.program, *self.version_arguments]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        found = re.search(r"\d+\.\d+[\w.]*", ended.stdout + ended.stderr)
        return found[0] if found else "unknown"

    def hits(self, report: str) -> dict[tuple[str, str], int | None]:
        """Return the raw score of each pair of query and target in a report, None where it has no raw scores."""
        rows = [line.split("\t") for line in report.splitlines() if line.startswith("Q")]
        column = self.score_column
        return {
            (row[0], row[1].removeprefix("lcl|")): None if column is None else int(float(row[column])) for row in rows
        }


def tools_of(options: argparse.Namespace) -> list[Tool]:
    """Return the tools that are installed, exaln first."""
    exaln = f"search --query queries.fasta --db targets.exaln {EXALN_OPTIONS} --outfmt".split()
    blastp = f"-query queries.fasta -db targets {BLAST_OPTIONS} -outfmt".split()
    python = str(options.peers_python)
    tools = [
        Tool("exaln", options.exaln, [*exaln, "6 std score"], ["--version"], score_column=12),
        Tool("SWIPE", options.swipe, f"-d targets -i queries.fasta {SWIPE_OPTIONS}".split(), ["--help"]),
        Tool("ssearch36", options.ssearch, f"{SSEARCH_OPTIONS} queries.fasta targets.fasta".split(), ["-help"]),
        Tool(
            "blastp, same scoring",
            options.blastp,
            [*blastp, "6 std score", *SAME_SCORING.split()],
            ["-version"],
            is_heuristic=True,
            score_column=12,
        ),
        Tool("blastp, default options", options.blastp, [*blastp, "6 std"], ["-version"], is_heuristic=True),
    ]
    for library in LIBRARIES:
        version = ["-c", f"import {library}; print({library}.__version__)"]
        script = [str(HERE.absolute() / Path(__file__).name), "--library", library]
        tools.append(Tool(library, python, script, version, reports="scores", score_column=2))
    installed = [tool for tool in tools if shutil.which(tool.program)]
    for tool in tools:
        if tool not in installed:
            print(f"{tool.name} is left out: {tool.program} is not installed")
    return installed


def read_fasta(path: Path) -> list[str]:
    """Return the sequences of a FASTA file, plain or compressed by gzip."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return ["".join(record.split("\n")[1:]).replace(" ", "") for record in f"\n{file.read()}".split("\n>")[1:]]


def write_fasta(path: Path, letter: str, sequences: list[str]) -> None:
    """Write sequences with the ids Q1, Q2 ..., which every tool prints in the same way."""
    path.write_text("".join(f">{letter}{number}\n{sequence}\n" for number, sequence in enumerate(sequences, 1)))


def parasail_scores(queries: list[str], targets: list[str]) -> Iterator[list[int]]:
    """Yield the scores of each query: striped, 8 bits with repetition in 16."""
    import parasail

    for query in queries:
        profile = parasail.profile_create_sat(query, parasail.blosum62)
        score = parasail.sw_striped_profile_sat
        yield [score(profile, target, GAP_FIRST, GAP_EXTEND).score for target in targets]


def pyopal_scores(queries: list[str], targets: list[str]) -> Iterator[list[int]]:
    """Yield the scores of each query: inter-sequence, 8 bits first; `simple` is its faster treatment of overflow."""
    import pyopal

    database = pyopal.Database(targets)
    aligner = pyopal.Aligner("BLOSUM62", gap_open=GAP_FIRST, gap_extend=GAP_EXTEND)
    for query in queries:
        found = aligner.align(query, database, mode="score", overflow="simple", algorithm="sw")
        yield [result.score for result in found]


LIBRARIES: dict[str, Callable[[list[str], list[str]], Iterator[list[int]]]] = {
    "parasail": parasail_scores,
    "pyopal": pyopal_scores,
}


def search_with_library(library: str) -> None:
    """Search the files of the current directory with a library; write the best targets of each query."""
    scores = LIBRARIES[library](read_fasta(Path("queries.fasta")), read_fasta(Path("targets.fasta")))
    with Path("report").open("w") as report:
        for number, of_query in enumerate(scores, 1):
            best = sorted(range(len(of_query)), key=lambda row: -of_query[row])[:MAX_TARGETS]
            report.writelines(f"Q{number}\tT{row + 1}\t{of_query[row]}\n" for row in best)


def run_tool(tool: Tool, folder: Path) -> tuple[dict[str, float], str]:
    """Run a search from the start of its process to its end; return wall and CPU seconds, and the report.

    The report is the file `report`, or what the tool prints: ssearch36 writes a file anew for each query.
    """
    report, printed = folder / "report", folder / "printed"
    report.unlink(missing_ok=True)
    with printed.open("wb") as stdout:
        start = time.perf_counter()
        process = subprocess.Popen([tool.program, *tool.arguments], cwd=folder, stdout=stdout)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{tool.name}: exit code {process.returncode}")
    written = report if report.exists() else printed
    return {"wall_seconds": wall, "cpu_seconds": usage.ru_utime + usage.ru_stime}, written.read_text()


def build_databases(folder: Path, options: argparse.Namespace) -> None:
    """Build the databases of exaln and of BLAST; SWIPE reads version 4 of the latter."""
    commands = [[options.exaln, "makedb", "--in", "targets.fasta", "--db", "targets.exaln", "--quiet"]]
    if shutil.which(options.makeblastdb):
        blast = "-in targets.fasta -dbtype prot -blastdb_version 4 -parse_seqids -out targets"
        commands.append([options.makeblastdb, *blast.split()])
    for command in commands:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def compare(tools: list[Tool], folder: Path, rounds: int, cells: int) -> list[dict[str, Any]]:
    """Run the tools in turn, `rounds` times; return what the run file keeps of each."""
    runs: dict[str, list[dict[str, float]]] = {tool.name: [] for tool in tools}
    hits: dict[str, dict[tuple[str, str], int | None]] = {}
    significant: set[tuple[str, str]] = set()
    for _ in range(rounds):
        for tool in tools:
            seconds, report = run_tool(tool, folder)
            runs[tool.name].append(seconds)
            hits[tool.name] = tool.hits(report)
            if tool.name == "exaln":
                rows = [line.split("\t") for line in report.splitlines()]
                significant = {(row[0], row[1]) for row in rows if float(row[10]) <= SIGNIFICANT}
            print(f"{tool.name:24} {seconds['wall_seconds']:7.2f} s, CPU {seconds['cpu_seconds']:7.2f} s", flush=True)
    return [
        {
            "name": tool.name,
            "version": tool.version(),
            "command": shlex.join([Path(tool.program).name, *(Path(word).name for word in tool.arguments)]),
            "is_heuristic": tool.is_heuristic,
            "reports": tool.reports,
            "n_reported": len(hits[tool.name]),
            "n_significant_found": len(significant & hits[tool.name].keys()),
            "n_lower_scores": n_lower_scores(hits["exaln"], hits[tool.name]),
            "gcups": {
                kind: cells / min(run[f"{kind}_seconds"] for run in runs[tool.name]) / 1e9 for kind in ("wall", "cpu")
            },
            "runs": runs[tool.name],
        }
        for tool in tools
    ]


def n_lower_scores(exact: dict[tuple[str, str], int | None], others: dict[tuple[str, str], int | None]) -> int | None:
    """Count the pairs in both reports whose score is below the optimum; None where a report has no raw scores."""
    if None in others.values():
        return None
    lower = 0
    for pair in exact.keys() & others.keys():
        optimum, score = exact[pair], others[pair]
        assert optimum is not None
        assert score is not None
        if score > optimum:
            raise SystemExit(f"{pair}: the score {score} is above the optimum {optimum}")
        lower += score < optimum
    return lower


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return {
        "cpu": fields.get("model name", platform.machine()),
        "family_model": f"{fields.get('cpu family')}/{fields.get('model')}",
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def parse() -> argparse.Namespace:
    """Parse the command line."""
    data = Path(os.environ.get("EXALN_DATA", "")) / "protein"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=Path, default=data / "cudasw4_allqueries.fasta")
    parser.add_argument("--targets", type=Path, default=data / "mmseqs_DB.fasta.gz")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--exaln", default=str(Path(sys.executable).with_name("exaln")))
    parser.add_argument("--swipe", default="swipe")
    parser.add_argument("--ssearch", default="ssearch36")
    parser.add_argument("--blastp", default="blastp")
    parser.add_argument("--makeblastdb", default="makeblastdb")
    parser.add_argument("--peers-python", default=str(HERE.parent.absolute() / ".venv-peers" / "bin" / "python"))
    parser.add_argument("--library", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.library:
        for path in (options.queries, options.targets):
            if not path.is_file():
                parser.error(f"{path} is missing: set EXALN_DATA, or give --queries and --targets")
    for name in ("exaln", "swipe", "ssearch", "blastp", "makeblastdb"):
        program = getattr(options, name)
        setattr(options, name, str(Path(program).absolute()) if "/" in program else program)
    return options


def main() -> None:
    """Compare the tools and write the run file."""
    options = parse()
    if options.library:
        search_with_library(options.library)
        return
    queries, targets = read_fasta(options.queries), read_fasta(options.targets)
    n_query_residues, n_target_residues = sum(map(len, queries)), sum(map(len, targets))
    cells = n_query_residues * n_target_residues
    print(f"{len(queries):,} queries, {len(targets):,} targets, {cells:,} cells; best of {options.rounds}")
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fasta(folder / "queries.fasta", "Q", queries)
        write_fasta(folder / "targets.fasta", "T", targets)
        build_databases(folder, options)
        compared = compare(tools_of(options), folder, options.rounds, cells)
    content = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load_before": load_before,
        "threads": 1,
        "scoring": "BLOSUM62, gaps 11/1: a gap of 1 costs 12",
        "queries": {"file": options.queries.name, "n_sequences": len(queries), "n_residues": n_query_residues},
        "targets": {"file": options.targets.name, "n_sequences": len(targets), "n_residues": n_target_residues},
        "cells": cells,
        "n_significant": next(tool["n_significant_found"] for tool in compared if tool["name"] == "exaln"),
        "significant_evalue": SIGNIFICANT,
        "tools": compared,
    }
    name = "-".join(machine()["cpu"].lower().replace("(r)", "").split())
    run_folder = HERE / "runs" / f"{datetime.date.today()}-{name}-{os.cpu_count()}-cores"
    run_folder.mkdir(parents=True, exist_ok=True)
    (run_folder / "search_peers.json").write_text(json.dumps(content, indent=1) + "\n")
    print(f"written to {run_folder / 'search_peers.json'}")


if __name__ == "__main__":
    main()
