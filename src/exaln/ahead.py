"""What an iterator yields next is made on another thread while the caller uses what came before: one step ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Step = TypeVar("Step")


class NotWanted(Exception):
    """Raised on the other thread when nobody waits for its steps any more."""


def one_ahead(make: Callable[[Callable[[], None]], Iterator[Step]]) -> Generator[Step, None, None]:
    """The steps of `make(check)`, made one ahead. Errors come in their turn, after the steps before them.

    check: to be called often while a step is made; raises NotWanted once the caller has closed this iterator, which
    waits for that. So whatever ends the caller, an interrupt too, leaves nothing running.
    """
    is_closed = threading.Event()

    def check() -> None:
        if is_closed.is_set():
            raise NotWanted

    with ThreadPoolExecutor(1, thread_name_prefix="exaln ahead") as other:
        steps = make(check)
        try:
            coming = other.submit(_next, steps)
            while step := coming.result():
                coming = other.submit(_next, steps)
                yield step[0]
        finally:
            is_closed.set()


def _next(steps: Iterator[Step]) -> tuple[Step] | None:
    """In a tuple; None at the end."""
    for step in steps:
        return (step,)
    return None
