"""What one call of `exaln.score` and `exaln.align` costs for two strings, beside parasail from Python if it is there.

    python benchmarks/small_calls.py [--lengths 30,100,300,1000,5000] [--general] [--limit CELLS]

Prints microseconds per call, the best of several repeats: with default scoring, with `scoring=`, with the CIGAR as
text, and in global mode. --general adds the general way, which larger pairs and all other forms of sequences go, and
with --limit it shows from where on that is faster. parasail's scores are compared with ours.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import random
import time
from collections.abc import Callable
from typing import Any

import exaln
from exaln.engines.cpu.engine import CpuEngine
from exaln.pairwise import short_pair

LETTERS = {"dna": "ACGT", "protein": "ACDEFGHIKLMNPQRSTVWY"}
IDENTITY, REPEATS = 0.8, 7


def main() -> None:
    """Print one table per molecule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="30,100,300,1000,5000", help="letters of both strings")
    parser.add_argument("--general", action="store_true", help="also the general way")
    parser.add_argument("--seconds", type=float, default=0.02, help="time of one of the repeats of a figure")
    parser.add_argument("--limit", type=int, default=short_pair.MAX_CELLS, help="cells of the largest short pair")
    options = parser.parse_args()
    short_pair.MAX_CELLS = options.limit
    print(f"{CpuEngine().describe()}, Python {platform.python_version()}; microseconds per call")
    for molecule in LETTERS:
        rows = [measured(molecule, int(text), options) for text in options.lengths.split(",")]
        print_table(molecule, rows)


def measured(molecule: str, length: int, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one length, by name."""
    query, target = pair(molecule, length)
    scoring = exaln.Scoring.default(molecule)
    calls: dict[str, Callable[[], Any]] = {
        "score": lambda: exaln.score(query, target),
        "score scoring=": lambda: exaln.score(query, target, scoring=scoring),
        "align": lambda: exaln.align(query, target),
        "align scoring=": lambda: exaln.align(query, target, scoring=scoring),
        "align, CIGAR": lambda: exaln.align(query, target).cigar,
        "align global": lambda: exaln.align(query, target, mode="global"),
    }
    calls |= peer_calls(molecule, query, target)
    found = {"length": length} | {name: best(call, options.seconds) for name, call in calls.items()}
    if options.general:
        found |= general(query, target, options.seconds)
    return found


def pair(molecule: str, length: int) -> tuple[str, str]:
    """Two strings of which the second is a mutated copy of the first."""
    draw, letters = random.Random(length), LETTERS[molecule]
    query = "".join(draw.choices(letters, k=length))
    return query, "".join(letter if draw.random() < IDENTITY else draw.choice(letters) for letter in query)


def peer_calls(molecule: str, query: str, target: str) -> dict[str, Callable[[], Any]]:
    """parasail's local score and path with the same costs; none if it is not installed."""
    try:
        parasail = importlib.import_module("parasail")
    except ImportError:
        return {}
    is_dna = molecule == "dna"
    matrix = parasail.matrix_create("ACGT", 2, -3) if is_dna else parasail.blosum62
    costs = (7, 2, matrix) if is_dna else (12, 1, matrix)
    assert parasail.sw_striped_16(query, target, *costs).score == exaln.score(query, target)
    return {
        "parasail score": lambda: parasail.sw_striped_16(query, target, *costs).score,
        "parasail trace": lambda: parasail.sw_trace_striped_16(query, target, *costs),
        "parasail CIGAR": lambda: parasail.sw_trace_striped_16(query, target, *costs).cigar.decode,
    }


def general(query: str, target: str, seconds: float) -> dict[str, float]:
    """The same calls without the short way."""
    limit, short_pair.MAX_CELLS = short_pair.MAX_CELLS, -1
    try:
        return {
            "general score": best(lambda: exaln.score(query, target), seconds),
            "general align": best(lambda: exaln.align(query, target), seconds),
        }
    finally:
        short_pair.MAX_CELLS = limit


def best(call: Callable[[], Any], seconds: float) -> float:
    """Microseconds per call: the fastest of several repeats."""
    call()
    start = time.perf_counter()
    call()
    n = max(1, int(seconds / max(time.perf_counter() - start, 1e-6)))
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(n):
            call()
        times.append((time.perf_counter() - start) / n)
    return min(times) * 1e6


def print_table(molecule: str, rows: list[dict[str, Any]]) -> None:
    """One line per length."""
    names = list(rows[0])
    print(f"\n{molecule:8}" + "".join(f"{name:>16}" for name in names[1:]))
    for row in rows:
        print(f"{row['length']:8}" + "".join(f"{row[name]:16.1f}" for name in names[1:]))


if __name__ == "__main__":
    main()
