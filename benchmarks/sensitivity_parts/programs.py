"""The programs that are compared, as processes, and their reports as rankings."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sensitivity_parts.measure import Row

EVALUE = 100
MOST_TARGETS = 100_000
"""Both are far more than is needed for a false positive: chance gives the first one at an E-value of about 1."""

WIDER_FILTERS = "--F1 0.1 --F2 0.03 --F3 0.01"
"""By default phmmer drops targets with P-values above 1e-5 in its last filter, which is E = 0.08 for 7,616 targets."""

Ranking = dict[str, list[Row]]


@dataclass(frozen=True)
class Program:
    """A program with its options; THREADS in them stands for the number of threads.

    read: the rows (query, target, E-value, score) of its report. is_profile: several iterations, with a profile.
    """

    name: str
    command: str
    read: Callable[[Iterable[str]], Iterator[tuple[str, str, str, str]]]
    version: tuple[str, ...]
    database: str = ""
    is_profile: bool = False

    def arguments(self, threads: int) -> list[str]:
        """The command as a list."""
        words = shlex.split(self.command.replace("THREADS", str(threads)))
        return [EXALN if word == "exaln" and place == 0 else word for place, word in enumerate(words)]


@dataclass
class Done:
    """What a run of a program gave: its ranking, and the seconds of its process."""

    ranking: Ranking
    wall_seconds: float
    cpu_seconds: float
    n_rows: int = field(default=0)


EXALN = os.environ.get("EXALN_PROGRAM", str(Path(sys.executable).with_name("exaln")))


def tabular(lines: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Rows of four columns: query, target, E-value, score. Without statistics exaln leaves E-values empty."""
    for line in lines:
        query, target, evalue, score = line.rstrip("\n").split("\t")
        yield query, target, evalue, score


def twelve_columns(lines: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Rows of BLAST's twelve columns, with bits as the score."""
    for line in lines:
        columns = line.rstrip("\n").split("\t")
        yield columns[0], columns[1], columns[10], columns[11]


def last_iterations(lines: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Rows of the last iteration of each query, from a report of format 7 with four columns."""
    rows: list[tuple[str, str, str, str]] = []
    for line in lines:
        if line.startswith("# Iteration: "):
            if int(line.split(":")[1]) == 1:
                yield from rows
            rows = []
        elif not line.startswith("#") and line.strip() and not line.startswith("Search has"):
            rows += tabular([line])
    yield from rows


def target_table(lines: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Rows of HMMER's table of targets, with the E-value and the score of the full sequence."""
    for line in lines:
        if not line.startswith("#"):
            columns = line.split(maxsplit=6)
            yield columns[2], columns[0], columns[4], columns[5]


def exaln(name: str, options: str = "") -> Program:
    """`exaln search` with these options."""
    limits = f"--evalue {EVALUE} --max-target-seqs {MOST_TARGETS} --max-hsps 1 --engine cpu --threads THREADS --quiet"
    command = f"exaln search --query queries.fasta --db targets.exaln {limits} {options} --out report"
    command = f'{" ".join(command.split())} --outfmt "6 {COLUMNS}"'
    return Program(name, command, tabular, (EXALN, "--version"), EXALN_DATABASE)


def blast(name: str, program: str, options: str = "", form: int = 6) -> Program:
    """Blastp or psiblast with these options."""
    limits = f"-evalue {EVALUE} -max_target_seqs {MOST_TARGETS} -max_hsps 1 -num_threads THREADS"
    command = f'{program} -query queries.fasta -db targets {limits} {options} -out report -outfmt "{form} {COLUMNS}"'
    is_profile = program == "psiblast"
    read = last_iterations if is_profile else tabular
    return Program(name, " ".join(command.split()), read, (program, "-version"), BLAST_DATABASE, is_profile)


def ssearch(name: str, options: str = "") -> Program:
    """The exact search of the FASTA package with these options."""
    command = f"ssearch36 -q -E {EVALUE} -b {MOST_TARGETS} -d 0 -T THREADS -m 8 {options} queries.fasta targets.fasta"
    return Program(name, " ".join(command.split()), twelve_columns, ("ssearch36", "-help"))


def phmmer(name: str, options: str = "") -> Program:
    """HMMER's search with one sequence, with these options."""
    command = f"phmmer -E {EVALUE} {options} --noali --cpu THREADS -o log --tblout report queries.fasta targets.fasta"
    return Program(name, " ".join(command.split()), target_table, ("phmmer", "-h"))


COLUMNS = "qseqid sseqid evalue score"
EXALN_DATABASE = "exaln makedb --in targets.fasta --db targets.exaln --quiet --force"
BLAST_DATABASE = "makeblastdb -in targets.fasta -dbtype prot -out targets"

PEERS = [
    blast("blastp", "blastp"),
    blast("blastp, -comp_based_stats 0", "blastp", "-comp_based_stats 0"),
    phmmer("phmmer"),
    phmmer("phmmer, wider filters", WIDER_FILTERS),
    ssearch("ssearch36"),
    ssearch("ssearch36, BLOSUM62 11/1", "-s BL62 -f -11 -g -1"),
    Program(
        "MMseqs2, -s 7.5",
        f"mmseqs easy-search queries.fasta targets.fasta report scratch -s 7.5 -e {EVALUE} --max-seqs {MOST_TARGETS} "
        "--threads THREADS -v 1 --format-output query,target,evalue,bits",
        tabular,
        ("mmseqs", "version"),
    ),
    Program(
        "DIAMOND, --ultra-sensitive",
        f"diamond blastp --query queries.fasta --db targets.dmnd --out report --ultra-sensitive --evalue {EVALUE} "
        f"--max-target-seqs 0 --max-hsps 1 --threads THREADS --quiet --outfmt 6 {COLUMNS}",
        tabular,
        ("diamond", "version"),
        "diamond makedb --in targets.fasta --db targets.dmnd --quiet",
    ),
    blast("psiblast, 3 iterations", "psiblast", "-num_iterations 3", 7),
]

SEARCHES = [
    exaln("exaln"),
    exaln("exaln, BLOSUM50 12/2", "--matrix BLOSUM50 --gap-open 12 --gap-extend 2"),
    exaln("exaln, BLOSUM50 10/2", "--matrix BLOSUM50 --gap-open 10 --gap-extend 2"),
    exaln("exaln, VTML200 10/2", "--matrix VTML200 --gap-open 10 --gap-extend 2"),
]


def run(program: Program, folder: Path, threads: int) -> Done:
    """Run a program on queries.fasta and targets.fasta in a folder, its database first, whose time does not count."""
    if program.database:
        words = shlex.split(program.database)
        checked([EXALN if word == "exaln" else word for word in words], folder, folder / "built")
    report, printed = folder / "report", folder / "printed"
    report.unlink(missing_ok=True)
    before, start = os.times(), time.perf_counter()
    checked(program.arguments(threads), folder, printed)
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    ranking: Ranking = {}
    n_rows = 0
    with (report if report.exists() else printed).open(encoding="utf-8", errors="replace") as lines:
        for query, target, evalue, score in program.read(lines):
            ranking.setdefault(query, []).append(Row(target, float(evalue or 0), score.strip()))
            n_rows += 1
    return Done(ranking, wall, cpu, n_rows)


def checked(command: list[str], folder: Path, printed: Path) -> None:
    """Run a command in a folder with its stdout in a file. Exits with its message if it fails."""
    try:
        with printed.open("wb") as out:
            ended = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise SystemExit(f"{command[0]}: not installed") from None
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip()[-300:]
        raise SystemExit(f"{Path(command[0]).name}: exit code {ended.returncode}: {said}")


def version_of(program: Program) -> str:
    """The version that a program prints. Exits if it is missing."""
    try:
        ended = subprocess.run(program.version, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit(f"{program.version[0]}: not installed; leave it out with --only") from None
    found = re.search(r"\d+\.\d+[\w.+]*|\d+-[\w.+-]+", ended.stdout + ended.stderr)
    return found[0] if found else "unknown"
