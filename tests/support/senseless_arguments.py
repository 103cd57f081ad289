"""Calls native bindings with negative, huge and inconsistent integers: an exception or an answer, never a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

LARGEST, LEAST = 2**63 - 1, -(2**63)
INTEGERS = [
    *(LEAST, LEAST + 1, -(2**62), -(2**61) - 1, -(2**32), -(2**31), -(2**31) + 1, -1, 0, 1, 2, 3, 7),
    *(2**15, 2**31 - 1, 2**31, 2**32, 2**61 + 1, 2**62, 2**62 + 1, LARGEST - 1, LARGEST, 2**63, 2**64 - 1, 2**64),
]
ALLOWED = (ValueError, TypeError, IndexError, OverflowError, MemoryError, RuntimeError, OSError)


def check_senseless_arguments(function: Callable[..., object], good: dict[str, Any]) -> None:
    """Call `function` with each integer and array of the good arguments replaced by senseless values, one at a time.

    Only exceptions of ALLOWED may be raised. Thread counts that would take minutes to start must be refused.
    """
    n_calls = 0
    for argument, value in good.items():
        for other in spoiled(value):
            if argument == "threads" and other in (2**15, 2**31 - 1) and isinstance(other, int):
                with pytest.raises(ValueError, match="threads must be"):
                    function(**(good | {argument: other}))
                continue
            n_calls += 1
            try:
                function(**copies(good | {argument: other}))
            except ALLOWED:
                continue
    assert n_calls > 10


def spoiled(value: Any) -> Iterator[Any]:
    """What an argument is replaced by: each integer and array in it by senseless ones, one at a time."""
    if isinstance(value, bool | str):
        return
    if isinstance(value, tuple):
        for place, part in enumerate(value):
            for other in spoiled(part):
                yield (*value[:place], other, *value[place + 1 :])
    elif isinstance(value, float):  # seconds: some that are few would be waited for
        yield from (float("nan"), float("inf"), 1e300, -1.0, 0.0, *(other for other in INTEGERS if abs(other) > 2**14))
    elif isinstance(value, int):
        yield from INTEGERS
    elif isinstance(value, np.ndarray):
        yield from spoiled_arrays(value)


def spoiled_arrays(array: np.ndarray) -> Iterator[np.ndarray]:
    limits = np.iinfo(array.dtype)
    yield array[:0]
    yield array[:-1]
    yield np.concatenate([array, array])
    for value in INTEGERS:
        if limits.min <= value <= limits.max:
            for place in {0, array.size // 2, array.size - 1}:
                other = array.copy()
                other.reshape(-1)[place] = value
                yield other
            yield np.full_like(array, value)


def copies(arguments: dict[str, Any]) -> dict[str, Any]:
    """So that outputs of one call are no inputs of the next."""
    return {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
