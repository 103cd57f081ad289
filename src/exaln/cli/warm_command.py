"""The command warm: compiles the kernels of usual work for the GPUs of this machine, ahead of the first search."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from exaln.cli import options
from exaln.cli.command import Command
from exaln.cli.messages import Messages, pass_messages
from exaln.errors import EngineError
from exaln.foundation.plurals import number_of

if TYPE_CHECKING:
    from exaln.engines.cuda.runtime.device import DeviceProperties


@click.command(cls=Command, example="exaln warm")
@options.devices
@pass_messages
def warm(messages: Messages, devices: tuple[int, ...] | None) -> None:
    """Compile the GPU kernels of usual searches and alignments now, so that none of them has to wait.

    Usual are the default scorings of proteins and nucleotides. Kernels of other scorings are compiled when they are
    first used. All of them are kept in a folder, which exaln info names.
    """
    for name, properties in gpus(devices).items():
        messages.note(compile_for(messages, name, properties))


def gpus(devices: tuple[int, ...] | None) -> dict[str, DeviceProperties]:
    """The properties of GPUs by name, of each kind once. EngineError if they cannot be used."""
    from exaln.engines.cuda.engine import CudaEngine
    from exaln.engines.cuda.runtime.device import Device

    reason = CudaEngine.unavailable_reason()
    if reason is not None:
        raise EngineError(f"engine 'cuda' cannot be used: {reason}")
    opened = [Device(number) for number in dict.fromkeys(CudaEngine(devices).devices)]
    return {device.name: device.properties for device in reversed(opened)}


def compile_for(messages: Messages, name: str, properties: DeviceProperties) -> str:
    """Compile what is missing for a kind of GPU, and return what was done."""
    from exaln.engines.cuda.common_kernels import common_sources
    from exaln.engines.cuda.runtime.compiler import cubins, not_cached
    from exaln.foundation.user_cache import cache_folder

    sources = common_sources(properties)
    missing = not_cached(sources, properties.arch)
    where = f"{name} ({properties.arch}) in {cache_folder()}"
    if not missing:
        return f"nothing to do: {number_of(len(sources), 'kernel')} for {where}"
    messages.detail(f"compiling {number_of(len(missing), 'kernel')} of {len(sources):,}")
    started = time.perf_counter()
    cubins(missing, properties.arch)
    return f"compiled {number_of(len(missing), 'kernel')} for {where} in {time.perf_counter() - started:.1f} s"
