"""Random sequences with the background composition of an alphabet, equal on every machine and NumPy version.

Only the raw 64-bit numbers of PCG64 are used, which NumPy guarantees, and whole numbers from there on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import Records
from exaln.statistics.background import ROBINSON

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.sequences.alphabet import Alphabet

BASES = {"dna": "ACGT", "rna": "ACGU"}


def background(alphabet: Alphabet) -> NDArray[np.int64]:
    """int64[n_letters]: how often each letter occurs, in proportion.

    Amino acids occur as in proteins, the four bases equally often, and so do all letters of a custom alphabet.

    >>> from exaln.sequences.alphabet import Alphabet
    >>> background(Alphabet.named("dna"))[:5], background(Alphabet("hp", "HP"))
    (array([1, 1, 1, 1, 0]), array([1, 1]))
    """
    if alphabet == PROTEIN:
        return np.array([ROBINSON.get(letter, 0) for letter in alphabet.letters])
    if alphabet.is_nucleotide:
        return np.array([int(letter in BASES[alphabet.name]) for letter in alphabet.letters])
    return np.ones(len(alphabet.letters), np.int64)


class RandomSequences:
    """A stream of random sequences. Equal seeds give equal sequences.

    weights: int64[n_letters], as `background` returns them.
    """

    def __init__(self, alphabet: Alphabet, weights: NDArray[np.int64], seed: int) -> None:
        self._alphabet, self._bits = alphabet, np.random.PCG64(seed)
        total = sum(weights.tolist())
        ends = np.cumsum(weights).tolist()
        self._limits = np.array([(end << 32) // total for end in ends], np.uint64)

    def records(self, n: int, length: int) -> Records:
        """The next n sequences of this length."""
        codes = self.codes(n * length)
        return Records.of_columns(self._alphabet, codes, np.arange(n + 1, dtype=np.int64) * length)

    def codes(self, n: int) -> NDArray[np.uint8]:
        """uint8[n]: the next n letters, two from each 64-bit number, the low half first."""
        raw = np.asarray(self._bits.random_raw((n + 1) // 2), np.uint64)
        halves = np.stack([raw & np.uint64(0xFFFFFFFF), raw >> np.uint64(32)], axis=1).reshape(-1)[:n]
        return np.searchsorted(self._limits, halves, side="right").astype(np.uint8)
