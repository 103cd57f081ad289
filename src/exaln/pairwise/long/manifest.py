"""manifest.json of a work directory: the progress of one pair, and the files that hold it, each with its hash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exaln.engines.regions import IN_F, NO_GAP, NOTHING, EndCell, PathState
from exaln.foundation.mapped_file import HASHED_AT_ONCE
from exaln.foundation.state_file import Fields, StateFormat
from exaln.pairwise.long.checkpoints import grid_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.regions import Line

FORMAT_VERSION = 1
MAX_SCORE = 1 << 61
MAX_SPACING = 1 << 40


def work_format(directory: Path) -> StateFormat:
    """The format of the manifest of a work directory; its errors name the directory."""
    return StateFormat("exaln work directory", FORMAT_VERSION, f"delete {directory} to start over")


@dataclass(frozen=True)
class TableShape:
    """The lengths of the query and the target, which limit the numbers in a manifest."""

    n_rows: int
    n_columns: int


@dataclass(frozen=True)
class StoredFile:
    """A file of a work directory as the manifest lists it: name, size, hash."""

    file: str
    bytes: int
    xxh3_64: str

    @staticmethod
    def from_fields(fields: Fields, name: str, least: int, most: int) -> StoredFile:
        """Read an entry, which must be the file `name` with `least` to `most` bytes. Raises DatabaseError otherwise."""
        stored = StoredFile(fields.file_name("file"), fields.integer("bytes", least, most), fields.hash("xxh3_64"))
        if stored.file != name:
            raise fields.wrong("file", name)
        return stored


@dataclass(frozen=True)
class StoredSlab:
    """Rows [first_row, end_row) of a table, the places of their checkpoint rows and columns, and the file of these."""

    first_row: int
    end_row: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    lines: StoredFile

    @staticmethod
    def from_fields(fields: Fields, number: int, first_row: int, shape: TableShape, plan: dict[str, int]) -> StoredSlab:
        """Read the slab with this number, which must begin at `first_row` and have the checkpoints of the grid."""
        spacing = plan["spacing"]
        end_row = fields.integer("end_row", first_row + 1, shape.n_rows)
        rows = grid_places(first_row, end_row + 1, spacing).tolist()
        columns = grid_places(0, shape.n_columns, spacing).tolist()
        if fields.integer("first_row") != first_row or fields.integers("rows") != rows:
            raise fields.wrong("rows", "those of the grid that follow the slab before")
        found = fields.integers("columns")
        if found not in (columns, [*columns, shape.n_columns]):
            raise fields.wrong("columns", "those of the grid")
        n_scores = 2 * (len(rows) * shape.n_columns + len(found) * (end_row - first_row))
        n_bytes = n_scores * plan["itemsize"]
        lines = StoredFile.from_fields(fields.object("lines"), slab_name(number), n_bytes, n_bytes)
        return StoredSlab(first_row, end_row, tuple(rows), tuple(found), lines)


@dataclass(frozen=True)
class Manifest:
    """The progress of one pair. plan: item size of scores, and spacing of checkpoints. carry: the last row of the last
    slab. end: the best end cell so far. steps: files of the path. state: where the traceback is.
    """

    plan: dict[str, int]
    slabs: tuple[StoredSlab, ...] = ()
    carry: StoredFile | None = None
    end: EndCell = NOTHING
    steps: tuple[StoredFile, ...] = ()
    state: PathState | None = None
    is_complete: bool = False

    @property
    def files(self) -> list[StoredFile]:
        """All files that it lists."""
        return [slab.lines for slab in self.slabs] + ([self.carry] if self.carry else []) + list(self.steps)

    def to_values(self) -> dict[str, Any]:
        """What manifest.json holds besides its format and its hash."""
        return asdict(self)

    @staticmethod
    def from_fields(fields: Fields, shape: TableShape) -> Manifest:
        """Read a manifest and check each value. Raises DatabaseError if one is wrong."""
        plan = _plan(fields.object("plan"))
        slabs: list[StoredSlab] = []
        for number, slab in enumerate(fields.objects("slabs")):
            first_row = slabs[-1].end_row if slabs else 0
            slabs.append(StoredSlab.from_fields(slab, number, first_row, shape, plan))
        most = shape.n_rows + shape.n_columns
        steps = fields.objects("steps")
        manifest = Manifest(
            plan=plan,
            slabs=tuple(slabs),
            carry=_carry(fields, len(slabs), 2 * shape.n_columns * plan["itemsize"]),
            end=_end(fields.object("end"), shape),
            steps=tuple(StoredFile.from_fields(piece, steps_name(i), 0, most) for i, piece in enumerate(steps)),
            state=None if fields.is_null("state") else _state(fields.object("state"), shape),
            is_complete=fields.flag("is_complete"),
        )
        _require_stage(manifest, fields, shape)
        return manifest


def _plan(fields: Fields) -> dict[str, int]:
    itemsize = fields.integer("itemsize", 4, 8)
    if itemsize not in (4, 8):
        raise fields.wrong("itemsize", "4 or 8")
    return {"itemsize": itemsize, "spacing": fields.integer("spacing", 1, MAX_SPACING)}


def _carry(fields: Fields, n_slabs: int, n_bytes: int) -> StoredFile | None:
    if fields.is_null("carry"):
        return None
    return StoredFile.from_fields(fields.object("carry"), carry_name(n_slabs - 1), n_bytes, n_bytes)


def _end(fields: Fields, shape: TableShape) -> EndCell:
    score = fields.integer("score", -MAX_SCORE, MAX_SCORE)
    return EndCell(score, fields.integer("row", 0, shape.n_rows), fields.integer("column", 0, shape.n_columns))


def _state(fields: Fields, shape: TableShape) -> PathState:
    return PathState(
        fields.integer("row", -1, shape.n_rows - 1),
        fields.integer("column", -1, shape.n_columns - 1),
        fields.integer("left", -MAX_SCORE, MAX_SCORE),
        fields.integer("gap", NO_GAP, IN_F),
    )


def _require_stage(manifest: Manifest, fields: Fields, shape: TableShape) -> None:
    """Raise DatabaseError unless the files fit the stage: some slabs, all slabs and part of the path, or the path."""
    rows_done = manifest.slabs[-1].end_row if manifest.slabs else 0
    is_right = (manifest.carry is not None) == bool(manifest.slabs)
    if manifest.is_complete:
        is_right &= manifest.state is not None and not manifest.slabs
    elif manifest.state is not None:
        is_right &= rows_done == shape.n_rows
    else:
        is_right &= not manifest.steps
    if not is_right:
        raise fields.form.damaged(fields.file, "it does not name what its stage needs")


def slab_name(number: int) -> str:
    """The name of the file with the checkpoints of a slab."""
    return f"slab-{number:06d}.lines"


def carry_name(number: int) -> str:
    """The name of the file with the last row of a slab."""
    return f"carry-{number:06d}.lines"


def steps_name(number: int) -> str:
    """The name of the file with a piece of the path."""
    return f"path-{number:06d}.steps"


def bytes_of(array: Line | NDArray[np.uint8]) -> NDArray[np.uint8]:
    """uint8[n]: the bytes of an array, without a copy where that is possible."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def hash_of(arrays: Sequence[Line | NDArray[np.uint8]]) -> str:
    """The xxh3_64 of the bytes of all arrays, one after the other, in hexadecimal digits."""
    import xxhash

    total = xxhash.xxh3_64()
    for array in arrays:
        flat = bytes_of(array)
        for start in range(0, len(flat), HASHED_AT_ONCE):
            total.update(flat[start : start + HASHED_AT_ONCE].data)
    return str(total.hexdigest())
