"""One opened GPU: its context, streams, memory within a budget, kernels and launches.

All calls of the CUDA driver are made here, and its errors become exaln's errors here. A device belongs to the process:
a thread calls `activate` before it uses one. Opening a GPU twice gives two devices, each with its own streams, memory
and kernels.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from exaln.engines.cuda.runtime import compiler
from exaln.engines.cuda.runtime.arguments import KernelArguments
from exaln.engines.cuda.runtime.compiler import Source
from exaln.engines.cuda.runtime.constants import MIN_MEMORY
from exaln.errors import EngineError, OutOfMemoryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESERVE = 512 << 20
RESERVE_FRACTION = 0.05
"""Without a budget, the larger of the two is left to the driver and to other processes."""

SPIN_SECONDS, SLEEP_SECONDS = 3e-3, 1e-4
"""`wait` polls without a pause at first, and then sleeps between polls so that other threads can run."""

Grid = int | tuple[int, int]
"""Blocks of a launch: columns, or (columns, rows)."""

_NON_BLOCKING = 1
_PORTABLE = 1
_NO_TIMING = 2


@dataclass(frozen=True)
class DeviceProperties:
    """Properties of a GPU that plans depend on.

    shared_bytes: shared memory that one block can have. dpx: whether packed numbers are int16 (else half).
    arch: such as "sm_90".
    """

    n_sms: int
    shared_bytes: int
    dpx: bool
    arch: str


class DeviceMemoryError(OutOfMemoryError):
    """The device, or its budget, is exhausted; smaller batches may still fit."""


class Memory:
    """`n_bytes` of device memory at `address`, freed with the object."""

    def __init__(self, device: Device, address: int, n_bytes: int) -> None:
        self._device, self.address, self.n_bytes = device, address, n_bytes

    def free(self) -> None:
        """Free the memory. No launched work may still use it."""
        address, self.address = self.address, 0
        if address:
            self._device.release(address, self.n_bytes)

    def __del__(self) -> None:
        try:  # noqa: SIM105 (contextlib may be gone when the interpreter exits)
            self.free()
        except Exception:
            pass


class PinnedMemory:
    """Page-locked host memory, which the device copies without the CPU. array: uint8[n_bytes]."""

    def __init__(self, device: Device, address: int, n_bytes: int) -> None:
        self._device, self.address, self.n_bytes = device, address, n_bytes
        self.array: NDArray[np.uint8] = np.ctypeslib.as_array((ctypes.c_uint8 * n_bytes).from_address(address))

    def free(self) -> None:
        """Free the memory. No copy may still use it, and `array` must not be used again."""
        address, self.address = self.address, 0
        if address:
            self._device.release_pinned(address)

    def __del__(self) -> None:
        try:  # noqa: SIM105 (contextlib may be gone when the interpreter exits)
            self.free()
        except Exception:
            pass


class Event:
    """A point in a stream, to wait for or to measure time at. Its handle is reused after the object dies."""

    def __init__(self, handle: Any, spare: list[Any]) -> None:
        self.handle, self._spare = handle, spare

    def __del__(self) -> None:
        self._spare.append(self.handle)


@dataclass(frozen=True)
class Launches:
    """Prepared launches of one kernel, each of which needs one call of the driver.

    calls: arguments of cuLaunchKernel. memory: owns the kernel arguments that they point to.
    """

    name: str
    calls: list[tuple[Any, ...]]
    memory: Any


@dataclass(frozen=True)
class Kernel:
    """A function on the device, prepared for launches with `shared_bytes` of dynamic shared memory."""

    name: str
    handle: Any
    shared_bytes: int


class Device:
    """GPU `number`. Call `set_budget` before allocating memory."""

    def __init__(self, number: int, driver: Any = None) -> None:
        self._driver = load_driver() if driver is None else driver
        self.number, self.name = number, "?"
        self._lock = threading.RLock()  # reentrant: the garbage collector may free memory during an allocation
        self._loading = threading.Lock()
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
        self.properties = self._properties(device)

    def __str__(self) -> str:
        return f"GPU {self.number} ({self.name})"

    def activate(self) -> None:
        """Make this device current in the calling thread."""
        self._call("cuCtxSetCurrent", self._context)

    def set_budget(self, n_bytes: int | None, share: int = 1) -> None:
        """Limit memory to n_bytes; None for all free memory, divided by `share`.

        Raises DeviceMemoryError if less than MIN_MEMORY is free.
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
        """Allocate device memory. Raises DeviceMemoryError if the budget or the device is exhausted."""
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

    def release(self, address: int, n_bytes: int) -> None:
        """Free memory of a Memory object, from any thread. Errors after a fault are ignored."""
        with self._lock:
            self.used -= n_bytes
        self._in_context(self._driver.cuMemFree, address)

    def pinned(self, n_bytes: int) -> PinnedMemory:
        """Allocate page-locked host memory."""
        return PinnedMemory(self, int(self._call("cuMemHostAlloc", max(n_bytes, 1), _PORTABLE)), max(n_bytes, 1))

    def release_pinned(self, address: int) -> None:
        """Free memory of a PinnedMemory object."""
        self._in_context(self._driver.cuMemFreeHost, address)

    def stream(self) -> Any:
        """Create a stream, which lives as long as the process."""
        return self._call("cuStreamCreate", _NON_BLOCKING)

    def upload(self, address: int, array: NDArray[Any], stream: Any) -> None:
        """Copy an array to the device. A pinned array must not change before the copy is done."""
        if array.nbytes:
            assert array.flags.c_contiguous
            self._call("cuMemcpyHtoDAsync", address, array.ctypes.data, array.nbytes, stream)

    def download(self, array: NDArray[Any], address: int, stream: Any) -> None:
        """Fill an array from the device. Only a pinned array may still be incomplete on return."""
        if array.nbytes:
            assert array.flags.c_contiguous
            self._call("cuMemcpyDtoHAsync", array.ctypes.data, address, array.nbytes, stream)

    def download_rows(self, array: NDArray[Any], address: int, pitch: int, stream: Any) -> None:
        """Fill a two-dimensional array from rows that lie `pitch` bytes apart; otherwise as `download`."""
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
        """Set n_words 32-bit words to `value`."""
        if n_words:
            self._call("cuMemsetD32Async", address, value, n_words, stream)

    def event(self, *, has_time: bool = False) -> Event:
        """Return an event that has not been recorded. has_time: it can be given to `seconds`."""
        spare = self._events[has_time]
        try:
            handle = spare.pop()
        except IndexError:
            handle = self._call("cuEventCreate", 0 if has_time else _NO_TIMING)
        return Event(handle, spare)

    def record(self, event: Event, stream: Any) -> Event:
        """Record the event after all work in the stream so far, and return it."""
        self._call("cuEventRecord", event.handle, stream)
        return event

    def let_wait(self, stream: Any, event: Event) -> None:
        """Let later work of the stream start only after the event."""
        self._call("cuStreamWaitEvent", stream, event.handle, 0)

    def is_done(self, event: Event) -> bool:
        """Return whether the event has happened. Raises EngineError if a kernel failed."""
        status = self._driver.cuEventQuery(event.handle)[0]
        if status == self._driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if status != self._driver.CUresult.CUDA_SUCCESS:
            self._fail("cuEventQuery", status)
        return True

    def wait(self, event: Event) -> None:
        """Wait until the event has happened. Polls, so that other threads and Ctrl-C are not held up."""
        spin_end = time.perf_counter() + SPIN_SECONDS
        while not self.is_done(event):
            time.sleep(SLEEP_SECONDS if time.perf_counter() > spin_end else 0.0)

    def seconds(self, begin: Event, end: Event) -> float:
        """Return the seconds between two events that have happened."""
        return float(self._call("cuEventElapsedTime", begin.handle, end.handle)) / 1e3

    def synchronize(self) -> None:
        """Wait for all work in all streams of this context."""
        self._call("cuCtxSynchronize")
        self._launched.clear()

    def load(self, sources: Iterable[Source], likely: Sequence[Source] = ()) -> None:
        """Compile in parallel, and load, the kernel files that are not loaded yet. Waits for another thread's load.

        likely: files that will be needed soon; if any of the others has to be compiled, they are compiled as well.
        """
        with self._loading:
            missing = [source for source in dict.fromkeys(sources) if source not in self._modules]
            for source, code in compiler.cubins(missing, self.properties.arch, likely).items() if missing else ():
                self._modules[source] = self._call("cuModuleLoadData", code)

    def kernel(self, source: Source, name: str, shared_bytes: int = 0) -> Kernel:
        """Return a function of a kernel file, for launches with this much dynamic shared memory."""
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
        """Return how many blocks of a kernel run on a multiprocessor at a time."""
        occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return int(self._call(occupancy, kernel.handle, n_threads, kernel.shared_bytes))

    def launch(
        self, kernel: Kernel, grid: Grid, n_threads: int, stream: Any, arguments: KernelArguments | Sequence[int]
    ) -> None:
        """Queue a kernel in a stream. A sequence of arguments must be in the order of the kernel's parameters."""
        self.launch_all(self.prepare(kernel, n_threads, [(grid, _values(kernel, arguments))], stream))

    def prepare(
        self,
        kernel: Kernel,
        n_threads: int,
        launches: Sequence[tuple[Grid, Sequence[int]]],
        stream: Any,
    ) -> Launches:
        """Prepare consecutive launches with these grids and arguments. All have the same number of arguments."""
        n = len(launches[0][1])
        # The driver copies as many bytes as the kernel declares, from the address of each argument: the low bytes of
        # eight, because all machines with CUDA are little-endian.
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
        """Queue prepared launches in the stream that they were prepared for."""
        self._launched[launches.name] = None
        launch, success = self._driver.cuLaunchKernel, self._driver.CUresult.CUDA_SUCCESS
        for call in launches.calls:
            status = launch(*call)[0]
            if status != success:
                self._fail("cuLaunchKernel", status)

    def launch_together(
        self, kernel: Kernel, n_blocks: int, n_threads: int, stream: Any, arguments: KernelArguments | Sequence[int]
    ) -> None:
        """Queue a kernel whose blocks wait for each other: the driver refuses more blocks than fit the device."""
        prepared = self.prepare(kernel, n_threads, [(n_blocks, _values(kernel, arguments))], stream)
        self._launched[kernel.name] = None
        self._call("cuLaunchCooperativeKernel", *prepared.calls[0][:-1])

    def _properties(self, device: Any) -> DeviceProperties:
        names = self._driver.CUdevice_attribute

        def attribute(name: str) -> int:
            return int(self._call("cuDeviceGetAttribute", getattr(names, f"CU_DEVICE_ATTRIBUTE_{name}"), device))

        arch = f"sm_{attribute('COMPUTE_CAPABILITY_MAJOR')}{attribute('COMPUTE_CAPABILITY_MINOR')}"
        return DeviceProperties(
            n_sms=attribute("MULTIPROCESSOR_COUNT"),
            shared_bytes=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            dpx=compiler.has_dpx(arch),
            arch=arch,
        )

    def _in_context(self, function: Any, handle: Any) -> None:
        """Free something from any thread, keep that thread's current context, and ignore errors."""
        self._driver.cuCtxPushCurrent(self._context)
        function(handle)
        self._driver.cuCtxPopCurrent()

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the driver and return its result. Raises EngineError or DeviceMemoryError."""
        status, *values = getattr(self._driver, name)(*arguments)
        if status != self._driver.CUresult.CUDA_SUCCESS:
            self._fail(name, status)
        return values[0] if len(values) == 1 else values

    def _fail(self, function: str, status: Any) -> NoReturn:
        """Raise an error. Faults of kernels appear in later calls, so the message names the launched kernels."""
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
"""Errors that a launch or a running kernel causes."""


def _values(kernel: Kernel, arguments: KernelArguments | Sequence[int]) -> Sequence[int]:
    """Return the arguments of a kernel as a sequence."""
    if not isinstance(arguments, KernelArguments):
        return arguments
    assert kernel.name in arguments.kernels
    return arguments.values()


def load_driver() -> Any:
    """Import the bindings of the CUDA driver."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise EngineError(f'cuda-bindings is not installed ({error}); pip install "exaln[cuda]"') from None
    return driver


def device_name(driver: Any, device: Any) -> str:
    """Return the name of a GPU, such as "NVIDIA H200". Needs no context."""
    status, name = driver.cuDeviceGetName(256, device)
    if status != driver.CUresult.CUDA_SUCCESS:
        return "unknown"
    return bytes(name).split(b"\0")[0].decode("utf-8", "replace").strip()


def _mebibytes(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.0f} MiB"
