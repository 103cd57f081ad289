"""Columns of strings of pyarrow, polars, pandas and others: their buffers are read in place, without a copy.

The Arrow PyCapsule interface (`__arrow_c_stream__`, `__arrow_c_array__`) makes them arrays of pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln._core import TextRows

VIEW_BYTES = 16
"""A view of string_view: the length and the letters, or the length and the place of the letters."""


def is_column(value: object) -> bool:
    """Whether a value has Arrow's interface for columns."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def add_column(rows: TextRows, column: Any, name: str) -> bool:
    """Add the strings of a column as rows; False if it has other values than strings. name: of it, for messages.

    Raises InputError for a null, with its number, and for a column that is damaged.
    """
    chunks = _chunks(column)
    if chunks is None or not all(_has_text(chunk.type) for chunk in chunks):
        return False
    for chunk in chunks:
        if chunk.null_count:
            number = len(rows) + int(np.argmax(chunk.is_null().to_numpy(zero_copy_only=False))) + 1
            raise InputError(f"{name}, sequence {number}: a sequence must be text, not null")
        try:
            _add_chunk(rows, chunk)
        except IndexError as error:
            raise InputError(f"{name}: the Arrow column is damaged: {error}") from None
    return True


def _chunks(column: Any) -> list[Any] | None:
    """The column as arrays of pyarrow; None if Arrow has no type for its values."""
    import pyarrow as pa

    try:
        is_array = isinstance(column, pa.Array) or not hasattr(column, "__arrow_c_stream__")
        return [pa.array(column)] if is_array else list(pa.chunked_array(column).chunks)
    except (pa.ArrowException, TypeError, ValueError):
        return None


def _has_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _has_text(kind.value_type)
    return _is_view(kind) or any(
        is_kind(kind) for is_kind in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _is_view(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string_view(kind) or types.is_binary_view(kind))


def _add_chunk(rows: TextRows, chunk: Any) -> None:
    from pyarrow import types

    if types.is_dictionary(chunk.type):
        chunk = _decoded(chunk)
    first, end = chunk.offset, chunk.offset + len(chunk)
    if first == end:
        return
    if _is_view(chunk.type):
        _, views, *buffers = chunk.buffers()
        own = _bytes(views)[first * VIEW_BYTES : end * VIEW_BYTES]
        rows.add_views(own, [_bytes(buffer) for buffer in buffers])
    else:
        is_large = types.is_large_string(chunk.type) or types.is_large_binary(chunk.type)
        _, offsets, data = chunk.buffers()
        ends = _bytes(offsets)
        wide = ends.view(np.int64) if is_large else ends.view(np.int32)
        rows.add_column(_bytes(data), wide[first : end + 1])


def _decoded(chunk: Any) -> Any:
    """An array of texts for a dictionary of them; views are copied before, because pyarrow cannot take from them."""
    import pyarrow as pa

    if _is_view(chunk.type.value_type):
        chunk = pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_binary()))
    return chunk.dictionary_decode()


def _bytes(buffer: Any) -> NDArray[np.uint8]:
    """uint8: a buffer of pyarrow, a view; None is an empty one."""
    return np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)
