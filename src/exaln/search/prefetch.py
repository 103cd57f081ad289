"""Something is computed for each item on another thread while the caller uses what came before: one item ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class NotWanted(Exception):
    """Raised on the other thread when nobody waits for its results any more."""


def one_ahead(
    items: Iterable[Item], compute: Callable[[Item, Callable[[], None]], Result]
) -> Generator[tuple[Item, Result], None, None]:
    """Items with `compute(item, check)`. They are taken on the caller's thread, and errors come in their turn.

    check: to be called often meanwhile; raises NotWanted once the caller has closed this iterator, which waits for
    that. So whatever ends the caller, an interrupt too, leaves nothing running.
    """
    is_closed = threading.Event()

    def check() -> None:
        if is_closed.is_set():
            raise NotWanted

    with ThreadPoolExecutor(1, thread_name_prefix="exaln ahead") as other:
        source = iter(items)
        waiting: tuple[Item, Future[Result]] | None = None
        try:
            while True:
                taken, problem = _take(source)
                started = [(item, other.submit(compute, item, check)) for item in taken]
                if waiting is not None:
                    yield waiting[0], waiting[1].result()
                if problem is not None:
                    raise problem
                if not started:
                    return
                waiting = started[0]
        finally:
            is_closed.set()


def _take(source: Iterator[Item]) -> tuple[list[Item], Exception | None]:
    """The next item, if there is one, or the error that comes in its place."""
    try:
        for item in source:
            return [item], None
    except Exception as error:  # whatever it is, it is raised when it is its turn
        return [], error
    return [], None
