"""Searches without a scheduler: every shard searches its part of the database on its own, and part files are merged.

A part file is Parquet, one row per query (`exaln.cluster.parts`); its metadata say which shard of which search it is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice, zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from exaln.cluster.merge import merge_batches, ranked_hits
from exaln.cluster.parts import as_batch, part_batch, part_schema
from exaln.cluster.spec import SearchSpec
from exaln.database import Database
from exaln.database.part import DatabasePart, n_places
from exaln.errors import InputError
from exaln.output_file import open_output
from exaln.plurals import number_of
from exaln.query_hits import QueryHits

METADATA = b"exaln.part"
GROUP_QUERIES = 16
"""Queries in a row group: merging holds one of each part."""


@dataclass(frozen=True)
class Shard:
    """Number `number`, from 1, of `n_shards` parts of a database with about equal numbers of residues."""

    number: int
    n_shards: int

    @staticmethod
    def parse(text: str) -> Shard:
        """3/64

        >>> Shard.parse("3/64")
        Shard(number=3, n_shards=64)
        """
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        number, n_shards = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= n_shards:
            raise InputError(f"{text!r} is no shard; write number/shards, such as 1/64 for the first of 64")
        return Shard(number, n_shards)

    def of(self, database: Database) -> DatabasePart:
        """Its part of a database."""
        places = n_places(database.manifest)
        first, end = (places * edge // self.n_shards for edge in (self.number - 1, self.number))
        return database.part(first, end)

    def __str__(self) -> str:
        return f"{self.number}/{self.n_shards}"


def write_part(hits: Iterable[QueryHits], spec: SearchSpec, shard: Shard, out: str | os.PathLike[str]) -> None:
    """A part file, whole or absent."""
    metadata = {METADATA: json.dumps({"search": spec.to_values(), "shard": asdict(shard)})}
    with (
        open_output(out) as file,
        pq.ParquetWriter(
            file, part_schema().with_metadata(metadata), compression="zstd", write_page_checksum=True
        ) as writer,
    ):
        rows = iter(hits)
        while group := list(islice(rows, GROUP_QUERIES)):
            writer.write_table(pa.Table.from_batches([part_batch(group)]).replace_schema_metadata(metadata))


class PartFile:
    """A part file that is open for reading."""

    def __init__(self, path: str) -> None:
        self.path = path
        with _reading(path):
            self._file = pq.ParquetFile(path, page_checksum_verification=True)
            about = json.loads((self._file.schema_arrow.metadata or {})[METADATA])
            self.spec = SearchSpec.from_values(about["search"])
            self.shard = Shard(**about["shard"])
        self.n_queries = self._file.metadata.num_rows

    def close(self) -> None:
        """No more is read."""
        self._file.close()

    def groups(self) -> Iterator[Any]:
        """The row groups, as batches."""
        for group in range(self._file.num_row_groups):
            with _reading(self.path):
                batch = as_batch(self._file.read_row_group(group).replace_schema_metadata(None))
            yield batch


class _reading:  # noqa: N801
    """Whatever is wrong with a part file becomes one line that names it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FileNotFoundError):
            raise InputError(f"{self._path}: no such file") from None
        if isinstance(error, KeyError | TypeError | ValueError | OSError | pa.ArrowException):
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"{self._path}: damaged, or not a part file of exaln search --shard: {said}") from None


class Parts:
    """All parts of one search, checked against each other; a context manager. Iterating gives the hits of the whole."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._stack = ExitStack()
        self._files = [PartFile(path) for path in paths]
        for file in self._files:
            self._stack.callback(file.close)
        _require_whole(self._files)
        self.spec, self.n_queries = self._files[0].spec, self._files[0].n_queries

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def __iter__(self) -> Iterator[QueryHits]:
        for batches in zip_longest(*(file.groups() for file in self._files)):
            _require_same_queries(self._files, batches)
            yield from ranked_hits(merge_batches(batches, self.spec), self.spec)


def _require_whole(files: Sequence[PartFile]) -> None:
    """Parts of one search, each once, none missing."""
    first, seen = files[0], dict[int, str]()
    for file in files:
        if file.spec.digest != first.spec.digest or file.shard.n_shards != first.shard.n_shards:
            raise InputError(f"{file.path} and {first.path} are parts of different searches")
        if file.shard.number in seen:
            raise InputError(f"{file.path} and {seen[file.shard.number]} are both shard {file.shard}")
        if file.n_queries != first.n_queries:
            raise InputError(
                f"{file.path} has {number_of(file.n_queries, 'query')}, but {first.path} has {first.n_queries:,}; "
                "search again"
            )
        seen[file.shard.number] = file.path
    missing = [str(number) for number in range(1, first.shard.n_shards + 1) if number not in seen]
    if missing:
        listed = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
        raise InputError(f"of {first.shard.n_shards} shards {len(missing)} are missing: {listed}")


def _require_same_queries(files: Sequence[PartFile], batches: Sequence[Any]) -> None:
    names = ["query_id", "query_description", "query", "query_quality"]
    for file, batch in zip(files, batches, strict=True):
        if batch is None or not batch.select(names).equals(batches[0].select(names)):
            raise InputError(f"{file.path} and {files[0].path} have different queries; search again with the same")
