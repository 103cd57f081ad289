"""A synthetic Swiss-Prot from a seed: random proteins with its lengths and its composition, without similarity.

For nucleotides the lengths are the same, and all bases are equally frequent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from exaln.sequences.alphabet import PROTEIN, Alphabet
from exaln.sequences.records import Records, Text, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

STANDARD_LENGTHS = (
    *(144, 189, 222, 375, 464, 567, 657, 729, 850, 1000),
    *(1500, 2005, 2504, 3005, 3564, 4061, 4548, 4743, 5147, 5478),
)
"""Lengths of the 20 queries with which searches of Swiss-Prot are usually measured in publications."""

N_TARGETS = 570_000
MEDIAN_LENGTH, LOG_LENGTH_SPREAD = 294, 0.64
SHORTEST, LONGEST = 2, 35_213
GIANTS = (35_213, 34_350, 22_152)
"""Lengths are log-normal with a mean of about 361; the first targets have the lengths of the longest of Swiss-Prot."""

LETTERS = "ARNDCQEGHILKMFPSTWYV"
PERCENT = "8.25 5.53 4.06 5.46 1.38 3.93 6.72 7.07 2.27 5.91 9.65 5.80 2.41 3.86 4.74 6.65 5.36 1.10 2.92 6.86"
"""Composition of Swiss-Prot: the percentage of each of LETTERS."""

SEED = 7
STEPS = 1 << 16
"""Size of the table from which letters are drawn, with one random uint16 each; it holds each letter by its share."""

LETTERS_AT_A_TIME = 1 << 24


def synthetic_swissprot(n_targets: int = N_TARGETS, seed: int = SEED, alphabet: Alphabet = PROTEIN) -> Records:
    """`n_targets` random sequences with ids s0, s1, ..."""
    random = np.random.default_rng(seed)
    lengths = np.exp(random.normal(np.log(MEDIAN_LENGTH), LOG_LENGTH_SPREAD, n_targets)).astype(np.int64)
    lengths = np.clip(lengths, SHORTEST, LONGEST)
    lengths[: len(GIANTS)] = GIANTS[:n_targets]
    return random_sequences(random, lengths, [f"s{number}" for number in range(n_targets)], alphabet)


def standard_queries(seed: int = SEED, alphabet: Alphabet = PROTEIN) -> Records:
    """Random queries of the standard lengths, shortest first; their seed differs from that of the targets."""
    ids = [f"q{length}" for length in STANDARD_LENGTHS]
    return random_sequences(np.random.default_rng([seed, 1]), np.array(STANDARD_LENGTHS), ids, alphabet)


def random_sequences(
    random: np.random.Generator, lengths: NDArray[np.int64], ids: Sequence[str], alphabet: Alphabet = PROTEIN
) -> Records:
    """Proteins of these lengths with the composition of Swiss-Prot, or nucleotides."""
    return Records(
        alphabet=alphabet,
        ids=Text.of(ids),
        descriptions=Text(np.empty(0, np.uint8), np.zeros(len(ids) + 1, np.int64)),
        codes=_random_codes(random, int(lengths.sum()), _table(alphabet)),
        offsets=offsets_of(lengths),
        mask=np.empty((0, 2), np.int64),
        mask_offsets=np.zeros(len(ids) + 1, np.int64),
    )


def _table(alphabet: Alphabet) -> NDArray[np.uint8]:
    """uint8[STEPS]: codes, each in proportion to its share."""
    if alphabet.is_nucleotide:
        return np.resize(alphabet.encode("ACGT"), STEPS)
    share = np.array([float(percent) for percent in PERCENT.split()])
    drawn = np.searchsorted(np.cumsum(share / share.sum()), (np.arange(STEPS) + 0.5) / STEPS)
    return alphabet.encode(LETTERS)[drawn]


def _random_codes(random: np.random.Generator, n: int, table: NDArray[np.uint8]) -> NDArray[np.uint8]:
    codes = np.empty(n, np.uint8)
    for first in range(0, n, LETTERS_AT_A_TIME):
        part = codes[first : first + LETTERS_AT_A_TIME]
        np.take(table, random.integers(0, STEPS, len(part), np.uint16), out=part)
    return codes
