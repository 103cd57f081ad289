"""A pool of threads that share a list of work, for work that releases the GIL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import TypeVar

from exaln.foundation.resources import available_threads

Item = TypeVar("Item")


class ThreadPool:
    """Up to n_threads threads, one per core by default; a context manager, which ends them.

    prepare: called first on each thread.
    """

    def __init__(self, n_threads: int | None = None, prepare: Callable[[], None] | None = None) -> None:
        self.n_threads = available_threads() if n_threads is None else n_threads
        self._executor = ThreadPoolExecutor(self.n_threads, "exaln-pool", prepare)

    def run(self, work: Callable[[Item], object], items: Iterable[Item]) -> None:
        """Call work(item) for all items; each thread takes the next item when it is free.

        Returns when all work has ended. The first error, or an interrupt of the caller, ends it after the items that
        are being worked on.
        """
        waiting, lock, stop = iter(items), threading.Lock(), threading.Event()

        def drain() -> None:
            while not stop.is_set():
                with lock:
                    item = next(waiting, stop)
                if item is stop:
                    return
                try:
                    work(item)  # type: ignore[arg-type]
                except BaseException:
                    stop.set()
                    raise

        futures: list[Future[None]] = [self._executor.submit(drain) for _ in range(self.n_threads)]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            wait(futures)
            raise

    def close(self) -> None:
        """End the threads."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def run_in_parallel(work: Callable[[Item], object], items: list[Item]) -> None:
    """Call work(item) for all items, on one thread per core."""
    n_threads = min(available_threads(), len(items))
    if n_threads <= 1:
        for item in items:
            work(item)
        return
    with ThreadPool(n_threads) as pool:
        pool.run(work, items)
