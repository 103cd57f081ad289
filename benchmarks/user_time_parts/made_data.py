"""Files that the parts measure with, made once in their folder: queries, a synthetic Swiss-Prot, large copies of it."""

from __future__ import annotations

import gzip
import os
import shutil
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import xxhash

from exaln import Database
from exaln.database.manifest import Manifest, SegmentEntry, read_manifest, replace_manifest
from exaln.database.segment import BLOCK_BYTES
from exaln.engines.bench.swissprot import STANDARD_LENGTHS, standard_queries, synthetic_swissprot
from exaln.errors import ExalnError

LETTERS_PER_LINE = 60


def queries_file(folder: Path, lengths: Sequence[int] | None) -> Path:
    """The standard queries of these lengths as FASTA; None for all."""
    path = folder / f"queries-{'all' if lengths is None else '-'.join(map(str, lengths))}.fasta"
    records = standard_queries()
    rows = [row for row, length in enumerate(STANDARD_LENGTHS) if lengths is None or length in lengths]
    texts = [f">q{STANDARD_LENGTHS[row]}\n{records.alphabet.decode(records.sequence(row))}\n" for row in rows]
    path.write_text("".join(texts), encoding="utf-8")
    return path


def swissprot(folder: Path, n_targets: int) -> Path:
    """The database of `n_targets` synthetic proteins."""
    database = folder / f"swissprot-{n_targets}.exaln"
    if not _is_there(database):
        Database.build_records([synthetic_swissprot(n_targets)], database, force=True)
    return database


def swissprot_fasta(folder: Path, n_targets: int) -> Path:
    """The same proteins as FASTA."""
    path = folder / f"swissprot-{n_targets}.fasta"
    if not path.exists():
        Database.open(swissprot(folder, n_targets)).export(path, width=LETTERS_PER_LINE)
    return path


def compressed(path: Path) -> Path:
    """The file in gzip's format."""
    packed = path.with_name(f"{path.name}.gz")
    if not packed.exists():
        with path.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as file:
            shutil.copyfileobj(source, file, 1 << 22)
    return packed


def large_database(folder: Path, n_targets: int, n_copies: int) -> Path:
    """A database of `n_copies` segments, files of their own with the content of `swissprot` and other ordinals."""
    database = folder / f"swissprot-{n_targets}-x{n_copies}.exaln"
    if _is_there(database):
        return database
    base = swissprot(folder, n_targets)
    manifest = read_manifest(base)
    (entry,) = manifest.segments
    shutil.rmtree(database, ignore_errors=True)
    database.mkdir()
    segment = SegmentBytes(base / entry.file, entry)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        entries = tuple(pool.map(lambda number: segment.write_copy(database, number), range(n_copies)))
    histogram = np.asarray(manifest.length_histogram) * n_copies
    replace_manifest(database, Manifest(manifest.alphabet, entries, histogram, n_copies * manifest.n_targets))
    return database


class SegmentBytes:
    """The bytes of a segment, of which copies with other ordinals are written."""

    def __init__(self, path: Path, entry: SegmentEntry) -> None:
        self._entry = entry
        whole = pyarrow.memory_map(str(path)).read_buffer()
        column = pyarrow.ipc.open_file(whole).get_batch(0).column("ordinal")
        self._bytes = np.frombuffer(whole, np.uint8)
        self._first = column.buffers()[1].address - whole.address
        self._ordinals = column.to_numpy()

    def write_copy(self, folder: Path, number: int) -> SegmentEntry:
        """Write copy `number`. Returns its entry for the manifest."""
        name = f"segment-{uuid.uuid4().hex}.arrow"
        first_ordinal, end = number * self._entry.rows, self._first + self._ordinals.nbytes
        first_block, end_block = self._first // BLOCK_BYTES, -(-end // BLOCK_BYTES)
        changed = self._bytes[first_block * BLOCK_BYTES : end_block * BLOCK_BYTES].copy()
        place = self._first - first_block * BLOCK_BYTES
        changed[place : place + self._ordinals.nbytes] = (self._ordinals + first_ordinal).view(np.uint8)
        hashes = self._entry.hashes.copy()
        for block in range(first_block, end_block):
            begin = (block - first_block) * BLOCK_BYTES
            hashes[block] = xxhash.xxh3_64_intdigest(changed[begin : begin + BLOCK_BYTES])
        with (folder / name).open("xb") as file:
            for part in (self._bytes[: first_block * BLOCK_BYTES], changed, self._bytes[end_block * BLOCK_BYTES :]):
                file.write(part)
        text = SegmentEntry.hashes_as_text(hashes)
        return replace(self._entry, file=name, first_ordinal=first_ordinal, block_xxh3_64=text)


def _is_there(database: Path) -> bool:
    try:
        Database.open(database)
    except ExalnError:
        return False
    return True
