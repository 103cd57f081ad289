"""Whether sequences are of the molecule that they are compared with: every nucleotide letter is an amino acid's too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.sequences.alphabet import PROTEIN, Alphabet, detect
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_RESIDUES = 50
"""Shorter peptides may well consist of A, C, G and T alone."""

LEAST_BASES = 3
"""Different bases that a nucleotide sequence of this length has: less may be a repeat of a protein."""

_PROTEIN_LETTERS = np.frombuffer(PROTEIN.letters.encode("ascii"), np.uint8)
_IS_BASE = np.isin(_PROTEIN_LETTERS, np.frombuffer(b"ACGTUN", np.uint8))


def require_molecule(records: Records, name: str) -> None:
    """Refuse records that are read as proteins and look like nucleotides; `name`: of their file, for the message.

    A record looks like nucleotides if it has at least LEAST_RESIDUES letters, `detect` takes it for DNA or RNA, and at
    least LEAST_BASES bases occur in it.
    """
    if records.alphabet != PROTEIN:
        return
    for row in _rows_of_bases(records):
        kind = _molecule(records.sequence(row))
        if kind.is_nucleotide:
            raise InputError(
                f"{name}: {records.ids[row]!r} looks like {kind.name.upper()}, but it is compared with proteins; "
                "translate it first, or say that these are amino acids: --alphabet protein, or in Python a scoring"
            )


def _rows_of_bases(records: Records) -> list[int]:
    """The rows of LEAST_RESIDUES letters or more that are mostly A, C, G, T, U and N."""
    lengths = records.lengths
    rows = np.flatnonzero(lengths >= LEAST_RESIDUES)
    if not len(rows):
        return []
    begin = int(records.offsets[0])
    is_base = _IS_BASE[records.codes[begin : int(records.offsets[-1])]]
    starts = np.flatnonzero(lengths)  # reduceat takes an empty record for its first letter
    n_bases = np.zeros(len(lengths), np.int64)
    n_bases[starts] = np.add.reduceat(is_base, records.offsets[starts] - begin, dtype=np.int64)
    found: list[int] = rows[n_bases[rows] >= 0.5 * lengths[rows]].tolist()
    return found


def _molecule(codes: NDArray[np.uint8]) -> Alphabet:
    counts = np.zeros(256, np.int64)
    counts[_PROTEIN_LETTERS] = np.bincount(codes, minlength=len(_PROTEIN_LETTERS))
    n_kinds = sum(any(counts[ord(letter)] for letter in base) for base in ("A", "C", "G", "TU"))
    return detect(counts) if n_kinds >= LEAST_BASES else PROTEIN
