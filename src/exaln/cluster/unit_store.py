"""The folder of --resume DIR: finished units, from which an interrupted search continues.

Each unit is a Parquet file (`part_hits`). `manifest.json` is a state file (`foundation.state_file`) that is replaced as
a whole; it names the search and the unit files, with their hashes. Units of a group of queries never overlap, so the
units done and the units left make up the search. Unit files that the manifest does not name are removed.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
import time
import uuid
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from exaln.cluster.part_hits import as_batch
from exaln.cluster.units import Unit
from exaln.errors import DatabaseError, ExalnError, ExalnWarning, InputError
from exaln.foundation.atomic_write import leftovers
from exaln.foundation.lock_file import Lock, LockHeld
from exaln.foundation.output_file import output_errors
from exaln.foundation.state_file import MAX_BYTES, Fields, StateFormat, open_beside
from exaln.search.spec import SearchSpec
from exaln.sequences.records import Records

NAME = "manifest.json"
FORMAT = StateFormat("exaln resume folder", 4, "remove the folder, and the search starts again")
"""Format 3 has the aligned parts of targets in place of whole targets."""

NAME_OF_FORMAT_1 = "exaln units"
SAVE_INTERVAL_S = 1.0
"""The manifest is written at most this often, so a crash can lose the units of about this time."""

_UNIT_FILE = re.compile(r"unit-[0-9a-f]{32}\.parquet")


@dataclass(frozen=True)
class StoredUnit:
    """A finished unit and the file that holds its hits."""

    unit: Unit
    file: str
    n_bytes: int
    xxh3_64: str


def search_digest(spec: SearchSpec, queries: Records) -> str:
    """The hash of everything that can change the results: the search and the queries."""
    state = xxhash.xxh3_128(spec.digest.encode())
    for array in (queries.codes, queries.offsets, queries.ids.data, queries.ids.offsets, queries.descriptions.data):
        state.update(array.tobytes())
    if spec.options.masks.methods:
        state.update(queries.mask.tobytes() + queries.mask_offsets.tobytes())
    return state.hexdigest()


class Store:
    """The finished units of one search. edges: the groups of its queries; None before the first run chooses them.

    Only one process at a time can use the folder; `close` releases it.
    """

    def __init__(self, folder: str | os.PathLike[str], spec: SearchSpec, queries: Records) -> None:
        self.folder = Path(folder)
        self._digest = search_digest(spec, queries)
        self._n_queries, self._n_places = len(queries), spec.space.n_residues + 1
        self.edges: list[int] | None = None
        self._stored: dict[Unit, StoredUnit] = {}
        self._saved_at = 0.0
        with output_errors(folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.folder)
            try:
                self._load()
                self._sweep()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder for other processes."""
        self._lock.close()

    @property
    def units(self) -> Sequence[Unit]:
        """All finished units."""
        return list(self._stored)

    @property
    def is_finished(self) -> bool:
        """True if the units make up the whole search."""
        n_groups = None if self.edges is None else len(self.edges) - 1
        places = sum(unit.end - unit.first for unit in self._stored)
        return n_groups is not None and places == n_groups * self._n_places

    def add(self, unit: Unit, batch: Any) -> None:
        """Save the hits of a unit, a record batch of `part_hits`."""
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_batches([batch]), sink, compression="zstd")
        name = f"unit-{uuid.uuid4().hex}.parquet"
        with output_errors(self.folder):
            with (self.folder / name).open("xb") as file:
                file.write(sink.getbuffer())
            self._stored[unit] = StoredUnit(unit, name, sink.tell(), xxhash.xxh3_64_hexdigest(sink.getbuffer()))
            if time.monotonic() - self._saved_at >= SAVE_INTERVAL_S:
                self.save()

    def batch(self, unit: Unit) -> Any:
        """The hits of a finished unit, a record batch of `part_hits`; DatabaseError if its file is damaged."""
        stored = self._stored[unit]
        data = self._read(stored)
        if data is None:
            raise self.damaged(unit, "its hash differs from that in the manifest")
        try:
            return as_batch(pq.read_table(pa.BufferReader(data)).replace_schema_metadata(None))
        except (ValueError, TypeError, OSError, pa.ArrowException) as error:
            raise self.damaged(unit, str(error)) from None

    def damaged(self, unit: Unit, problem: str) -> ExalnError:
        """The error for a unit whose file is damaged."""
        path = self.folder / self._stored[unit].file
        return DatabaseError(f"{path}: damaged: {problem}; remove this file to search {unit} again")

    def save(self) -> None:
        """Write the manifest with all finished units."""
        content = {
            "search": self._digest,
            "edges": self.edges,
            "units": [
                {
                    "queries": [stored.unit.query_first, stored.unit.query_end],
                    "residues": [stored.unit.first, stored.unit.end],
                    "file": stored.file,
                    "bytes": stored.n_bytes,
                    "xxh3_64": stored.xxh3_64,
                }
                for stored in self._stored.values()
            ],
        }
        with output_errors(self.folder):
            FORMAT.write(self.folder / NAME, content, indent=None)
        self._saved_at = time.monotonic()

    def _load(self) -> None:
        try:
            fields = FORMAT.read(self.folder / NAME)
        except FileNotFoundError:
            if set(self.folder.iterdir()) != _own_files(self.folder):
                raise InputError(
                    f"{self.folder}: the folder is neither empty nor from an earlier search; name another one"
                ) from None
            return
        except ExalnError:
            _refuse_format_1(self.folder / NAME)
            raise
        if fields.text("search") != self._digest:
            raise InputError(
                f"{self.folder}: the folder is from another search (queries, database or options differ); "
                "name another one"
            )
        self.edges = self._edges_of(fields)
        for stored in self._units_of(fields):
            if self._read(stored) is None:
                path = self.folder / stored.file
                warnings.warn(f"{path}: damaged or missing; searching {stored.unit} again", ExalnWarning, stacklevel=2)
            else:
                self._stored[stored.unit] = stored

    def _edges_of(self, fields: Fields) -> list[int] | None:
        if fields.is_null("edges"):
            return None
        edges = fields.integers("edges")
        if not edges or (edges[0], edges[-1]) != (0, self._n_queries) or any(a >= b for a, b in pairwise(edges)):
            raise fields.wrong("edges", f"a list of ascending integers from 0 to {self._n_queries}")
        return edges

    def _units_of(self, fields: Fields) -> list[StoredUnit]:
        """The units of a manifest; DatabaseError unless they are within groups and database and do not overlap."""
        groups = set(pairwise(self.edges or []))
        found = list[StoredUnit]()
        for one in fields.objects("units"):
            queries, residues = one.integers("queries"), one.integers("residues", 0, self._n_places)
            if tuple(queries) not in groups:
                raise one.wrong("queries", "a group of the search")
            if len(residues) != 2 or residues[0] >= residues[1]:
                raise one.wrong("residues", f"a range within 0 to {self._n_places}")
            if _UNIT_FILE.fullmatch(one.file_name("file")) is None:
                raise one.wrong("file", "the name of a unit file")
            unit = Unit(queries[0], queries[1], residues[0], residues[1])
            found.append(StoredUnit(unit, one.file_name("file"), one.integer("bytes"), one.hash("xxh3_64")))
        for before, after in pairwise(sorted(stored.unit for stored in found)):
            if before.query_first == after.query_first and after.first < before.end:
                raise FORMAT.damaged(fields.file, f"{before} and {after} overlap")
        if len({stored.file for stored in found}) != len(found):
            raise FORMAT.damaged(fields.file, "two units have the same file")
        return found

    def _read(self, stored: StoredUnit) -> bytes | None:
        """The bytes of a unit file; None if it is missing or damaged."""
        try:
            with os.fdopen(open_beside(self.folder, stored.file), "rb") as file:
                if os.fstat(file.fileno()).st_size != stored.n_bytes:
                    return None
                data = file.read()
        except OSError:
            return None
        return data if xxhash.xxh3_64_hexdigest(data) == stored.xxh3_64 else None

    def _sweep(self) -> None:
        """Remove unit files that the manifest does not name."""
        named = {stored.file for stored in self._stored.values()}
        for path in _own_files(self.folder):
            if path.name not in named:
                path.unlink(missing_ok=True)


def _own_files(folder: Path) -> set[Path]:
    """The unit files and temporary files in a folder, which count only if a manifest names them."""
    found = {path for path in folder.iterdir() if _UNIT_FILE.fullmatch(path.name)} | set(leftovers(folder, NAME))
    return {path for path in found if stat.S_ISREG(path.lstat().st_mode)}


def _refuse_format_1(path: Path) -> None:
    """DatabaseError with advice if this is a folder of an earlier exaln, whose manifests had no hash."""
    try:
        content = json.loads(path.read_bytes()) if path.stat().st_size <= MAX_BYTES else None
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(content, dict) and content.get("format") == NAME_OF_FORMAT_1:
        raise DatabaseError(
            f"{path}: written by an earlier exaln (format 1); finish the search with that version, or {FORMAT.advice}"
        )


def _locked(folder: Path) -> Lock:
    """The lock of the folder, if its file system has locks; DatabaseError if another process has it."""
    try:
        return Lock.on_folder(folder, required=False)
    except LockHeld:
        raise DatabaseError(f"{folder}: another search is using this folder; wait until it ends") from None
