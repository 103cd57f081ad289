"""tantan: short-period tandem repeats in nucleotides and proteins (Frith, 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.masking.intervals import Intervals
from exaln.masking.library import Found, intervals_of, library
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.sequences.alphabet import Alphabet


@dataclass(frozen=True)
class TantanParameters:
    """Residues that belong to a repeat with a probability of at least `threshold` are masked.

    repeat_start, repeat_end: probabilities that a repeat begins or ends at a residue. decay: of the probability from
    one period to the next longer one.
    """

    repeat_start: float = 0.005
    repeat_end: float = 0.05
    decay: float = 0.9
    threshold: float = 0.5

    def __post_init__(self) -> None:
        """Raise InputError for numbers that are no probabilities."""
        for name in ("repeat_start", "repeat_end", "decay", "threshold"):
            object.__setattr__(self, name, arguments.number(name, getattr(self, name), least=0, most=1))
        if self.repeat_start == 1 or self.decay < 1e-300:
            raise InputError("tantan needs a repeat_start below 1 and a decay above 0")


def tantan_intervals(records: Records, parameters: TantanParameters, *, threads: int = 1) -> Intervals:
    """The tandem repeats of each sequence. Periods are at most 100 nucleotides or 50 residues of a protein."""
    alphabet = records.alphabet
    require_either(alphabet)
    is_protein = alphabet.name == "protein"
    masker = library("tantan").TantanMasker

    def find(letters: str) -> Found:
        if not letters:
            return ()
        return masker(  # type: ignore[no-any-return]
            letters,
            protein=is_protein,
            repeat_start=parameters.repeat_start,
            repeat_end=parameters.repeat_end,
            decay=parameters.decay,
            score_threshold=parameters.threshold,
        ).intervals

    return intervals_of(records, _letters(alphabet), find, threads)


def require_either(alphabet: Alphabet) -> None:
    """Raise InputError for sequences that are neither proteins nor nucleotides, or without pydustmasker."""
    if alphabet.name != "protein" and not alphabet.is_nucleotide:
        raise InputError(f"tantan masks proteins and nucleotides, not {alphabet.name} sequences; use lowercase")
    library("tantan")


def _letters(alphabet: Alphabet) -> NDArray[np.uint8]:
    letters = alphabet.letters.replace("U", "T") if alphabet.is_nucleotide else alphabet.letters
    return np.frombuffer(letters.encode("ascii"), np.uint8)
