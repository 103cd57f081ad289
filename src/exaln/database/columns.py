"""The columns of a segment: their Arrow types, and NumPy views of their buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.sequences.alphabet import Alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT_VERSION = 1
INTERVAL_BYTES = 16
"""Size of a soft-masked interval: start and end, int64 each."""


@dataclass(frozen=True)
class SegmentColumns:
    """Views of the buffers of a record batch.

    id_data, description_data, codes: uint8, the values of all rows joined, with their offsets int64[n_rows + 1].
    mask_starts, mask_ends: int64[intervals], with mask_offsets int64[n_rows + 1].
    ordinals: int64[n_rows], position of each row in the input. by_id: int32[n_rows], the rows sorted by id.
    """

    id_data: NDArray[np.uint8]
    id_offsets: NDArray[np.int64]
    description_data: NDArray[np.uint8]
    description_offsets: NDArray[np.int64]
    codes: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    mask_starts: NDArray[np.int64]
    mask_ends: NDArray[np.int64]
    mask_offsets: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    by_id: NDArray[np.int32]


def segment_schema(alphabet: Alphabet) -> Any:
    """The Arrow schema. Its metadata give the format and the alphabet, so a segment can be read on its own."""
    import pyarrow as pa

    interval = pa.struct([pa.field("start", pa.int64(), False), pa.field("end", pa.int64(), False)])
    return pa.schema(
        [
            pa.field("id", pa.large_utf8(), False),
            pa.field("description", pa.large_utf8(), False),
            pa.field("sequence", pa.large_binary(), False),
            pa.field("mask", pa.large_list(pa.field("interval", interval, False)), True),
            pa.field("ordinal", pa.int64(), False),
            pa.field("by_id", pa.int32(), False),
        ],
        metadata={
            "exaln.format_version": str(FORMAT_VERSION),
            "exaln.alphabet": alphabet.name,
            "exaln.letters": alphabet.letters,
        },
    )


def columns_of(batch: Any) -> SegmentColumns:
    """NumPy views of the buffers of a record batch, without copies; ValueError if a buffer is too short."""
    n = batch.num_rows
    intervals = batch.column("mask").values
    binary = {}
    for name in ("id", "description", "sequence"):
        _, offsets, data = batch.column(name).buffers()
        binary[name] = _view(data, np.uint8), _view(offsets, np.int64, n + 1)
    return SegmentColumns(
        *binary["id"],
        *binary["description"],
        *binary["sequence"],
        mask_starts=_view(intervals.field("start").buffers()[1], np.int64, len(intervals)),
        mask_ends=_view(intervals.field("end").buffers()[1], np.int64, len(intervals)),
        mask_offsets=_view(batch.column("mask").buffers()[1], np.int64, n + 1),
        ordinals=_view(batch.column("ordinal").buffers()[1], np.int64, n),
        by_id=_view(batch.column("by_id").buffers()[1], np.int32, n),
    )


def _view(buffer: Any, dtype: type[np.generic], count: int | None = None) -> NDArray[Any]:
    """A read-only array over the first `count` elements of an Arrow buffer; a missing buffer counts as empty."""
    if buffer is None or buffer.size == 0:
        values = np.empty(0, dtype)
    else:
        values = np.frombuffer(buffer, dtype, buffer.size // np.dtype(dtype).itemsize)
    if count is not None and len(values) < count:
        raise ValueError("a column is shorter than the number of rows")
    view = values[:count]
    view.flags.writeable = False
    return view
