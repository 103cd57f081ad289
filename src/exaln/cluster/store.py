"""Finished units in a folder, so that a search that was stopped goes on where it was: `--resume DIR`.

Each unit is a Parquet file of its own (`exaln.cluster.parts`); `manifest.json`, replaced as a whole, says which files
count, with their hashes, and of which search they are. Files that it does not name are left over, and are removed.
"""

from __future__ import annotations

import json
import os
import time
import uuid
import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from exaln.cluster.parts import as_batch
from exaln.cluster.spec import SearchSpec
from exaln.cluster.units import Unit
from exaln.errors import ExalnWarning, InputError
from exaln.output_file import output_errors
from exaln.records import Records
from exaln.state_file import fsync_directory

FORMAT_VERSION = 1
NAME = "manifest.json"
SAVE_INTERVAL_S = 1.0
"""The manifest is written so often at most: what a crash can lose."""


@dataclass(frozen=True)
class Kept:
    """A finished unit and its file."""

    unit: Unit
    file: str
    xxh3_64: str


def search_digest(spec: SearchSpec, queries: Records) -> str:
    """Of all that can change the result."""
    state = xxhash.xxh3_128(spec.digest.encode())
    for array in (queries.codes, queries.offsets, queries.ids.data, queries.ids.offsets, queries.descriptions.data):
        state.update(array.tobytes())
    return state.hexdigest()


class Store:
    """The finished units of one search. edges: the groups of its queries, None before the first run chose them."""

    def __init__(self, folder: str | os.PathLike[str], spec: SearchSpec, queries: Records) -> None:
        self.folder = Path(folder)
        self._digest = search_digest(spec, queries)
        self.edges: list[int] | None = None
        self._kept: dict[Unit, Kept] = {}
        self._saved_at = 0.0
        with output_errors(folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._load()
            self._sweep()

    @property
    def units(self) -> Sequence[Unit]:
        """All that are finished."""
        return list(self._kept)

    def add(self, unit: Unit, data: bytes) -> None:
        """Keep the hits of a unit, which came as an Arrow IPC stream."""
        with output_errors(self.folder):
            name = f"unit-{uuid.uuid4().hex}.parquet"
            with pa.ipc.open_stream(data) as reader:
                pq.write_table(reader.read_all(), self.folder / name, compression="zstd")
            self._kept[unit] = Kept(unit, name, _hash(self.folder / name))
            if time.monotonic() - self._saved_at >= SAVE_INTERVAL_S:
                self.save()

    def batch(self, unit: Unit) -> Any:
        """The hits of a finished unit, as `exaln.cluster.parts` has them."""
        return as_batch(pq.read_table(self.folder / self._kept[unit].file))

    def save(self) -> None:
        """Make sure that all finished units are found again."""
        content = {
            "format": "exaln units",
            "format_version": FORMAT_VERSION,
            "search": self._digest,
            "edges": self.edges,
            "units": [
                {"unit": astuple(kept.unit), "file": kept.file, "xxh3_64": kept.xxh3_64} for kept in self._kept.values()
            ],
        }
        temporary = self.folder / f".{NAME}.{uuid.uuid4().hex}"
        with output_errors(self.folder):
            with temporary.open("x", encoding="ascii") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.folder / NAME)
            fsync_directory(self.folder)
        self._saved_at = time.monotonic()

    def _load(self) -> None:
        path = self.folder / NAME
        if not path.exists():
            if any(self.folder.iterdir()):
                raise InputError(f"{self.folder}: neither empty nor of an earlier search; name another folder")
            return
        try:
            content: dict[str, Any] = json.loads(path.read_bytes())
            kept = [Kept(Unit(*entry["unit"]), entry["file"], entry["xxh3_64"]) for entry in content["units"]]
            is_same, self.edges = content["search"] == self._digest, content["edges"]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path}: damaged ({error}); remove the folder and start again") from None
        if content["format_version"] != FORMAT_VERSION or not is_same:
            raise InputError(f"{self.folder}: of another search (queries, database or options differ); name another")
        for entry in kept:
            self._keep_if_whole(entry)

    def _keep_if_whole(self, entry: Kept) -> None:
        path = self.folder / Path(entry.file).name
        if path.exists() and _hash(path) == entry.xxh3_64:
            self._kept[entry.unit] = entry
            return
        warnings.warn(f"{path}: damaged or gone; {entry.unit} are searched again", ExalnWarning, stacklevel=2)

    def _sweep(self) -> None:
        """Remove what was written, but not named before the last stop."""
        named = {kept.file for kept in self._kept.values()}
        for path in [*self.folder.glob("unit-*.parquet"), *self.folder.glob(f".{NAME}.*")]:
            if path.name not in named:
                path.unlink()


def _hash(path: Path) -> str:
    return xxhash.xxh3_64_hexdigest(path.read_bytes())
