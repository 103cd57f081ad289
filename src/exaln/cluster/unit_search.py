"""The search of one unit by a worker: the single-machine search on a part of the database.

A worker has two units at a time. While one is computed, the segments of the other are fetched and checked, or its hits
are serialized and sent. On a GPU, one unit is scanned while the CPU aligns the hits of the other. `Resources` holds
what a process keeps between units: its engine and its segments.
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
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
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
from exaln.sequences.records import Records, offsets_of
from exaln.statistics.length_bins import N_BINS

MOST_PARTS = 64
"""Database parts that a process keeps. Each is a few views, but may be resident on a GPU."""

MEASURED_SECONDS = 0.05
MEASURED_SIZES = ((1, 1 << 3), (1, 1 << 10), (2, 1 << 13), (8, 1 << 13), (64, 1 << 14), (256, 1 << 14))
"""Numbers of queries and targets with which a worker is measured: more and more, until a scan takes MEASURED_SECONDS.
GPUs are measured with the largest only, since every size needs its own kernels."""


@dataclass(frozen=True)
class Settings:
    """The engine options of a worker, and its cache folder for segments; None leaves the choice to exaln."""

    engine: str = "auto"
    threads: int | None = None
    devices: tuple[int, ...] | None = None
    gpu_memory: int | None = None
    cache: str | None = None


class Resources:
    """The engine and the open database parts of a process, created when first needed and shared by all units."""

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
        """The engine of the process."""
        with self._making:
            if self._engine is None:
                settings = self._settings
                self._engine = choose_engine(
                    settings.engine, settings.threads, devices=settings.devices, gpu_memory=settings.gpu_memory
                )
            return self._engine

    def part(self, location: str, digest: str, first: int, end: int) -> DatabasePart:
        """The residues [first, end) of the database at a path or URL, fetched if necessary.

        DatabaseError if the digest of the database is another one.
        """
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
                raise DatabaseError(f"{location}: the database has changed since the search began; start it again")
            self._manifests[location, digest] = manifest
        return self._manifests[location, digest]

    def _segment(self, location: str, digest: str, manifest: Manifest, number: int) -> Segment:
        if (digest, number) not in self._segments:
            if self._cache is None and is_url(location):
                self._cache = Cache.temporary()
            entry = manifest.segments[number]
            self._segments[digest, number] = open_segment(location, entry, manifest.alphabet, self._cache)
        return self._segments[digest, number]


class ComputeLock:
    """A context manager that holds the compute lock for a unit, once or several times.

    began, ended: when the lock was first taken and last released (time.monotonic).
    """

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
_resources: Resources | None = None
_resources_lock = threading.Lock()


def configure(settings: Settings) -> None:
    """Set what this process may use; call it before the first unit."""
    global _settings, _resources
    with _resources_lock:
        _settings, _resources = settings, None


def process_resources() -> Resources:
    """The resources of this process."""
    global _resources
    with _resources_lock:
        if _resources is None:
            _resources = Resources(_settings)
        return _resources


def queries_to_bytes(queries: Records) -> bytes:
    """Ids, descriptions, codes and masks of queries, as a compressed Arrow IPC stream."""
    masks = np.ascontiguousarray(queries.mask, np.int64)
    edges = pairwise(queries.mask_offsets.tolist())
    columns = {
        "id": text_array(queries.ids.to_list()),
        "description": text_array(queries.descriptions.to_list()),
        "codes": binary_array([queries.sequence(row) for row in range(len(queries))]),
        "mask": binary_array([masks[begin:end].ravel().view(np.uint8) for begin, end in edges]),
    }
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def queries_from_bytes(data: bytes, spec: SearchSpec) -> Records:
    """The queries that `queries_to_bytes` wrote."""
    with pa.ipc.open_stream(data) as reader:
        table = reader.read_all().combine_chunks()
    names = ("id", "description", "codes", "mask")
    ids, descriptions, codes, masks = (table.column(name).combine_chunks() for name in names)
    queries = Records.of(spec.scoring.alphabet, pieces_of(codes), ids.to_pylist(), descriptions.to_pylist())
    pieces = [piece.copy().view(np.int64).reshape(-1, 2) for piece in pieces_of(masks)]
    joined = np.concatenate([np.empty((0, 2), np.int64), *pieces])
    return replace(queries, mask=joined, mask_offsets=offsets_of(map(len, pieces)))


@lru_cache(4)
def _spec(text: str) -> SearchSpec:
    try:
        return SearchSpec.from_values(json.loads(text))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise EngineError(f"the search cannot be read: {error}; do all processes run the same exaln?") from None


def run_unit(spec_text: str, location: str, unit: tuple[int, int, int, int], queries: bytes) -> dict[str, Any]:
    """Search a unit: {"hits": bytes, "times": seconds}, or {"error": class name, "message": text, "host": name}."""
    try:
        return _run_unit(_spec(spec_text), location, Unit(*unit), queries)
    except ExalnError as error:
        return {"error": type(error).__name__, "message": str(error), "host": socket.gethostname()}
    except MemoryError:
        return {"error": "OutOfMemoryError", "message": "out of memory", "host": socket.gethostname()}


def _run_unit(spec: SearchSpec, location: str, unit: Unit, queries: bytes) -> dict[str, Any]:
    here, times = process_resources(), [time.monotonic()]
    part = here.part(location, spec.database_digest, unit.first, unit.end)
    records = queries_from_bytes(queries, spec)
    times.append(time.monotonic())
    compute_lock, engine = ComputeLock(here.computing), here.engine
    beside_cpu = engine.tuning.scans_beside_cpu
    whole, scanning = (nullcontext(), compute_lock) if beside_cpu else (compute_lock, nullcontext())
    with whole, warnings.catch_warnings():
        warnings.simplefilter("ignore", ExalnWarning)
        search = Search(part, spec.scoring, engine, spec.options, spec.evaluator, scanning)
        found = list(search.run([records], first_index=unit.query_first))
    data = to_bytes(found)
    return {"hits": data, "times": [*times, compute_lock.began, compute_lock.ended, time.monotonic()]}


def introduce(settings: Settings | None) -> dict[str, Any]:
    """Version, host, process id, engine and measured speed of this worker; or "error" and "message" if it cannot work.

    settings: for a worker that was started without any.
    """
    if settings is not None:
        configure(settings)
    about = {"version": __version__, "host": socket.gethostname(), "pid": os.getpid()}
    try:
        here = process_resources()
        with here.computing:
            return about | {"engine": here.engine.describe(), "speed": measured_speed(here.engine)}
    except ExalnError as error:
        return about | {"error": type(error).__name__, "message": str(error)}


def measured_speed(engine: Engine) -> float:
    """The speed of an engine in cells per second, measured on random proteins.

    The first scan that takes MEASURED_SECONDS is repeated, since it may have compiled kernels or opened a GPU.
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
