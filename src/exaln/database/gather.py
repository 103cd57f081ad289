"""Some targets of a database, or ranges of them: those that a search reports. Only their blocks are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.foundation.distinct import distinct
from exaln.foundation.mapped_file import unchanged
from exaln.foundation.thread_pool import run_in_parallel
from exaln.sequences.records import Records, Text, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.segment import Segment
    from exaln.sequences.alphabet import Alphabet

    _Read = Callable[[Segment, NDArray[np.int64], NDArray[np.intp]], tuple[NDArray[np.uint8], NDArray[np.int64]]]
    """Codes of rows of a segment, joined, and their offsets; the last argument is their places in the answer."""


class _Segments(Protocol):
    def __getitem__(self, number: int, /) -> Segment: ...


class ReadableRows(Protocol):
    """Rows of a segment, of which some can be read; rows: int64[n]."""

    def sequences_of(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Codes, joined, and their offsets, int64[n + 1]."""
        ...

    def ids_of(self, rows: NDArray[np.int64]) -> Text:
        """The ids."""
        ...

    def descriptions_of(self, rows: NDArray[np.int64]) -> Text:
        """The descriptions."""
        ...


class ReadableTargets(Protocol):
    """A database, or a part of one."""

    @property
    def alphabet(self) -> Alphabet:
        """What the codes mean."""
        ...

    @property
    def segments(self) -> Sequence[ReadableRows]:
        """All segments."""
        ...


class LocatedTargets(Protocol):
    """A database whose targets can be found by their ordinals."""

    @property
    def segments(self) -> _Segments:
        """The segments, of which those of located targets are open."""
        ...

    def locate(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Segment number and row of each target, int64[n] each."""
        ...

    def require_unchanged(self) -> None:
        """Raise DatabaseError if a file changed after it was opened."""
        ...


def gathered(targets: ReadableTargets, rows: NDArray[np.int64], starts: NDArray[np.int64], *, texts: bool) -> Records:
    """The targets in these rows, without masks. rows: ascending; starts: the `segment_starts` of the targets.

    texts: whether ids and descriptions are read; otherwise they are empty.
    """
    edges = np.searchsorted(rows, starts)
    found: dict[int, list[Text]] = {number: [] for number in np.flatnonzero(np.diff(edges)).tolist()}

    def read(number: int) -> None:
        segment, own = targets.segments[number], rows[edges[number] : edges[number + 1]] - starts[number]
        found[number].append(Text(*segment.sequences_of(own)))
        found[number].extend([segment.ids_of(own), segment.descriptions_of(own)] if texts else [])

    run_in_parallel(read, list(found))
    empty = Text(np.empty(0, np.uint8), np.zeros(len(rows) + 1, np.int64))
    sequences, *others = (_joined(column) for column in zip(*found.values(), strict=True)) if found else (empty,)
    ids, descriptions = others or (empty, empty)
    return Records(
        targets.alphabet,
        ids,
        descriptions,
        sequences.data,
        sequences.offsets,
        np.empty((0, 2), np.int64),
        np.zeros(len(rows) + 1, np.int64),
    )


def whole_targets(database: LocatedTargets, ordinals: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
    """The codes of these targets, in this order; ordinals: int64[n]."""
    with unchanged(database.require_unchanged):
        return _pieces(database, ordinals, lambda segment, rows, _: segment.sequences_of(rows))


def target_slices(
    database: LocatedTargets, ordinals: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> list[NDArray[np.uint8]]:
    """The codes [starts, ends) of these targets, in this order; all int64[n]."""
    return _pieces(database, ordinals, lambda segment, rows, here: segment.ranges_of(rows, starts[here], ends[here]))


def _pieces(database: LocatedTargets, ordinals: NDArray[np.int64], read: _Read) -> list[NDArray[np.uint8]]:
    """What `read` gives for these targets, segment by segment, in the order of the targets."""
    numbers, rows = database.locate(ordinals)
    found = [np.empty(0, np.uint8)] * len(ordinals)
    for number in distinct(numbers).tolist():
        here = np.flatnonzero(numbers == number)
        codes, offsets = read(database.segments[number], rows[here], here)
        for place, begin, end in zip(here.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            found[place] = codes[begin:end]
    return found


def _joined(parts: Sequence[Text]) -> Text:
    """One column, from those of several segments."""
    if len(parts) == 1:
        return parts[0]
    lengths = [np.diff(part.offsets) for part in parts]
    return Text(np.concatenate([part.data for part in parts]), offsets_of(np.concatenate(lengths)))
