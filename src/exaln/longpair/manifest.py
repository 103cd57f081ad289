"""manifest.json of a work directory: how far a pair is, and which files hold it, each with its hash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.errors import InputError
from exaln.longpair.region import NOTHING, EndCell, PathState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.longpair.region import Line

FORMAT_VERSION = 1
HASHED_AT_ONCE = 16 << 20


@dataclass(frozen=True)
class StoredFile:
    """A file of a work directory as its manifest names it."""

    file: str
    bytes: int
    xxh3_64: str


@dataclass(frozen=True)
class StoredSlab:
    """Rows [first_row, end_row) of a table, and their lines."""

    first_row: int
    end_row: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    lines: StoredFile


@dataclass(frozen=True)
class Manifest:
    """How far a pair is."""

    plan: dict[str, Any]
    slabs: tuple[StoredSlab, ...] = ()
    carry: StoredFile | None = None
    end: EndCell = NOTHING
    steps: tuple[StoredFile, ...] = ()
    state: PathState | None = None
    is_complete: bool = False

    def to_json(self) -> str:
        """With a hash of itself."""
        content: dict[str, Any] = {"format": "exaln work directory", "format_version": FORMAT_VERSION, **asdict(self)}
        content["xxh3_64"] = _content_hash(content)
        return json.dumps(content, indent=1) + "\n"

    @staticmethod
    def from_json(text: bytes, name: Path) -> Manifest:
        """Checked against its hash."""
        try:
            content = json.loads(text)
            if content.pop("xxh3_64") != _content_hash(content):
                raise ValueError
            version = content.pop("format_version")
            if content.pop("format") != "exaln work directory":
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError):
            raise damaged(name) from None
        if version != FORMAT_VERSION:
            raise InputError(f"{name}: written by another version of exaln; delete {name.parent} to begin anew")
        return Manifest(
            plan=content["plan"],
            slabs=tuple(
                StoredSlab(
                    **{
                        **slab,
                        "rows": tuple(slab["rows"]),
                        "columns": tuple(slab["columns"]),
                        "lines": StoredFile(**slab["lines"]),
                    }
                )
                for slab in content["slabs"]
            ),
            carry=None if content["carry"] is None else StoredFile(**content["carry"]),
            end=EndCell(**content["end"]),
            steps=tuple(StoredFile(**piece) for piece in content["steps"]),
            state=None if content["state"] is None else PathState(**content["state"]),
            is_complete=content["is_complete"],
        )


def damaged(path: Path) -> InputError:
    """What to tell about a file that is not what was written."""
    return InputError(f"{path}: damaged; delete {path.parent} to begin anew")


def bytes_of(array: Line | NDArray[np.uint8]) -> NDArray[np.uint8]:
    """uint8, one after the other."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def hash_of(arrays: Sequence[Line | NDArray[np.uint8]]) -> str:
    """Of all of them one after the other."""
    import xxhash

    total = xxhash.xxh3_64()
    for array in arrays:
        flat = bytes_of(array)
        for start in range(0, len(flat), HASHED_AT_ONCE):
            total.update(flat[start : start + HASHED_AT_ONCE].data)
    return str(total.hexdigest())


def hash_of_file(path: Path) -> str:
    """Read, not mapped: what is only looked at once should not take memory."""
    import xxhash

    total = xxhash.xxh3_64()
    with path.open("rb") as file:
        while some := file.read(HASHED_AT_ONCE):
            total.update(some)
    return str(total.hexdigest())


def _content_hash(content: dict[str, Any]) -> str:
    import xxhash

    return str(xxhash.xxh3_64_hexdigest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")))
