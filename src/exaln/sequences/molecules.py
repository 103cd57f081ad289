"""Detect nucleotide sequences that were read as proteins. Every nucleotide code is also the letter of an amino acid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.sequences.alphabet import DNA, PROTEIN, Alphabet, detect
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_RESIDUES = 50
"""Shorter sequences are accepted: peptides may consist of A, C, G and T alone."""

LEAST_BASES = 3
"""Different bases that a nucleotide sequence must have; with fewer it may be a protein repeat."""

_PROTEIN_LETTERS = np.frombuffer(PROTEIN.letters.encode("ascii"), np.uint8)
_IS_NUCLEOTIDE = np.isin(_PROTEIN_LETTERS, np.frombuffer(DNA.letters.encode("ascii"), np.uint8))


def require_molecule(records: Records, name: str) -> None:
    """Raise InputError if a record was read as protein and looks like nucleotides.

    It does if it has at least LEAST_RESIDUES letters, `detect` returns DNA or RNA for it, and at least LEAST_BASES
    different bases occur. name: what the message calls the file or argument.
    """
    if records.alphabet != PROTEIN:
        return
    for row in _rows_of_codes(records):
        kind = _molecule(records.sequence(row))
        if kind.is_nucleotide:
            raise InputError(
                f"{name}: {records.ids[row]!r} looks like {kind.name.upper()}, but it is compared with proteins; "
                "translate it first, or if it is a protein use --alphabet protein (in Python, pass a scoring)"
            )


def _rows_of_codes(records: Records) -> list[int]:
    """Rows of at least LEAST_RESIDUES letters of which the first of these are all nucleotide codes.

    A protein soon has another letter, so position by position few rows are left.
    """
    rows = np.flatnonzero(records.lengths >= LEAST_RESIDUES)
    for place in range(LEAST_RESIDUES):
        rows = rows[_IS_NUCLEOTIDE[records.codes[records.offsets[rows] + place]]]
        if not len(rows):
            break
    found: list[int] = rows.tolist()
    return found


def _molecule(codes: NDArray[np.uint8]) -> Alphabet:
    counts = np.zeros(256, np.int64)
    counts[_PROTEIN_LETTERS] = np.bincount(codes, minlength=len(_PROTEIN_LETTERS))
    n_kinds = sum(any(counts[ord(letter)] for letter in base) for base in ("A", "C", "G", "TU"))
    return detect(counts) if n_kinds >= LEAST_BASES else PROTEIN
