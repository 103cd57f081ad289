"""Compare the several alignments of exaln with the HSPs of BLAST and the alignments of lalign36, on real data.

    EXALN_DATA=DATA python benchmarks/several_peers.py                  # all cases, about 15 minutes
    EXALN_DATA=DATA python benchmarks/several_peers.py --cases titin    # cases whose name has this text

The claim: each alignment of lalign36 and each HSP of BLAST shares at least one aligned pair of letters with one of
exaln that scores at least as high. All programs have the same scores and gap costs; masking and statistics by
composition are off. Every alignment of every program is scored anew from its path. exaln is asked for all alignments
with at least the least score of the peer. Of exaln's alignments it is required that their scores are right, that none
aligns a pair which another has aligned, that those of a target are in order, and that `exaln search` and `exaln align`
agree.

Prints a table and writes it as several_peers.txt and .json into --out, by default benchmarks/runs/<date>-<machine>.
Exit code 1: a program is missing, or something that is required does not hold.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from several_peers_parts.cases import Case, genome_cases, protein_cases
from several_peers_parts.comparison import DEFAULT_CAP, Comparison, compare
from several_peers_parts.paths import Letters
from several_peers_parts.paths import Path as Alignment
from several_peers_parts.programs import LALIGN_MOST, Programs, versions

import exaln
from exaln.engines.bench.runs import dashed, machine, runs_folder, write_run

MOST_CELLS = 60_000_000
"""Pairs with more are not aligned by `exaln align`, which keeps 12 bytes per cell."""

SIGNIFICANT = 1e-3

HEADINGS = (
    "case", "peer", "alignments", "covered", "of first 100", "same ends", "same path", "same rounds", "of exaln",
    "by peer", "new", "over 100", "peer s", "exaln s",
)  # fmt: skip
LEGEND = f"""
alignments    of the peer (lalign36: at most {LALIGN_MOST} of a pair)
covered       those that share an aligned pair with one of exaln that scores at least as high
of first 100  the same, of the first {DEFAULT_CAP} of each target, which `exaln search` reports by default
same ends     those with the first and last positions of one of exaln; same path: also with its gaps
same rounds   rounds of lalign36, up to the first whose score differs from that of exaln in each comparison
of exaln      those with at least the least score that the peer has for the pair (lalign36) or query (BLAST)
by peer       those that share a pair with one of the peer that scores at least as high
new           those that share no pair with any alignment of the peer
              (lalign36: its limits fall among equal scores, and differ between strands)
over 100      queries and targets with more than {DEFAULT_CAP} such alignments, of all that the peer reports
peer s        wall seconds of the peer, one thread; exaln s: of `exaln search`, all threads; whole processes
"""


def parsed() -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="", metavar="TEXT", help="only cases whose name or peer has this text")
    parser.add_argument("--out", type=Path, help="folder for the table and the figures")
    options = parser.parse_args()
    if "EXALN_DATA" not in os.environ:
        parser.exit(1, "several_peers.py: set EXALN_DATA to the folder of real data\n")
    return options


def run_case(case: Case, programs: Programs) -> tuple[Comparison, dict[str, Any]]:
    """Run both programs and compare."""
    letters = Letters.of(case.texts(), case.scoring)
    peers, peer_seconds = programs.peer(case)
    scores: dict[tuple[str, str], list[int]] = {}
    for path in peers:
        score = path.rescored(path.pairs(), letters)
        scores.setdefault((path.query, path.target), []).append(score)
    is_exact = case.peer == "lalign36"
    figures: dict[str, Any] = {"peer_seconds": peer_seconds}
    if is_exact:
        ours, figures["exaln_seconds"], faults = pair_by_pair(
            case, {of: min(some) for of, some in scores.items()}, programs
        )
    else:
        of_query = {query: min(min(some) for (one, _), some in scores.items() if one == query) for query, _ in scores}
        ours, figures["exaln_seconds"] = programs.search(case, min(of_query.values()))
        ours = [path for path in ours if path.score >= of_query.get(path.query, math.inf)]
        figures["min_scores"], faults = of_query, []
    done = compare(peers, ours, letters, is_exact=is_exact)
    done.faults += faults
    return done, figures


def pair_by_pair(
    case: Case, least: dict[tuple[str, str], int], programs: Programs
) -> tuple[list[Alignment], float, list[str]]:
    """Alignments of each pair by `exaln search`, its seconds, and pairs with others by `exaln align`."""
    found: list[Alignment] = []
    total, faults = 0.0, []
    for (query, target), score in least.items():
        sides = {query: case.queries[query]}, {target: case.targets[target]}
        one = Case(case.name, case.peer, case.scoring, *sides, strands=case.strands)
        of_pair, seconds = programs.search(one, score)
        found, total = found + of_pair, total + seconds
        is_small = len(case.queries[query]) * len(case.targets[target]) <= MOST_CELLS
        if is_small and programs.align(one, query, target, score)[0] != of_pair:
            faults.append(f"exaln search and exaln align differ: {query} x {target}")
    return found, total, faults


def row_of(case: Case, done: Comparison, about: dict[str, Any]) -> list[str]:
    """The cells of a case in the table."""
    is_exact = case.peer == "lalign36"
    counts = (done.n_peer, done.n_covered, done.n_covered_with_cap, done.n_same_ends, done.n_same_path)
    return [
        case.name,
        case.peer,
        *(f"{count:,}" for count in counts),
        f"{done.n_same_scores:,}" if is_exact else "",
        f"{done.n_ours:,}",
        f"{done.n_covered_by_peer:,}",
        f"{done.n_not_in_peer:,}",
        f"{len(done.cuts):,}/{done.n_pairs:,}",
        f"{about['peer_seconds']:.1f}",
        f"{about['exaln_seconds']:.1f}",
    ]


def aligned_columns(rows: list[list[str]]) -> str:
    """Rows as text; the first two columns are aligned at the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) if place < 2 else cell.rjust(width) for place, (cell, width) in enumerate(cells))
        for cells in (zip(row, widths, strict=True) for row in rows)
    )
    return "\n".join(line.rstrip() for line in lines)


def main() -> int:
    """Run the cases. Returns the exit code."""
    options = parsed()
    about = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", "benchmarks/several_peers.py", *sys.argv[1:]]),
        "machine": machine(),
        "load_before": os.getloadavg()[0],
        "versions": {"exaln": exaln.__version__, **versions()},
    }
    data = Path(os.environ["EXALN_DATA"])
    cases = [one for one in protein_cases(data) + genome_cases(data) if options.cases in f"{one.name}, {one.peer}"]
    rows, kept, lines = [list(HEADINGS)], [], []
    with tempfile.TemporaryDirectory() as name:
        programs = Programs(Path(name))
        for case in cases:
            done, figures = run_case(case, programs)
            rows.append(row_of(case, done, figures))
            print(" | ".join(rows[-1]), flush=True)
            kept.append({**facts(case), **figures, **done.content()})
            lines += [f"{case.name}, {case.peer}: {line}" for line in (*done.exceptions, *done.faults)]
    text = report(about, rows, lines, kept, programs)
    print(text)
    folder = options.out or runs_folder(f"{dashed(machine()['processor'])}-{os.cpu_count()}-cores") or Path("build")
    content = {**about, "commands": programs.commands, "cases": kept}
    written = write_run(folder, "several_peers", content)
    written.with_suffix(".txt").write_text(text)
    print(f"written to {written.name} and several_peers.txt")
    return 1 if lines else 0


def facts(case: Case) -> dict[str, Any]:
    """What a case compares, for the run file."""
    sizes = {"n_queries": len(case.queries), "n_targets": len(case.targets)}
    return {"case": case.name, "peer": case.peer, "scoring": case.scoring.describe(), **sizes}


def report(
    about: dict[str, Any], rows: list[list[str]], lines: list[str], kept: list[dict[str, Any]], programs: Programs
) -> str:
    """The machine, the commands, the table, its legend, and exceptions."""
    total, covered = sum(one["n_peer"] for one in kept), sum(one["n_covered"] for one in kept)
    head = [
        f"{about['machine']['processor']}, {about['machine']['cores']} cores; "
        + ", ".join(f"{name} {version}" for name, version in about["versions"].items()),
        *programs.commands.values(),
    ]
    found = [*cuts(kept), "", *stated_scores(kept), *(lines or ["no exceptions"])]
    summary = f"{covered:,} of {total:,} alignments of the peers are covered"
    return "\n".join([*head, "", aligned_columns(rows), LEGEND, *found, summary, ""])


def stated_scores(kept: list[dict[str, Any]]) -> list[str]:
    """How often the score that a peer states is not that of its path."""
    return [
        f"{one['case']}, {one['peer']}: {one['n_peer_scores_that_differ']:,} have another score than stated, "
        f"{one['n_differ_with_rare_letters']:,} of them with letters other than the 20, such as X"
        for one in kept
        if one["n_peer_scores_that_differ"]
    ]


def cuts(kept: list[dict[str, Any]]) -> list[str]:
    """Where the default cap cuts, and how good the last alignment is that it keeps."""
    lines = [f"More than {DEFAULT_CAP} alignments; the E-value of number {DEFAULT_CAP}, for the database of the case:"]
    for one in kept:
        some = sorted((evalue, pair) for pair, evalue in one["cuts"].items() if evalue is not None)
        if some:
            n_significant = sum(evalue <= SIGNIFICANT for evalue, _ in some)
            lines.append(
                f"  {one['case']}, {one['peer']}: {len(some):,} pairs, {n_significant:,} with E <= {SIGNIFICANT:g}; "
                f"from {some[0][0]:.2g} ({some[0][1]}) to {some[-1][0]:.2g}"
            )
    return lines if len(lines) > 1 else []


if __name__ == "__main__":
    sys.exit(main())
