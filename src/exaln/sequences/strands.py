"""The other strand of nucleotides: complements, and records with both strands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRANDS = ("both", "plus", "minus")
"""Of the target; what users choose from."""

PAIRS = dict(zip("ACGTURYSWKMBDHVN", "TGCAAYRSWMKVHDBN", strict=True))
"""Each IUPAC code and its complement, as DNA."""


def require_strand(strand: str, alphabet: Alphabet) -> None:
    """Refuse a strand that there is not."""
    arguments.choice("strand", strand, STRANDS)
    if strand == "minus" and not alphabet.is_nucleotide:
        raise InputError(f"strand is minus, but {alphabet.name} sequences have one strand; leave it out")


def complements(alphabet: Alphabet) -> NDArray[np.uint8]:
    """uint8[n_letters]: the code of each letter's complement.

    >>> from exaln.sequences.alphabet import RNA
    >>> RNA.decode(complements(RNA)[RNA.encode("ACGUN")])
    'UGCAN'
    """
    if not alphabet.is_nucleotide:
        raise InputError(f"{alphabet.name} has no complement; only dna and rna have two strands")
    thymine = "U" if alphabet.name == "rna" else "T"
    return alphabet.encode("".join(PAIRS[letter].replace("T", thymine) for letter in alphabet.letters))


def reverse_complement(codes: NDArray[np.uint8], alphabet: Alphabet) -> NDArray[np.uint8]:
    """The other strand, read in its own direction.

    >>> from exaln.sequences.alphabet import DNA
    >>> DNA.decode(reverse_complement(DNA.encode("AACGR"), DNA))
    'YCGTT'
    """
    return complements(alphabet)[codes[::-1]]


def other_strand(records: Records) -> Records:
    """The reverse complement of each sequence, without its mask."""
    sequences = [reverse_complement(records.sequence(row), records.alphabet) for row in range(len(records))]
    return Records.of(records.alphabet, sequences, [records.ids[row] for row in range(len(records))])


def doubled(records: Records) -> Records:
    """The sequences, then the reverse complement of each: row n + i is the other strand of row i of n."""
    sequences = [records.sequence(row) for row in range(len(records))]
    return Records.of(records.alphabet, sequences + [reverse_complement(one, records.alphabet) for one in sequences])
