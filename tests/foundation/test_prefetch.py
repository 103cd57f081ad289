"""What another thread computes, one item ahead."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from exaln.foundation.prefetch import Cancelled, prefetch

Check = Callable[[], None]


def test_results_come_in_order_one_item_ahead() -> None:
    computed: list[int] = []
    threads = set()

    def compute(item: int, check: Check) -> int:
        threads.add(threading.get_ident())
        computed.append(item)
        check()
        return item**2

    for item, result in prefetch(range(5), compute):
        assert result == item**2
        expected = min(5, item + 2)
        deadline = time.monotonic() + 10
        while len(computed) < expected:
            assert time.monotonic() < deadline
        time.sleep(0.01)
        assert len(computed) == expected
    assert computed == [0, 1, 2, 3, 4]
    assert len(threads - {threading.get_ident()}) == 1
    assert list(prefetch([], compute)) == []


def test_errors_surface_in_the_order_of_the_items() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("no third item")

    results = prefetch(items(), lambda item, check: item)
    assert [next(results), next(results)] == [(1, 1), (2, 2)]
    with pytest.raises(ValueError, match="no third item"):
        next(results)
    results = prefetch([2, 1, 0], lambda item, check: 1 // item)
    assert [next(results), next(results)] == [(2, 0), (1, 1)]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_closing_the_generator_stops_the_worker() -> None:
    ended = threading.Event()

    def compute(item: int, check: Check) -> int:
        try:
            while item:
                time.sleep(0.001)
                check()
        except Cancelled:
            ended.set()
            raise
        return item

    results = prefetch([0, 1, 2], compute)
    assert next(results) == (0, 0)
    results.close()
    assert ended.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("exaln-prefetch")]
