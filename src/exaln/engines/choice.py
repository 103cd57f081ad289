"""The choice of an engine, made in this one place: the one that is named, or the fastest that is usable."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exaln.engines.contracts import Engine
from exaln.engines.cpu.engine import CpuEngine
from exaln.engines.cuda.engine import CudaEngine
from exaln.engines.reference.engine import ReferenceEngine
from exaln.errors import EngineError, ExalnWarning, InputError
from exaln.foundation import arguments


@dataclass(frozen=True)
class _Request:
    """The resources that an engine may use."""

    threads: int | None
    devices: Sequence[int] | None
    gpu_memory: int | None


_MAKE: dict[type[Engine], Callable[[_Request], Engine]] = {
    CudaEngine: lambda request: CudaEngine(request.devices, request.gpu_memory, request.threads),
    CpuEngine: lambda request: CpuEngine(request.threads),
    ReferenceEngine: lambda request: ReferenceEngine(),
}
ENGINES: tuple[type[Engine], ...] = tuple(_MAKE)
"""All engines, fastest first."""


def choose_engine(
    name: str = "auto",
    threads: int | None = None,
    *,
    devices: Sequence[int] | None = None,
    gpu_memory: int | None = None,
    for_pairs: bool = False,
) -> Engine:
    """The engine with this name; "auto" means the one that EXALN_ENGINE names, or else the fastest that is usable.

    A request that cannot be met raises EngineError. Only "auto" goes on to the next engine. It warns then, unless the
    engine is cuda on a machine without a GPU. `devices` and `gpu_memory` (bytes on each) need the cuda engine: with
    them "auto" means cuda, and any other engine raises InputError. for_pairs: "auto" skips engines that pay off only
    for large work.
    """
    known = ", ".join(engine.name for engine in ENGINES)
    if not isinstance(name, str):
        raise arguments.wrong("engine", name, f"auto, {known}")
    request = _Request(
        None if threads is None else arguments.integer("threads", threads, least=1),
        None if devices is None else _device_numbers(devices),
        None if gpu_memory is None else arguments.integer("gpu_memory", gpu_memory, least=1),
    )
    if name == "auto":
        name = os.environ.get("EXALN_ENGINE", "auto")
    if devices is not None or gpu_memory is not None:
        name = _with_gpus(name)
    if name == "auto":
        return _MAKE[_fastest_usable(for_pairs=for_pairs)](request)
    for engine in ENGINES:
        if engine.name == name:
            reason = engine.unavailable_reason()
            if reason is not None:
                raise EngineError(f"engine {name!r} cannot be used: {reason}")
            return _MAKE[engine](request)
    raise EngineError(f"unknown engine {name!r}; choose auto, {known}")


def engine_reasons(chosen: str) -> dict[str, str]:
    """For each engine, fastest first, why it is or is not the chosen one."""
    names = [engine.name for engine in ENGINES]
    reasons = {}
    for place, engine in enumerate(ENGINES):
        reason = engine.unavailable_reason()
        if engine.name == chosen:
            reasons[engine.name] = "used"
        elif reason is not None:
            reasons[engine.name] = f"cannot be used: {reason}"
        else:
            reasons[engine.name] = "available, not asked for" if place < names.index(chosen) else "slower"
    return reasons


def _device_numbers(devices: Sequence[int]) -> list[int]:
    expected = "numbers of GPUs, such as [0, 1]"
    return [arguments.integer("devices", one) for one in arguments.items("devices", devices, expected)]


def _with_gpus(name: str) -> str:
    """The name of the cuda engine, which options for GPUs need. Raises InputError if another engine is named."""
    if name not in ("auto", CudaEngine.name):
        raise InputError(f"--devices and --gpu-memory need --engine cuda, and the engine is {name!r}")
    return CudaEngine.name


def _fastest_usable(*, for_pairs: bool) -> type[Engine]:
    for engine in ENGINES:
        if for_pairs and not engine.tuning.serves_few_pairs:
            continue
        reason = engine.unavailable_reason()
        if reason is None:
            return engine
        if engine.is_expected():
            warnings.warn(f"engine {engine.name!r} is passed over: {reason}", ExalnWarning, stacklevel=4)
    raise EngineError("no engine can be used")
