"""What users pass as sequences: strings, files, records, and lists of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from exaln.alphabet import PROTEIN, Alphabet, detect
from exaln.errors import ExalnWarning, InputError
from exaln.records import Records, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray


@runtime_checkable
class SequenceRecord(Protocol):
    """A record as Biopython has them: `Bio.SeqRecord.SeqRecord`."""

    id: str
    description: str
    seq: Any


OneSequence: TypeAlias = "str | bytes | SequenceRecord | NDArray[np.uint8]"
Sequences: TypeAlias = "OneSequence | os.PathLike[str] | Records | Iterable[OneSequence]"
"""A sequence as text, SeqRecord or codes, a FASTA or FASTQ file (as a path object, or "-"), records, or several
sequences. Codes are uint8 arrays; one of two dimensions is a sequence per row.
"""

LOOKS_LIKE_RESIDUES = 50
"""Shorter peptides may well consist of A, C, G and T alone."""


def as_records(sequences: Sequences, alphabet: Alphabet | None = None) -> Records:
    """Records of whatever was passed; without `alphabet` the kind of letters is detected.

    >>> as_records(["HEAGAWGHEE", "PAWHEAE"]).lengths.tolist()
    [10, 7]
    """
    if isinstance(sequences, Records):
        return sequences
    if isinstance(sequences, np.ndarray) and sequences.ndim == 2:
        return _matrix(sequences, _require_alphabet(alphabet))
    if _is_file(sequences):
        from exaln.fasta import read_records

        return read_records(sequences, alphabet=alphabet)  # type: ignore[arg-type]
    given = _listed(sequences)
    raw = [one if isinstance(one, np.ndarray) else _as_bytes(_letters(one)) for one in given]
    if alphabet is None:
        if any(isinstance(text, np.ndarray) for text in raw):
            _require_alphabet(None)
        alphabet = detect_alphabet(text for text in raw if isinstance(text, bytes))
    codes = [
        _checked(text, alphabet) if isinstance(text, np.ndarray) else _encode(text, number, alphabet)
        for number, text in enumerate(raw, start=1)
    ]
    if all(isinstance(one, str | bytes | np.ndarray) for one in given):
        return Records.of(alphabet, codes)
    names = [_names(one, number) for number, one in enumerate(given, start=1)]
    return Records.of(alphabet, codes, [id_ for id_, _ in names], [description for _, description in names])


def texts_of(sequences: Sequences) -> list[bytes] | None:
    """The letters that were passed, to tell their kind from; None for what has to be read first, and for codes."""
    if isinstance(sequences, Records | np.ndarray) or _is_file(sequences) or not _is_at_hand(sequences):
        return None
    given = _listed(sequences)
    return None if any(isinstance(one, np.ndarray) for one in given) else [_as_bytes(_letters(one)) for one in given]


def _is_file(sequences: Sequences) -> bool:
    return isinstance(sequences, os.PathLike) or (isinstance(sequences, str) and sequences == "-")


def _is_at_hand(sequences: Sequences) -> bool:
    """Whether it can be looked at twice."""
    return isinstance(sequences, str | bytes | SequenceRecord | Collection)


def _listed(sequences: Sequences) -> list[OneSequence]:
    if isinstance(sequences, str | bytes | SequenceRecord | np.ndarray):
        return [sequences]
    return list(sequences)  # type: ignore[arg-type]


def _letters(one: OneSequence) -> object:
    return one.seq if not isinstance(one, str | bytes) and isinstance(one, SequenceRecord) else one


def _matrix(rows: NDArray[np.uint8], alphabet: Alphabet) -> Records:
    """One sequence of codes per row."""
    n, length = rows.shape
    return Records(
        alphabet=alphabet,
        ids=Text.numbered("seq", n),
        descriptions=Text(np.empty(0, np.uint8), np.zeros(n + 1, np.int64)),
        codes=_checked(rows.flatten(), alphabet),
        offsets=np.arange(n + 1) * length,
        mask=np.empty((0, 2), np.int64),
        mask_offsets=np.zeros(n + 1, np.int64),
    )


def _checked(codes: NDArray[np.uint8], alphabet: Alphabet) -> NDArray[np.uint8]:
    if codes.dtype != np.uint8 or codes.ndim != 1:
        raise InputError(f"codes must be uint8 arrays, not {codes.dtype} with {codes.ndim} dimensions")
    if len(codes) and int(codes.max()) >= len(alphabet.letters):
        raise InputError(f"{codes.max()} is no code of {alphabet.name}, which has {len(alphabet.letters)} letters")
    return codes


def _require_alphabet(alphabet: Alphabet | None) -> Alphabet:
    if alphabet is None:
        raise InputError("codes do not say what their letters are; pass a scoring with them")
    return alphabet


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
        if len(text) < 4096 and os.path.isfile(text):  # noqa: PTH113 (what is too long to be a name is no error here)
            hint = f"; to read the file of that name pass pathlib.Path({os.fsdecode(text)!r})"
        raise InputError(f"sequence {number}: {error}{hint}") from None
