"""Presets: what another program does by default, as options of a search.

blast: blastp adjusts scores to the composition of each pair (mode 2). blastn scores as megablast and masks queries with
dust, softly. E-value, number of targets and gap costs are the same as those of exaln anyway.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exaln.errors import InputError
from exaln.foundation import arguments
from exaln.search.options import SearchOptions

if TYPE_CHECKING:
    from exaln.sequences.alphabet import Alphabet

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "blast": {
        "protein": {"comp_based_stats": 2},
        "nucleotide": {"task": "megablast", "query_mask": "dust", "query_masking": "soft"},
    }
}
"""Values by preset and molecule: of the fields of `SearchOptions`, and of the task that sets the scoring."""


def preset_values(preset: str, alphabet: Alphabet, given: Collection[str] = ()) -> dict[str, Any]:
    """The values of a preset for sequences of this alphabet, without those that were given.

    >>> from exaln.sequences.alphabet import Alphabet
    >>> preset_values("blast", Alphabet.named("protein"))
    {'comp_based_stats': 2}
    >>> preset_values("blast", Alphabet.named("dna"), given=["query_mask", "query_masking"])
    {'task': 'megablast'}
    """
    arguments.choice("preset", preset, tuple(PRESETS))
    molecule = "nucleotide" if alphabet.is_nucleotide else alphabet.name
    values = PRESETS[preset].get(molecule)
    if values is None:
        raise InputError(f"preset {preset} is for proteins and nucleotides, but these are {alphabet.name}")
    return {name: value for name, value in values.items() if name not in given}


def with_preset(options: SearchOptions, preset: str, alphabet: Alphabet) -> tuple[SearchOptions, str | None]:
    """The options with the values of a preset for those that have their defaults, and its task, None for no other."""
    usual = SearchOptions()
    values = preset_values(preset, alphabet)
    task = values.pop("task", None)
    kept = {name for name in values if getattr(options, name) != getattr(usual, name)}
    return replace(options, **{name: value for name, value in values.items() if name not in kept}), task
