"""What users pass as sequences: strings, files, records, and lists of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exaln.alphabet import PROTEIN, Alphabet, detect
from exaln.errors import ExalnWarning, InputError
from exaln.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

Sequences = str | bytes | os.PathLike[str] | Records | Iterable[str | bytes]
"""One sequence as text, a FASTA or FASTQ file (as a path object, or "-"), records, or several sequences as text."""

LOOKS_LIKE_RESIDUES = 50
"""Shorter peptides may well consist of A, C, G and T alone."""


def as_records(sequences: Sequences, alphabet: Alphabet | None = None) -> Records:
    """Records of whatever was passed; without `alphabet` the kind of letters is detected.

    >>> as_records(["HEAGAWGHEE", "PAWHEAE"]).lengths.tolist()
    [10, 7]
    """
    if isinstance(sequences, Records):
        return sequences
    if isinstance(sequences, os.PathLike) or sequences == "-":
        from exaln.fasta import read_records

        return read_records(sequences, alphabet=alphabet)
    texts = [sequences] if isinstance(sequences, str | bytes) else list(sequences)
    raw = [_as_bytes(text) for text in texts]
    alphabet = alphabet or detect_alphabet(raw)
    return Records.of(alphabet, [_encode(text, number, alphabet) for number, text in enumerate(raw, start=1)])


def detect_alphabet(sequences: Iterable[bytes]) -> Alphabet:
    """The built-in alphabet that these are written in."""
    counts = np.zeros(256, np.int64)
    for sequence in sequences:
        counts += np.bincount(np.frombuffer(sequence, np.uint8), minlength=256)
    return detect(counts)


def warn_if_nucleotides(queries: Records, name: str) -> None:
    """A warning if sequences that are read as proteins look like nucleotides."""
    if queries.alphabet != PROTEIN or queries.n_residues < LOOKS_LIKE_RESIDUES:
        return
    counts = np.zeros(256, np.int64)
    letters = np.frombuffer(PROTEIN.letters.encode("ascii"), np.uint8)
    codes = queries.codes[queries.offsets[0] : queries.offsets[-1]]
    counts[letters] = np.bincount(codes, minlength=len(letters))
    kind = detect(counts)
    if kind.is_nucleotide:
        warnings.warn(
            f"{name}: the queries look like {kind.name}, but are compared as protein with the database",
            ExalnWarning,
            stacklevel=2,
        )


def _as_bytes(text: object) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8")
    if isinstance(text, bytes):
        return text
    raise InputError(f"a sequence must be text, not {type(text).__name__}; pass a file as pathlib.Path")


def _encode(text: bytes, number: int, alphabet: Alphabet) -> NDArray[np.uint8]:
    try:
        return alphabet.encode(text)
    except InputError as error:
        hint = ""
        if len(text) < 4096 and Path(os.fsdecode(text)).is_file():
            hint = f"; to read the file of that name pass pathlib.Path({os.fsdecode(text)!r})"
        raise InputError(f"sequence {number}: {error}{hint}") from None
