"""info: what this installation can do."""

from __future__ import annotations

import json
from typing import Any

import click

from exaln.cli import options
from exaln.cli.command import Command
from exaln.cli.layout import aligned

ENVIRONMENT = {
    "EXALN_ENGINE": ("auto", "the engine of --engine auto"),
    "EXALN_ISA": ("the fastest", "the instruction set of the cpu engine"),
}


@click.command(cls=Command, example="exaln info")
@options.as_json
def info(as_json: bool) -> None:
    """Show engines, instruction sets, threads and memory that exaln can use here."""
    facts = installation_facts()
    click.echo(json.dumps(facts, indent=2) if as_json else installation_text(facts))


def installation_facts() -> dict[str, Any]:
    """What info tells."""
    import os
    import platform

    import exaln
    from exaln.engines import ENGINES
    from exaln.resources import available_memory, available_threads

    return {
        "exaln": exaln.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "threads": available_threads(),
        "memory_bytes": available_memory(),
        "engines": {engine.name: engine.unavailable_reason() or "usable" for engine in ENGINES},
        "instruction_sets": instruction_sets(),
        "environment": {name: os.environ.get(name) for name in ENVIRONMENT},
    }


def instruction_sets() -> dict[str, str]:
    """Each instruction set that was built, the fastest first: chosen, usable, or missing in this CPU."""
    from exaln.engines.cpu import CpuEngine, choose_isa
    from exaln.errors import EngineError

    if CpuEngine.unavailable_reason() is not None:
        return {}
    from exaln import _core

    try:
        chosen = choose_isa()
    except EngineError as error:
        return {**_usable(_core.isas()), "none chosen": str(error)}
    return _usable(_core.isas()) | {chosen: "chosen"}


def _usable(isas: list[tuple[str, bool]]) -> dict[str, str]:
    return {name: "usable" if is_usable else "not in this CPU" for name, is_usable in isas}


def installation_text(facts: dict[str, Any]) -> str:
    """For people."""
    machine = [
        ("exaln", facts["exaln"]),
        ("Python", facts["python"]),
        ("platform", facts["platform"]),
        ("threads", f"{facts['threads']} that may be used"),
        ("memory", f"{facts['memory_bytes'] / 2**30:.1f} GiB available"),
    ]
    environment = [("variable", "value", "default", "meaning")]
    for name, (default, meaning) in ENVIRONMENT.items():
        environment.append((name, facts["environment"][name] or "not set", default, meaning))
    return "\n\n".join(
        [
            aligned(machine),
            "Engines, the fastest first\n" + aligned(list(facts["engines"].items()), "  "),
            "Instruction sets of the cpu engine, the fastest first\n"
            + (aligned(list(facts["instruction_sets"].items()), "  ") if facts["instruction_sets"] else "  none"),
            "Environment\n" + aligned(environment, "  "),
        ]
    )
