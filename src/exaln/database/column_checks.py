"""The rules that the columns of a segment must keep before anything follows their offsets and numbers into memory.

Hashes show that a segment has not changed since it was written. They do not show that it was right: another program,
or a damaged one, may have made it. These rules are checked once for each segment that is opened, on whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.columns import SegmentColumns

WRONG_CODES = "codes outside the alphabet"
WRONG_ORDINALS = "ordinals do not name each input position once"
WRONG_MASK = "mask intervals outside their sequence"


def problem_of(batch: Any, columns: SegmentColumns, n_residues: int, n_letters: int, first_ordinal: int) -> str | None:
    """The first rule that a segment breaks, in words; None if it keeps all of them.

    n_residues and first_ordinal are those of the manifest; n_letters is the size of the alphabet.
    """
    return next(_problems(batch, columns, n_residues, n_letters, first_ordinal), None)


def _problems(
    batch: Any, columns: SegmentColumns, n_residues: int, n_letters: int, first_ordinal: int
) -> Iterator[str]:
    """The broken rules in turn. Each check relies on the rules before it, so only the first result is meaningful."""
    n_rows = len(columns.ordinals)
    for name, offsets, n_bytes in (
        ("id", columns.id_offsets, len(columns.id_data)),
        ("description", columns.description_offsets, len(columns.description_data)),
        ("sequence", columns.offsets, len(columns.codes)),
        ("mask", columns.mask_offsets, len(columns.mask_starts)),
    ):
        if not _are_offsets(offsets, n_bytes):
            yield f"{name} offsets point outside their data"
    if int(columns.offsets[-1]) != n_residues:
        yield f"{int(columns.offsets[-1])} residues instead of {n_residues}"
    lengths = np.diff(columns.offsets)
    if np.any(lengths[1:] < lengths[:-1]):
        yield "rows are not sorted by length"
    if n_residues and int(columns.codes[:n_residues].max()) >= n_letters:
        yield WRONG_CODES
    if not _is_permutation(columns.ordinals, first_ordinal, n_rows):
        yield WRONG_ORDINALS
    if not _is_permutation(columns.by_id, 0, n_rows):
        yield "by_id does not name each row once"
    if not _are_intervals(columns, lengths):
        yield WRONG_MASK
    for name, data, offsets in (
        ("id", columns.id_data, columns.id_offsets),
        ("description", columns.description_data, columns.description_offsets),
    ):
        if not _is_text(batch.column(name), data[: offsets[-1]], offsets):
            yield f"column {name} is not UTF-8 text"


def _are_offsets(offsets: NDArray[np.int64], n_values: int) -> bool:
    """Whether offsets start at 0, never decrease, and end at or before `n_values`."""
    return bool(offsets[0] == 0 and np.all(offsets[1:] >= offsets[:-1]) and offsets[-1] <= n_values)


def _is_permutation(numbers: NDArray[np.integer], first: int, n: int) -> bool:
    """Whether n numbers are first, first + 1, ..., first + n - 1 in any order."""
    if not n or int(numbers.min()) != first or int(numbers.max()) != first + n - 1:
        return False
    is_there: NDArray[np.bool_] = np.zeros(n, np.bool_)
    is_there[numbers - first] = True
    return bool(is_there.all())


def _are_intervals(columns: SegmentColumns, lengths: NDArray[np.int64]) -> bool:
    """Whether each soft-masked stretch is not empty and lies within its sequence; lengths: int64[n_rows]."""
    starts, ends = columns.mask_starts, columns.mask_ends
    if columns.mask_offsets[-1] != len(starts):
        return False
    if not len(starts):
        return True
    own_lengths = np.repeat(lengths, np.diff(columns.mask_offsets))
    return bool(starts.min() >= 0 and np.all(starts < ends) and np.all(ends <= own_lengths))


def _is_text(column: Any, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> bool:
    """Whether all rows are UTF-8; Arrow validates only the rows that have bytes beyond ASCII."""
    import pyarrow as pa

    if not len(data) or int(data.max()) < 0x80:
        return True
    rows = np.unique(np.searchsorted(offsets, np.flatnonzero(data >= 0x80), side="right") - 1)
    try:
        column.take(pa.array(rows)).validate(full=True)
    except pa.ArrowException:
        return False
    return True
