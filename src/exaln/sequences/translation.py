"""Nucleotides to proteins, in one of six frames.

Frames are named as BLAST names them: 1, 2 and 3 begin at the first, second and third letter of the sequence, -1, -2 and
-3 at those of its reverse complement. A codon with ambiguous letters is the amino acid that all its readings give, or X
if they differ. Letters left over at the end make no codon.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from exaln.sequences.alphabet import PROTEIN, Alphabet
from exaln.sequences.strands import reverse_complement

if TYPE_CHECKING:
    from numpy.typing import NDArray

FRAMES = (1, 2, 3, -1, -2, -3)

STANDARD_CODE = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
"""NCBI's genetic code 1: amino acids of TTT, TTC, TTA, TTG, TCT ... GGG."""

READINGS = {
    "A": "A", "C": "C", "G": "G", "T": "T", "U": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT",
    "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip


def translate(codes: NDArray[np.uint8], alphabet: Alphabet, frame: int) -> NDArray[np.uint8]:
    """The protein codes of one frame of a nucleotide sequence.

    >>> from exaln.sequences.alphabet import DNA
    >>> [PROTEIN.decode(translate(DNA.encode("ATGGCNTAAC"), DNA, frame)) for frame in (1, 2, -1)]
    ['MA*', 'WXN', 'VXP']
    """
    if frame < 0:
        codes = reverse_complement(codes, alphabet)
    own = codes[abs(frame) - 1 :]
    codons = own[: len(own) // 3 * 3].reshape(-1, 3).astype(np.intp)
    return _codon_table(alphabet)[codons[:, 0], codons[:, 1], codons[:, 2]]


@cache
def _codon_table(alphabet: Alphabet) -> NDArray[np.uint8]:
    """uint8[n_letters, n_letters, n_letters]: the amino acid of each codon."""
    amino_acids = dict(zip(map("".join, product("TCAG", repeat=3)), STANDARD_CODE, strict=True))
    letters = alphabet.letters
    table = np.empty((len(letters),) * 3, np.uint8)
    for place in np.ndindex(*table.shape):
        found = {amino_acids["".join(codon)] for codon in product(*(READINGS[letters[letter]] for letter in place))}
        table[place] = PROTEIN.encode(found.pop() if len(found) == 1 else "X")[0]
    return table
