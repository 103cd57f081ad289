"""The experiments of the five papers that exaln descends from, on today's hardware: what `exaln study` runs.

They ship with the package, so that whoever has it can repeat them, but nothing imports them except the command line:
the techniques of the papers stand here as they were, beside the engines and outside of them, with kernels of their own
(`kernels/`). A study measures, compares every result with the reference engine or with what was proven equal to it,
and keeps its figures as JSON; a page with tables and plots is made from that, so GPU and CPU can be measured on two
machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exaln_studies.study import Study

NAMES = ("xiao-aji-feng", "taluzzi-gpu101", "chaibou-sie", "hains-et-al", "munekawa-ino-hagihara")
"""The studies, by the authors of the papers."""


def study_named(name: str) -> Study:
    """One of NAMES, loaded when it is asked for."""
    from importlib import import_module

    study: Study = import_module(f"exaln_studies.{name.replace('-', '_')}").STUDY
    return study
