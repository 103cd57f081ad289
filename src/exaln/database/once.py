"""A value that is computed once, by the first thread that needs it or by one that has nothing else to do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """A value and how to compute it."""

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._lock = threading.Lock()
        self._value: Value

    def get(self) -> Value:
        """The value; threads that come while it is computed wait. An error is raised at every call."""
        with self._lock:
            if self._compute is not None:
                self._value = self._compute()
                self._compute = None
            return self._value
