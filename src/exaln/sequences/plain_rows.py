"""`TextRows` of the core in plain Python: its definition, and what takes its place where the core is not built."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.sequences.records import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln._core import TextRows


def new_rows() -> TextRows:
    """Rows of the core, or plain ones."""
    try:
        from exaln._core import TextRows
    except ImportError:
        return PlainRows()  # type: ignore[return-value]
    return TextRows()


class PlainRows:
    """Texts, and arrays of codes, of one list; `_core.pyi` describes the methods."""

    def __init__(self) -> None:
        self._rows: list[bytes] = []
        self._has_codes: list[bool] = []

    def __len__(self) -> int:
        return len(self._rows)

    def _add(self, row: bytes, *, is_codes: bool = False) -> None:
        self._rows.append(row)
        self._has_codes.append(is_codes)

    def add_items(self, items: Sequence[Any], array: type[NDArray[Any]]) -> list[int]:
        others = []
        for place, item in enumerate(items):
            if isinstance(item, array) and item.dtype == np.uint8 and item.ndim == 1 and item.flags.c_contiguous:
                self._add(item.tobytes(), is_codes=True)
                continue
            text = _encoded(item) if isinstance(item, str) else item
            if not isinstance(text, bytes):
                others.append(place)
            self._add(text if isinstance(text, bytes) else b"")
        return others

    def add_matrix(self, matrix: NDArray[np.uint8]) -> None:
        for row in matrix:
            self._add(row.tobytes().rstrip(b"\0"))

    def add_wide_matrix(self, matrix: NDArray[np.uint32], threads: int = 1) -> bool:
        is_ascii = int(matrix.max(initial=0)) < 128
        if is_ascii:
            self.add_matrix(matrix.astype(np.uint8))
        return is_ascii

    def add_column(self, data: NDArray[np.uint8], offsets: NDArray[np.integer]) -> None:
        for begin, end in pairwise(offsets.tolist()):
            if not 0 <= begin <= end <= len(data):
                raise IndexError("offsets lead outside the data")
            self._add(data[begin:end].tobytes())

    def add_views(self, views: NDArray[np.uint8], buffers: Sequence[NDArray[np.uint8]]) -> None:
        for view in views.reshape(-1, 16):
            length, _, number, offset = view.view(np.int32).tolist()
            if length < 0:
                raise IndexError("a view has a negative length")
            if length > 12 and not (0 <= number < len(buffers) and 0 <= offset <= len(buffers[number]) - length):
                raise IndexError("a view leads outside its buffer")
            letters = view[4 : 4 + length] if length <= 12 else buffers[number][offset : offset + length]
            self._add(letters.tobytes())

    @property
    def n_bytes(self) -> int:
        return sum(map(len, self._rows))

    @property
    def has_codes(self) -> bool:
        return any(self._has_codes)

    def offsets(self) -> NDArray[np.int64]:
        return offsets_of(map(len, self._rows))

    def bytes_of(self, row: int, most: int = sys.maxsize) -> bytes:
        return self._rows[row][:most]

    def is_codes(self, row: int) -> bool:
        return self._has_codes[row]

    def letter_counts(self, threads: int = 1, isa: str = "") -> NDArray[np.int64]:
        letters = b"".join(row for row, is_codes in zip(self._rows, self._has_codes, strict=True) if not is_codes)
        return np.bincount(np.frombuffer(letters.upper(), np.uint8), minlength=256)

    def encode(
        self, table: NDArray[np.uint8], n_codes: int, codes: NDArray[np.uint8], threads: int = 1, isa: str = ""
    ) -> tuple[int, int, int] | None:
        place = 0
        for number, (row, is_codes) in enumerate(zip(self._rows, self._has_codes, strict=True)):
            letters = np.frombuffer(row, np.uint8)
            own = letters if is_codes else table[letters]
            misfits = np.flatnonzero(own >= n_codes)
            if len(misfits):
                return number, int(misfits[0]), row[misfits[0]]
            codes[place : place + len(row)] = own
            place += len(row)
        return None


def _encoded(text: str) -> bytes | None:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return None
