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

    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64[n_rows + 1]"""
        ...

    def read_codes(self, begin: int, out: NDArray[np.uint8]) -> None:
        """Fill `out` with the codes from residue `begin` of the rows on."""
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


def texts_of(
    targets: ReadableTargets, rows: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[list[str], list[str]]:
    """The ids and descriptions of the targets in these rows. starts: the `segment_starts` of the targets."""
    own_rows = distinct(rows)
    texts = _read(targets, own_rows, starts, lambda segment, own: [segment.ids_of(own), segment.descriptions_of(own)])
    ids, descriptions = (column.to_list() for column in texts) if texts else ([], [])
    places = np.searchsorted(own_rows, rows).tolist()
    return [ids[place] for place in places], [descriptions[place] for place in places]


def sequences_of(
    targets: ReadableTargets,
    rows: NDArray[np.int64],
    parts: tuple[NDArray[np.int64], NDArray[np.int64]],
    lengths: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> tuple[Records, NDArray[np.int64]]:
    """Parts [start, end) of the targets in these rows, and int64[n], the place of each among the records.

    lengths: of the targets. Records have no ids and no masks; a whole target that is asked for several times is one.
    """
    first, end = parts
    is_whole = end - first == lengths
    whole = distinct(rows[is_whole])
    read = _read(targets, whole, starts, lambda segment, own: [Text(*segment.sequences_of(own))])
    sequences = read[0] if read else Text(np.empty(0, np.uint8), np.zeros(1, np.int64))
    places = np.searchsorted(whole, rows)
    cut = np.flatnonzero(~is_whole)
    places[cut] = len(whole) + np.arange(len(cut))
    pieces = [_part(targets, int(rows[one]), int(first[one]), int(end[one]), starts) for one in cut.tolist()]
    codes = np.concatenate([sequences.data, *pieces]) if pieces else sequences.data
    offsets = np.concatenate(
        [sequences.offsets, int(sequences.offsets[-1]) + np.cumsum([*map(len, pieces)], dtype=int)]
    )
    nothing = Text(np.empty(0, np.uint8), np.zeros(len(offsets), np.int64))
    no_masks = np.empty((0, 2), np.int64), np.zeros(len(offsets), np.int64)
    return Records(targets.alphabet, nothing, nothing, codes, offsets, *no_masks), places.astype(np.int64)


def _part(targets: ReadableTargets, row: int, first: int, end: int, starts: NDArray[np.int64]) -> NDArray[np.uint8]:
    number = int(np.searchsorted(starts, row, side="right")) - 1
    segment, codes = targets.segments[number], np.empty(end - first, np.uint8)
    offsets = segment.offsets
    segment.read_codes(int(offsets[row - int(starts[number])] - offsets[0]) + first, codes)
    return codes


def _read(
    targets: ReadableTargets,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    read: Callable[[ReadableRows, NDArray[np.int64]], list[Text]],
) -> list[Text]:
    """Columns of these rows, ascending, read segment by segment on several threads; [] without rows."""
    edges = np.searchsorted(rows, starts)
    found: dict[int, list[Text]] = {number: [] for number in np.flatnonzero(np.diff(edges)).tolist()}

    def read_segment(number: int) -> None:
        own = rows[edges[number] : edges[number + 1]] - starts[number]
        found[number].extend(read(targets.segments[number], own))

    run_in_parallel(read_segment, list(found))
    return [_joined(column) for column in zip(*found.values(), strict=True)]


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
