"""`Given`: sequences as a user passed them, looked at once. The core holds where their letters lie.

The letters are counted and encoded by one native call for all sequences, without a copy of the text before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.foundation.resources import available_threads
from exaln.sequences.alphabet import LETTER_CLASSES, PROTEIN, Alphabet, describe_byte, detect
from exaln.sequences.arrow_columns import add_column, is_column
from exaln.sequences.items import TEXTS, codes_of, is_record, letters_or_codes, names_of
from exaln.sequences.plain_rows import new_rows
from exaln.sequences.records import Records, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln._core import TextRows

EXPECTED = "a sequence, several, a dict of them by id, Records, or the pathlib.Path of a file"
BYTES_OF_ONE_THREAD = 1 << 20
"""Up to this many letters, one thread is done before another has started."""

SAMPLE_BYTES = 1000
"""Of the first sequence, which are looked at before the letters of all are counted."""


@dataclass(frozen=True)
class Given:
    """Sequences that are no file and no Records.

    name: what messages call them. names: an id and a description for each; None for seq1, seq2, ...
    shape: of a matrix of codes with one sequence per row, which `rows` has in one row; None if each has a row there.
    """

    name: str
    rows: TextRows
    names: tuple[Sequence[str], Sequence[str]] | None = None
    shape: tuple[int, int] | None = None

    @property
    def has_codes(self) -> bool:
        """Whether there are codes, of which the alphabet is unknown."""
        return self.rows.has_codes

    def detected(self, threads: int | None = None) -> Alphabet:
        """The built-in alphabet of their letters; InputError if there are codes."""
        if self.has_codes:
            raise InputError(f"{self.name}: the alphabet of codes is unknown; pass a scoring with them")
        return detected_together([self], threads)

    def shows_protein(self) -> bool:
        """Whether the first letters have one that no nucleotides have: then `detect` says protein, whatever follows."""
        sample = self.rows.bytes_of(0, SAMPLE_BYTES) if len(self.rows) else b""
        counts = np.bincount(np.frombuffer(sample, np.uint8), minlength=256)
        n_letters, n_nucleotides = counts @ LETTER_CLASSES[:, :2]
        return bool(n_nucleotides < n_letters)

    def records(self, alphabet: Alphabet, threads: int | None = None) -> Records:
        """The sequences encoded. Raises InputError for a letter or a code outside the alphabet: the first one."""
        codes = np.empty(self.rows.n_bytes, np.uint8)
        n_letters = len(alphabet.letters)
        misfit = self.rows.encode(alphabet.table, n_letters, codes, _threads(self.rows.n_bytes, threads))
        if misfit is not None:
            raise self._misfit(*misfit, alphabet)
        return Records.of_columns(alphabet, codes, self._offsets(), self._names())

    def _offsets(self) -> NDArray[np.int64]:
        if self.shape is None:
            return self.rows.offsets()
        n, length = self.shape
        return np.arange(n + 1) * length

    def _names(self) -> tuple[Text, Text] | None:
        if self.names is None:
            return None
        try:
            return Text.of(self.names[0]), Text.of(self.names[1])
        except UnicodeEncodeError:
            for id_, description in zip(*self.names, strict=True):
                arguments.encoded(f"{self.name}, id", id_)
                arguments.encoded(f"{self.name}, description of {id_}", description)
            raise

    def _misfit(self, row: int, position: int, byte: int, alphabet: Alphabet) -> InputError:
        if self.rows.is_codes(row):
            highest = max(self.rows.bytes_of(row))
            return InputError(
                f"{self.name}: {highest} is not a code of {alphabet.name}, which has {len(alphabet.letters)} letters"
            )
        text, hint = self.rows.bytes_of(row), ""
        if len(text) < 4096 and os.path.isfile(text):  # noqa: PTH113 (what is too long to be a name is no error here)
            hint = f"; to read the file of that name pass pathlib.Path({os.fsdecode(text)!r})"
        found = f"{describe_byte(byte)} at position {position + 1} is not a {alphabet.name} letter"
        return InputError(f"{self.name}, sequence {row + 1}: {found}{hint}")


def detected_together(sides: Sequence[Given], threads: int | None) -> Alphabet:
    """The built-in alphabet of the letters of all; they have no codes."""
    if any(side.shows_protein() for side in sides):
        return PROTEIN
    counts = [side.rows.letter_counts(_threads(side.rows.n_bytes, threads)) for side in sides]
    return detect(np.sum(counts, axis=0))


def _threads(n_bytes: int, threads: int | None) -> int:
    """Threads that are worth starting; the engine checks the user's number later."""
    if n_bytes <= BYTES_OF_ONE_THREAD:
        return 1
    cores = available_threads()
    return min(threads, cores) if isinstance(threads, int) and threads > 0 else cores


def look_at(sequences: Any, name: str) -> Given:
    """Sequences in any form except files and Records. Raises InputError if they are none."""
    if type(sequences) is list or type(sequences) is tuple:
        return _of_items(sequences, name)
    if is_column(sequences):
        rows = new_rows()
        if add_column(rows, sequences, name):
            return Given(name, rows)
    if isinstance(sequences, str | bytes | bytearray) or hasattr(sequences, "__bytes__") or is_record(sequences):
        return _of_items([sequences], name)
    if isinstance(sequences, np.ndarray):
        return _of_array(sequences, name)
    if isinstance(sequences, Mapping):
        ids = [_id(key, name) for key in sequences]
        return _of_items(list(sequences.values()), name, ids)
    if hasattr(sequences, "to_pylist"):  # an Arrow column of other values than strings
        return _of_items(sequences.to_pylist(), name)
    if isinstance(sequences, type) or not isinstance(sequences, Iterable):
        raise arguments.wrong(name, sequences, EXPECTED)
    return _of_items(list(sequences), name)


def _of_array(array: NDArray[Any], name: str) -> Given:
    if array.dtype.kind not in TEXTS:
        codes = codes_of(array.ravel() if array.ndim == 2 else array, name)
        return Given(name, _rows_of([codes]), shape=array.shape if array.ndim == 2 else None)
    rows = new_rows()
    return Given(name, rows) if _add_array(rows, array.ravel()) else _of_items(array.ravel().tolist(), name)


def _add_array(rows: TextRows, array: NDArray[Any]) -> bool:
    """Add texts of fixed width; False if the array has objects or other letters than ASCII."""
    width, kind = array.dtype.itemsize, array.dtype.kind
    if kind not in "SU" or not width:
        return False
    if kind == "S":
        rows.add_matrix(array.view(np.uint8).reshape(len(array), width))
        return True
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    wide = native.view(np.uint32).reshape(len(array), width // 4)
    return rows.add_wide_matrix(wide, _threads(wide.size, None))


def _of_items(items: Sequence[Any], name: str, ids: Sequence[str] | None = None) -> Given:
    rows = new_rows()
    others = rows.add_items(items, np.ndarray)
    if others:
        taken = list(items)
        for place in others:
            taken[place] = letters_or_codes(items[place], f"{name}, sequence {place + 1}")
        rows = _rows_of(taken)
    names = None if ids is None and not others else _names_of(items, others, ids)
    return Given(name, rows, names)


def _rows_of(items: Sequence[Any]) -> TextRows:
    rows = new_rows()
    others = rows.add_items(items, np.ndarray)
    assert not others
    return rows


def _names_of(items: Sequence[Any], others: Sequence[int], ids: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Ids and descriptions. others: the items that may have names of their own."""
    own_ids = [f"seq{number}" for number in range(1, len(items) + 1)] if ids is None else list(ids)
    descriptions = [""] * len(items)
    for place in others:
        id_, descriptions[place] = names_of(items[place], place + 1)
        if ids is None:
            own_ids[place] = id_
    return own_ids, descriptions


def _id(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise InputError(f"{name}: the key {arguments.shown(key)} is not an id; expected a dict from ids to sequences")
    return key
