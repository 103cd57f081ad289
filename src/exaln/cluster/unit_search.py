"""What a worker does with a unit: the single-machine search, on a part of the database.

Two units are in a worker at a time. One computes; the other fetches and checks its segments meanwhile, or turns its
hits into bytes and sends them. On a GPU one scans while the hits of the other are aligned, by the CPU. `Held` is what a
process keeps between units: its engine and its segments.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import warnings
from collections import OrderedDict
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exaln import __version__
from exaln.cluster.database_source import Cache, is_url, manifest_at, open_segment
from exaln.cluster.part_hits import binary_array, pieces_of, text_array, to_bytes
from exaln.cluster.units import Unit
from exaln.database.database import Database
from exaln.database.manifest import Manifest
from exaln.database.part import DatabasePart, segments_between
from exaln.database.segment import Segment
from exaln.engines.choice import choose_engine
from exaln.engines.contracts import Engine
from exaln.engines.tasks import QueryRows, ScanTask
from exaln.errors import DatabaseError, EngineError, ExalnError, ExalnWarning
from exaln.scoring.scoring import Scoring
from exaln.search.pipeline import Search
from exaln.search.spec import SearchSpec
from exaln.sequences.alphabet import PROTEIN
from exaln.sequences.records import Records
from exaln.statistics.length_bins import N_BINS

MOST_PARTS = 64
"""Parts of databases that a process keeps; each is a few views, but on a GPU they may be resident."""

MEASURED_SECONDS = 0.05
MEASURED_SIZES = ((1, 1 << 3), (1, 1 << 10), (2, 1 << 13), (8, 1 << 13), (64, 1 << 14), (256, 1 << 14))
"""A worker is measured for so long at least, with so many queries and targets, or at last with the most; a GPU with the
most at once, as every size needs kernels of its own."""


@dataclass(frozen=True)
class Settings:
    """What a worker may use, and where it keeps segments; None leaves it to exaln."""

    engine: str = "auto"
    threads: int | None = None
    devices: tuple[int, ...] | None = None
    gpu_memory: int | None = None
    cache: str | None = None


class Held:
    """What a worker has: made when it is first needed, used by all units."""

    def __init__(self, settings: Settings) -> None:
        self.computing = threading.Lock()
        self._settings = settings
        self._making, self._fetching = threading.Lock(), threading.Lock()
        self._engine: Engine | None = None
        self._cache = Cache(Path(settings.cache)) if settings.cache else None
        self._manifests: dict[tuple[str, str], Manifest] = {}
        self._segments: dict[tuple[str, int], Segment] = {}
        self._parts: OrderedDict[tuple[str, int, int], DatabasePart] = OrderedDict()

    @property
    def engine(self) -> Engine:
        """The one engine of the process."""
        with self._making:
            if self._engine is None:
                wish = self._settings
                self._engine = choose_engine(
                    wish.engine, wish.threads, devices=wish.devices, gpu_memory=wish.gpu_memory
                )
            return self._engine

    def part(self, location: str, digest: str, first: int, end: int) -> DatabasePart:
        """A part of the database at a path or URL, whose content must have this digest; fetched if it is not here."""
        with self._fetching:
            key = (digest, first, end)
            if key not in self._parts:
                manifest = self._manifest(location, digest)
                segments = {
                    number: self._segment(location, digest, manifest, number)
                    for number in segments_between(manifest, first, end)
                }
                self._parts[key] = DatabasePart(manifest, segments, first, end)
                while len(self._parts) > MOST_PARTS:
                    self._parts.popitem(last=False)
            self._parts.move_to_end(key)
            return self._parts[key]

    def _manifest(self, location: str, digest: str) -> Manifest:
        if (location, digest) not in self._manifests:
            manifest = manifest_at(location)
            if manifest.digest != digest:
                raise DatabaseError(f"{location}: not the database that the search was started with; start it again")
            self._manifests[location, digest] = manifest
        return self._manifests[location, digest]

    def _segment(self, location: str, digest: str, manifest: Manifest, number: int) -> Segment:
        if (digest, number) not in self._segments:
            if self._cache is None and is_url(location):
                self._cache = Cache.temporary()
            entry = manifest.segments[number]
            self._segments[digest, number] = open_segment(location, entry, manifest.alphabet, self._cache)
        return self._segments[digest, number]


class Turn:
    """A context manager, for a unit: it is its turn to compute, once or several times. began, ended: in all."""

    def __init__(self, computing: threading.Lock) -> None:
        self._computing = computing
        self.began = self.ended = float("inf")

    def __enter__(self) -> None:
        self._computing.acquire()
        self.began = min(self.began, time.monotonic())

    def __exit__(self, *error: object) -> None:
        self.ended = time.monotonic()
        self._computing.release()


_settings = Settings()
_held: Held | None = None
_holding = threading.Lock()


def configure(settings: Settings) -> None:
    """What this process may use; before its first unit."""
    global _settings, _held
    with _holding:
        _settings, _held = settings, None


def held() -> Held:
    """What this process has."""
    global _held
    with _holding:
        if _held is None:
            _held = Held(_settings)
        return _held


def queries_to_bytes(queries: Records) -> bytes:
    """Ids, descriptions and codes as a compressed Arrow IPC stream."""
    columns = {
        "id": text_array(queries.ids.to_list()),
        "description": text_array(queries.descriptions.to_list()),
        "codes": binary_array([queries.sequence(row) for row in range(len(queries))]),
    }
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def queries_from_bytes(data: bytes, spec: SearchSpec) -> Records:
    """What `queries_to_bytes` was given, without masks."""
    with pa.ipc.open_stream(data) as reader:
        table = reader.read_all().combine_chunks()
    ids, descriptions, codes = (table.column(name).combine_chunks() for name in ("id", "description", "codes"))
    return Records.of(spec.scoring.alphabet, pieces_of(codes), ids.to_pylist(), descriptions.to_pylist())


@lru_cache(4)
def _spec(text: str) -> SearchSpec:
    try:
        return SearchSpec.from_values(json.loads(text))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise EngineError(f"the search cannot be read: {error}; do all processes have the same exaln?") from None


def run_unit(spec_text: str, location: str, unit: tuple[int, int, int, int], queries: bytes) -> dict[str, Any]:
    """The hits of a unit and how long it took; or, under "error", what went wrong and whose fault it is."""
    try:
        return _run_unit(_spec(spec_text), location, Unit(*unit), queries)
    except ExalnError as error:
        return {"error": type(error).__name__, "message": str(error), "host": socket.gethostname()}
    except MemoryError:
        return {"error": "OutOfMemoryError", "message": "out of memory", "host": socket.gethostname()}


def _run_unit(spec: SearchSpec, location: str, unit: Unit, queries: bytes) -> dict[str, Any]:
    here, times = held(), [time.monotonic()]
    part = here.part(location, spec.database_digest, unit.first, unit.end)
    records = queries_from_bytes(queries, spec)
    times.append(time.monotonic())
    turn, engine = Turn(here.computing), here.engine
    whole, scanning = (nullcontext(), turn) if engine.tuning.scans_beside_cpu else (turn, nullcontext())
    with whole, warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)
        search = Search(part, spec.scoring, engine, spec.options, spec.evaluator, scanning)
        found = list(search.run([records], first_index=unit.query_first))
    data = to_bytes(found)
    return {"hits": data, "times": [*times, turn.began, turn.ended, time.monotonic()]}


def introduce(settings: Settings | None) -> dict[str, Any]:
    """Who this worker is, and how fast: measured on a few random sequences. Or what keeps it from working.

    settings: for a worker that was started without any.
    """
    if settings is not None:
        configure(settings)
    about = {"version": __version__, "host": socket.gethostname(), "pid": os.getpid()}
    try:
        here = held()
        with here.computing:
            return about | {"engine": here.engine.describe(), "speed": measured_speed(here.engine)}
    except ExalnError as error:
        return about | {"error": type(error).__name__, "message": str(error)}


def measured_speed(engine: Engine) -> float:
    """Cells per second, on more and more work until it takes long enough.

    What takes long is done twice, and the second time counts: the first may have compiled kernels or opened a GPU.
    """
    for n_queries, n_targets in MEASURED_SIZES[-2:] if engine.tuning.scans_beside_cpu else MEASURED_SIZES:
        queries, database = _random_proteins(n_queries, 400), Database.in_memory([_random_proteins(n_targets, 350)])
        seconds = _scan_seconds(engine, queries, database)
        if seconds >= MEASURED_SECONDS:
            seconds = _scan_seconds(engine, queries, database)
        if seconds >= MEASURED_SECONDS:
            break
    return float(queries.n_residues * database.n_residues / seconds)


def _scan_seconds(engine: Engine, queries: Records, database: Database) -> float:
    cutoff = np.full((len(queries), N_BINS), 10_000, np.int32)
    started = time.monotonic()
    with engine.open(database) as resident:
        for _ in engine.scan(ScanTask(QueryRows.of_sequences(queries, Scoring("BLOSUM62")), resident, cutoff)):
            pass
    return max(time.monotonic() - started, 1e-6)


def _random_proteins(n: int, length: int) -> Records:
    codes = np.random.default_rng(n).integers(0, 20, (n, length), dtype=np.uint8)
    return Records.of(PROTEIN, list(codes))
