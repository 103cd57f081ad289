"""Checks of types and ranges for the plain values of a search, before they are used.

The values come from part files and from other processes and may be any JSON. Wrong ones raise ValueError, TypeError or
KeyError here, so that nothing fails later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from exaln.search.options import SearchOptions

ORDINALS = ("include", "exclude")
IDS = ("ids", "exclude_ids")
"""Options that are not stored: `SearchOptions.resolved` has turned them into ordinals."""

LARGEST = (1 << 62) - 1
LARGEST_SCORE = (1 << 31) - 1
SCORING_NAMES = {"name", "alphabet", "matrix", "gap_open", "gap_extend", "scale", "derived_letters", "match"}
TYPES: dict[str, tuple[type, ...]] = {
    "float": (int, float),
    "int": (int,),
    "str": (str,),
    "bool": (bool,),
    "None": (type(None),),
}


def require_search(values: Any) -> None:
    """Check values from `SearchSpec.to_values`. Raises ValueError, TypeError or KeyError."""
    for name in ("database", "database_digest"):
        _require_type(name, _item(values, name), (str,))
    space = _item(values, "space")
    for name in ("n_targets", "n_residues"):
        _require_integer(name, _item(space, name), 0, LARGEST)
    _require_scoring(_item(values, "scoring"))
    options = _item(values, "options")
    for option in fields(SearchOptions):
        if option.name in IDS:
            continue
        value = _item(options, option.name)
        if option.name in ORDINALS:
            _require_type(option.name, value, (str, type(None)))
        else:
            _require_option(option.name, str(option.type), value)


def _require_option(name: str, annotation: str, value: Any) -> None:
    """Check the value of an option against the type that SearchOptions declares."""
    types = tuple(kind for part in annotation.split(" | ") for kind in TYPES[part])
    _require_type(name, value, types)
    if type(value) is int:
        _require_integer(name, value, 0, LARGEST)


def _require_scoring(values: Any) -> None:
    if not isinstance(values, dict) or values.keys() != SCORING_NAMES:
        raise KeyError("scoring")
    for name in ("name", "derived_letters"):
        _require_type(name, _item(values, name), (str,))
    for name, least, most in (("gap_open", 0, 1 << 30), ("gap_extend", 0, 1 << 30), ("scale", 1, 1 << 30)):
        _require_integer(name, _item(values, name), least, most)
    match = _item(values, "match")
    if match is not None and not _is_list_of(match, str, 2):
        raise TypeError("match is not a pair of texts")
    alphabet = _item(values, "alphabet")
    for name in ("name", "letters"):
        _require_type(name, _item(alphabet, name), (str,))
    synonyms = _item(alphabet, "synonyms")
    if not isinstance(synonyms, dict) or not all(isinstance(value, str) for value in synonyms.values()):
        raise TypeError("synonyms are not texts")
    _require_matrix(_item(values, "matrix"), len(alphabet["letters"]))


def _require_matrix(matrix: Any, n_letters: int) -> None:
    if not _is_list_of(matrix, list, n_letters):
        raise ValueError("the matrix does not fit the alphabet")
    for row in matrix:
        if not _is_list_of(row, int, n_letters):
            raise ValueError("the matrix does not fit the alphabet")
        for score in row:
            _require_integer("a score", score, -LARGEST_SCORE, LARGEST_SCORE)


def _item(values: Any, name: str) -> Any:
    if not isinstance(values, Mapping):
        raise TypeError(f"there is no {name}")
    return values[name]


def _require_type(name: str, value: Any, types: tuple[type, ...]) -> None:
    if type(value) not in types:
        raise TypeError(f"{name} has the wrong type")


def _require_integer(name: str, value: Any, least: int, most: int) -> None:
    _require_type(name, value, (int,))
    if not least <= value <= most:
        raise ValueError(f"{name} is not between {least} and {most}")


def _is_list_of(values: Any, kind: type, length: int) -> bool:
    return isinstance(values, list) and len(values) == length and all(type(value) is kind for value in values)
