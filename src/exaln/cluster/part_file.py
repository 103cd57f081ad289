"""Part files: the hits of one shard as Parquet, with everything that is needed to check them.

A part file has a row per query (`part_hits`), in row groups of GROUP_QUERIES. Its metadata hold a state file
(`foundation.state_file`) with the search, the shard, and the number of queries, the number of hits and the content
hash of every row group.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from exaln.alignments.query_hits import QueryHits
from exaln.cluster.part_checks import require_possible
from exaln.cluster.part_hits import as_batch, content_hash, part_batch, part_schema
from exaln.database.database import Database
from exaln.database.part import DatabasePart, n_places
from exaln.errors import DatabaseError, ExalnError, InputError
from exaln.foundation.output_file import open_output
from exaln.foundation.state_file import Fields, StateFormat
from exaln.search.spec import SearchSpec

FORMAT = StateFormat("exaln part file", 4, "search this shard again")
"""Format 3 has the aligned parts of targets in place of whole targets."""

METADATA, METADATA_OF_FORMAT_1 = b"exaln part file", b"exaln.part"
PARQUET = b"PAR1"
GROUP_QUERIES = 16
"""Queries in a row group; merging holds one row group of each part in memory."""


@dataclass(frozen=True)
class Shard:
    """Part `number`, counted from 1, of `n_shards` parts of a database with about equal numbers of residues."""

    number: int
    n_shards: int

    @staticmethod
    def parse(text: str) -> Shard:
        """The shard of a text such as 3/64; InputError if it is none.

        >>> Shard.parse("3/64")
        Shard(number=3, n_shards=64)
        """
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        number, n_shards = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= n_shards:
            raise InputError(f"{text!r} is not a shard; write number/shards, such as 1/64 for the first of 64")
        return Shard(number, n_shards)

    def range(self, places: int) -> tuple[int, int]:
        """The range that the shard covers of a database with `places` places."""
        return places * (self.number - 1) // self.n_shards, places * self.number // self.n_shards

    def of(self, database: Database) -> DatabasePart:
        """The shard's part of a database."""
        return database.part(*self.range(n_places(database.manifest)))

    def __str__(self) -> str:
        return f"{self.number}/{self.n_shards}"


@dataclass(frozen=True)
class Group:
    """A row group, as the metadata describe it."""

    n_queries: int
    n_hits: int
    xxh3_64: str


def write_part(hits: Iterable[QueryHits], spec: SearchSpec, shard: Shard, out: str | os.PathLike[str]) -> None:
    """Write a part file; it appears as a whole or not at all."""
    groups = []
    with (
        open_output(out) as file,
        pq.ParquetWriter(file, part_schema(), compression="zstd", write_page_checksum=True) as writer,
    ):
        rows = iter(hits)
        while some := list(islice(rows, GROUP_QUERIES)):
            batch = part_batch(some)
            writer.write_table(pa.Table.from_batches([batch]))
            groups.append(Group(len(some), sum(map(len, some)), content_hash(batch)))
        writer.add_key_value_metadata({METADATA: FORMAT.dump(_content(spec, shard, groups), indent=None)})


def _content(spec: SearchSpec, shard: Shard, groups: list[Group]) -> dict[str, Any]:
    first, end = shard.range(spec.space.n_residues + 1)
    return {
        "search": json.dumps(spec.to_values()),  # as text: it may contain an infinite E-value, which JSON does not have
        "shard": shard.number,
        "shards": shard.n_shards,
        "residues": [first, end],
        "queries": sum(group.n_queries for group in groups),
        "hits": sum(group.n_hits for group in groups),
        "groups": [{"queries": one.n_queries, "hits": one.n_hits, "xxh3_64": one.xxh3_64} for one in groups],
    }


class PartFile:
    """A part file, open for reading."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = _opened(path)
        try:
            fields = FORMAT.load(_metadata(self._file, path), path)
            self.spec, self.shard = _search(fields), _shard(fields)
            self.groups_written = _groups(fields)
            self._require_layout(fields)
        except BaseException:
            self.close()
            raise
        self.n_queries = fields.integer("queries")

    def close(self) -> None:
        """Close the file."""
        self._file.close(force=True)

    def groups(self) -> Iterator[Any]:
        """Yield the row groups as record batches, each checked."""
        n_queries = 0
        for number, written in enumerate(self.groups_written):
            with _reading(self.path):
                batch = as_batch(self._file.read_row_group(number).replace_schema_metadata(None))
                if (batch.num_rows, len(batch.column("hits").flatten())) != (written.n_queries, written.n_hits):
                    raise ValueError("the number of its queries or hits differs from what was written")
                if content_hash(batch) != written.xxh3_64:
                    raise ValueError("its content differs from what was written")
                require_possible(batch, self.spec, n_queries)
            n_queries += batch.num_rows
            yield batch

    def _require_layout(self, fields: Fields) -> None:
        """DatabaseError unless the numbers in the metadata agree with each other, the search and the file."""
        total = [sum(one.n_queries for one in self.groups_written), sum(one.n_hits for one in self.groups_written)]
        if [fields.integer("queries"), fields.integer("hits")] != total:
            raise fields.wrong("queries", "the sum over the row groups")
        if tuple(fields.integers("residues")) != self.shard.range(self.spec.space.n_residues + 1):
            raise fields.wrong("residues", "the range of the shard")
        found = self._file.metadata
        if (found.num_rows, found.num_row_groups) != (total[0], len(self.groups_written)):
            raise FORMAT.damaged(self.path, "the number of its rows differs from what was written")


def _opened(path: str) -> Any:
    """The Parquet file at a path; InputError if there is none, DatabaseError if it is damaged."""
    try:
        source = pa.OSFile(path)
        is_parquet = source.read(len(PARQUET)) == PARQUET
        source.seek(0)
    except (OSError, ValueError) as error:
        problem = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise InputError(f"{path}: {problem}") from None
    if not is_parquet:
        raise InputError(f"{path}: not a part file of exaln search --shard")
    with _reading(path):
        return pq.ParquetFile(source, page_checksum_verification=True)


def _metadata(file: Any, path: str) -> bytes:
    with _reading(path):
        found = file.metadata.metadata or {}
    if METADATA in found:
        return bytes(found[METADATA])
    if METADATA_OF_FORMAT_1 in found:
        raise DatabaseError(f"{path}: a part file of an earlier exaln (format 1), which has no hashes; {FORMAT.advice}")
    raise InputError(f"{path}: Parquet, but not a part file of exaln search --shard")


def _search(fields: Fields) -> SearchSpec:
    text = fields.text("search")
    try:
        return SearchSpec.from_values(json.loads(text))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FORMAT.damaged(fields.file, f"search is not the description of a search ({error})") from None


def _shard(fields: Fields) -> Shard:
    n_shards = fields.integer("shards", 1, 999_999_999)
    return Shard(fields.integer("shard", 1, n_shards), n_shards)


def _groups(fields: Fields) -> list[Group]:
    return [
        Group(one.integer("queries", 1), one.integer("hits"), one.hash("xxh3_64")) for one in fields.objects("groups")
    ]


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn every error of reading a part file into a DatabaseError that names it."""
    try:
        yield
    except ExalnError:
        raise
    except MemoryError:
        raise FORMAT.damaged(path, "it asks for more memory than there is") from None
    except (KeyError, TypeError, ValueError, OverflowError, OSError, RuntimeError, pa.ArrowException) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FORMAT.damaged(path, said) from None
