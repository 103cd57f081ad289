"""The cases: which queries and targets are drawn, and with which scoring they are searched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibration_parts.sequences import (
    AMINO_ACIDS,
    BASES,
    biased,
    protein_lengths,
    random_sequences,
    read_fasta,
    shuffled,
)
from exaln import Scoring

if TYPE_CHECKING:
    Rng = np.random.Generator
    Draw = Callable[[int, Rng], list[str]]

BLOCK = 2000
"""Queries of one search; each has targets of its own, so that counts do not hang on one sample of targets."""

SMALL_END = 40_000


@dataclass(frozen=True)
class Case:
    """Queries and targets of one kind. queries, targets: draw that many sequences.

    is_fair: the sequences are those that E-values are made for, so that the requirement applies.
    """

    group: str
    name: str
    scoring: Scoring
    n_queries: int
    n_targets: int
    queries: Draw
    targets: Draw
    is_fair: bool = True


def fixed(composition: dict[str, float], length: int) -> Draw:
    """Random sequences of one length."""
    return lambda n, rng: random_sequences(composition, [length] * n, rng)


def proteins(composition: dict[str, float]) -> Draw:
    """Random proteins, long and short."""
    return lambda n, rng: random_sequences(composition, protein_lengths(n, rng), rng)


def real(path: Path) -> Draw:
    """Real sequences, each with its letters shuffled."""
    return lambda n, rng: shuffled([_read(path)[row] for row in rng.choice(len(_read(path)), n)], rng)


@lru_cache(maxsize=4)
def _read(path: Path) -> list[str]:
    return [sequence for sequence in read_fasta(path) if sequence]


def cases_of(data: Path | None) -> list[Case]:
    """All cases; those of shuffled real proteins need the folder of real data."""
    blosum62, pam30 = Scoring("BLOSUM62", gap_open=11, gap_extend=1), Scoring("PAM30", gap_open=9, gap_extend=1)
    blastn = Scoring(match=2, mismatch=-3, gap_open=5, gap_extend=2)
    short = Scoring(match=1, mismatch=-3, gap_open=5, gap_extend=2)
    cases = []
    for length in (10, 20, 30, 50, 100, 300, 1000, 3000):
        draw, n = fixed(AMINO_ACIDS, length), queries_of(length)
        cases.append(Case("protein", f"BLOSUM62 11/1, {length:,}", blosum62, n, 300, draw, proteins(AMINO_ACIDS)))
    for length in (7, 10, 15, 20, 30):
        draw = fixed(AMINO_ACIDS, length)
        cases.append(Case("short protein", f"PAM30 9/1, {length}", pam30, SMALL_END, 300, draw, proteins(AMINO_ACIDS)))
    for length in (30, 100, 300, 1000, 3000):
        draw, targets = fixed(BASES, length), fixed(BASES, 1000)
        cases.append(Case("DNA", f"+2/-3 5/2, {length:,}", blastn, queries_of(length), 100, draw, targets))
    for length in (15, 20, 30):
        cases.append(
            Case("DNA", f"+1/-3 5/2, {length}", short, SMALL_END, 100, fixed(BASES, length), fixed(BASES, 1000))
        )
    rich = {
        "AGP x 2": biased(AMINO_ACIDS, "AGP", 2),
        "KN x 3": biased(AMINO_ACIDS, "KN", 3),
        "LIVF x 2": biased(AMINO_ACIDS, "LIVF", 2),
    }
    for name, composition in rich.items():
        draw = fixed(composition, 300)
        for text, targets in (("average", AMINO_ACIDS), ("the same", composition)):
            cases.append(Case("biased", f"{name}; targets {text}", blosum62, 4000, 300, draw, proteins(targets), False))
    poor = biased(BASES, "AT", 7 / 3)
    cases.append(Case("biased", "DNA, 70 % A+T, both", blastn, 4000, 100, fixed(poor, 300), fixed(poor, 1000), False))
    if data is not None:
        queries, targets = real(data / "mmseqs_QUERY.fasta.gz"), real(data / "mmseqs_DB.fasta.gz")
        cases.append(Case("shuffled", "real proteins, BLOSUM62 11/1", blosum62, 4000, 300, queries, targets, False))
    return cases


def queries_of(length: int) -> int:
    """How many queries of a length: 40,000 of short ones, fewer of long ones, which have more cells."""
    return max(SMALL_END * min(30, length) // length, 1000)
