"""exaln, BLAST and lalign36 as processes, with the same scoring, and their reports as paths."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as File

from exaln import Scoring
from exaln.sequences.alphabet import DNA
from exaln.sequences.strands import reverse_complement
from several_peers_parts.cases import Case
from several_peers_parts.paths import Path, Runs, runs_of_cigar, runs_of_letters

NEEDED = ("blastp", "blastn", "makeblastdb", "lalign36")
MOST = 1_000_000
"""Alignments of a target that exaln may report here."""

LALIGN_MOST = 100
"""Alignments of a pair that lalign36 may report: its time grows with each."""

COLUMNS = "qseqid sseqid score qstart qend sstart send"


@dataclass
class Programs:
    """Runs programs in a folder; `commands` has those that were run, with S for a least score."""

    folder: File
    commands: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    """Of the last run."""

    def run(self, command: list[str]) -> str:
        """The stdout of a program. Exits with its message if it fails."""
        start = time.perf_counter()
        ended = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        self.seconds = time.perf_counter() - start
        if ended.returncode:
            raise SystemExit(f"{File(command[0]).name}: exit code {ended.returncode}: {ended.stderr.strip()[-300:]}")
        text = re.sub("(--min-score) [0-9]+", r"\1 S", shlex.join([File(command[0]).name, *command[1:]]))
        self.commands.setdefault(text.partition(" --min")[0], text)
        return ended.stdout

    def peer(self, case: Case) -> tuple[list[Path], float]:
        """The alignments of the peer of a case, and the seconds of all its processes."""
        if case.peer == "lalign36":
            return self._lalign_all(case)
        self._write(case.queries, case.targets)
        kind = "prot" if case.peer == "blastp" else "nucl"
        self.run(["makeblastdb", "-in", "targets.fasta", "-dbtype", kind, "-out", "targets"])
        options = f"-query queries.fasta -db targets {blast_scoring(case)} -evalue {case.evalue:g}"
        options += f" -max_target_seqs {max(len(case.targets), 5)} -num_threads 1 -outfmt"
        printed = self.run([case.peer, *options.split(), f"6 {COLUMNS} qseq sseq"])
        return [blast_path(line.split("\t")) for line in printed.splitlines()], self.seconds

    def search(self, case: Case, min_score: int) -> tuple[list[Path], float]:
        """The alignments of `exaln search` with at least this score, and its seconds."""
        self._write(case.queries, case.targets)
        options = f"search --query queries.fasta --db targets.fasta --max-hsps {MOST} --max-target-seqs {MOST}"
        options += f" --evalue 1e9 --min-score {min_score} --quiet {exaln_scoring(case.scoring)} --outfmt"
        return self._exaln(options)

    def align(self, case: Case, query: str, target: str, min_score: int) -> tuple[list[Path], float]:
        """The alignments of a pair by `exaln align`, and its seconds."""
        self._write({query: case.queries[query]}, {target: case.targets[target]})
        options = f"align queries.fasta targets.fasta --max-hsps {MOST} --min-score {min_score} --quiet"
        strand = " --strand both" if len(case.strands) == 2 else ""
        return self._exaln(f"{options}{strand} {exaln_scoring(case.scoring)} --outfmt")

    def _exaln(self, options: str) -> tuple[list[Path], float]:
        printed = self.run(
            [str(File(sys.executable).with_name("exaln")), *options.split(), f"6 {COLUMNS} cigar evalue"]
        )
        return [exaln_path(line.split("\t")) for line in printed.splitlines()], self.seconds

    def _lalign_all(self, case: Case) -> tuple[list[Path], float]:
        """lalign36 for each pair and strand in a process of its own; the other strand is that of the query."""
        found: list[Path] = []
        seconds = 0.0
        for query, target in case.pairs or [(one, other) for one in case.queries for other in case.targets]:
            for strand in case.strands:
                text = case.queries[query]
                if strand == "-":
                    text = DNA.decode(reverse_complement(DNA.encode(text), DNA))
                self._write({"query": text}, {"target": case.targets[target]})
                printed = self.run(["lalign36", *lalign_options(case).split(), "queries.fasta", "targets.fasta"])
                seconds += self.seconds
                found += lalign_paths(printed, query, target, len(text), strand)
        return found, seconds

    def _write(self, queries: dict[str, str], targets: dict[str, str]) -> None:
        for name, sequences in (("queries", queries), ("targets", targets)):
            text = "".join(f">{one}\n{letters}\n" for one, letters in sequences.items())
            (self.folder / f"{name}.fasta").write_text(text)


def exaln_scoring(scoring: Scoring) -> str:
    """Options of exaln: a gap of k letters costs open + k * extend."""
    letters = f"--match {scoring.match[0]} --mismatch {scoring.match[1]}" if scoring.match else "--matrix BLOSUM62"
    return f"{letters} --gap-open {scoring.gap_open} --gap-extend {scoring.gap_extend}"


def blast_scoring(case: Case) -> str:
    """Options of BLAST with the same gap costs, without masking and composition-based statistics."""
    gaps = f"-gapopen {case.scoring.gap_open} -gapextend {case.scoring.gap_extend}"
    if not case.scoring.match:
        return f"-matrix BLOSUM62 {gaps} -comp_based_stats F -seg no"
    match, mismatch = case.scoring.match
    return f"-task blastn -reward {match} -penalty {mismatch} {gaps} -dust no -soft_masking false"


def lalign_options(case: Case) -> str:
    """Options of lalign36: -f -11 -g -1 is open/extend, -11 - k for a gap of k letters.

    With -J a sequence is compared with itself as with any other: the identity is an alignment, and both of two
    symmetric ones are reported. The statistics for proteins are those of Altschul and Gish (-z 3); for DNA the program
    shuffles, and E-values vary.
    """
    gaps = f"-f -{case.scoring.gap_open} -g -{case.scoring.gap_extend}"
    limits = f"-E {case.evalue:g} -K {LALIGN_MOST} -m 10 -T 1 -J -q"
    if not case.scoring.match:
        return f"-p -s BL62 {gaps} -z 3 {limits}"
    match, mismatch = case.scoring.match
    return f"-n -3 -r +{match}/{mismatch} {gaps} {limits}"


def exaln_path(row: list[str]) -> Path:
    """A line of exaln: COLUMNS, the CIGAR, and the E-value, which is empty for pairs."""
    return tabular_path(row, runs_of_cigar(row[7]), float(row[8]) if row[8] else None)


def blast_path(row: list[str]) -> Path:
    """A line of BLAST: COLUMNS and the aligned letters."""
    return tabular_path(row, runs_of_letters(row[7], row[8]))


def tabular_path(row: list[str], runs: Runs, evalue: float | None = None) -> Path:
    """A line with COLUMNS; on the minus strand sstart is larger than send."""
    query_start, _, target_start, target_end = (int(value) for value in row[3:7])
    step = 1 if target_end >= target_start else -1
    return Path(row[0], row[1], int(row[2]), query_start - 1, 1, target_start - 1, step, runs, evalue)


def lalign_paths(printed: str, query: str, target: str, length: int, strand: str) -> Iterator[Path]:
    """The alignments in a report of format 10. With strand -, the query was given as its reverse complement."""
    alignments = re.split(r"^(?:>>[^>\n].*|>--)$", printed, flags=re.MULTILINE)[1:]
    for block in alignments:
        score = int(re.search(r"^; lsw_score: (\d+)", block, re.MULTILINE)[1])  # type: ignore[index]
        (one, other) = (sequence_of(part) for part in re.split(r"^>.*\.\.$", block, flags=re.MULTILINE)[1:3])
        first, step = (length - one[0], -1) if strand == "-" else (one[0] - 1, 1)
        yield Path(query, target, score, first, step, other[0] - 1, 1, runs_of_letters(one[1], other[1]))


def sequence_of(part: str) -> tuple[int, str]:
    """(start, aligned letters) of one sequence in a report of format 10."""
    fields = dict(re.findall(r"^; (\w+): (.*)$", part, re.MULTILINE))
    letters = "".join(re.findall(r"^([A-Za-z*-]+)$", part.split("; al_cons:")[0], re.MULTILINE))
    if fields["al_display_start"] != fields["al_start"]:
        raise SystemExit("lalign36: a report that begins before its alignment is not understood")
    n_letters = len(letters) - letters.count("-")
    if n_letters != int(fields["al_stop"]) - int(fields["al_start"]) + 1:
        raise SystemExit("lalign36: a report whose letters are not those of its alignment is not understood")
    return int(fields["al_start"]), letters


def versions() -> dict[str, str]:
    """The first version number that each program prints. Exits if a program is missing."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        raise SystemExit(f"{', '.join(missing)}: not installed; Debian has them in ncbi-blast+ and fasta3")
    found = {}
    for name in ("blastp", "blastn", "lalign36"):
        option = "-help" if name == "lalign36" else "-version"
        ended = subprocess.run([name, option], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        number = re.search(r"\d+\.\d+[\w.+]*", ended.stdout + ended.stderr)
        found[name] = number[0] if number else "unknown"
    return found
