"""The distinct values of an array, and runs of equal rows, without the parts of numpy that take long to load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Value = TypeVar("Value", bound=np.generic)


def distinct(values: NDArray[Value]) -> NDArray[Value]:
    """The values of an array, ascending and each once. As np.unique, which imports numpy.ma.

    >>> distinct(np.array([3, 1, 3, 2, 1])).tolist(), distinct(np.array([], np.int64)).tolist()
    ([1, 2, 3], [])
    """
    ordered: NDArray[Any] = np.sort(values, axis=None)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def run_offsets(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """int64[runs + 1]: where runs of equal rows begin, and the number of rows. columns: of equal length.

    >>> run_offsets(np.array([4, 4, 4, 7]), np.array([1, 1, 2, 2])).tolist()
    [0, 2, 3, 4]
    """
    n = len(columns[0])
    begins = np.ones(n + 1, np.bool_)
    if n > 1:
        begins[1:n] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(begins).astype(np.int64) if n else np.zeros(1, np.int64)
