"""The check that no command writes over a file that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from exaln.errors import InputError


def require_distinct_files(reads: Sequence[Any], writes: Sequence[tuple[str, Any]]) -> None:
    """InputError if an output is also an input, lies in a database that is read, or is named twice.

    reads: values of options and arguments, each a path, several paths or None. writes: option names with such values.
    """
    inputs = [path for value in reads for path in _paths(value)]
    outputs = [(option, path) for option, value in writes for path in _paths(value)]
    for place, (option, out) in enumerate(outputs):
        for path in inputs:
            if _is_same(path, out) or _is_inside(out, path):
                raise InputError(f"{out}: {option} would overwrite the input {path}; name another file")
        for earlier, other in outputs[:place]:
            if _is_same(other, out):
                raise InputError(f"{out}: {earlier} and {option} name the same file; name another")


def _paths(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from () if value in ("", "-") else (value,)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _paths(one)


def _is_same(path: str, other: str) -> bool:
    """True if two paths name one regular file, which need not exist yet. Devices and pipes may be named twice."""
    try:
        if Path(path).exists() and Path(other).exists():
            return Path(path).is_file() and Path(path).samefile(other)
        return Path(path).resolve() == Path(other).resolve()
    except (OSError, ValueError, RuntimeError):
        return False


def _is_inside(out: str, path: str) -> bool:
    """True if `out` lies in the folder of the database `path`; the extension .exaln may be left out."""
    for folder in (Path(path), Path(f"{path}.exaln")):
        try:
            if folder.is_dir() and folder.resolve() in Path(out).resolve().parents:
                from exaln.database.manifest import MANIFEST_NAME

                return (folder / MANIFEST_NAME).exists()
        except (OSError, ValueError, RuntimeError):
            continue
    return False
