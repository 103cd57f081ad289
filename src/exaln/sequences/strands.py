"""Strands of nucleotide sequences: complements, reverse complements, and records with both strands."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.sequences.alphabet import Alphabet
from exaln.sequences.records import Records, Text, concatenated, offsets_of, read_only

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRANDS = ("both", "plus", "minus")
"""Strands of the target that users can choose."""

COMPLEMENT = dict(zip("ACGTURYSWKMBDHVN", "TGCAAYRSWMKVHDBN", strict=True))
"""Each IUPAC code and its complement in DNA."""


def require_strand(strand: str, alphabet: Alphabet) -> None:
    """Raise InputError unless `strand` is one of STRANDS and exists for the alphabet."""
    arguments.choice("strand", strand, STRANDS)
    if strand == "minus" and not alphabet.is_nucleotide:
        raise InputError(f"strand is minus, but {alphabet.name} sequences have one strand; leave it out")


@lru_cache(maxsize=8)
def complements(alphabet: Alphabet) -> NDArray[np.uint8]:
    """uint8[n_letters]: the code of each letter's complement.

    >>> from exaln.sequences.alphabet import RNA
    >>> RNA.decode(complements(RNA)[RNA.encode("ACGUN")])
    'UGCAN'
    """
    if not alphabet.is_nucleotide:
        raise InputError(f"{alphabet.name} has no complement; only dna and rna have two strands")
    thymine = "U" if alphabet.name == "rna" else "T"
    return read_only(alphabet.encode("".join(COMPLEMENT[letter].replace("T", thymine) for letter in alphabet.letters)))


def reverse_complement(codes: NDArray[np.uint8], alphabet: Alphabet) -> NDArray[np.uint8]:
    """uint8[n]: the reverse complement of a sequence of codes.

    >>> from exaln.sequences.alphabet import DNA
    >>> DNA.decode(reverse_complement(DNA.encode("AACGR"), DNA))
    'YCGTT'
    """
    return complements(alphabet)[codes[::-1]]


def other_strand(records: Records) -> Records:
    """The reverse complement of each sequence, with its id and without its mask."""
    sequences = _reverse_complements(records)
    names = records.ids, Text.empty(len(records))
    return Records.of_columns(records.alphabet, concatenated(sequences), offsets_of(records.lengths), names)


def doubled(records: Records) -> Records:
    """The n sequences, then the reverse complement of each: row n + i is the other strand of row i."""
    sequences = [_codes_of(records), *_reverse_complements(records)]
    offsets = offsets_of(np.tile(records.lengths, 2))
    return Records.of_columns(records.alphabet, concatenated(sequences), offsets)


def _reverse_complements(records: Records) -> list[NDArray[np.uint8]]:
    """The reverse complement of each sequence, as views of one array."""
    codes = complements(records.alphabet)[_codes_of(records)]
    return [codes[begin:end][::-1] for begin, end in pairwise((records.offsets - records.offsets[0]).tolist())]


def _codes_of(records: Records) -> NDArray[np.uint8]:
    return records.codes[records.offsets[0] : records.offsets[-1]]
