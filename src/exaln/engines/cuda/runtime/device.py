"""One opened GPU: its context, streams, memory within a budget, kernels and launches.

Nothing else in the package talks to the CUDA driver, and its errors become ours here and nowhere else. A device belongs
to the process, not to a thread: whoever uses it in a thread calls `activate` first. A GPU that is opened twice is two
devices, with their own streams, memory and kernels.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from exaln.engines.cuda.runtime import compiler
from exaln.engines.cuda.runtime.compiler import Source
from exaln.errors import EngineError, OutOfMemoryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESERVE = 512 << 20
RESERVE_FRACTION = 0.05
MIN_MEMORY = 16 << 20
"""Device memory that is left to the driver and to others when no budget is given: the larger of the two."""

SPIN_SECONDS, SLEEP_SECONDS = 3e-3, 1e-4
"""A wait looks again at once for so long, and then sleeps so long between looks: other threads can run meanwhile."""

_NON_BLOCKING = 1
_PORTABLE = 1
_NO_TIMING = 2


@dataclass(frozen=True)
class DeviceFacts:
    """What plans depend on. shared_bytes: the most that a block can have. arch: such as "sm_90"."""

    n_sms: int
    shared_bytes: int
    dpx: bool
    arch: str


class DeviceMemoryError(OutOfMemoryError):
    """The device, or the part of it that may be used, is full; smaller batches may still fit."""


class Memory:
    """Bytes on the device, from `address` on; given back when the object dies."""

    def __init__(self, device: Device, address: int, n_bytes: int) -> None:
        self._device, self.address, self.n_bytes = device, address, n_bytes

    def free(self) -> None:
        """Give the memory back; nothing that was launched may still use it."""
        address, self.address = self.address, 0
        if address:
            self._device.give_back(address, self.n_bytes)

    def __del__(self) -> None:
        with suppress(Exception):
            self.free()


class PinnedMemory:
    """Bytes of the host that the device reads and writes by itself. array: uint8[n_bytes]."""

    def __init__(self, device: Device, address: int, n_bytes: int) -> None:
        self._device, self.address, self.n_bytes = device, address, n_bytes
        self.array: NDArray[np.uint8] = np.ctypeslib.as_array((ctypes.c_uint8 * n_bytes).from_address(address))

    def free(self) -> None:
        """Give the memory back; no copy may still use it, nor anyone the array."""
        address, self.address = self.address, 0
        if address:
            self._device.give_back_pinned(address)

    def __del__(self) -> None:
        with suppress(Exception):
            self.free()


class Event:
    """A point in a stream: something to wait for, and a time. Its handle is used again when the object dies."""

    def __init__(self, handle: Any, spare: list[Any]) -> None:
        self.handle, self._spare = handle, spare

    def __del__(self) -> None:
        self._spare.append(self.handle)


@dataclass(frozen=True)
class Launches:
    """Launches of one kernel, prepared: what is left to do is one call of the driver for each.

    memory: keeps the arguments alive that `calls`, arguments of cuLaunchKernel, point to.
    """

    name: str
    calls: list[tuple[Any, ...]]
    memory: Any


@dataclass(frozen=True)
class Kernel:
    """A function on the device, ready to be launched with so much shared memory."""

    name: str
    handle: Any
    shared_bytes: int


class Device:
    """GPU `number`, without memory to use until `set_budget` was called."""

    def __init__(self, number: int, driver: Any = None) -> None:
        self._driver = load_driver() if driver is None else driver
        self.number, self.name = number, "?"
        self._lock = threading.RLock()  # memory can be freed by the garbage collector in the middle of an allocation
        self._launched: dict[str, None] = {}
        self._events: dict[bool, list[Any]] = {False: [], True: []}
        self.is_broken = False
        self.used = self.budget = 0
        self._modules: dict[Source, Any] = {}
        self._kernels: dict[tuple[Source, str], Kernel] = {}
        self._call("cuInit", 0)
        device = self._call("cuDeviceGet", number)
        self.name = device_name(self._driver, device)
        self._context = self._call("cuDevicePrimaryCtxRetain", device)
        self.activate()
        self.facts = self._facts(device)

    def __str__(self) -> str:
        return f"GPU {self.number} ({self.name})"

    def activate(self) -> None:
        """Use this device in this thread."""
        self._call("cuCtxSetCurrent", self._context)

    def set_budget(self, n_bytes: int | None, share: int = 1) -> None:
        """Use at most so much memory; None for what is free, of which this device gets one part in `share`.

        DeviceMemoryError if so little is free that nothing could be done with it.
        """
        free, _ = self._call("cuMemGetInfo")
        spare = (free - max(RESERVE, int(free * RESERVE_FRACTION))) // share
        if n_bytes is None and self.used + spare < MIN_MEMORY:
            raise DeviceMemoryError(
                f"{self}: others use its memory, {_mebibytes(free)} are free, of which {_mebibytes(RESERVE)} are left "
                "alone; free the device, or set --gpu-memory (memory=) to what may be used"
            )
        self.budget = self.used + spare if n_bytes is None else n_bytes

    def allocate(self, n_bytes: int) -> Memory:
        """Memory on the device; DeviceMemoryError if the budget or the device is exhausted."""
        n_bytes = max(n_bytes, 1)
        with self._lock:
            if self.used + n_bytes > self.budget:
                raise self._exhausted(n_bytes)
            self.used += n_bytes
        try:
            address = int(self._call("cuMemAlloc", n_bytes))
        except BaseException as error:
            with self._lock:
                self.used -= n_bytes
            raise self._exhausted(n_bytes) if isinstance(error, DeviceMemoryError) else error from None
        return Memory(self, address, n_bytes)

    def give_back(self, address: int, n_bytes: int) -> None:
        """For Memory: free it, from whatever thread; after a fault there is nothing to give back."""
        with self._lock:
            self.used -= n_bytes
        self._in_context(self._driver.cuMemFree, address)

    def pinned(self, n_bytes: int) -> PinnedMemory:
        """Memory of the host for fast copies."""
        return PinnedMemory(self, int(self._call("cuMemHostAlloc", max(n_bytes, 1), _PORTABLE)), max(n_bytes, 1))

    def give_back_pinned(self, address: int) -> None:
        """For PinnedMemory."""
        self._in_context(self._driver.cuMemFreeHost, address)

    def stream(self) -> Any:
        """A queue of work on the device; it lives as long as the process."""
        return self._call("cuStreamCreate", _NON_BLOCKING)

    def upload(self, address: int, array: NDArray[Any], stream: Any) -> None:
        """Copy an array to the device. Pinned memory must stay as it is until the copy is done; other memory need not."""
        if array.nbytes:
            assert array.flags.c_contiguous
            self._call("cuMemcpyHtoDAsync", address, array.ctypes.data, array.nbytes, stream)

    def download(self, array: NDArray[Any], address: int, stream: Any) -> None:
        """Fill an array from the device; when the call returns it is there, unless the array is pinned memory."""
        if array.nbytes:
            assert array.flags.c_contiguous
            self._call("cuMemcpyDtoHAsync", array.ctypes.data, address, array.nbytes, stream)

    def download_rows(self, array: NDArray[Any], address: int, pitch: int, stream: Any) -> None:
        """Fill a two-dimensional array: each row from `pitch` bytes behind the one before; as `download`."""
        if array.nbytes:
            assert array.flags.c_contiguous
            n_rows, row_bytes = array.shape[0], array.nbytes // array.shape[0]
            copy = self._driver.CUDA_MEMCPY2D()
            copy.srcMemoryType = self._driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
            copy.srcDevice, copy.srcPitch = address, pitch
            copy.dstMemoryType = self._driver.CUmemorytype.CU_MEMORYTYPE_HOST
            copy.dstHost, copy.dstPitch = array.ctypes.data, row_bytes
            copy.WidthInBytes, copy.Height = row_bytes, n_rows
            self._call("cuMemcpy2DAsync", copy, stream)

    def fill(self, address: int, value: int, n_words: int, stream: Any) -> None:
        """Set 32-bit words."""
        if n_words:
            self._call("cuMemsetD32Async", address, value, n_words, stream)

    def event(self, *, has_time: bool = False) -> Event:
        """A point in a stream, to be recorded."""
        spare = self._events[has_time]
        try:
            handle = spare.pop()
        except IndexError:
            handle = self._call("cuEventCreate", 0 if has_time else _NO_TIMING)
        return Event(handle, spare)

    def record(self, event: Event, stream: Any) -> Event:
        """The event is what has been put into the stream so far."""
        self._call("cuEventRecord", event.handle, stream)
        return event

    def let_wait(self, stream: Any, event: Event) -> None:
        """What is put into the stream from now on starts after the event."""
        self._call("cuStreamWaitEvent", stream, event.handle, 0)

    def is_done(self, event: Event) -> bool:
        """Whether the device has got that far; raises if a kernel failed."""
        status = self._driver.cuEventQuery(event.handle)[0]
        if status == self._driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if status != self._driver.CUresult.CUDA_SUCCESS:
            self._fail("cuEventQuery", status)
        return True

    def wait(self, event: Event) -> None:
        """Until the device has got that far. Looks and sleeps, so that threads, and Ctrl-C, are not held up."""
        patience = time.perf_counter() + SPIN_SECONDS
        while not self.is_done(event):
            time.sleep(SLEEP_SECONDS if time.perf_counter() > patience else 0.0)

    def seconds(self, begin: Event, end: Event) -> float:
        """Time on the device between two events that are done."""
        return float(self._call("cuEventElapsedTime", begin.handle, end.handle)) / 1e3

    def synchronize(self) -> None:
        """Until everything is done that was put into streams of this context."""
        self._call("cuCtxSynchronize")
        self._launched.clear()

    def load(self, sources: Iterable[Source]) -> None:
        """Compile and load kernel files that are not here yet, several at a time."""
        missing = [source for source in dict.fromkeys(sources) if source not in self._modules]
        for source, code in compiler.cubins(missing, self.facts.arch).items() if missing else ():
            self._modules[source] = self._call("cuModuleLoadData", code)

    def kernel(self, source: Source, name: str, shared_bytes: int = 0) -> Kernel:
        """A function of a kernel file, for launches with so much dynamic shared memory."""
        known = self._kernels.get((source, name))
        if known is not None and known.shared_bytes == shared_bytes:
            return known
        self.load([source])
        handle = self._call("cuModuleGetFunction", self._modules[source], name.encode())
        if shared_bytes:
            attribute = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuFuncSetAttribute", handle, attribute, shared_bytes)
        made = self._kernels[source, name] = Kernel(name, handle, shared_bytes)
        return made

    def blocks_per_sm(self, kernel: Kernel, n_threads: int) -> int:
        """How many blocks of a kernel a multiprocessor holds at a time."""
        occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return int(self._call(occupancy, kernel.handle, n_threads, kernel.shared_bytes))

    def launch(
        self, kernel: Kernel, grid: int | tuple[int, int], n_threads: int, stream: Any, arguments: Sequence[int]
    ) -> None:
        """Put a kernel into a stream. Arguments are addresses and whole numbers, as the kernel declares them."""
        self.launch_all(self.prepare(kernel, n_threads, [(grid, arguments)], stream))

    def prepare(
        self,
        kernel: Kernel,
        n_threads: int,
        launches: Sequence[tuple[int | tuple[int, int], Sequence[int]]],
        stream: Any,
    ) -> Launches:
        """Launches with these grids and arguments, one after another; all have as many arguments."""
        n = len(launches[0][1])
        # The driver copies each argument from where its pointer says, as many bytes as the kernel declares: the lower
        # ones of eight, on all machines that CUDA runs on.
        values = (ctypes.c_uint64 * (n * len(launches)))(
            *[value & 0xFFFFFFFFFFFFFFFF for _, arguments in launches for value in arguments]
        )
        first = ctypes.addressof(values)
        pointers = (ctypes.c_uint64 * len(values))(*range(first, first + 8 * len(values), 8))
        start = ctypes.addressof(pointers)
        calls = []
        for number, (grid, _) in enumerate(launches):
            columns, rows = grid if isinstance(grid, tuple) else (grid, 1)
            shape = (columns, rows, 1, n_threads, 1, 1, kernel.shared_bytes)
            calls.append((kernel.handle, *shape, stream, start + 8 * n * number, 0))
        return Launches(kernel.name, calls, (values, pointers))

    def launch_all(self, launches: Launches) -> None:
        """Put prepared launches into the stream that they were prepared for."""
        self._launched[launches.name] = None
        launch, success = self._driver.cuLaunchKernel, self._driver.CUresult.CUDA_SUCCESS
        for call in launches.calls:
            status = launch(*call)[0]
            if status != success:
                self._fail("cuLaunchKernel", status)

    def launch_together(
        self, kernel: Kernel, n_blocks: int, n_threads: int, stream: Any, arguments: Sequence[int]
    ) -> None:
        """Put a kernel into a stream whose blocks wait for each other: the driver refuses more than fit the device."""
        prepared = self.prepare(kernel, n_threads, [(n_blocks, arguments)], stream)
        self._launched[kernel.name] = None
        self._call("cuLaunchCooperativeKernel", *prepared.calls[0][:-1])

    def _facts(self, device: Any) -> DeviceFacts:
        names = self._driver.CUdevice_attribute

        def attribute(name: str) -> int:
            return int(self._call("cuDeviceGetAttribute", getattr(names, f"CU_DEVICE_ATTRIBUTE_{name}"), device))

        arch = f"sm_{attribute('COMPUTE_CAPABILITY_MAJOR')}{attribute('COMPUTE_CAPABILITY_MINOR')}"
        return DeviceFacts(
            n_sms=attribute("MULTIPROCESSOR_COUNT"),
            shared_bytes=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            dpx=compiler.has_dpx(arch),
            arch=arch,
        )

    def _in_context(self, function: Any, handle: Any) -> None:
        """Give something back from any thread, and leave that thread's own context as it was. Errors do not matter."""
        self._driver.cuCtxPushCurrent(self._context)
        function(handle)
        self._driver.cuCtxPopCurrent()

    def _call(self, name: str, *arguments: Any) -> Any:
        """A function of the driver: its result, or an error of ours."""
        status, *values = getattr(self._driver, name)(*arguments)
        if status != self._driver.CUresult.CUDA_SUCCESS:
            self._fail(name, status)
        return values[0] if len(values) == 1 else values

    def _fail(self, function: str, status: Any) -> NoReturn:
        """Errors of kernels show up in a later call, so the message names what was launched and not that call."""
        error = getattr(status, "name", str(status))
        if error == "CUDA_ERROR_OUT_OF_MEMORY":
            raise self._exhausted(None)
        doing = function
        if self._launched and error.removeprefix("CUDA_ERROR_") in KERNEL_FAULTS:
            doing = f"kernel {' or '.join(self._launched)}"
            self.is_broken = True
        raise EngineError(f"{self}: {doing} failed: {error}")

    def _exhausted(self, n_bytes: int | None) -> DeviceMemoryError:
        if not self.budget:
            return DeviceMemoryError(f"{self}: others use its memory, none is left to begin with; free the device")
        more = "more memory" if n_bytes is None else f"{_mebibytes(n_bytes)} more"
        return DeviceMemoryError(
            f"{self}: {more} cannot be had, {_mebibytes(self.used)} of {_mebibytes(self.budget)} are in use; "
            "free the device, or set --gpu-memory (memory=) to what may be used"
        )


KERNEL_FAULTS = {
    "ASSERT",
    "ECC_UNCORRECTABLE",
    "HARDWARE_STACK_ERROR",
    "ILLEGAL_ADDRESS",
    "ILLEGAL_INSTRUCTION",
    "INVALID_ADDRESS_SPACE",
    "INVALID_PC",
    "LAUNCH_FAILED",
    "LAUNCH_OUT_OF_RESOURCES",
    "LAUNCH_TIMEOUT",
    "MISALIGNED_ADDRESS",
}
"""Errors that come from a launch or from a kernel that runs."""


def load_driver() -> Any:
    """The bindings of the CUDA driver, which come with cuda-core."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise EngineError(f'cuda-core is not installed ({error}); pip install "exaln[cuda]"') from None
    return driver


def device_name(driver: Any, device: Any) -> str:
    """Such as "NVIDIA H200"; needs no context."""
    status, name = driver.cuDeviceGetName(256, device)
    if status != driver.CUresult.CUDA_SUCCESS:
        return "unknown"
    return bytes(name).split(b"\0")[0].decode("utf-8", "replace").strip()


def _mebibytes(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.0f} MiB"
