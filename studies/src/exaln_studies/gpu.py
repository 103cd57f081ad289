"""The device of the GPU parts of the studies: kernels, arrays, graphs of launches, and timing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.runtime.device import Device

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.cuda.runtime.device import Kernel, Launches, Memory

KERNELS = Path(__file__).parent / "kernels"
SHORT_SECONDS = 0.05


def source(file: str, **constants: int) -> Source:
    """Return a kernel file with its constants by name: rows=32 sets ROWS.

    barrier=3 is cooperative groups (barrier.cuh) and needs CUDA's headers.
    """
    macros = tuple((name.upper(), value) for name, value in constants.items())
    return Source(file, macros, KERNELS, cuda_headers=constants.get("barrier") == 3)


class Graph:
    """Launches that the device repeats on its own; released when the object is deleted."""

    def __init__(self, name: str, handle: Any, destroy: Any) -> None:
        self.name, self.handle, self._destroy = name, handle, destroy

    def __del__(self) -> None:
        with suppress(Exception):
            self._destroy(self.handle)


class StudyDevice(Device):
    """A device with graphs of launches and variables of kernel files, which exaln's engine does not use."""

    def graph(self, launches: Launches, stream: Any) -> Graph:
        """Capture prepared launches as a graph, which one call of the driver launches."""
        self._call("cuStreamBeginCapture", stream, self._driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        self.launch_all(launches)
        captured = self._call("cuStreamEndCapture", stream)
        ready = self._call("cuGraphInstantiate", captured, 0)
        self._call("cuGraphDestroy", captured)
        return Graph(launches.name, ready, self._driver.cuGraphExecDestroy)

    def launch_graph(self, graph: Graph, stream: Any) -> None:
        """Enqueue all launches of a graph."""
        self._launched[graph.name] = None
        self._call("cuGraphLaunch", graph.handle, stream)

    def variable(self, source: Source, name: str) -> int:
        """Address of a variable of a kernel file, such as constant memory."""
        self.load([source])
        address, _ = self._call("cuModuleGetGlobal", self._modules[source], name.encode())
        return int(address)


class Lab:
    """A device with one stream."""

    def __init__(self, device: StudyDevice) -> None:
        self.device, self.stream = device, device.stream()

    def kernel(self, file: str, name: str, shared_bytes: int = 0, **constants: int) -> Kernel:
        """Return a kernel compiled with these constants."""
        return self.device.kernel(source(file, **constants), name, shared_bytes)

    def put(self, array: NDArray[Any]) -> Memory:
        """Copy an array to the device."""
        memory = self.device.allocate(array.nbytes)
        self.device.upload(memory.address, np.ascontiguousarray(array), self.stream)
        return memory

    def zeros(self, n_bytes: int) -> Memory:
        """Allocate memory filled with zeros."""
        memory = self.device.allocate(-(-n_bytes // 4) * 4)
        self.device.fill(memory.address, 0, -(-n_bytes // 4), self.stream)
        return memory

    def get(self, memory: Memory, dtype: Any, shape: int | tuple[int, ...]) -> NDArray[Any]:
        """Wait for the device and copy memory to the host."""
        array = np.empty(shape, dtype)
        self.device.synchronize()
        self.device.download(array, memory.address, self.stream)
        self.device.synchronize()
        return array

    def launch(self, kernel: Kernel, grid: int | tuple[int, int], n_threads: int, *arguments: int) -> None:
        """Enqueue a kernel."""
        self.device.launch(kernel, grid, n_threads, self.stream, arguments)

    def fastest(self, work: Callable[[], object]) -> float:
        """Seconds of `work`, which has run before; if it is short, the minimum of three runs."""
        times = self.seconds(work, 1, warm=True)
        if times[0] < SHORT_SECONDS:
            times += self.seconds(work, 2, warm=True)
        return min(times)

    def seconds(self, work: Callable[[], object], repeats: int = 3, *, warm: bool = False) -> list[float]:
        """Seconds on the device of each run of `work`, which enqueues kernels and copies.

        warm: omit the first, untimed run.
        """
        begin, end = self.device.event(has_time=True), self.device.event(has_time=True)
        if not warm:
            work()
        self.device.synchronize()
        times = []
        for _ in range(repeats):
            self.device.record(begin, self.stream)
            work()
            self.device.wait(self.device.record(end, self.stream))
            times.append(self.device.seconds(begin, end))
        return times
