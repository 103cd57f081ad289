"""Searches without a scheduler: each shard is searched by itself, and the part files are merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from typing import Any

from exaln.alignments.query_hits import QueryHits
from exaln.cluster.merge import merge_batches, ranked_hits
from exaln.cluster.part_file import FORMAT, PartFile, Shard, write_part
from exaln.cluster.part_hits import WITH_QUALITIES
from exaln.errors import InputError
from exaln.foundation.plurals import number_of

__all__ = ["PartFile", "Parts", "Shard", "write_part"]


class Parts:
    """All part files of one search, checked against each other; a context manager.

    Iterating yields the hits of each query in the whole database.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._files = list[PartFile]()
        with ExitStack() as stack:
            for path in paths:
                self._files.append(PartFile(path))
                stack.callback(self._files[-1].close)
            _require_whole(self._files)
            self._stack = stack.pop_all()
        self.spec, self.n_queries = self._files[0].spec, self._files[0].n_queries

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def __iter__(self) -> Iterator[QueryHits]:
        for batches in zip_longest(*(file.groups() for file in self._files)):
            _require_same_queries(self._files, batches)
            yield from ranked_hits(self._merged(batches), self.spec)

    def _merged(self, batches: Sequence[Any]) -> Any:
        try:
            return merge_batches(batches, self.spec)
        except ValueError as error:
            raise FORMAT.damaged(" or ".join(file.path for file in self._files), str(error)) from None


def _require_whole(files: Sequence[PartFile]) -> None:
    """InputError unless these are all parts of one search, each once."""
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
    n_missing = first.shard.n_shards - len(seen)
    if n_missing:
        missing = (number for number in range(1, first.shard.n_shards + 1) if number not in seen)
        listed = ", ".join(str(number) for number, _ in zip(missing, range(8), strict=False))
        listed += ", ..." if n_missing > 8 else ""
        are, word = ("is", "shard") if n_missing == 1 else ("are", "shards")
        raise InputError(f"{n_missing:,} of {first.shard.n_shards:,} shards {are} missing: {word} {listed}")


def _require_same_queries(files: Sequence[PartFile], batches: Sequence[Any]) -> None:
    for file, batch in zip(files, batches, strict=True):
        if batch is None or batches[0] is None or not _queries(batch).equals(_queries(batches[0])):
            raise InputError(
                f"{file.path} and {files[0].path} have different queries; search again with the same queries"
            )


def _queries(batch: Any) -> Any:
    return batch.select(WITH_QUALITIES)
