"""Compare pairs of mixed lengths with pairs of equal lengths on the cpu engine, in one tree or in several.

    python benchmarks/mixed_lengths.py --trees ../before . --pairs 1000 5000 100000

A tree is a checkout: its own .venv/bin/python runs if there is one, else this interpreter, with the src of other
trees and with the exaln that it finds for this one. Trees are measured in turn, and the best of several rounds
counts. Pairs are `random`, or `related` (a tenth of the letters changed); their lengths are all 525 (`equal`) or
drawn from 50 to 1,000 (`mixed`), of query and target on their own if random. The call that is timed is that of the
engine, from arrays of codes to arrays of scores, or of scores, positions and CIGAR operations; on one thread, its
processor time. Scores of all trees must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

EQUAL_LENGTH, SHORTEST, LONGEST = 525, 50, 1000
LETTERS = {"DNA": 4, "protein": 20}
MODES = ["local", "global", "semiglobal", "overlap"]
WHATS = ["score", "path"]
KEYS = ("letters", "what", "mode", "relation", "pairs", "lengths")


def worker() -> None:
    """Answer requests, one line of JSON each: seconds of the best call, cells, and a sum of the scores."""
    for line in sys.stdin:
        print(json.dumps(measure(**json.loads(line))), flush=True)


def measure(
    letters: str, what: str, mode: str, relation: str, pairs: int, lengths: str, threads: int, seconds: float
) -> dict[str, float]:
    """The best call of as many as take `seconds`."""
    from exaln.engines.cpu.engine import CpuEngine
    from exaln.pairwise.pairs import pair_task, paired
    from exaln.scoring.modes import Mode

    queries, targets = make_records(letters, relation, pairs, lengths)
    task = pair_task(queries, targets, paired(pairs, pairs, "zip"), scoring_of(letters), Mode.parse(mode))
    clock = time.process_time if threads == 1 else time.perf_counter
    engine, best, begin = CpuEngine(threads), float("inf"), time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = clock()
        scores = engine.score(task) if what == "score" else engine.align(task).scores
        best = min(best, clock() - start)
    return {"seconds": best, "cells": float(queries.lengths @ targets.lengths), "scores": int(scores.sum())}


def scoring_of(letters: str) -> Any:
    """DNA: 2, -3, a gap of 1 costs 7, each further letter 2. Proteins: BLOSUM62, 11/1."""
    from exaln import Scoring

    if letters == "DNA":
        return Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
    return Scoring("BLOSUM62", gap_open=11, gap_extend=1)


def make_records(letters: str, relation: str, n: int, lengths: str) -> tuple[Any, Any]:
    """Queries and targets, one target for each query."""
    from exaln.sequences.alphabet import DNA, PROTEIN
    from exaln.sequences.records import Records

    rng, n_letters = np.random.default_rng(n), LETTERS[letters]
    sides = []
    for _ in range(2):
        sizes = rng.integers(SHORTEST, LONGEST + 1, n) if lengths == "mixed" else np.full(n, EQUAL_LENGTH)
        sides.append([rng.integers(0, n_letters, size).astype(np.uint8) for size in sizes.tolist()])
    if relation == "related":
        sides[1] = [changed(rng, codes, n_letters) for codes in sides[0]]
    alphabet = DNA if letters == "DNA" else PROTEIN
    return Records.of(alphabet, sides[0]), Records.of(alphabet, sides[1])


def changed(rng: np.random.Generator, codes: np.ndarray[Any, Any], n_letters: int) -> np.ndarray[Any, Any]:
    """A copy with a tenth of its letters drawn anew, and one gap."""
    copy = np.where(rng.random(len(codes)) < 0.1, rng.integers(0, n_letters, len(codes)), codes).astype(np.uint8)
    return np.roll(copy, 3)


class Tree:
    """A checkout whose worker answers requests."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        own = root / ".venv" / "bin" / "python"
        python = str(own) if own.exists() else sys.executable
        is_this = root.resolve() == Path(__file__).resolve().parents[1]
        path = {} if own.exists() or is_this else {"PYTHONPATH": str(root / "src")}
        command = [python, str(Path(__file__).resolve()), "--worker"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | path | environment
        )

    def ask(self, **request: Any) -> dict[str, float]:
        """The worker's answer."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer: dict[str, float] = json.loads(self.process.stdout.readline())
        return answer


def best_of(trees: list[Tree], rounds: int, request: dict[str, Any]) -> list[float]:
    """GCUPS of each tree. Raises ValueError if their scores differ."""
    answers = [[tree.ask(**request) for tree in trees] for _ in range(rounds)]
    if len({answer["scores"] for row in answers for answer in row}) > 1:
        raise ValueError(f"scores differ: {request}")
    return [max(row[i]["cells"] / row[i]["seconds"] for row in answers) / 1e9 for i in range(len(trees))]


def main() -> int:
    """Print a row for each kind of pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--trees", type=Path, nargs="+", default=[Path(__file__).resolve().parents[1]])
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 5000, 20_000])
    parser.add_argument("--letters", nargs="+", choices=LETTERS, default=list(LETTERS))
    parser.add_argument("--what", nargs="+", choices=WHATS, default=WHATS)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--relations", nargs="+", choices=["random", "related"], default=["random", "related"])
    parser.add_argument("--lengths", nargs="+", choices=["equal", "mixed"], default=["equal", "mixed"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.2, help="per call of a tree, at least one run")
    parser.add_argument("--isa", default="", help="EXALN_ISA of the workers")
    options = parser.parse_args()
    if options.worker:
        worker()
        return 0
    trees = [Tree(root, {"EXALN_ISA": options.isa} if options.isa else {}) for root in options.trees]
    print(f"GCUPS, {options.threads} thread(s); trees: {', '.join(map(str, options.trees))}")
    cases = product(options.letters, options.what, options.modes, options.relations, options.pairs, options.lengths)
    for case in cases:
        request = dict(zip(KEYS, case, strict=True)) | {"threads": options.threads, "seconds": options.seconds}
        gcups = best_of(trees, options.rounds, request)
        letters, what, mode, relation, n, lengths = case
        print(
            f"{letters:8}{what:6}{mode:11}{relation:8}{n:9,} {lengths:6}" + "".join(f"{g:8.2f}" for g in gcups),
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
