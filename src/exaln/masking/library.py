"""pydustmasker, which finds SDUST's and tantan's stretches, applied to records on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.errors import InputError
from exaln.foundation.thread_pool import ThreadPool
from exaln.masking.intervals import Intervals
from exaln.sequences.records import Records, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK_RESIDUES = 1 << 18
"""Residues of the neighbouring sequences that a thread takes at a time, about."""

Found = tuple[tuple[int, int], ...]


def library(method: str) -> Any:
    """The module pydustmasker; InputError if it is not installed. method: what needs it, for the message."""
    try:
        import pydustmasker
    except ModuleNotFoundError:
        raise InputError(f'{method} needs pydustmasker, which is not installed: pip install "exaln[mask]"') from None
    return pydustmasker


def intervals_of(records: Records, letters: NDArray[np.uint8], find: Callable[[str], Found], threads: int) -> Intervals:
    """The intervals that `find` returns for the letters of each sequence.

    letters: uint8[n_letters], the ASCII letter that `find` gets for each code.
    """
    found: list[Found] = [()] * len(records)

    def search(rows: range) -> None:
        for row in rows:
            found[row] = find(letters[records.sequence(row)].tobytes().decode("ascii"))

    chunks = list(_chunks(records.offsets))
    if threads == 1 or len(chunks) <= 1:
        for rows in chunks:
            search(rows)
    else:
        with ThreadPool(min(threads, len(chunks))) as pool:
            pool.run(search, chunks)
    flat = np.array([pair for pairs in found for pair in pairs], np.int64).reshape(-1, 2)
    return Intervals(flat[:, 0], flat[:, 1], offsets_of(len(pairs) for pairs in found))


def _chunks(offsets: NDArray[np.int64]) -> Iterator[range]:
    """Neighbouring rows of CHUNK_RESIDUES each, and those of longer sequences on their own."""
    first, n = 0, len(offsets) - 1
    while first < n:
        end = int(np.searchsorted(offsets, offsets[first] + CHUNK_RESIDUES, side="right")) - 1
        end = max(first + 1, end)
        yield range(first, end)
        first = end
