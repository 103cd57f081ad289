"""Hard masks: the unknown letter in place of masked ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from exaln.errors import InputError
from exaln.masking.intervals import Intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.records import Records


def unknown_code(alphabet: Alphabet) -> int:
    """The code of X for proteins and of N for nucleotides; InputError for other alphabets."""
    if alphabet.is_nucleotide:
        return alphabet.letters.index("N")
    if alphabet.name == "protein":
        return alphabet.letters.index("X")
    raise InputError(f"{alphabet.name} sequences have no unknown letter, which hard masks need")


def hard_masked(records: Records) -> Records:
    """The records with the unknown letter in place of masked ones, and without masks."""
    code = unknown_code(records.alphabet)
    found = Intervals.of_records(records)
    unmasked = Intervals.none(len(records)).masks(records)
    if not len(found.begins):
        return unmasked
    first = int(records.offsets[0])
    codes = records.codes[first : int(records.offsets[-1])].copy()
    offsets = records.offsets - first
    fill(codes, offsets[found.rows] + found.begins, offsets[found.rows] + found.ends, code)
    qualities = None if records.qualities is None else records.qualities[first : int(records.offsets[-1])]
    return replace(unmasked, codes=codes, offsets=offsets, qualities=qualities)


def fill(codes: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64], code: int) -> None:
    """Set codes[begins[i]:ends[i]] to `code`; the ranges do not overlap."""
    if len(begins) * 16 < len(codes):
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            codes[begin:end] = code
        return
    change = np.zeros(len(codes) + 1, np.int8)
    np.add.at(change, begins, 1)
    np.add.at(change, ends, -1)
    codes[np.cumsum(change[:-1], dtype=np.int8) > 0] = code
