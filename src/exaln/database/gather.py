"""Some targets of a database as records: those that a search reports. Only the blocks that they lie in are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from exaln.foundation.thread_pool import run_in_parallel
from exaln.sequences.records import Records, Text, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.sequences.alphabet import Alphabet


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


def _joined(parts: Sequence[Text]) -> Text:
    """One column, from those of several segments."""
    if len(parts) == 1:
        return parts[0]
    lengths = [np.diff(part.offsets) for part in parts]
    return Text(np.concatenate([part.data for part in parts]), offsets_of(np.concatenate(lengths)))
