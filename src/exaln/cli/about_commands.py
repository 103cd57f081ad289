"""The command info: the engines, instruction sets, GPUs and settings of this installation."""

from __future__ import annotations

import json
from typing import Any

import click

from exaln.cli import options
from exaln.cli.command import Command
from exaln.cli.text_columns import aligned
from exaln.foundation.plurals import number_of

ENVIRONMENT = {
    "EXALN_ENGINE": ("auto", "the engine of --engine auto"),
    "EXALN_ISA": ("the fastest", "the instruction set of the cpu engine"),
    "EXALN_CACHE": ("the user's cache", "the folder of compiled kernels of the cuda engine"),
    "EXALN_CUDA_DPX": ("1 if the GPU has it", "0 uses the kernels for GPUs without DPX instructions"),
}


@click.command(cls=Command, example="exaln info")
@options.as_json
def info(as_json: bool) -> None:
    """Show the engines, instruction sets, GPUs, threads and memory that exaln can use on this machine."""
    found = probe_installation()
    click.echo(json.dumps(found, indent=2) if as_json else installation_text(found))


def probe_installation() -> dict[str, Any]:
    """What this installation has and can use, as values for JSON."""
    import os
    import platform

    import exaln
    from exaln.engines.choice import ENGINES, engine_class
    from exaln.engines.cuda.runtime.probe import probe_machine
    from exaln.foundation.resources import available_memory, available_threads

    return {
        "exaln": exaln.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "threads": available_threads(),
        "memory_bytes": available_memory(),
        "engines": {name: engine_class(name).unavailable_reason() or "usable" for name in ENGINES},
        "instruction_sets": instruction_sets(),
        "cuda": probe_machine(),
        "environment": {name: os.environ.get(name) for name in ENVIRONMENT},
    }


def instruction_sets() -> dict[str, str]:
    """Each instruction set of the core, fastest first: chosen, usable, or not in this CPU."""
    from exaln.engines.cpu.engine import CpuEngine
    from exaln.engines.cpu.instruction_sets import choose_isa
    from exaln.errors import EngineError

    if CpuEngine.unavailable_reason() is not None:
        return {}
    from exaln import _core

    try:
        chosen = choose_isa().name
    except EngineError as error:
        return {**_usable(_core.isas()), "none chosen": str(error)}
    return _usable(_core.isas()) | {chosen: "chosen"}


def _usable(isas: list[tuple[str, bool]]) -> dict[str, str]:
    return {name: "usable" if is_usable else "not in this CPU" for name, is_usable in isas}


def installation_text(found: dict[str, Any]) -> str:
    """The result of `probe_installation` as text."""
    machine = [
        ("exaln", found["exaln"]),
        ("Python", found["python"]),
        ("platform", found["platform"]),
        ("threads", f"{found['threads']} available"),
        ("memory", f"{found['memory_bytes'] / 2**30:.1f} GiB available"),
    ]
    environment = [("variable", "value", "default", "meaning")]
    for name, (default, meaning) in ENVIRONMENT.items():
        environment.append((name, found["environment"][name] or "not set", default, meaning))
    return "\n\n".join(
        [
            aligned(machine),
            "Engines, fastest first\n" + aligned(list(found["engines"].items()), "  "),
            "Instruction sets of the cpu engine, fastest first\n"
            + (aligned(list(found["instruction_sets"].items()), "  ") if found["instruction_sets"] else "  none"),
            "GPUs of the cuda engine\n" + cuda_text(found["cuda"]),
            "Environment\n" + aligned(environment, "  "),
        ]
    )


def cuda_text(found: dict[str, Any]) -> str:
    """GPUs, versions and cache of the cuda engine as text, or why it cannot be used."""
    if not found["gpus"]:
        return f"  none: {found['unavailable_reason']}"
    gpus = [
        (
            f"GPU {gpu['number']}",
            gpu["name"],
            f"compute capability {gpu['compute_capability']}",
            f"{gpu['multiprocessors']} SMs",
            f"{gpu['memory_bytes'] / 2**30:.1f} GiB",
            "" if gpu["free_bytes"] is None else f"{gpu['free_bytes'] / 2**30:.1f} GiB free",
        )
        for gpu in found["gpus"]
    ]
    cache = found["cache"]
    rest = [
        ("usable", found["unavailable_reason"] or "yes"),
        ("driver", f"for CUDA {found['driver_cuda']} and earlier"),
        ("NVRTC", found["nvrtc"] or "not installed"),
        ("cuda-bindings", found["cuda_bindings"] or "not installed"),
        ("cache", f"{cache['folder']}, {number_of(cache['files'], 'kernel')}, {cache['bytes'] / 1e6:.1f} MB"),
    ]
    return aligned(gpus, "  ") + "\n" + aligned(rest, "  ")
