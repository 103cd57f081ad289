"""The C++ core for one short pair at a time: from texts to a score or an alignment in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exaln.engines.cpu.instruction_sets import choose_isa, forced_isa
from exaln.errors import EngineError
from exaln.sequences.alphabet import BUILT_IN
from exaln.sequences.strands import complements

if TYPE_CHECKING:
    from exaln._core import ShortPairs
    from exaln.scoring.scoring import Scoring

MAX_CACHED = 64

_cached: dict[tuple[int, str], tuple[Scoring, ShortPairs]] = {}
"""By the identity of a scoring, which lives as long as its entry, and EXALN_ISA."""


def short_pairs(scoring: Scoring) -> ShortPairs | None:
    """The core for a scoring, with the instruction set of this CPU or the one that EXALN_ISA names.

    None if the core or the instruction set cannot be used. Any number of threads may use it at once.
    """
    key = id(scoring), forced_isa()
    found = _cached.get(key)
    if found is None:
        pairs = _made(scoring)
        if pairs is None:
            return None
        if len(_cached) >= MAX_CACHED:
            _cached.clear()
        found = _cached[key] = scoring, pairs
    return found[1]


def _made(scoring: Scoring) -> ShortPairs | None:
    try:
        from exaln import _core

        isa = choose_isa().name
    except (ImportError, EngineError):
        return None
    alphabet = scoring.alphabet
    has_strands = alphabet.is_nucleotide and alphabet == BUILT_IN[alphabet.name]
    other_strand = complements(alphabet) if has_strands else np.empty(0, np.uint8)
    return _core.ShortPairs(
        scoring.matrix, scoring.gap_first, scoring.gap_extend, alphabet.table, other_strand, alphabet.is_nucleotide, isa
    )
