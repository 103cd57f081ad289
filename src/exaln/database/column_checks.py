"""What must hold for the columns of a segment before anything follows its offsets and numbers into memory.

Hashes find what changed since a segment was written. They do not find what was never right: a file that was made by
another program, or by a damaged one. These rules are looked at once for each segment that is opened, in whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.columns import SegmentColumns


def problem_of(batch: Any, columns: SegmentColumns, n_residues: int, n_letters: int, first_ordinal: int) -> str | None:
    """The first rule that a segment breaks; None if it keeps all."""
    return next(_problems(batch, columns, n_residues, n_letters, first_ordinal), None)


def _problems(
    batch: Any, columns: SegmentColumns, n_residues: int, n_letters: int, first_ordinal: int
) -> Iterator[str]:
    n_rows = len(columns.ordinals)
    for name, offsets, n_bytes in (
        ("ids", columns.id_offsets, len(columns.id_data)),
        ("descriptions", columns.description_offsets, len(columns.description_data)),
        ("sequences", columns.offsets, len(columns.codes)),
        ("mask", columns.mask_offsets, len(columns.mask_starts)),
    ):
        if not _are_offsets(offsets, n_bytes):
            yield f"the offsets of the {name} lead outside their data"
    if int(columns.offsets[-1]) != n_residues:
        yield f"{int(columns.offsets[-1])} residues instead of {n_residues}"
    lengths = np.diff(columns.offsets)
    if np.any(lengths[1:] < lengths[:-1]):
        yield "rows are not sorted by length"
    if n_residues and int(columns.codes[:n_residues].max()) >= n_letters:
        yield "codes that are no letters of the alphabet"
    if not _are_places(columns.ordinals, first_ordinal, n_rows):
        yield "ordinals are not each place of the input once"
    if not _are_places(columns.by_id, 0, n_rows):
        yield "by_id does not have each row once"
    if not _are_intervals(columns, lengths):
        yield "mask intervals outside their sequence"
    for name, data, offsets in (
        ("id", columns.id_data, columns.id_offsets),
        ("description", columns.description_data, columns.description_offsets),
    ):
        if not _is_text(batch.column(name), data[: offsets[-1]], offsets):
            yield f"a column of texts, {name}, is not UTF-8"


def _are_offsets(offsets: NDArray[np.int64], n_values: int) -> bool:
    """From 0 on, never falling, and not beyond the values."""
    return bool(offsets[0] == 0 and np.all(offsets[1:] >= offsets[:-1]) and offsets[-1] <= n_values)


def _are_places(numbers: NDArray[np.integer], first: int, n: int) -> bool:
    """Whether n numbers are those from `first` on, in any order."""
    if not n or int(numbers.min()) != first or int(numbers.max()) != first + n - 1:
        return False
    is_there: NDArray[np.bool_] = np.zeros(n, np.bool_)
    is_there[numbers - first] = True
    return bool(is_there.all())


def _are_intervals(columns: SegmentColumns, lengths: NDArray[np.int64]) -> bool:
    """Whether each soft-masked stretch lies within its sequence."""
    starts, ends = columns.mask_starts, columns.mask_ends
    if columns.mask_offsets[-1] != len(starts):
        return False
    if not len(starts):
        return True
    own_lengths = np.repeat(lengths, np.diff(columns.mask_offsets))
    return bool(starts.min() >= 0 and np.all(starts < ends) and np.all(ends <= own_lengths))


def _is_text(column: Any, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> bool:
    """Whether all rows are UTF-8; only those with other characters than ASCII are looked at one by one."""
    import pyarrow as pa

    if not len(data) or int(data.max()) < 0x80:
        return True
    rows = np.unique(np.searchsorted(offsets, np.flatnonzero(data >= 0x80), side="right") - 1)
    try:
        column.take(pa.array(rows)).validate(full=True)
    except pa.ArrowException:
        return False
    return True
