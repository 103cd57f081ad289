"""SEG: stretches of low complexity in proteins (Wootton and Federhen, 1993), as NCBI's segmasker finds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.masking.intervals import Intervals
from exaln.sequences.records import Records, read_only

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.sequences.alphabet import Alphabet

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
"""All other letters are unknown to SEG: B Z J X, U O and `*` too."""

UNKNOWN = 255
MAX_WINDOW = 1 << 16


@dataclass(frozen=True)
class SegParameters:
    """A stretch begins in a window of entropy `locut` or less, in bits, and grows while windows are below `hicut`."""

    window: int = 12
    locut: float = 2.2
    hicut: float = 2.5

    def __post_init__(self) -> None:
        """Raise InputError for a window without residues, and unless 0 <= locut <= hicut."""
        object.__setattr__(self, "window", arguments.integer("window", self.window, least=1, most=MAX_WINDOW))
        object.__setattr__(self, "locut", arguments.number("locut", self.locut, least=0))
        object.__setattr__(self, "hicut", arguments.number("hicut", self.hicut, least=0))
        if self.locut > self.hicut:
            raise InputError(f"locut is {self.locut:g}, which is above hicut, {self.hicut:g}; it must not be")


SEGMASKER = SegParameters()
"""What segmasker does by default, and `blastp -seg yes`."""

SUBJECTS = SegParameters(10, 1.8, 2.1)
"""For the targets of BLAST's composition-based statistics."""


def seg_intervals(records: Records, parameters: SegParameters = SEGMASKER, *, threads: int = 1) -> Intervals:
    """The stretches of low complexity of each protein, as segmasker lists them; some overlap.

    >>> from exaln.sequences.inputs import as_records
    >>> found = seg_intervals(as_records("MKVLAAGHTWERQQQQQQQQQQQQDVNPYFSCIM"))
    >>> found.begins.tolist(), found.ends.tolist()
    ([12], [24])
    """
    from exaln import _core

    require_protein(records.alphabet)
    begins, ends, offsets = _core.seg(
        records.codes,
        records.offsets,
        _kinds(records.alphabet.letters),
        parameters.window,
        parameters.locut,
        parameters.hicut,
        threads,
    )
    return Intervals(begins, ends, offsets)


def require_protein(alphabet: Alphabet) -> None:
    """Raise InputError unless sequences of this alphabet are proteins."""
    if alphabet.name != "protein":
        instead = "dust" if alphabet.is_nucleotide else "lowercase"
        raise InputError(f"seg masks proteins, not {alphabet.name} sequences; use {instead}")


@lru_cache(maxsize=4)
def _kinds(letters: str) -> NDArray[np.uint8]:
    """uint8[256]: the number of the amino acid of each code, UNKNOWN for other letters."""
    kinds = np.full(256, UNKNOWN, np.uint8)
    for code, letter in enumerate(letters):
        if letter in AMINO_ACIDS:
            kinds[code] = AMINO_ACIDS.index(letter)
    return read_only(kinds)
