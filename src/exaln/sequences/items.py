"""One sequence of a list that is neither text nor codes as the core takes them: records of other packages, and arrays.

Biopython, scikit-bio, biotite and targets of `exaln.Database` are known by their attributes, so none is imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.sequences.records import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXTS = "USOT"
"""Kinds of NumPy dtypes for strings and objects."""


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


def is_record(one: object) -> bool:
    """Whether a value is one sequence of another package or of `exaln.Database`."""
    if isinstance(one, Mapping | Records | type):
        return False
    has_letters = any(hasattr(one, name) for name in ("seq", "sequence", "symbols"))
    return has_letters or (hasattr(one, "metadata") and hasattr(one, "values"))


def letters_or_codes(one: Any, place: str) -> bytes | NDArray[np.uint8]:
    """The letters of a sequence, or its codes as a contiguous uint8 array. place: what messages call the sequence."""
    if isinstance(one, np.ndarray) and one.dtype.kind not in TEXTS:
        return codes_of(one, place.partition(", ")[0])
    if isinstance(one, str):
        return arguments.encoded(place, one)
    if isinstance(one, bytes | bytearray):
        return bytes(one)
    if not isinstance(one, type | os.PathLike) and hasattr(one, "__bytes__") and not is_record(one):  # Bio.Seq.Seq
        return bytes(one)
    if is_record(one):
        return _letters_of_record(one, place)
    raise InputError(
        f"{place}: a sequence must be text, not {type(one).__name__}; pass a file as a pathlib.Path, not in a list"
    )


def _letters_of_record(one: Any, place: str) -> bytes | NDArray[np.uint8]:
    for attribute in ("seq", "sequence"):  # Biopython; Target
        if hasattr(one, attribute):
            return letters_or_codes(getattr(one, attribute), place)
    if hasattr(one, "symbols"):  # biotite
        return arguments.encoded(place, str(one))
    values = np.asarray(one.values)  # scikit-bio: one byte for each letter
    if values.dtype.kind != "S":
        raise InputError(f"{place}: a sequence must be text, not {type(one).__name__}")
    return values.tobytes()


def codes_of(array: NDArray[Any], name: str) -> NDArray[np.uint8]:
    """The array if it may hold codes, without gaps; InputError unless it is one-dimensional and uint8."""
    if array.dtype != np.uint8 or array.ndim != 1:
        raise InputError(f"{name}: codes must be uint8 arrays, not {array.dtype} with {array.ndim} dimensions")
    return np.ascontiguousarray(array).view(np.ndarray)


def names_of(one: Any, number: int) -> tuple[str, str]:
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
