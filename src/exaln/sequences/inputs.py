"""Turn what users pass as sequences into `Records`: strings, files, arrays, records of other packages, and lists."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.sequences.alphabet import Alphabet, detect
from exaln.sequences.molecules import require_molecule
from exaln.sequences.records import Records, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray


@runtime_checkable
class SequenceRecord(Protocol):
    """A record of Biopython, `Bio.SeqRecord.SeqRecord`."""

    id: str
    description: str
    seq: Any


class StoredSequence(Protocol):
    """A sequence of an `exaln.Database`, a `Target`."""

    @property
    def id(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def sequence(self) -> str: ...


OneSequence: TypeAlias = "str | bytes | SequenceRecord | StoredSequence | NDArray[np.uint8]"
SingleSequence: TypeAlias = "OneSequence | os.PathLike[str] | Records | Mapping[str, OneSequence]"
"""One sequence; a file, Records or a dict must have exactly one."""

Sequences: TypeAlias = "OneSequence | os.PathLike[str] | Records | Mapping[str, OneSequence] | Iterable[OneSequence]"
"""Sequences in any of these forms: text, codes, a record (of Biopython, scikit-bio, biotite, or a `Target`), a FASTA or
FASTQ file (as a path object or "-"), Records, an iterable of sequences, or a dict from ids to sequences. Codes are a
uint8 array; a two-dimensional one has one sequence per row.
"""

EXPECTED = "a sequence, several, a dict of them by id, Records, or the pathlib.Path of a file"


def as_records(
    sequences: Sequences, alphabet: Alphabet | None = None, name: str = "sequences", like: Alphabet | None = None
) -> Records:
    """Records for whatever a user passed; InputError if it cannot be read as sequences.

    alphabet: detected if None. name: what messages call the argument. like: an alphabet that was inferred and not
    stated, such as that of the database; a sequence that looks like another molecule is then an InputError.

    >>> as_records(["HEAGAWGHEE", "PAWHEAE"]).lengths.tolist()
    [10, 7]
    >>> as_records({"one": "HEAGAWGHEE", "two": "PAWHEAE"}).ids.to_list()
    ['one', 'two']
    """
    if isinstance(sequences, Records):
        return sequences
    if _is_file(sequences):
        from exaln.sequences.fasta import read_records

        path = arguments.path(name, sequences, EXPECTED)
        return read_records(path, alphabet=alphabet, like=like, keep_qualities=True)
    if alphabet is None and like is not None:
        records = as_records(sequences, like, name)
        require_molecule(records, name)
        return records
    if isinstance(sequences, np.ndarray) and sequences.ndim == 2:
        return _matrix(sequences, _require_alphabet(alphabet, name), name)
    given = _listed(sequences, name)
    raw = [_letters(one, f"{name}, sequence {number}") for number, one in enumerate(given.sequences, start=1)]
    if alphabet is None:
        if any(isinstance(text, np.ndarray) for text in raw):
            _require_alphabet(None, name)
        alphabet = detect_alphabet(text for text in raw if isinstance(text, bytes))
    codes = [
        _checked(text, alphabet, name) if isinstance(text, np.ndarray) else _encode(text, number, alphabet, name)
        for number, text in enumerate(raw, start=1)
    ]
    if given.ids is None and all(isinstance(one, str | bytes | np.ndarray) for one in given.sequences):
        return Records.of(alphabet, codes)
    names = [_names(one, number) for number, one in enumerate(given.sequences, start=1)]
    ids = [id_ for id_, _ in names] if given.ids is None else given.ids
    for id_, (_, description) in zip(ids, names, strict=True):
        arguments.encoded(f"{name}, id", id_)
        arguments.encoded(f"{name}, description of {id_}", description)
    return Records.of(alphabet, codes, ids, [description for _, description in names])


def as_one_record(sequence: SingleSequence, name: str) -> Sequences:
    """One sequence in a form that `as_records` takes; InputError if a file, a dict or Records has not exactly one."""
    if isinstance(sequence, str | bytes) and sequence != "-":
        return [sequence]
    if _is_file(sequence):
        sequence = as_records(sequence, name=name)
    if not isinstance(sequence, Records | Mapping):
        return [sequence]  # type: ignore[list-item]
    if len(sequence) != 1:
        raise InputError(f"{name} has {len(sequence)} sequences; expected one")
    return sequence


def texts_of(sequences: Sequences, name: str = "sequences") -> list[bytes] | None:
    """The letters of each sequence, for detecting the alphabet; None for files, codes and one-time iterators."""
    if isinstance(sequences, Records) or _is_file(sequences) or not _can_be_read_twice(sequences):
        return None
    if isinstance(sequences, np.ndarray) and sequences.dtype.kind not in TEXTS:
        return None
    given = _listed(sequences, name).sequences
    raw = [_letters(one, f"{name}, sequence {number}") for number, one in enumerate(given, start=1)]
    return None if any(isinstance(text, np.ndarray) for text in raw) else raw  # type: ignore[return-value]


TEXTS = "USOT"
"""Kinds of NumPy dtypes for strings and objects."""


@dataclass(frozen=True)
class _Listed:
    """Sequences as a list. ids: their names; None if they have none or carry their own."""

    sequences: list[Any]
    ids: list[str] | None = None


def _listed(sequences: Any, name: str) -> _Listed:
    if isinstance(sequences, str | bytes | bytearray) or hasattr(sequences, "__bytes__") or _is_record(sequences):
        return _Listed([sequences])
    if isinstance(sequences, np.ndarray):
        return _Listed(sequences.ravel().tolist() if sequences.dtype.kind in TEXTS else [sequences])
    if isinstance(sequences, Mapping):
        return _Listed(list(sequences.values()), [_id(key, name) for key in sequences])
    if hasattr(sequences, "to_pylist"):  # a column of Arrow
        return _Listed(sequences.to_pylist())
    if isinstance(sequences, type) or not isinstance(sequences, Iterable):
        raise arguments.wrong(name, sequences, EXPECTED)
    return _Listed(list(sequences))


def _id(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise InputError(f"{name}: the key {arguments.shown(key)} is not an id; expected a dict from ids to sequences")
    return key


def _is_file(sequences: object) -> bool:
    return isinstance(sequences, os.PathLike) or (isinstance(sequences, str) and sequences == "-")


def _can_be_read_twice(sequences: object) -> bool:
    return isinstance(sequences, str | bytes | Collection) or _is_record(sequences)


def _is_record(one: object) -> bool:
    """Whether a value is one sequence of another package or of `exaln.Database`."""
    if isinstance(one, Mapping | Records | type):
        return False
    has_letters = any(hasattr(one, name) for name in ("seq", "sequence", "symbols"))
    return has_letters or (hasattr(one, "metadata") and hasattr(one, "values"))


def _letters(one: Any, place: str) -> bytes | NDArray[np.uint8]:
    """The letters of a sequence as bytes, or its codes. place: what messages call the sequence."""
    if isinstance(one, np.ndarray) and one.dtype.kind not in TEXTS:
        return one
    if isinstance(one, str):
        return arguments.encoded(place, one)
    if isinstance(one, bytes | bytearray):
        return bytes(one)
    if not isinstance(one, type | os.PathLike) and hasattr(one, "__bytes__") and not _is_record(one):  # Bio.Seq.Seq
        return bytes(one)
    if _is_record(one):
        return _letters_of_record(one, place)
    raise InputError(
        f"{place}: a sequence must be text, not {type(one).__name__}; pass a file as a pathlib.Path, not in a list"
    )


def _letters_of_record(one: Any, place: str) -> bytes | NDArray[np.uint8]:
    for attribute in ("seq", "sequence"):  # Biopython; Target
        if hasattr(one, attribute):
            return _letters(getattr(one, attribute), place)
    if hasattr(one, "symbols"):  # biotite
        return arguments.encoded(place, str(one))
    values = np.asarray(one.values)  # scikit-bio: one byte for each letter
    if values.dtype.kind != "S":
        raise InputError(f"{place}: a sequence must be text, not {type(one).__name__}")
    return values.tobytes()


def _matrix(rows: NDArray[np.uint8], alphabet: Alphabet, name: str) -> Records:
    """Records of a matrix of codes with one sequence per row."""
    n, length = rows.shape
    return Records(
        alphabet=alphabet,
        ids=Text.numbered("seq", n),
        descriptions=Text(np.empty(0, np.uint8), np.zeros(n + 1, np.int64)),
        codes=_checked(rows.flatten(), alphabet, name),
        offsets=np.arange(n + 1) * length,
        mask=np.empty((0, 2), np.int64),
        mask_offsets=np.zeros(n + 1, np.int64),
    )


def _checked(codes: NDArray[np.uint8], alphabet: Alphabet, name: str) -> NDArray[np.uint8]:
    if codes.dtype != np.uint8 or codes.ndim != 1:
        raise InputError(f"{name}: codes must be uint8 arrays, not {codes.dtype} with {codes.ndim} dimensions")
    if len(codes) and int(codes.max()) >= len(alphabet.letters):
        raise InputError(
            f"{name}: {codes.max()} is not a code of {alphabet.name}, which has {len(alphabet.letters)} letters"
        )
    return codes


def _require_alphabet(alphabet: Alphabet | None, name: str) -> Alphabet:
    if alphabet is None:
        raise InputError(f"{name}: the alphabet of codes is unknown; pass a scoring with them")
    return alphabet


def _names(one: Any, number: int) -> tuple[str, str]:
    """Id and description of a sequence; "seqN" and "" if it has none."""
    about = getattr(one, "metadata", None)
    if isinstance(about, Mapping):  # scikit-bio
        return str(about.get("id") or f"seq{number}"), str(about.get("description") or "")
    id_, description = getattr(one, "id", None), getattr(one, "description", None)
    if isinstance(one, str | bytes) or not isinstance(id_, str):
        return f"seq{number}", ""
    text = str(description or "")
    if hasattr(one, "seq") and f"{text} ".startswith(f"{id_} "):  # Biopython's description begins with the id
        text = text[len(id_) :].strip()
    return id_, text


def detect_alphabet(sequences: Iterable[bytes]) -> Alphabet:
    """The built-in alphabet of these sequences; see `exaln.sequences.alphabet.detect`."""
    counts = np.zeros(256, np.int64)
    for sequence in sequences:
        counts += np.bincount(np.frombuffer(sequence, np.uint8), minlength=256)
    return detect(counts)


def _encode(text: bytes, number: int, alphabet: Alphabet, name: str) -> NDArray[np.uint8]:
    try:
        return alphabet.encode(text)
    except InputError as error:
        hint = ""
        if len(text) < 4096 and os.path.isfile(text):  # noqa: PTH113 (what is too long to be a name is no error here)
            hint = f"; to read the file of that name pass pathlib.Path({os.fsdecode(text)!r})"
        raise InputError(f"{name}, sequence {number}: {error}{hint}") from None
