"""The choice of an engine, made in this one place: the one that is named, or the fastest that is usable."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from exaln.errors import EngineError, ExalnWarning, InputError
from exaln.foundation import arguments
from exaln.foundation.resources import THREADS_PER_CORE

if TYPE_CHECKING:
    from exaln.engines.contracts import Engine

ENGINES = ("cuda", "cpu", "reference")
"""All engines, fastest first."""

FIRST_FOR_FEW_PAIRS = "cpu"
"""The fastest engine whose tuning serves few pairs, known without importing an engine."""


class _Request(NamedTuple):
    """The resources that an engine may use."""

    threads: int | None
    devices: Sequence[int] | None
    gpu_memory: int | None


def engine_class(name: str) -> type[Engine]:
    """The class of one of ENGINES, imported when it is asked for."""
    if name == "cuda":
        from exaln.engines.cuda.engine import CudaEngine

        return CudaEngine
    if name == "cpu":
        from exaln.engines.cpu.engine import CpuEngine

        return CpuEngine
    from exaln.engines.reference.engine import ReferenceEngine

    return ReferenceEngine


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
    known = ", ".join(ENGINES)
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
        return _make(_fastest_usable(for_pairs=for_pairs), request)
    if name not in ENGINES:
        raise EngineError(f"unknown engine {name!r}; choose auto, {known}")
    reason = engine_class(name).unavailable_reason()
    if reason is not None:
        raise EngineError(f"engine {name!r} cannot be used: {reason}")
    return _make(name, request)


def means_cpu(name: str, threads: int | None) -> bool:
    """Whether `choose_engine` with these arguments, for few pairs, gives the cpu engine if it is usable.

    False also for what it refuses or warns about.
    """
    if threads is not None and not (type(threads) is int and 1 <= threads <= THREADS_PER_CORE):
        return False
    if type(name) is not str:
        return False
    if name == "auto":
        name = os.environ.get("EXALN_ENGINE", name)
    return name in (FIRST_FOR_FEW_PAIRS, "auto")


def engine_reasons(chosen: str) -> dict[str, str]:
    """For each engine, fastest first, why it is or is not the chosen one."""
    reasons = {}
    for place, name in enumerate(ENGINES):
        reason = engine_class(name).unavailable_reason()
        if name == chosen:
            reasons[name] = "used"
        elif reason is not None:
            reasons[name] = f"cannot be used: {reason}"
        else:
            reasons[name] = "available, not asked for" if place < ENGINES.index(chosen) else "slower"
    return reasons


def _make(name: str, request: _Request) -> Engine:
    made: Any = engine_class(name)
    resources = {"cuda": (request.devices, request.gpu_memory, request.threads), "cpu": (request.threads,)}
    chosen: Engine = made(*resources.get(name, ()))
    return chosen


def _device_numbers(devices: Sequence[int]) -> list[int]:
    expected = "numbers of GPUs, such as [0, 1]"
    return [arguments.integer("devices", one) for one in arguments.items("devices", devices, expected)]


def _with_gpus(name: str) -> str:
    """The name of the cuda engine, which options for GPUs need. Raises InputError if another engine is named."""
    if name not in ("auto", "cuda"):
        raise InputError(f"--devices and --gpu-memory need --engine cuda, and the engine is {name!r}")
    return "cuda"


def _fastest_usable(*, for_pairs: bool) -> str:
    for name in ENGINES:
        engine = engine_class(name)
        if for_pairs and not engine.tuning.serves_few_pairs:
            continue
        reason = engine.unavailable_reason()
        if reason is None:
            return name
        if engine.is_expected():
            warnings.warn(f"engine {name!r} is passed over: {reason}", ExalnWarning, stacklevel=4)
    raise EngineError("no engine can be used")
