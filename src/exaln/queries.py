"""What users pass as sequences: strings, files, records, and lists of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from exaln.alphabet import PROTEIN, Alphabet, detect
from exaln.errors import ExalnWarning, InputError
from exaln.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray


@runtime_checkable
class SequenceRecord(Protocol):
    """A record as Biopython has them: `Bio.SeqRecord.SeqRecord`."""

    id: str
    description: str
    seq: Any


OneSequence = str | bytes | SequenceRecord
Sequences = OneSequence | os.PathLike[str] | Records | Iterable[OneSequence]
"""A sequence as text or SeqRecord, a FASTA or FASTQ file (as a path object, or "-"), records, or several sequences."""

LOOKS_LIKE_RESIDUES = 50
"""Shorter peptides may well consist of A, C, G and T alone."""


def as_records(sequences: Sequences, alphabet: Alphabet | None = None) -> Records:
    """Records of whatever was passed; without `alphabet` the kind of letters is detected.

    >>> as_records(["HEAGAWGHEE", "PAWHEAE"]).lengths.tolist()
    [10, 7]
    """
    if isinstance(sequences, Records):
        return sequences
    if isinstance(sequences, os.PathLike) or (isinstance(sequences, str) and sequences == "-"):
        from exaln.fasta import read_records

        return read_records(sequences, alphabet=alphabet)
    given: list[OneSequence] = [sequences] if isinstance(sequences, str | bytes | SequenceRecord) else list(sequences)
    raw = [_as_bytes(one.seq if isinstance(one, SequenceRecord) else one) for one in given]
    alphabet = alphabet or detect_alphabet(raw)
    names = [_names(one, number) for number, one in enumerate(given, start=1)]
    codes = [_encode(text, number, alphabet) for number, text in enumerate(raw, start=1)]
    return Records.of(alphabet, codes, [id_ for id_, _ in names], [description for _, description in names])


def _names(one: OneSequence, number: int) -> tuple[str, str]:
    """Id and description; Biopython's description begins with the id."""
    if isinstance(one, SequenceRecord):
        return str(one.id), str(one.description).removeprefix(str(one.id)).strip()
    return f"seq{number}", ""


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
    if hasattr(text, "__bytes__"):  # Bio.Seq.Seq
        return bytes(text)
    raise InputError(f"a sequence must be text, not {type(text).__name__}; pass a file as pathlib.Path")


def _encode(text: bytes, number: int, alphabet: Alphabet) -> NDArray[np.uint8]:
    try:
        return alphabet.encode(text)
    except InputError as error:
        hint = ""
        if len(text) < 4096 and Path(os.fsdecode(text)).is_file():
            hint = f"; to read the file of that name pass pathlib.Path({os.fsdecode(text)!r})"
        raise InputError(f"sequence {number}: {error}{hint}") from None
