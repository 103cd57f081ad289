"""The distinct values of an array, without the parts of numpy that take long to load."""

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
