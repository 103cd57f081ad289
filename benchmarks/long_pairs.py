"""Measure one long pair: time of each stage, peak memory, score and ends, compared with published results.

    python benchmarks/long_pairs.py genome_a.fasta.gz genome_b.fasta.gz --engine cpu
    python benchmarks/long_pairs.py --made 30_000_000 --engine cuda     # a random sequence and a mutated copy of it
    python benchmarks/long_pairs.py --made 1_000_000 --score            # only the score

Match 1, mismatch -3, gaps 3/2; different codes are always a mismatch, as in CUDAlign. The path is re-scored. With
--work-dir checkpoints are stored in files, and the same command resumes after an interruption. --out writes the figures
as JSON, already during the run.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import exaln
from exaln.engines.bench.runs import driver_version, machine
from exaln.engines.choice import choose_engine
from exaln.engines.cuda.runtime.probe import probe_machine
from exaln.pairwise.long.driver import LongOptions, align_long, score_long
from exaln.scoring.modes import Mode
from exaln.sequences.alphabet import DNA
from exaln.sequences.fasta import read_records

KNOWN = {
    ("MT-human", "MT-orang"): (6_680, 16_569, 16_025),
    ("AF133821.1", "AY352275.1"): (5_091, 9_418, 9_114),
    ("phageP1", "phageP1_mutated_80"): (6_572, 94_419, 94_639),
    ("phageP1", "phageP1_mutated_90"): (53_163, 94_471, 94_658),
    ("phageP1", "phageP1_mutated_99"): (90_103, 94_481, 94_424),
    ("shew_os185", "shew_os223"): (112_510, 188_953, 188_188),
    ("CP000051.1", "AE002160.2"): (88_353, 722_725, 1_072_950),
}
"""Score and ends of local alignments according to CUDAlign, SW# and SSW."""


@dataclass
class Stages:
    """Records when each stage begins, shows the progress, and writes the figures so far to a file."""

    out: Path | None
    facts: dict[str, Any]
    start: float = field(default_factory=time.perf_counter)
    began: dict[str, float] = field(default_factory=dict)
    shown: float = 0.0
    gpu_bytes: int = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take the progress of a stage."""
        now = time.perf_counter() - self.start
        if stage not in self.began:
            self.began[stage] = now
            self.keep({"stages_began": self.began})
        if now - self.shown > 5:
            self.shown = now
            self.gpu_bytes = max(self.gpu_bytes, gpu_bytes_used())
            share = f"{100 * done / max(1, total):.1f} %"
            print(f"  {now:.0f} s {stage}: {share}, {peak_mb():,.0f} MB", file=sys.stderr, flush=True)

    def keep(self, more: dict[str, Any]) -> None:
        """Add figures and write all of them, so that a run that is cut off leaves a file."""
        self.facts |= more
        if self.out is not None:
            self.out.write_text(json.dumps(self.facts, indent=1) + "\n", encoding="utf-8")


def peak_mb() -> float:
    """Peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def gpu_bytes_used() -> int:
    """Memory in use on all GPUs, by any process; 0 without GPUs."""
    gpus = probe_machine().get("gpus") or []
    return sum(gpu["memory_bytes"] - gpu["free_bytes"] for gpu in gpus if gpu.get("free_bytes") is not None)


def strict_scoring() -> exaln.Scoring:
    """Score 1 for equal letters and -3 for any others, gaps 3/2."""
    same = np.eye(len(DNA.letters), dtype=np.bool_)
    return exaln.Scoring(np.where(same, 1, -3).astype(np.int32), alphabet=DNA, gap_open=3, gap_extend=2)


def made_pair(length: int) -> tuple[Any, Any]:
    """A random sequence, and a copy with 5 % substitutions and 2 % insertions and deletions."""
    random = np.random.default_rng(1)
    query = random.integers(0, 4, length).astype(np.uint8)
    other = (query + random.integers(1, 4, length)).astype(np.uint8) % 4
    copy = np.where(random.random(length) < 0.05, other, query).astype(np.uint8)
    copies = 1 - (random.random(length) < 0.01).astype(np.int64) + (random.random(length) < 0.01)
    return query, np.repeat(copy, copies)


def measure(query: Any, target: Any, arguments: argparse.Namespace, facts: dict[str, Any]) -> None:
    """Measure one pair and add the figures to `facts`."""
    engine, scoring, mode = (
        choose_engine(arguments.engine, arguments.threads),
        strict_scoring(),
        Mode.parse(arguments.mode),
    )
    facts |= {"engine": engine.describe(), "mode": mode.name, "query": len(query), "target": len(target)}
    stages, details = Stages(arguments.out, facts), list[str]()
    options = LongOptions(
        arguments.work_dir, arguments.memory, stages, detail=details.append, prunes=not arguments.whole
    )
    if arguments.score:
        facts["score"] = score_long(engine, query, target, scoring, mode, options)
    else:
        found = align_long(engine, query, target, scoring, mode, options)
        facts |= {"score": found.score, "positions": found.positions, "counts": found.counts}
    ended = time.perf_counter() - stages.start
    scored = stages.began.get("path", ended)
    facts |= {"work": "; ".join(details), "score_seconds": scored, "path_seconds": ended - scored}
    facts |= {"score_gcups": len(query) * len(target) / scored / 1e9, "peak_mb": peak_mb()}
    facts["gpu_mb"] = max(stages.gpu_bytes, gpu_bytes_used()) / 2**20
    stages.keep({})


def check(names: tuple[str, str], facts: dict[str, Any]) -> None:
    """Compare score and ends with the published ones; exit if they differ."""
    if names not in KNOWN or facts["mode"] != "local":
        return
    found = facts["score"], *facts.get("positions", (0, *KNOWN[names][1:2], 0, *KNOWN[names][2:]))[1::2]
    if found != KNOWN[names]:
        sys.exit(f"{' x '.join(names)}: score and ends are {found}, and should be {KNOWN[names]}")
    facts["is_known"] = True


def main() -> None:
    """Measure one pair, print the figures and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FASTA", help="two files; the first record of each is used"
    )
    parser.add_argument(
        "--made", type=int, metavar="N", help="a sequence of N letters and a mutated copy in place of files"
    )
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--mode", default="local")
    parser.add_argument("--score", action="store_true", help="only the score, without a path")
    parser.add_argument("--whole", action="store_true", help="compute all cells, without pruning")
    parser.add_argument("--memory", type=int, help="memory limit in bytes")
    parser.add_argument("--work-dir", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.made:
        names, pair = ("made", str(arguments.made)), made_pair(arguments.made)
    elif len(arguments.files) == 2:
        first, second = (path.name.split(".f")[0] for path in arguments.files)
        names, pair = (first, second), tuple(read_records(path, alphabet=DNA).sequence(0) for path in arguments.files)
    else:
        parser.error("two files, or --made N")
    facts: dict[str, Any] = {"exaln": exaln.__version__, "command": sys.argv, "machine": machine()}
    facts |= {"driver": driver_version(), "pair": names}
    measure(*pair, arguments, facts)
    check(names, facts)
    for name, value in facts.items():
        print(f"{name:14} {value:.2f}" if isinstance(value, float) else f"{name:14} {value}")


if __name__ == "__main__":
    main()
