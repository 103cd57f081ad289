"""Alignment paths as arrays of operations, and as CIGAR strings, for all hits at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from exaln.foundation.resources import usable_threads
from exaln.sequences.records import Text, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPERATIONS = "MIDNSHP=X"
"""CIGAR operations by code, as in SAM. Paths use = X I D: I consumes the query, D the target."""


@dataclass(frozen=True)
class Paths:
    """Alignment paths: the path of hit i is operations[offsets[i]:offsets[i + 1]], each `length << 4 | code`.

    operations: uint32, with codes as in `OPERATIONS`, along the plus strand of the query. offsets: int64[n + 1].
    """

    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, hit: int) -> NDArray[np.uint32]:
        return self.operations[self.offsets[hit] : self.offsets[hit + 1]]

    @staticmethod
    def joined(parts: Sequence[Paths]) -> Paths:
        """The paths of all parts, one part after the other, with offsets from 0.

        >>> one, two = Paths(np.array([16, 32]), np.array([0, 2])), Paths(np.array([48]), np.array([0, 0, 1]))
        >>> both = Paths.joined([one, two])
        >>> both.operations.tolist(), both.offsets.tolist()
        ([16, 32, 48], [0, 2, 2, 3])
        """
        if len(parts) == 1:
            return parts[0]
        whole = [aligned(part) for part in parts]
        lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(part.offsets) for part in whole)])
        operations = np.concatenate([np.empty(0, np.uint32), *(part.operations for part in whole)])
        return Paths(operations, offsets_of(lengths))


MATCH, INSERTION, DELETION, EQUAL, DIFFERENT = (OPERATIONS.index(letter) for letter in "MID=X")
THREAD_RUNS = 1 << 18
"""Runs that are worth another thread."""

_MERGED_KIND = np.arange(16, dtype=np.uint32)
_MERGED_KIND[[EQUAL, DIFFERENT]] = MATCH


def cigars(paths: Paths, *, extended: bool = False) -> Text:
    """The CIGAR of each path, with M for aligned letters, or with = and X if `extended`.

    >>> paths = Paths(np.array([12 << 4 | EQUAL, 1 << 4 | DIFFERENT, 2 << 4 | DELETION], np.uint32), np.array([0, 3]))
    >>> cigars(paths)[0], cigars(paths, extended=True)[0]
    ('13M2D', '12=1X2D')
    """
    from exaln._core import cigar_column

    return Text(*cigar_column(*_native(paths), extended, _threads(len(paths.operations))))


def cigar(operations: NDArray[np.uint32] | memoryview, *, extended: bool = False) -> str:
    """The CIGAR of one path; faster than `cigars` for a single one.

    >>> cigar(np.array([12 << 4 | EQUAL, 1 << 4 | DIFFERENT, 2 << 4 | DELETION], np.uint32))
    '13M2D'
    """
    runs = ((OPERATIONS[run & 15], run >> 4) for run in operations.tolist())
    if not extended:
        kinds = groupby((("M" if letter in "=X" else letter, length) for letter, length in runs), itemgetter(0))
        runs = ((letter, sum(length for _, length in same)) for letter, same in kinds)
    return "".join([f"{length}{letter}" for letter, length in runs])


def cigar_list(paths: Paths, *, extended: bool = False) -> list[str]:
    """The CIGARs of all paths as strings."""
    from exaln._core import cigar_list

    return cigar_list(*_native(paths), extended, _threads(len(paths.operations)))


def _native(paths: Paths) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The arrays of paths as the native module takes them."""
    return np.require(paths.operations, np.uint32, ["C", "A"]), np.require(paths.offsets, np.int64, ["C", "A"])


def _threads(n_runs: int) -> int:
    """How many threads are worth starting for paths with this many runs."""
    return 1 if n_runs < THREAD_RUNS else min(usable_threads(None), 1 + n_runs // THREAD_RUNS)


def aligned(paths: Paths) -> Paths:
    """The same paths with offsets from 0; in a part of a larger set they begin elsewhere."""
    first, last = int(paths.offsets[0]), int(paths.offsets[-1])
    if first == 0 and last == len(paths.operations):
        return paths
    return Paths(paths.operations[first:last], paths.offsets - first)


def merged(paths: Paths) -> Paths:
    """The paths with M in place of runs of = and X."""
    paths = aligned(paths)
    kinds = _MERGED_KIND[paths.operations & 15]
    is_first = np.ones(len(kinds), np.bool_)
    is_first[1:] = kinds[1:] != kinds[:-1]
    starts = paths.offsets[:-1]
    is_first[starts[starts < len(kinds)]] = True
    places = np.flatnonzero(is_first)
    lengths = np.add.reduceat(paths.operations >> 4, places, dtype=np.uint32) if len(places) else kinds
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_first)])[paths.offsets]
    return Paths(lengths << 4 | kinds[places], offsets)


def taken(paths: Paths, rows: NDArray[np.int64]) -> Paths:
    """The paths of these rows, in this order, with offsets from 0; rows: int64[n].

    >>> some = taken(Paths(np.array([16, 32, 48], np.uint32), np.array([0, 2, 2, 3])), np.array([2, 0]))
    >>> some.operations.tolist(), some.offsets.tolist()
    ([48, 16, 32], [0, 1, 3])
    """
    if len(rows) and (np.diff(rows) == 1).all():
        return aligned(Paths(paths.operations, paths.offsets[rows[0] : rows[-1] + 2]))
    from exaln._core import gather_paths

    starts = paths.offsets[rows]
    offsets = offsets_of(paths.offsets[rows + 1] - starts)
    operations = np.empty(int(offsets[-1]), np.uint32)
    gather_paths([_native(paths)[0]], starts, offsets, operations, _threads(len(operations)))
    return Paths(operations, offsets)


def strings(text: Text) -> list[str]:
    """The strings of a column of ASCII text; faster than `Text.to_list`, which reads UTF-8."""
    from exaln._core import ascii_strings

    return ascii_strings(np.ascontiguousarray(text.data), np.ascontiguousarray(text.offsets))
