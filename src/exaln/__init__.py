"""Exact Smith-Waterman search and alignment at the speed of the hardware.

The public names are imported when first used, so that `import exaln` and `exaln --help` stay fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Alphabet": "alphabet",
    "Scoring": "scoring",
    "Records": "records",
    "SequenceFile": "fasta",
    "Database": "database",
    "Alignment": "alignment",
    "Alignments": "alignment",
    "Hits": "hits",
    "SearchOptions": "judge",
    "Mode": "modes",
    "align": "pairwise",
    "align_many": "pairwise",
    "score": "pairwise",
    "score_many": "pairwise",
    "scores": "pipeline",
    "search": "pipeline",
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
    "score",
    "score_many",
    "scores",
    "search",
]

if TYPE_CHECKING:
    from exaln.alignment import Alignment, Alignments
    from exaln.alphabet import Alphabet
    from exaln.database import Database
    from exaln.errors import (
        DatabaseError,
        EngineError,
        ExalnError,
        ExalnWarning,
        InputError,
        OutOfMemoryError,
        OutputError,
    )
    from exaln.fasta import SequenceFile
    from exaln.hits import Hits
    from exaln.judge import SearchOptions
    from exaln.modes import Mode
    from exaln.pairwise import align, align_many, score, score_many
    from exaln.pipeline import scores, search
    from exaln.records import Records
    from exaln.scoring import Scoring


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'exaln' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"exaln.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
