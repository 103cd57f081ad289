"""The other strand of nucleotides, and paths seen from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln import arguments
from exaln.alphabet import Alphabet
from exaln.cigar import Paths
from exaln.errors import InputError
from exaln.records import Records

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

    >>> from exaln.alphabet import RNA
    >>> RNA.decode(complements(RNA)[RNA.encode("ACGUN")])
    'UGCAN'
    """
    if not alphabet.is_nucleotide:
        raise InputError(f"{alphabet.name} has no complement; only dna and rna have two strands")
    thymine = "U" if alphabet.name == "rna" else "T"
    return alphabet.encode("".join(PAIRS[letter].replace("T", thymine) for letter in alphabet.letters))


def reverse_complement(codes: NDArray[np.uint8], alphabet: Alphabet) -> NDArray[np.uint8]:
    """The other strand, read in its own direction.

    >>> from exaln.alphabet import DNA
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


def positions_as_given(
    positions: NDArray[np.int64], lengths: NDArray[np.int64], which: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Alignments of reverse complements with the positions of the queries as given.

    positions: int64[n, 4], query start and end, target start and end. lengths: int64[n], of the queries.
    which: bool[n], the alignments whose query was the reverse complement.
    """
    flipped = positions.copy()
    flipped[which, 0] = lengths[which] - positions[which, 1]
    flipped[which, 1] = lengths[which] - positions[which, 0]
    return flipped


def reverse_paths(paths: Paths, which: NDArray[np.bool_]) -> Paths:
    """The same paths, those chosen by `which` from their end to their start."""
    operations = paths.operations.copy()
    for hit in np.flatnonzero(which).tolist():
        begin, end = paths.offsets[hit], paths.offsets[hit + 1]
        operations[begin:end] = operations[begin:end][::-1]
    return Paths(operations, paths.offsets)
