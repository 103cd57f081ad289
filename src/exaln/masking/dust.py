"""SDUST: stretches of low complexity in nucleotides (Morgulis and others, 2006), as NCBI's dustmasker finds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.masking.intervals import Intervals
from exaln.masking.library import Found, intervals_of, library
from exaln.sequences.records import Records, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.sequences.alphabet import Alphabet

LEAST_WINDOW = 8
MOST = 64
"""As in dustmasker; larger windows and levels than 64 have no effect there."""

FEWEST_LETTERS = 4


@dataclass(frozen=True)
class DustParameters:
    """A window is a stretch if its triplets repeat by more than `level`; stretches that are closer than `linker`
    residues become one.
    """

    level: int = 20
    window: int = 64
    linker: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for numbers that dustmasker does not take."""
        for name, least, most in (("level", 2, MOST), ("window", LEAST_WINDOW, MOST), ("linker", 1, 1 << 30)):
            number = arguments.integer(name, getattr(self, name), least=least, most=most)
            object.__setattr__(self, name, number)


def dust_intervals(records: Records, parameters: DustParameters, *, threads: int = 1) -> Intervals:
    """The stretches of low complexity of each sequence of nucleotides.

    As dustmasker has it, a run of N that is longer than the window is a stretch, and other letters than A, C, G, T, U
    and N count as A. Shorter runs of N end a window; dustmasker puts random bases there.
    """
    require_nucleotide(records.alphabet)
    masker = library("dust").DustMasker
    find = partial(_find, masker, parameters.level, parameters.window)
    found = intervals_of(records, _letters(records.alphabet), find, threads)
    return found.joined(_unknown_runs(records, parameters.window), gap=parameters.linker - 1)


def require_nucleotide(alphabet: Alphabet) -> None:
    """Raise InputError unless sequences of this alphabet are nucleotides, and pydustmasker is installed."""
    if not alphabet.is_nucleotide:
        instead = "seg" if alphabet.name == "protein" else "lowercase"
        raise InputError(f"dust masks nucleotides, not {alphabet.name} sequences; use {instead}")
    library("dust")


def _find(masker: Any, level: int, window: int, letters: str) -> Found:
    if len(letters) < FEWEST_LETTERS:
        return ()
    return masker(letters, window_size=window, score_threshold=level).intervals  # type: ignore[no-any-return]


def _unknown_runs(records: Records, longer_than: int) -> Intervals:
    """Runs of N that are longer than this."""
    offsets = records.offsets - records.offsets[0]
    codes = records.codes[records.offsets[0] : records.offsets[-1]]
    is_unknown = codes == records.alphabet.letters.index("N")
    places = np.flatnonzero(is_unknown)
    is_first = np.ones(len(places), np.bool_)
    is_first[1:] = np.diff(places) > 1
    starts = np.zeros(len(codes) + 1, np.bool_)
    starts[offsets] = True
    is_first |= starts[places]
    firsts = np.flatnonzero(is_first)
    lengths = np.diff(np.append(firsts, len(places)))
    begins, lengths = places[firsts][lengths > longer_than], lengths[lengths > longer_than]
    rows = np.searchsorted(offsets, begins, side="right") - 1
    begins = begins - offsets[rows]
    return Intervals(begins, begins + lengths, offsets_of(np.bincount(rows, minlength=len(records))))


def _letters(alphabet: Alphabet) -> NDArray[np.uint8]:
    bases = {"C": "C", "G": "G", "T": "T", "U": "T", "N": "N"}
    return np.frombuffer("".join(bases.get(letter, "A") for letter in alphabet.letters).encode("ascii"), np.uint8)
