"""Threads that share work: everything is done once, errors end it, and no thread is left."""

import threading

import pytest

from exaln.foundation import thread_pool
from exaln.foundation.thread_pool import ThreadPool, run_in_parallel

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


@pytest.mark.parametrize("n_threads", [1, 3, 8])
@pytest.mark.parametrize("n_items", [0, 1, 500])
def test_every_item_is_done_once(n_threads, n_items):
    done = []
    with ThreadPool(n_threads) as pool:
        for _ in range(3):
            pool.run(done.append, iter(range(n_items)))
    assert sorted(done) == sorted([*range(n_items)] * 3)


def test_every_thread_is_prepared():
    prepared, used, all_here = set(), set(), threading.Barrier(4)

    def work(item):
        all_here.wait(10)
        used.add(threading.get_ident())

    with ThreadPool(4, lambda: prepared.add(threading.get_ident())) as pool:
        pool.run(work, range(4))
    assert len(used) == 4
    assert used <= prepared


def test_the_first_error_ends_the_work_and_is_raised():
    done = []

    def work(item):
        if item == 5:
            raise ValueError("five")
        done.append(item)

    with ThreadPool(2) as pool:
        with pytest.raises(ValueError, match="five"):
            pool.run(work, iter(range(100_000)))
        assert len(done) < 100_000
        pool.run(done.append, ["again"])
    assert done[-1] == "again"


def test_an_interrupt_of_the_caller_ends_the_work(monkeypatch):
    started = threading.Event()

    def interrupted(future):
        started.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr(thread_pool.Future, "result", interrupted)
    done = []
    with ThreadPool(2) as pool, pytest.raises(KeyboardInterrupt):
        pool.run(lambda item: (started.set(), done.append(item)), iter(int, 1))
    n_done = len(done)
    assert n_done == len(done)


@pytest.mark.parametrize("n_cores", [1, 4])
def test_work_in_parallel_uses_the_cores(monkeypatch, n_cores):
    monkeypatch.setattr(thread_pool, "available_threads", lambda: n_cores)
    threads, together = set(), threading.Barrier(n_cores)

    def work(item):
        together.wait(10)
        threads.add(threading.get_ident())

    run_in_parallel(work, list(range(n_cores)))
    assert len(threads) == n_cores
