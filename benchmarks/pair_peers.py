"""Compare batches of pairs on the CPU with every vectorised function of parasail.

    python benchmarks/pair_peers.py                       # .venv-peers as `make bench` sets it up
    python benchmarks/pair_peers.py --length 150 --pairs 20000 --threads 1

Pairs are of DNA (2, -3, a gap of 1 costs 7, each further letter 2) and of proteins (BLOSUM62, 11/1), in every mode,
with paths and with scores only. They are `related` or `random`, with each sequence in one pair, or `all`: a few random
queries against all targets, which share their queries. Tools are measured in turn, and the best of several rounds
counts. All scores must agree; a function that differs from all others is named and not counted.

With paths, exaln is timed from arrays of codes to arrays of scores, positions and CIGARs. parasail is timed in C++,
both without the CIGAR, when its trace functions only fill the table for it, and with it. The ratio is to the fastest
without, so it is a lower limit. For scores only, the ratio is to parasail's fastest score function. Two columns show
exaln's own kernels for one query against the same targets, in lanes of 8 and 16 bits, on one thread, and `of kernel 8`
is the share of the first that pairs reach: a cell of a pair with its own query takes more operations, because its score
has to be looked up. The file also has the bound of that kernel, the cell update alone (`bare_loop`).

Writes benchmarks/runs/<date>-<machine>/pair_peers.json after every row, so a stopped run keeps its rows. Rows in the
file that a run does not measure stay in it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cpu_peers import machine

import exaln
from exaln import _core
from exaln.alignments.aligned_pairs import PairList
from exaln.engines.cpu.engine import CpuEngine
from exaln.pairwise.pairs import pair_task, paired
from exaln.pairwise.routing import align_pairs, score_pairs
from exaln.scoring.modes import Mode
from exaln.sequences.alphabet import DNA, PROTEIN
from exaln.sequences.records import Records

HERE = Path(__file__).parent
MODES = {"local": "sw", "global": "nw", "semiglobal": "sg_dx", "overlap": "sg"}
"""Names of the modes in exaln, and of parasail's functions."""

WAYS = ("striped", "scan", "diag")
WIDTHS = ("sat", "16")
COSTS = {
    "DNA": {"matrix": "", "match": 2, "mismatch": -3, "gap_first": 7, "gap_extend": 2},
    "protein": {"matrix": "blosum62", "match": 0, "mismatch": 0, "gap_first": 12, "gap_extend": 1},
}
RELATIONS, WHATS = ["related", "random", "all"], ["path", "score"]
ALL_QUERIES = 8
"""Queries of the relation `all`."""

LEAST_SECONDS = 0.1
N_LETTERS = {"DNA": 4, "protein": 20}


def scoring_of(kind: str) -> exaln.Scoring:
    """COSTS as a Scoring."""
    if kind == "DNA":
        return exaln.Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
    return exaln.Scoring("BLOSUM62", gap_open=11, gap_extend=1)


def make_pairs(kind: str, n: int, length: int, relation: str) -> tuple[Records, Records, PairList]:
    """Pairs of one length. Related sequences differ in a tenth of their letters, of which two thirds are gaps."""
    rng = np.random.default_rng(length)
    codes = rng.integers(0, N_LETTERS[kind], (n, length)).astype(np.uint8)
    alphabet = DNA if kind == "DNA" else PROTEIN
    if relation == "all":
        targets = Records.of(alphabet, list(codes[: n // ALL_QUERIES]))
        return Records.of(alphabet, list(codes[-ALL_QUERIES:])), targets, paired(ALL_QUERIES, len(targets), "all")
    others = (
        [mutated(rng, query, N_LETTERS[kind]) for query in codes] if relation == "related" else rng.permutation(codes)
    )
    return Records.of(alphabet, list(codes)), Records.of(alphabet, list(others)), paired(n, n, "zip")


def mutated(rng: np.random.Generator, codes: np.ndarray[Any, Any], n_letters: int) -> np.ndarray[Any, Any]:
    """A mutated copy of the same length."""
    kept = codes[rng.random(len(codes)) > 0.033]
    changed = np.where(rng.random(len(kept)) < 0.033, rng.integers(0, n_letters, len(kept)), kept)
    n_new = len(codes) - len(kept)
    return np.insert(changed, rng.integers(0, len(kept), n_new), rng.integers(0, n_letters, n_new)).astype(np.uint8)


class Parasail:
    """parasail in a separate process."""

    def __init__(self, python: Path) -> None:
        command = [str(python), str(HERE / "pair_peer_worker.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = self._read()

    def load(self, kind: str, queries: Records, targets: Records, pairs: PairList) -> None:
        """Set the pairs for `run`."""
        sides = (queries, pairs.query), (targets, pairs.target)
        texts = [[r.alphabet.decode(r.sequence(row)) for row in rows.tolist()] for r, rows in sides]
        self._ask({"queries": texts[0], "targets": texts[1], "costs": COSTS[kind]})

    def run(self, function: str, threads: int, *, wants_cigar: bool) -> tuple[float, list[int] | None]:
        """Seconds, and scores; None if this version of parasail does not have the function."""
        answer = self._ask({"function": function, "threads": threads, "wants_cigar": wants_cigar})
        return answer["seconds"], answer["scores"]

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._read()


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the fastest of several calls, and the result."""
    best, begin = float("inf"), time.perf_counter()
    while True:
        start = time.perf_counter()
        result = work()
        end = time.perf_counter()
        best = min(best, end - start)
        if end - begin > LEAST_SECONDS:
            return best, result


class Contest:
    """One set of pairs: the best time of each function, and whether all scores agree."""

    def __init__(self, kind: str, length: int, pairs: tuple[Records, Records, PairList], parasail: Parasail) -> None:
        self.kind, self.length, self.parasail = kind, length, parasail
        self.queries, self.targets, self.pairs = pairs
        self.scoring = scoring_of(kind)
        self.cells = float(self.queries.lengths[self.pairs.query] @ self.targets.lengths[self.pairs.target])
        parasail.load(kind, *pairs)

    def measure(self, mode: str, threads: int, rounds: int, *, wants_paths: bool) -> dict[str, Any]:
        """GCUPS of each function, run in turn, the best of several rounds."""
        engine = CpuEngine(threads)
        task = pair_task(self.queries, self.targets, self.pairs, self.scoring, Mode.parse(mode))
        best: dict[str, float] = {}
        wrong: dict[str, int] = {}
        for _ in range(rounds):
            seconds, found = timed(lambda: (align_pairs if wants_paths else score_pairs)(engine, task))
            ours = found.scores if wants_paths else found
            best["exaln"] = min(best.get("exaln", seconds), seconds)
            for function, label, wants_cigar in self._functions(mode, wants_paths=wants_paths):
                seconds, scores = self.parasail.run(function, threads, wants_cigar=wants_cigar)
                if scores is None:
                    continue
                wrong[label] = int((self._comparable(scores, mode) != ours).sum())
                best[label] = min(best.get(label, seconds), seconds)
            for bits in () if wants_paths or threads > 1 else (8, 16):
                seconds = self._kernel_seconds(engine.isa, bits)
                best[f"kernel {bits}"] = min(best.get(f"kernel {bits}", seconds), seconds)
        gcups = {name: self.cells / seconds / 1e9 for name, seconds in best.items()}
        rivals = {name: gcups[name] for name, n_wrong in wrong.items() if n_wrong == 0 and "cigar" not in name}
        fastest = max(rivals, key=lambda name: rivals[name])
        return {
            "letters": self.kind,
            "length": self.length,
            "mode": mode,
            "threads": threads,
            "path": wants_paths,
            "gcups": gcups,
            "fastest": fastest,
            "ratio": gcups["exaln"] / rivals[fastest],
            "of_kernel": gcups["exaln"] / gcups["kernel 8"] if "kernel 8" in gcups else None,
            "bare_loop": _core.bare_loop(engine.isa, 8, LEAST_SECONDS) if "kernel 8" in gcups else None,
            "differing_scores": {name: n_wrong for name, n_wrong in wrong.items() if n_wrong},
        }

    @staticmethod
    def _functions(mode: str, *, wants_paths: bool) -> list[tuple[str, str, bool]]:
        """(function, label, whether with the CIGAR) of each function to measure."""
        trace = "trace_" if wants_paths else ""
        names = [f"{MODES[mode]}_{trace}{way}_{width}" for way in WAYS for width in WIDTHS]
        plain = [(name, name, False) for name in names]
        return plain + [(name, f"{name} + cigar", True) for name in names if wants_paths]

    @staticmethod
    def _comparable(scores: list[int], mode: str) -> np.ndarray[Any, Any]:
        """parasail's overlaps have at least one letter of each sequence; those of exaln may be empty and score 0."""
        return np.maximum(scores, 0) if mode == "overlap" else np.array(scores)

    def _kernel_seconds(self, isa: str, bits: int) -> float:
        """Seconds of the kernel for one query and many targets for as many cells, on one thread."""
        query, targets = self.queries.sequence(0), self.targets
        costs = (self.scoring.matrix, self.scoring.gap_first, self.scoring.gap_extend)
        seconds, _ = timed(
            lambda: _core.score_kernel(isa, "group", bits, query, targets.codes, targets.offsets, *costs)
        )
        return seconds * self.cells / float(len(query) * targets.lengths.sum())


def print_row(row: dict[str, Any], relation: str) -> None:
    """Print one line of the table."""
    gcups = row["gcups"]
    with_cigar = max((speed for name, speed in gcups.items() if "cigar" in name), default=float("nan"))
    kernels = "".join(f"{gcups.get(f'kernel {bits}', float('nan')):8.2f}" for bits in (8, 16))
    of_kernel = f"{row['of_kernel']:7.0%}" if row["of_kernel"] else f"{'':7}"
    wrong = [name for name in row["differing_scores"] if "cigar" not in name]
    agreement = f"all agree but {', '.join(wrong)}" if wrong else "all agree"
    print(
        f"{row['letters']:8}{relation:8}{row['length']:6}  {row['mode']:11}{'path' if row['path'] else 'score':6}"
        f"{row['threads']:3}{gcups['exaln']:8.2f}{gcups[row['fastest']]:10.2f}{with_cigar:9.2f}{kernels}"
        f"{of_kernel}{row['ratio']:7.1f}  {row['fastest']:24}{agreement}",
        flush=True,
    )


class Run:
    """The rows of this run, and those of earlier runs that it does not measure again, in one file."""

    KEY = ("letters", "length", "mode", "threads", "path", "pairs", "relation")

    def __init__(self, versions: dict[str, str]) -> None:
        name = "-".join(machine()["cpu"].lower().replace("(r)", "").split())
        directory = HERE / "runs" / f"{datetime.date.today()}-{name}-{os.cpu_count()}-cores"
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "pair_peers.json"
        self.head = {"machine": machine(), "versions": versions}
        self.rows = json.loads(self.path.read_text())["rows"] if self.path.exists() else []
        self.has_wrong_scores = False

    def add(self, row: dict[str, Any]) -> None:
        """Add a row, which replaces an older one of the same pairs."""
        row["command"] = sys.argv
        self.has_wrong_scores |= sum("cigar" not in name for name in row["differing_scores"]) > 1
        self.rows = [old for old in self.rows if any(old[key] != row[key] for key in self.KEY)] + [row]
        self.path.write_text(json.dumps(self.head | {"rows": self.rows}, indent=1) + "\n")


def main() -> int:
    """Run the benchmark. Returns exit code 1 if more than one function of parasail gives other scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers-python", type=Path, default=HERE.parent / ".venv-peers" / "bin" / "python")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--length", type=int, nargs="+", default=[512, 150])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--letters", nargs="+", choices=COSTS, default=list(COSTS))
    parser.add_argument("--relations", nargs="+", choices=RELATIONS, default=RELATIONS)
    parser.add_argument("--what", nargs="+", choices=WHATS, default=WHATS)
    options = parser.parse_args()
    parasail = Parasail(options.peers_python)
    versions = {"exaln": exaln.__version__, **parasail.versions}
    print(f"{options.pairs:,} pairs; {machine()['cpu']}, {os.cpu_count()} cores; exaln on {CpuEngine().isa}")
    print(f"GCUPS, best of {options.rounds}")
    columns = "letters pairs length  mode       what  threads exaln  parasail +cigar kernel 8      16   of 8  ratio"
    print(f"{columns}  {'fastest':24}scores")
    run = Run(versions)
    for kind in options.letters:
        for length in options.length:
            for relation in options.relations:
                contest = Contest(kind, length, make_pairs(kind, options.pairs, length, relation), parasail)
                for mode in options.modes:
                    for wants_paths in (what == "path" for what in options.what):
                        for threads in options.threads:
                            row = contest.measure(mode, threads, options.rounds, wants_paths=wants_paths)
                            run.add(row | {"pairs": options.pairs, "relation": relation})
                            print_row(row, relation)
    print(f"written to {run.path}")
    return int(run.has_wrong_scores)


if __name__ == "__main__":
    sys.exit(main())
