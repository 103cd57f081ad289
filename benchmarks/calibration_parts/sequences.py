"""Random sequences of a composition, and real ones with their letters shuffled."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from exaln.statistics.background import ROBINSON

AMINO_ACIDS = {letter: count / 100 for letter, count in ROBINSON.items()}
"""Residues per thousand in proteins (Robinson and Robinson, PNAS 1991)."""

BASES = dict.fromkeys("ACGT", 0.25)
LOG_LENGTH, LOG_LENGTH_SPREAD = 5.65, 0.7
"""Proteins are log-normal with median 284 in length, as in Swiss-Prot, clipped to 30 and 5,000."""


def biased(composition: dict[str, float], raised: str, factor: float) -> dict[str, float]:
    """A composition with some letters `factor` times as frequent, not normalised.

    >>> biased({"A": 1.0, "C": 2.0}, "C", 3)
    {'A': 1.0, 'C': 6.0}
    """
    return {letter: share * (factor if letter in raised else 1) for letter, share in composition.items()}


def random_letters(composition: dict[str, float], n: int, rng: np.random.Generator) -> bytes:
    """Random letters of a composition."""
    letters = np.frombuffer("".join(composition).encode(), np.uint8)
    shares = np.cumsum(np.array(list(composition.values())))
    return bytes(letters[np.searchsorted(shares[:-1] / shares[-1], rng.random(n), side="right")])


def protein_lengths(n: int, rng: np.random.Generator) -> list[int]:
    """Random lengths of proteins."""
    lengths = rng.lognormal(LOG_LENGTH, LOG_LENGTH_SPREAD, n)
    return [int(length) for length in np.clip(lengths, 30, 5000)]


def random_sequences(composition: dict[str, float], lengths: list[int], rng: np.random.Generator) -> list[str]:
    """Random sequences of these lengths."""
    text = random_letters(composition, sum(lengths), rng).decode()
    ends = np.cumsum([0, *lengths]).tolist()
    return [text[ends[row] : ends[row + 1]] for row in range(len(lengths))]


def shuffled(sequences: list[str], rng: np.random.Generator) -> list[str]:
    """Each sequence with its letters in random order."""
    return [bytes(rng.permutation(np.frombuffer(one.encode(), np.uint8))).decode() for one in sequences]


def read_fasta(path: Path) -> list[str]:
    """The sequences of a FASTA file, plain or compressed by gzip, in upper case."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return ["".join(record.split("\n")[1:]).upper() for record in f"\n{file.read()}".split("\n>")[1:]]
