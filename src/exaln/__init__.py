"""Exact Smith-Waterman search and alignment at the speed of the hardware.

The public names are imported when first used, so that `import exaln` and `exaln --help` stay fast.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Alphabet": "sequences.alphabet",
    "Scoring": "scoring.scoring",
    "Records": "sequences.records",
    "SequenceFile": "sequences.fasta",
    "Database": "database.database",
    "Alignment": "pairwise.alignment",
    "Alignments": "pairwise.alignment",
    "Hits": "search.hits",
    "SearchOptions": "search.options",
    "Mode": "scoring.modes",
    "mask": "masking.mask",
    "align": "pairwise.pairs",
    "align_many": "pairwise.pairs",
    "score": "pairwise.pairs",
    "score_many": "pairwise.pairs",
    "scores": "search.pipeline",
    "search": "search.pipeline",
    "ExalnError": "errors",
    "ExalnWarning": "errors",
    "InputError": "errors",
    "DatabaseError": "errors",
    "EngineError": "errors",
    "OutOfMemoryError": "errors",
    "OutputError": "errors",
}

__all__ = [
    "Alignment",
    "Alignments",
    "Alphabet",
    "Database",
    "DatabaseError",
    "EngineError",
    "ExalnError",
    "ExalnWarning",
    "Hits",
    "InputError",
    "Mode",
    "OutOfMemoryError",
    "OutputError",
    "Records",
    "Scoring",
    "SearchOptions",
    "SequenceFile",
    "__version__",
    "align",
    "align_many",
    "mask",
    "score",
    "score_many",
    "scores",
    "search",
]

if TYPE_CHECKING:
    from exaln.database.database import Database
    from exaln.errors import (
        DatabaseError,
        EngineError,
        ExalnError,
        ExalnWarning,
        InputError,
        OutOfMemoryError,
        OutputError,
    )
    from exaln.masking.mask import mask
    from exaln.pairwise.alignment import Alignment, Alignments
    from exaln.pairwise.pairs import align, align_many, score, score_many
    from exaln.scoring.modes import Mode
    from exaln.scoring.scoring import Scoring
    from exaln.search.hits import Hits
    from exaln.search.options import SearchOptions
    from exaln.search.pipeline import scores, search
    from exaln.sequences.alphabet import Alphabet
    from exaln.sequences.fasta import SequenceFile
    from exaln.sequences.records import Records


class _Package(ModuleType):
    """`exaln.search` is the function, although a subpackage has that name: importing it must not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if name != "search" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'exaln' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"exaln.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
