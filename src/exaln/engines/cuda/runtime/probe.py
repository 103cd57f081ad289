"""Probes the machine for the cuda engine: driver, GPUs, compiler and cache, or why the engine cannot be used.

The driver is called through its C interface. That works whatever CUDA packages are installed, creates no context and so
takes no GPU memory, and detects a missing driver at once.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, ClassVar

from exaln.engines.cuda.runtime.nvrtc import compiler_version, known_compiler
from exaln.foundation.user_cache import cache_folder

OLDEST_CUDA = 12
OLDEST_CAPABILITY = (7, 5)

# Values of CUdevice_attribute in cuda.h.
MULTIPROCESSOR_COUNT = 16
COMPUTE_CAPABILITY_MAJOR = 75
COMPUTE_CAPABILITY_MINOR = 76


class DriverError(Exception):
    """A call of the driver failed; the message is the name of the error, such as CUDA_ERROR_NO_DEVICE."""


@dataclass(frozen=True)
class Gpu:
    """One GPU, numbered as the driver does in this process."""

    number: int
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    pci_bus: str


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


class Driver:
    """The functions of libcuda that need no context. The constructor raises OSError if there is no driver."""

    _gpus: ClassVar[list[Gpu] | None] = None

    def __init__(self) -> None:
        self._library = _library()

    def cuda_version(self) -> tuple[int, int]:
        """The newest CUDA version that this driver supports, as (major, minor)."""
        version = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(version))
        return version.value // 1000, version.value % 1000 // 10

    def gpus(self) -> list[Gpu]:
        """All GPUs that are visible to this process (CUDA_VISIBLE_DEVICES). They do not change, and are read once."""
        if Driver._gpus is None:
            Driver._gpus = self._read_gpus()
        return Driver._gpus

    def _read_gpus(self) -> list[Gpu]:
        count = ctypes.c_int()
        try:
            self._call("cuInit", ctypes.c_uint(0))
            self._call("cuDeviceGetCount", ctypes.byref(count))
        except DriverError as error:
            if str(error) == "CUDA_ERROR_NO_DEVICE":
                return []
            raise
        return [self._gpu(number) for number in range(count.value)]

    def _gpu(self, number: int) -> Gpu:
        device, memory = ctypes.c_int(), ctypes.c_size_t()
        name, bus = ctypes.create_string_buffer(256), ctypes.create_string_buffer(32)
        self._call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(number))
        self._call("cuDeviceGetName", name, ctypes.c_int(len(name)), device)
        self._call("cuDeviceGetPCIBusId", bus, ctypes.c_int(len(bus)), device)
        self._call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        return Gpu(
            number=number,
            name=name.value.decode(errors="replace"),
            compute_capability=(
                self._attribute(COMPUTE_CAPABILITY_MAJOR, device),
                self._attribute(COMPUTE_CAPABILITY_MINOR, device),
            ),
            multiprocessors=self._attribute(MULTIPROCESSOR_COUNT, device),
            memory_bytes=memory.value,
            pci_bus=bus.value.decode(),
        )

    def _attribute(self, attribute: int, device: ctypes.c_int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(attribute), device)
        return value.value

    def _call(self, function: str, *arguments: object) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            name = ctypes.c_char_p()
            self._library.cuGetErrorName(ctypes.c_int(status), ctypes.byref(name))
            raise DriverError(name.value.decode() if name.value else f"CUDA error {status}")


def unavailable_reason() -> str | None:
    """Why the cuda engine cannot be used here and what to do about it, in one line; None if it can be used.

    What can be used once is not looked at again in this process.
    """
    try:
        _require_usable()
    except _UnusableError as error:
        return str(error)
    return None


class _UnusableError(Exception):
    """The cuda engine cannot be used; the message says why."""


@cache
def _require_usable() -> None:
    """Raise _UnusableError, which is not cached, unless the cuda engine can be used."""
    reason = _reason()
    if reason is not None:
        raise _UnusableError(reason)


def _reason() -> str | None:
    try:
        driver = Driver()
    except OSError:
        return "no NVIDIA driver is installed (libcuda.so.1 cannot be loaded)"
    try:
        version = driver.cuda_version()
        gpus = driver.gpus()
    except (DriverError, AttributeError) as error:
        return f"the NVIDIA driver does not work ({error})"
    return _gpu_reason(gpus) or _package_reason(version)


def probe_machine() -> dict[str, Any]:
    """Everything that `exaln info` shows. Unknown values are None; without a driver, the list of GPUs is empty."""
    version, gpus = None, []
    with suppress(OSError, DriverError, AttributeError):
        driver = Driver()
        version = _dotted(driver.cuda_version())
        gpus = [_gpu_report(gpu) for gpu in driver.gpus()]
    sizes = _cached_sizes()
    return {
        "unavailable_reason": unavailable_reason(),
        "gpus": gpus,
        "driver_cuda": version,
        "nvrtc": compiler_version(),
        "cuda_bindings": _version("cuda-bindings"),
        "cache": {"folder": str(cache_folder()), "files": len(sizes), "bytes": sum(sizes)},
    }


def _gpu_reason(gpus: list[Gpu]) -> str | None:
    """Why no GPU can be used, or None."""
    if not gpus:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return "no NVIDIA GPU is found" + ("" if visible is None else f" (CUDA_VISIBLE_DEVICES is {visible!r})")
    if all(gpu.compute_capability < OLDEST_CAPABILITY for gpu in gpus):
        has = f"GPU 0 ({gpus[0].name}) has compute capability {_dotted(gpus[0].compute_capability)}"
        return f"{has}; {_dotted(OLDEST_CAPABILITY)} or later is needed"
    return None


def _package_reason(driver: tuple[int, int]) -> str | None:
    """Why the driver or the CUDA packages cannot be used, or None. driver: the CUDA version that it supports."""
    if driver[0] < OLDEST_CUDA:
        return f"the NVIDIA driver supports CUDA {_dotted(driver)}; update it to one for CUDA {OLDEST_CUDA} or later"
    try:
        import cuda.bindings.driver
    except ModuleNotFoundError as error:
        return f"cuda-bindings is not installed ({error}); {_install(driver[0])}"
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        return f"cuda-bindings cannot be loaded ({first_line}); {_install(driver[0])}"
    major = int(cuda.bindings.__version__.partition(".")[0])
    if major > driver[0]:
        has = f"the NVIDIA driver supports CUDA {_dotted(driver)}, but the installed packages are for CUDA {major}"
        return f"{has}; {_install(driver[0])}, or update the driver"
    if known_compiler() is None:
        return f"NVRTC, the compiler of CUDA kernels, is missing; {_install(major)}"
    return None


def _install(cuda_major: int) -> str:
    """The command that installs the packages for a CUDA version."""
    extra = "cuda12" if cuda_major == OLDEST_CUDA else "cuda"
    return f'pip install "exaln[{extra}]"'


def _gpu_report(gpu: Gpu) -> dict[str, Any]:
    capability = _dotted(gpu.compute_capability)
    return asdict(gpu) | {"compute_capability": capability, "free_bytes": _free_bytes(gpu.pci_bus)}


def _free_bytes(pci_bus: str) -> int | None:
    """Free memory of a GPU in bytes, from NVML, which needs no context; None without NVML."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    if nvml.nvmlInit_v2():
        return None
    device, total_free_used = ctypes.c_void_p(), (ctypes.c_ulonglong * 3)()
    status = nvml.nvmlDeviceGetHandleByPciBusId_v2(pci_bus.encode(), ctypes.byref(device))
    if not status:
        status = nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(total_free_used))
    nvml.nvmlShutdown()
    return None if status else total_free_used[1]


def _cached_sizes() -> list[int]:
    sizes = []
    for path in cache_folder().glob("*.cubin"):
        with suppress(OSError):
            sizes.append(path.stat().st_size)
    return sizes


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
