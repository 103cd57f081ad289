"""Compare simulated statistics with NCBI's table, and with new random pairs for scorings that the table lacks.

    python benchmarks/simulated_statistics.py                # all scorings of NCBI's table, then ten that it lacks
    python benchmarks/simulated_statistics.py --only PAM30   # those whose names begin so

The first table has lambda, K and E-values of the simulation beside those of NCBI: the E-values of the scores at which
NCBI's are 10 and 0.001 in a search space of 6e10 cells. The second compares pairs of random sequences, from another
seed, with the E-values of the simulation: how many pairs have an E-value of at most x for a database of one target of
the same length, over how many are expected. Parameters are kept in the cache folder (EXALN_CACHE), so that a repetition
is quick; the seconds are of those that were computed. Writes simulated_statistics.txt, .json and .svg into
benchmarks/runs/<date>-<cores>-cores/.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exaln import Scoring
from exaln.engines.choice import choose_engine
from exaln.errors import ExalnError
from exaln.sequences.alphabet import Alphabet
from exaln.simulation.estimate import sampled
from exaln.simulation.kept import parameters_of_any
from exaln.simulation.random_sequences import background
from exaln.statistics.evalues import Statistics
from exaln.statistics.karlin_altschul import DATA, parameters_of

RUNS = Path(__file__).parent / "runs"
SPACE = 6e10
EVALUES = (10.0, 1e-3)
FRESH_SEED = 20_000
FRESH_PLAN = ((150, 1600), (350, 1600), (1000, 160))
"""Lengths and numbers of the sequences of new pairs."""

LIMITS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
FIVE = Alphabet("custom", "ABCDE")
UNSEEN = [
    Scoring("BLOSUM62", gap_open=5, gap_extend=5),
    Scoring("BLOSUM62", gap_open=8, gap_extend=3),
    Scoring("BLOSUM62", gap_open=0, gap_extend=8),
    Scoring("VTML200"),
    Scoring("VTML80"),
    Scoring("PAM120"),
    Scoring(match=1, mismatch=-1, gap_open=3, gap_extend=2),
    Scoring(match=5, mismatch=-3, gap_open=10, gap_extend=10),
    Scoring(match=1, mismatch=-3, gap_open=5, gap_extend=1),
    Scoring(match=4, mismatch=-5, gap_open=8, gap_extend=2, alphabet=FIVE),
]
"""Scorings that NCBI's table lacks."""


@dataclass(frozen=True)
class Row:
    """A scoring of NCBI's table: simulated over tabulated values, and the seconds of the simulation."""

    scoring: str
    lambda_: float
    lambda_ratio: float
    lambda_error: float
    k: float
    k_ratio: float
    k_error: float
    evalue_ratios: tuple[float, ...]
    seconds: float

    @property
    def is_within(self) -> bool:
        """Lambda within 1 %, K within 8 %, E-values within a factor of 1.3."""
        ratios = (*self.evalue_ratios, *(1 / ratio for ratio in self.evalue_ratios))
        return abs(self.lambda_ratio - 1) <= 0.01 and abs(self.k_ratio - 1) <= 0.08 and max(ratios) <= 1.3

    def text(self) -> str:
        """As a line of the table."""
        lambda_ = f"{self.lambda_:7.4f} {100 * (self.lambda_ratio - 1):+6.2f} ± {100 * self.lambda_error:4.2f}"
        k = f"{self.k:7.4f} {100 * (self.k_ratio - 1):+6.1f} ± {100 * self.k_error:4.1f}"
        evalues = "  ".join(f"{ratio:5.2f}" for ratio in self.evalue_ratios)
        return f"{self.scoring:<18} {lambda_}  {k}  {evalues}  {'' if self.is_within else 'outside'}".rstrip()


def table_scorings() -> Iterator[Scoring]:
    """All scorings of NCBI's table."""
    tables: dict[str, Any] = json.loads(DATA.read_text(encoding="ascii"))
    for name, table in tables["protein"].items():
        for gap_open, gap_extend, *_ in table["rows"]:
            yield Scoring(name, gap_open=gap_open, gap_extend=gap_extend)
    for name, table in tables["nucleotide"].items():
        match, mismatch = map(int, name.split("/"))
        gaps = [row[:2] for row in table["rows"]] + ([[0, match / 2 - mismatch]] if "linear" in table else [])
        for gap_open, gap_extend in gaps:
            yield Scoring(match=match, mismatch=mismatch, gap_open=gap_open, gap_extend=gap_extend)


def name_of(scoring: Scoring) -> str:
    """A short name, as in "BLOSUM62 11/1"."""
    return f"{scoring.name} {scoring.gap_open / scoring.scale:g}/{scoring.gap_extend / scoring.scale:g}"


def compared(scoring: Scoring, engine: Any) -> Row | str:
    """A row of the first table, or why there is none."""
    table, begun = parameters_of(scoring), time.perf_counter()
    assert table is not None
    try:
        found = parameters_of_any(scoring, engine, 1)
    except ExalnError as error:
        return f"{name_of(scoring):<18} refused: {error}"
    ratios = []
    for evalue in EVALUES:
        score = math.log(table.k * SPACE / evalue) / table.lambda_
        ratios.append(found.k * SPACE * math.exp(-found.lambda_ * score) / evalue)
    return Row(
        name_of(scoring),
        found.lambda_,
        found.lambda_ / table.lambda_,
        found.lambda_error,
        found.k,
        found.k / table.k,
        found.k_error,
        tuple(ratios),
        time.perf_counter() - begun,
    )


def calibrated(scoring: Scoring, engine: Any) -> dict[str, Any]:
    """New random pairs with an E-value of at most each limit, over those expected."""
    parameters = parameters_of_any(scoring, engine, 1)
    statistics = Statistics.with_parameters(parameters, 1, 1)
    found: dict[str, Any] = {
        "scoring": name_of(scoring),
        "lambda": parameters.lambda_,
        "k": parameters.k,
        "lengths": {},
    }
    for sample in sampled(scoring, engine, background(scoring.alphabet), FRESH_PLAN, FRESH_SEED):
        evalues = statistics.evalues(np.arange(len(sample.counts)), sample.length, sample.length) * sample.length
        chances, reaching = -np.expm1(-evalues), sample.at_least()
        points = []
        for limit in LIMITS:  # scores are whole numbers: the limit is the chance of the first score at or below it
            score = int(np.argmax(chances <= limit)) if (chances <= limit).any() else len(chances) - 1
            expected = float(chances[score]) * sample.n_pairs
            points.append([float(chances[score]), int(reaching[score]), expected])
        found["lengths"][sample.length] = points
    return found


def calibration_text(one: dict[str, Any]) -> Iterator[str]:
    """The lines of a scoring in the second table."""
    for length, points in one["lengths"].items():
        ratios = "  ".join(f"{seen / expected:4.2f}" if expected >= 10 else "   -" for _, seen, expected in points)
        yield f"{one['scoring']:<18} {length:5}  {ratios}"


def draw(calibrations: list[dict[str, Any]], path: Path) -> None:
    """Observed over expected numbers of pairs by P-value, for all scorings and lengths."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for index, one in enumerate(calibrations):
        for style, points in zip(("-", "--", ":"), one["lengths"].values(), strict=True):
            kept = [(chance, seen / expected) for chance, seen, expected in points if expected >= 30]
            label = one["scoring"] if style == "-" else None
            axes.plot(*zip(*kept, strict=True), style, color=f"C{index}", linewidth=1, label=label)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.axhspan(0.85, 1.15, color="grey", alpha=0.2, linewidth=0)
    axes.set(xscale="log", ylim=(0.5, 1.5), xlabel="P-value", ylabel="pairs observed / expected")
    axes.set_title("New random pairs; lines: 150, dashes: 350, dots: 1,000 letters", fontsize=9)
    axes.legend(fontsize=7, ncols=2)
    figure.savefig(path)


def main() -> None:
    """Print both tables and write the run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of scorings begin so")
    parser.add_argument("--engine", default="cpu")
    given = parser.parse_args()
    engine, lines = choose_engine(given.engine), list[str]()

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    say(f"{engine.describe()}; simulated / NCBI - 1 in percent; E-values at NCBI's {EVALUES} in {SPACE:.0e} cells")
    say(f"{'scoring':<18} {'lambda':>7} {'%':>6}          {'K':>7} {'%':>6}")
    rows = []
    for scoring in table_scorings():
        if name_of(scoring).startswith(given.only):
            row = compared(scoring, engine)
            say(row if isinstance(row, str) else row.text())
            rows += [] if isinstance(row, str) else [row]
    if rows:
        say(f"{sum(row.is_within for row in rows)} of {len(rows)} scorings within 1 %, 8 % and a factor of 1.3")
        say(f"slowest simulation {max(row.seconds for row in rows):.1f} s (0 from the cache)")
    say("")
    say("New random pairs: observed / expected at P <= " + ", ".join(f"{limit:g}" for limit in LIMITS))
    calibrations = []
    for scoring in UNSEEN:
        if name_of(scoring).startswith(given.only):
            calibrations.append(calibrated(scoring, engine))
            for line in calibration_text(calibrations[-1]):
                say(line)
    if not given.only:
        folder = RUNS / f"{datetime.date.today():%Y-%m-%d}-{os.cpu_count()}-cores"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "simulated_statistics.txt").write_text("\n".join(lines) + "\n")
        values = {"rows": [vars(row) for row in rows], "calibration": calibrations}
        (folder / "simulated_statistics.json").write_text(json.dumps(values, indent=1) + "\n")
        draw(calibrations, folder / "simulated_statistics.svg")


if __name__ == "__main__":
    main()
