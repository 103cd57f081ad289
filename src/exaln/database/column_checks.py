"""The rules that the columns of a segment must keep before anything follows their offsets and numbers into memory.

Hashes show that a segment has not changed since it was written. They do not show that it was right: another program,
or a damaged one, may have made it. The rules of a column are checked once, before it is first used as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.sequences.used_letters import used_letters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.database.columns import SegmentColumns

WRONG_CODES = "codes outside the alphabet"
WRONG_ORDINALS = "ordinals do not name each input position once"
WRONG_MASK = "mask intervals outside their sequence"
WRONG_OFFSETS = "offsets point outside their data"


class Column(Enum):
    """A column of a segment; the values are the fields of `SegmentColumns` that it has."""

    OFFSETS = ("offsets",)
    CODES = ("codes",)
    ID = ("id_offsets", "id_data")
    DESCRIPTION = ("description_offsets", "description_data")
    ORDINAL = ("ordinals",)
    BY_ID = ("by_id",)
    MASK = ("mask_offsets", "mask_starts", "mask_ends")


@dataclass(frozen=True)
class SegmentContent:
    """What the rules are about. n_residues, first_ordinal: of the manifest. n_letters: the size of the alphabet."""

    batch: Any
    columns: SegmentColumns
    n_residues: int
    n_letters: int
    first_ordinal: int


def problem_of(column: Column, content: SegmentContent) -> str | None:
    """The first rule that a column breaks, in words; None if it keeps all of them.

    The rules of CODES and MASK rely on those of OFFSETS.
    """
    return RULES[column](content)


def problem_of_codes(letters: NDArray[np.bool_], n_letters: int) -> str | None:
    """The rule of CODES. letters: bool[256], the codes that occur."""
    return WRONG_CODES if letters[n_letters:].any() else None


def _offsets(content: SegmentContent) -> str | None:
    from exaln._core import problem_of_offsets

    offsets = content.columns.offsets
    found = problem_of_offsets(offsets, len(content.columns.codes), True)
    if found == 1:
        return f"sequence {WRONG_OFFSETS}"
    if int(offsets[-1]) != content.n_residues:
        return f"{int(offsets[-1])} residues instead of {content.n_residues}"
    return "rows are not sorted by length" if found else None


def _codes(content: SegmentContent) -> str | None:
    return problem_of_codes(used_letters(content.columns.codes[: content.n_residues]), content.n_letters)


def _ids(content: SegmentContent) -> str | None:
    columns = content.columns
    return _problem_of_text(content.batch, "id", columns.id_data, columns.id_offsets)


def _descriptions(content: SegmentContent) -> str | None:
    columns = content.columns
    return _problem_of_text(content.batch, "description", columns.description_data, columns.description_offsets)


def _ordinals(content: SegmentContent) -> str | None:
    ordinals = content.columns.ordinals
    return None if _is_permutation(ordinals, content.first_ordinal) else WRONG_ORDINALS


def _by_id(content: SegmentContent) -> str | None:
    return None if _is_permutation(content.columns.by_id, 0) else "by_id does not name each row once"


def _mask(content: SegmentContent) -> str | None:
    """Each soft-masked stretch is not empty and lies within its sequence."""
    columns = content.columns
    starts, ends, offsets = columns.mask_starts, columns.mask_ends, columns.mask_offsets
    if not _are_offsets(offsets, len(starts)):
        return f"mask {WRONG_OFFSETS}"
    if offsets[-1] != len(starts):
        return WRONG_MASK
    if not len(starts):
        return None
    own_lengths = np.repeat(np.diff(columns.offsets), np.diff(offsets))
    is_right = starts.min() >= 0 and np.all(starts < ends) and np.all(ends <= own_lengths)
    return None if is_right else WRONG_MASK


RULES: dict[Column, Callable[[SegmentContent], str | None]] = {
    Column.OFFSETS: _offsets,
    Column.CODES: _codes,
    Column.ID: _ids,
    Column.DESCRIPTION: _descriptions,
    Column.ORDINAL: _ordinals,
    Column.BY_ID: _by_id,
    Column.MASK: _mask,
}


def _are_offsets(offsets: NDArray[np.int64], n_values: int) -> bool:
    """Whether offsets start at 0, never decrease, and end at or before `n_values`."""
    from exaln._core import problem_of_offsets

    return not problem_of_offsets(offsets, n_values, False)


def _is_permutation(numbers: NDArray[np.integer], first: int) -> bool:
    """Whether n numbers are first, first + 1, ..., first + n - 1 in any order."""
    n = len(numbers)
    if not n or int(numbers.min()) != first or int(numbers.max()) != first + n - 1:
        return False
    is_there: NDArray[np.bool_] = np.zeros(n, np.bool_)
    is_there[numbers - first] = True
    return bool(is_there.all())


def _problem_of_text(batch: Any, name: str, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> str | None:
    """All rows must be UTF-8; Arrow validates only the rows that have bytes beyond ASCII."""
    import pyarrow as pa

    if not _are_offsets(offsets, len(data)):
        return f"{name} {WRONG_OFFSETS}"
    data = data[: offsets[-1]]
    if not len(data) or int(data.max()) < 0x80:
        return None
    rows = np.unique(np.searchsorted(offsets, np.flatnonzero(data >= 0x80), side="right") - 1)
    try:
        batch.column(name).take(pa.array(rows)).validate(full=True)
    except pa.ArrowException:
        return f"column {name} is not UTF-8 text"
    return None
