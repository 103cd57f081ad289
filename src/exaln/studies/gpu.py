"""What the GPU parts of the studies share: kernels of this folder, arrays on a card, times of work on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.cuda.compiler import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.cuda.card import Card, Kernel, Memory

KERNELS = Path(__file__).parent / "kernels"
SHORT_SECONDS = 0.05


def source(file: str, **constants: int) -> Source:
    """A kernel file of the studies, with constants by name: rows=32 is ROWS. barrier=3 is CUDA's own (barrier.cuh)."""
    macros = tuple((name.upper(), value) for name, value in constants.items())
    return Source(file, macros, KERNELS, cuda_headers=constants.get("barrier") == 3)


class Lab:
    """A card with one stream, on which things are done one after another."""

    def __init__(self, card: Card) -> None:
        self.card, self.stream = card, card.stream()

    def kernel(self, file: str, name: str, shared_bytes: int = 0, **constants: int) -> Kernel:
        """A kernel, compiled with these constants."""
        return self.card.kernel(source(file, **constants), name, shared_bytes)

    def put(self, array: NDArray[Any]) -> Memory:
        """An array, copied to the card."""
        memory = self.card.allocate(array.nbytes)
        self.card.upload(memory.address, np.ascontiguousarray(array), self.stream)
        return memory

    def room(self, n_bytes: int) -> Memory:
        """Memory filled with zeros."""
        memory = self.card.allocate(-(-n_bytes // 4) * 4)
        self.card.fill(memory.address, 0, -(-n_bytes // 4), self.stream)
        return memory

    def get(self, memory: Memory, dtype: Any, shape: int | tuple[int, ...]) -> NDArray[Any]:
        """What is in the memory, once all is done."""
        array = np.empty(shape, dtype)
        self.card.synchronize()
        self.card.download(array, memory.address, self.stream)
        self.card.synchronize()
        return array

    def launch(self, kernel: Kernel, grid: int | tuple[int, int], n_threads: int, *arguments: int) -> None:
        """Put a kernel into the stream."""
        self.card.launch(kernel, grid, n_threads, self.stream, arguments)

    def fastest(self, work: Callable[[], object]) -> float:
        """Seconds of work that has been compiled; if it is short, the least of three runs."""
        times = self.seconds(work, 1, warm=True)
        if times[0] < SHORT_SECONDS:
            times += self.seconds(work, 2, warm=True)
        return min(times)

    def seconds(self, work: Callable[[], object], repeats: int = 3, *, warm: bool = False) -> list[float]:
        """Times on the card of each run of `work`, which puts things into the stream.

        One run before them warms up, unless something has been run that does.
        """
        begin, end = self.card.event(has_time=True), self.card.event(has_time=True)
        if not warm:
            work()
        self.card.synchronize()
        times = []
        for _ in range(repeats):
            self.card.record(begin, self.stream)
            work()
            self.card.wait(self.card.record(end, self.stream))
            times.append(self.card.seconds(begin, end))
        return times
