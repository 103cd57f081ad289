"""The experiments of five papers on Smith-Waterman, repeated on today's hardware: what `exaln study` runs.

A study implements the techniques of a paper as the paper describes them, with kernels of its own (`kernels/`,
`_native`), measures them, and compares every result with the reference engine or with an engine that the tests compare
with it. Measurements are kept as JSON, and a page with tables and plots is made from them, so the CPU and GPU parts of
a study can be measured on different machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exaln_studies.study import Study

NAMES = ("xiao-aji-feng", "taluzzi-gpu101", "chaibou-sie", "hains-et-al", "munekawa-ino-hagihara")
"""Names of the studies, after the authors of the papers."""


def study_named(name: str) -> Study:
    """Import and return the study with this name, one of NAMES."""
    from importlib import import_module

    study: Study = import_module(f"exaln_studies.{name.replace('-', '_')}").STUDY
    return study
