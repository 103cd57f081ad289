"""The instruction set that the C++ core uses: the fastest of this CPU, or the one that is asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass

from exaln.errors import EngineError


@dataclass(frozen=True)
class InstructionSet:
    """An instruction set by name. is_forced: EXALN_ISA names it, so no other may be used."""

    name: str
    is_forced: bool


def forced_isa() -> str:
    """The instruction set that EXALN_ISA names; "" if it names none."""
    return os.environ.get("EXALN_ISA", "")


def choose_isa() -> InstructionSet:
    """The fastest instruction set of this CPU, or the one EXALN_ISA names. Raises EngineError if it is not usable."""
    from exaln import _core

    forced = forced_isa()
    built = dict(_core.isas())
    usable = [name for name, is_usable in built.items() if is_usable]
    if not forced:
        return InstructionSet(usable[0], is_forced=False)
    if forced not in built:
        raise EngineError(f"EXALN_ISA={forced} is unknown; built in are {', '.join(built)}")
    if forced not in usable:
        raise EngineError(f"EXALN_ISA={forced}: this CPU does not have it; usable are {', '.join(usable)}")
    return InstructionSet(forced, is_forced=True)
