"""The same sequences in every form that a list of them may have, for tests of whatever takes sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Texts = Sequence[str]


class ArrowArrayOnly:
    """A column of another package that exports one Arrow array through the PyCapsule interface, and nothing else."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._column.__arrow_c_array__(requested_schema)


class ArrowStreamOnly:
    """A column of another package that exports a stream of Arrow arrays, and nothing else."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._column.__arrow_c_stream__(requested_schema)


class TextSubclass(str):
    """A str of another package."""


def encoded(texts: Texts) -> list[bytes]:
    """The texts as UTF-8."""
    return [text.encode() for text in texts]


def chunks(texts: Texts) -> list[Texts]:
    """The texts in three parts, one of which is empty."""
    third = len(texts) // 3
    return [texts[:third], [], texts[third:]]


def _one_after_the_other(texts: Texts) -> Iterator[str]:
    yield from texts


FORMS: dict[str, Callable[[Texts], Any]] = {
    "list of str": list,
    "tuple of str": tuple,
    "generator": _one_after_the_other,
    "list of bytes": encoded,
    "list of bytearray": lambda texts: [bytearray(text) for text in encoded(texts)],
    "str and bytes": lambda texts: [text if number % 2 else text.encode() for number, text in enumerate(texts)],
    "subclasses of str": lambda texts: [TextSubclass(text) for text in texts],
    "dict": lambda texts: {f"id{number}": text for number, text in enumerate(texts)},
    "NumPy U": lambda texts: np.array(texts, np.str_),
    "NumPy S": lambda texts: np.array(encoded(texts), np.bytes_),
    "NumPy object": lambda texts: np.array(texts, object),
    "every other of NumPy U": lambda texts: np.repeat(np.array(texts, np.str_), 2)[::2],
    "Arrow string": lambda texts: pa.array(texts, pa.string()),
    "Arrow large_string": lambda texts: pa.array(texts, pa.large_string()),
    "Arrow string_view": lambda texts: pa.array(texts, pa.string_view()),
    "Arrow binary": lambda texts: pa.array(encoded(texts), pa.binary()),
    "Arrow dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
    "Arrow slice": lambda texts: pa.array(["AC", *texts, "GT"], pa.string()).slice(1, len(texts)),
    "Arrow chunks": lambda texts: pa.chunked_array(chunks(texts), pa.string()),
    "polars": lambda texts: pl.Series(texts, dtype=pl.String),
    "pandas": lambda texts: pd.Series(texts, dtype="str"),
    "pandas of Arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "pandas of objects": lambda texts: pd.Series(texts, dtype=object),
}
"""Forms that texts of any letters can have."""

CAPSULES: dict[str, Callable[[Texts], Any]] = {
    "array capsule": lambda texts: ArrowArrayOnly(pa.array(texts, pa.string())),
    "array capsule of string_view": lambda texts: ArrowArrayOnly(pa.array(texts, pa.string_view())),
    "stream capsule": lambda texts: ArrowStreamOnly(pa.chunked_array(chunks(texts), pa.large_string())),
    "stream capsule of polars": lambda texts: ArrowStreamOnly(pl.Series(texts, dtype=pl.String)),
}
"""Forms that have only the Arrow PyCapsule interface."""
