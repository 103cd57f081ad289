"""Lists of target ids that limit a search: as arguments, in files, and as ordinals of a database."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from exaln.errors import InputError
from exaln.foundation import arguments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from exaln.database.database import Database

Ids: TypeAlias = str | Iterable[str] | os.PathLike[str]
"""One id, several, or a file with one id per line."""

EXPECTED = "ids of targets, or the pathlib.Path of a file with one id a line"


def as_ids(name: str, value: Ids) -> Ids:
    """Check an argument with ids. Returns a tuple, or the path of a file, which is read when the search begins."""
    if isinstance(value, os.PathLike):
        return arguments.path(name, value, EXPECTED)
    ids = [value] if isinstance(value, str) else arguments.items(name, value, EXPECTED)
    for one in ids:
        arguments.text(name, one, EXPECTED)
    return tuple(ids)


def ordinals_of(name: str, value: Ids, database: Database) -> NDArray[np.int64]:
    """int64[n], ascending: the ordinals of the targets with these ids. Raises InputError for an unknown id."""
    try:
        return database.ordinals(read_ids(value) if isinstance(value, os.PathLike) else value)
    except InputError as error:
        place = os.fspath(value) if isinstance(value, os.PathLike) else name
        raise InputError(f"{place}: {error}") from None


def read_ids(path: os.PathLike[str]) -> list[str]:
    """The ids in a file, one per line; blank lines are skipped. Raises InputError if it cannot be read."""
    try:
        return [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{os.fspath(path)}: the list of ids cannot be read: {error}") from None
