"""Steps that another thread makes, one ahead."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from exaln.ahead import NotWanted, one_ahead


def test_all_steps_come_in_order_one_ahead() -> None:
    made: list[int] = []
    threads = set()

    def make(check: Callable[[], None]) -> Iterator[int]:
        for number in range(5):
            made.append(number)
            threads.add(threading.get_ident())
            yield number

    for number in one_ahead(make):
        deadline = time.monotonic() + 10
        while len(made) < min(5, number + 2):
            assert time.monotonic() < deadline
        time.sleep(0.01)
        assert len(made) == min(5, number + 2)
    assert made == [0, 1, 2, 3, 4]
    assert threading.get_ident() not in threads


def test_an_error_comes_after_the_steps_before_it() -> None:
    def make(check: Callable[[], None]) -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("broken")

    steps = one_ahead(make)
    assert [next(steps), next(steps)] == [1, 2]
    with pytest.raises(ValueError, match="broken"):
        next(steps)


def test_nothing_runs_any_more_when_the_caller_stops() -> None:
    ended = threading.Event()

    def make(check: Callable[[], None]) -> Iterator[int]:
        yield 1
        try:
            while True:
                time.sleep(0.001)
                check()
        except NotWanted:
            ended.set()
            raise

    steps = one_ahead(make)
    assert next(steps) == 1
    steps.close()
    assert ended.is_set()
