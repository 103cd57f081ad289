"""A section of code that threads may enter until it is closed; closing it waits for those inside.

An interrupt while a thread is started may leave a thread that no pool knows of. It must not use files that are closed.
The thread that made the gate closes it, and is not counted: an interrupt might come right after it was.
"""

from __future__ import annotations

import threading
from types import TracebackType


class Closed(Exception):
    """Raised on a thread that comes too late."""


class Gate:
    """A context manager around the section. Entering raises Closed after `close`."""

    def __init__(self) -> None:
        self._owner = threading.get_ident()
        self._changed = threading.Condition()
        self._n_inside = 0
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def close(self) -> None:
        """Let no more threads enter, and wait until all have left."""
        self._is_closed = True
        with self._changed:
            self._changed.wait_for(lambda: self._n_inside == 0)

    def __enter__(self) -> None:
        if threading.get_ident() == self._owner:
            return
        with self._changed:
            if self._is_closed:
                raise Closed
            self._n_inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if threading.get_ident() == self._owner:
            return
        with self._changed:
            self._n_inside -= 1
            self._changed.notify_all()
