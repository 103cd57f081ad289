"""Stores for the checkpoints and the path of a long pair: in memory, or in a work directory from which runs resume.

A work directory has a folder for each pair, named by a hash of everything that the alignment depends on. The engine is
not part of it, because all engines give the same result. Replacing `manifest.json` as a whole is the only commit point.
Files with these names that the manifest does not list are left from interrupted runs and are deleted; files with other
names stay. The manifest has the xxh3 hash of every file, and each file is compared with it before use.

    slab-000003.lines     checkpoints of a slab of rows: row_H, row_F, column_H, column_E, one after the other
    carry-000003.lines    H and F of the last row of the last slab: the boundary of the next one
    path-000002.steps     steps of the path, backwards; once all are stored, the checkpoints are deleted
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from exaln.engines.regions import NOTHING, STEP_TARGET, CheckpointReader, Checkpoints, EndCell, PathState, Region
from exaln.errors import DatabaseError, ExalnError
from exaln.foundation.lock_file import Lock, LockHeld
from exaln.foundation.mapped_file import WatchedFile
from exaln.foundation.output_file import output_errors
from exaln.pairwise.long.checkpoints import SlabCheckpoints
from exaln.pairwise.long.manifest import (
    FORMAT_VERSION,
    Manifest,
    StoredFile,
    StoredSlab,
    TableShape,
    bytes_of,
    carry_name,
    hash_of,
    slab_name,
    steps_name,
    work_format,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.engines.regions import Line
    from exaln.pairwise.long.checkpoints import TwoLines
    from exaln.pairwise.long.plan import Plan
    from exaln.pairwise.long.traceback import LongPair

MANIFEST_NAME, LOCK_NAME = "manifest.json", ".lock"
_OWN_NAMES = re.compile(
    r"(slab|carry)-[0-9]{6,}\.lines|path-[0-9]{6,}\.steps"  # stored files
    r"|\.((slab|carry)-[0-9]{6,}\.lines|path-[0-9]{6,}\.steps|manifest\.json)\.[0-9a-f]{32}"  # temporary, old
    r"|manifest\.json\.[0-9a-f]{32}"
)
SECONDS_BETWEEN_SAVES = 5.0


class Store(Protocol):
    """The progress of one pair, its checkpoints and its path.

    rows_done: rows of the table that are filled. end: the best end cell so far. carry: H and F of the last filled row.
    state: where the traceback is; None before it starts. engine_may_hold: whether checkpoints may stay in the memory of
    an engine.
    """

    plan: Plan
    rows_done: int
    end: EndCell
    carry: TwoLines | None
    state: PathState | None
    is_complete: bool
    engine_may_hold: bool

    def add_slab(self, region: Region, checkpoints: CheckpointReader, carry: TwoLines, end: EndCell) -> None:
        """Store the next slab: its checkpoints, its last row, and the best end cell so far."""
        ...

    def add_checkpoints_to(self, grid: SlabCheckpoints) -> None:
        """Add the checkpoints of all slabs to a grid."""
        ...

    def start_path(self, end: EndCell, state: PathState) -> None:
        """Store the end of the alignment and the first state of the traceback, once the table is filled."""
        ...

    def add_steps(self, steps: NDArray[np.uint8], state: PathState, *, is_last: bool) -> None:
        """Store the next steps of the path, backwards, and the state of the traceback after them."""
        ...

    def path(self) -> Sequence[NDArray[np.uint8]]:
        """All steps of the path, in pieces, backwards."""
        ...

    def require_unchanged(self) -> None:
        """Raise DatabaseError if a file has changed since it was read."""
        ...


class MemoryStore:
    """A store in memory."""

    engine_may_hold = True

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rows_done, self.end = 0, NOTHING
        self.carry: TwoLines | None = None
        self.state: PathState | None = None
        self.is_complete = False
        self._slabs: list[tuple[Region, CheckpointReader]] = []
        self._steps: list[NDArray[np.uint8]] = []

    def add_slab(self, region: Region, checkpoints: CheckpointReader, carry: TwoLines, end: EndCell) -> None:
        """Keep references to the arrays."""
        self.rows_done, self.carry, self.end = region.end_row, carry, end
        self._slabs.append((region, checkpoints))

    def add_checkpoints_to(self, grid: SlabCheckpoints) -> None:
        """Add the checkpoints of all slabs to a grid."""
        for region, checkpoints in self._slabs:
            grid.add(region.first_row, region.end_row, partial(_same, checkpoints))

    def start_path(self, end: EndCell, state: PathState) -> None:
        """Keep the end of the alignment and the first state of the traceback."""
        self.end, self.state = end, state

    def add_steps(self, steps: NDArray[np.uint8], state: PathState, *, is_last: bool) -> None:
        """Keep the next steps of the path and the state after them."""
        self._steps.append(steps)
        self.state, self.is_complete = state, is_last

    def path(self) -> Sequence[NDArray[np.uint8]]:
        """All steps of the path, backwards, in one piece."""
        return [np.concatenate(self._steps)]

    def require_unchanged(self) -> None:
        """Do nothing: there are no files."""


def _same(checkpoints: CheckpointReader) -> CheckpointReader:
    return checkpoints


def _on_grid(checkpoints: CheckpointReader, plan: Plan) -> Checkpoints:
    """The checkpoints of a slab without its last row, unless the grid has that row."""
    assert isinstance(checkpoints, Checkpoints)
    if plan.spacings and checkpoints.rows[-1] % plan.spacings[0] == 0:
        return checkpoints
    rows, row_h, row_f = checkpoints.rows, checkpoints.row_H, checkpoints.row_F
    return replace(checkpoints, rows=rows[:-1], row_H=row_h[:-1], row_F=row_f[:-1])


def pair_name(pair: LongPair) -> str:
    """The name of a pair's folder: a hash of everything that the alignment depends on."""
    import xxhash

    scoring, mode = pair.scoring, pair.mode
    values = [FORMAT_VERSION, scoring.gap_open, scoring.gap_extend, len(pair.query), len(pair.target), mode.is_local]
    values += [mode.query_start, mode.query_end, mode.target_start, mode.target_end]
    total = xxhash.xxh3_128()
    for part in (json.dumps(values).encode(), scoring.matrix.tobytes(), pair.query, pair.target):
        total.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).data)
    return total.hexdigest()


class DirectoryStore:
    """The folder of one pair in a work directory, locked by this process. `plan` is that of the first run.

    Opening it raises DatabaseError if another process holds the lock or a stored file is damaged, and OutputError if
    the folder cannot be written.
    """

    engine_may_hold = False

    def __init__(self, directory: Path, plan: Plan, n_rows: int, n_columns: int) -> None:
        self.directory, self._n_columns = directory, n_columns
        self._format = work_format(directory)
        self._files: list[WatchedFile] = []
        with output_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(directory)
        try:
            self._manifest = self._opened(plan, TableShape(n_rows, n_columns))
            self.plan = plan.resumed_with(**self._manifest.plan)
            self.rows_done = self._manifest.slabs[-1].end_row if self._manifest.slabs else 0
            self.end, self.state = self._manifest.end, self._manifest.state
            self.is_complete = self._manifest.is_complete
            self.carry = self._read_carry()
            self._sweep()
        except BaseException:
            self.close()
            raise
        self._waiting: list[NDArray[np.uint8]] = []
        self._saved = time.monotonic()
        self._read_slab = cache(self._read_slab_file)

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()

    def add_slab(self, region: Region, checkpoints: CheckpointReader, carry: TwoLines, end: EndCell) -> None:
        """Write the next slab and commit it."""
        number, grid = len(self._manifest.slabs), _on_grid(checkpoints, self.plan)
        stored = self._write(slab_name(number), (grid.row_H, grid.row_F, grid.column_H, grid.column_E))
        rows, columns = tuple(grid.rows.tolist()), tuple(grid.columns.tolist())
        slab = StoredSlab(region.first_row, region.end_row, rows, columns, stored)
        self.rows_done, self.carry, self.end = region.end_row, carry, end
        self._commit(
            slabs=(*self._manifest.slabs, slab),
            carry=self._write(carry_name(number), carry),
            end=end,
        )

    def add_checkpoints_to(self, grid: SlabCheckpoints) -> None:
        """Add the checkpoints of all slabs to a grid; each file is read when it is first used."""
        for slab in self._manifest.slabs:
            grid.add(slab.first_row, slab.end_row, partial(self._read_slab, slab))

    def start_path(self, end: EndCell, state: PathState) -> None:
        """Commit the end of the alignment and the first state of the traceback."""
        self.end, self.state = end, state
        self._commit(end=end, state=state)

    def add_steps(self, steps: NDArray[np.uint8], state: PathState, *, is_last: bool) -> None:
        """Collect steps and commit them every few seconds; the last commit deletes the checkpoints."""
        self._waiting.append(steps)
        self.state = state
        if not is_last and time.monotonic() - self._saved < SECONDS_BETWEEN_SAVES:
            return
        number = len(self._manifest.steps)
        piece = self._write(steps_name(number), self._waiting)
        done = {"slabs": (), "carry": None, "is_complete": True} if is_last else {}
        self._commit(steps=(*self._manifest.steps, piece), state=state, **done)
        self.is_complete = is_last
        self._waiting, self._saved = [], time.monotonic()

    def path(self) -> Sequence[NDArray[np.uint8]]:
        """All steps of the path, backwards, in the pieces that were written."""
        return [self._read_steps(piece) for piece in self._manifest.steps]

    def require_unchanged(self) -> None:
        """Raise DatabaseError if a file has changed since it was read."""
        for file in self._files:
            file.require_unchanged()

    def progress(self, n_rows: int) -> str:
        """The progress so far, as text for the user."""
        if self.is_complete:
            return "this pair is already aligned"
        if self.state is not None:
            return f"resuming the path at row {self.state.row + 1:,}, column {self.state.column + 1:,}"
        return f"resuming after {self.rows_done:,} of {n_rows:,} rows" if self.rows_done else "starting"

    def _opened(self, plan: Plan, shape: TableShape) -> Manifest:
        try:
            return Manifest.from_fields(self._format.read(self.directory / MANIFEST_NAME), shape)
        except FileNotFoundError:
            return Manifest({"itemsize": plan.score.itemsize, "spacing": plan.spacings[0]})

    def _read_carry(self) -> TwoLines | None:
        if self._manifest.carry is None:
            return None
        both = self._read(self._manifest.carry).view(self.plan.score).reshape(2, self._n_columns)
        return both[0], both[1]

    def _read_slab_file(self, slab: StoredSlab) -> Checkpoints:
        values = self._read(slab.lines).view(self.plan.score)
        across, down = (len(slab.rows), self._n_columns), (len(slab.columns), slab.end_row - slab.first_row)
        sizes = [across[0] * across[1]] * 2 + [down[0] * down[1]] * 2
        row_h, row_f, column_h, column_e = np.split(values, np.cumsum(sizes)[:-1])
        return Checkpoints(
            rows=np.array(slab.rows, np.int64),
            row_H=row_h.reshape(across),
            row_F=row_f.reshape(across),
            columns=np.array(slab.columns, np.int64),
            column_H=column_h.reshape(down),
            column_E=column_e.reshape(down),
        )

    def _read_steps(self, piece: StoredFile) -> NDArray[np.uint8]:
        steps = self._read(piece)
        if len(steps) and int(steps.max()) > STEP_TARGET:
            raise self._damaged(piece.file, "it has steps that do not exist")
        return steps

    def _read(self, stored: StoredFile) -> NDArray[np.uint8]:
        """uint8[bytes], memory-mapped. Raises DatabaseError unless the file has its size and hash."""
        try:
            file = WatchedFile(self.directory, stored.file)
            is_whole = len(file.bytes) == stored.bytes and file.xxh3_64() == stored.xxh3_64
        except FileNotFoundError:
            path = self.directory / stored.file
            raise DatabaseError(f"{path}: missing; {self._format.advice}") from None
        except OSError as error:
            raise DatabaseError(f"{self.directory / stored.file}: cannot be read: {error.strerror}") from None
        if not is_whole:
            raise self._damaged(stored.file, "its size or hash differs from the manifest")
        self._files.append(file)
        return file.bytes

    def _damaged(self, name: str, problem: str) -> ExalnError:
        return self._format.damaged(str(self.directory / name), problem)

    def _write(self, name: str, arrays: Sequence[Line | NDArray[np.uint8]]) -> StoredFile:
        """Write a file, which counts once the manifest lists it. An older file of that name is an interrupted run's."""
        path = self.directory / name
        with output_errors(path):
            path.unlink(missing_ok=True)
            try:
                with path.open("xb") as file:
                    for array in arrays:
                        file.write(bytes_of(array).data)
                    file.flush()
                    os.fsync(file.fileno())
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        return StoredFile(name, sum(array.nbytes for array in arrays), hash_of(arrays))

    def _commit(self, **changes: Any) -> None:
        self.require_unchanged()
        self._manifest = replace(self._manifest, **changes)
        with output_errors(self.directory):
            self._format.write(self.directory / MANIFEST_NAME, self._manifest.to_values())
        self._sweep()

    def _sweep(self) -> None:
        """Delete files with names of a store that the manifest does not list."""
        named = {stored.file for stored in self._manifest.files}
        for path in self.directory.iterdir():
            if path.name not in named and _OWN_NAMES.fullmatch(path.name) and not path.is_dir():
                path.unlink(missing_ok=True)


def _lock(directory: Path) -> Lock:
    try:
        return Lock.on_file(directory / LOCK_NAME, mode=0o666)
    except LockHeld:
        raise DatabaseError(
            f"{directory}: another exaln is working here; wait for it, or use another --work-dir"
        ) from None
