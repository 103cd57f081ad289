"""Hits as Arrow tables, Parquet files and Arrow IPC files; `hit_columns` lists their columns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from exaln.alignments.cigar import cigars
from exaln.foundation.output_file import open_output
from exaln.report.hit_columns import (
    ALIGNMENT_COLUMNS,
    EVALUE2,
    QUERY_COLUMNS,
    SCORE,
    TARGET_COLUMNS,
    TEXT,
    Values,
)
from exaln.report.json_report import search_values

if TYPE_CHECKING:
    from exaln.alignments.cigar import Paths
    from exaln.alignments.query_hits import AnyHits
    from exaln.report.summary import SearchSummary
    from exaln.sequences.records import Records, Text

COLUMNS = (*QUERY_COLUMNS, *TARGET_COLUMNS, *ALIGNMENT_COLUMNS)
"""All columns but `cigar`, the last one, and `evalue2`, which follows it in searches with shuffles."""

GROUP_ROWS = 1 << 17
GROUP_BYTES = 1 << 26
"""A row group of Parquet, or a record batch of Arrow IPC, ends once it has this many rows or bytes."""

MANY_BATCHES = 512
LARGE_BATCH = 1 << 10
"""Record batches are joined once this many wait, or once one has this many rows."""


@cache
def hits_schema(*, fractional: bool = False, shuffled: bool = False) -> Any:
    """The pyarrow.Schema of hits; `fractional`: the scoring has fractions, so `score` is float64; `shuffled`: with
    `evalue2`.
    """
    kinds = {TEXT: pa.large_string(), SCORE: pa.float64() if fractional else pa.int64()}
    named = [(column.name, kinds.get(column.kind) or pa.type_for_alias(column.kind)) for column in COLUMNS]
    last = [(EVALUE2.name, pa.float64())] if shuffled else []
    return pa.schema([*named, ("cigar", pa.large_string()), *last])


HITS_SCHEMA = hits_schema()


def record_batch(hits: AnyHits) -> Any:
    """Hits as a pyarrow.RecordBatch."""
    schema = _schema_of(hits)
    arrays = [_array(column.values(hits), schema.field(column.name).type) for column in COLUMNS]
    last = [] if hits.evalue2 is None else [_array(hits.evalue2, pa.float64())]
    return pa.RecordBatch.from_arrays([*arrays, _text_array(cigars(hits.paths)), *last], schema=schema)


def _schema_of(hits: AnyHits) -> Any:
    return hits_schema(fractional=hits.scoring.scale > 1, shuffled=hits.evalue2 is not None)


def hits_table(hits: Iterable[AnyHits]) -> Any:
    """All hits as one pyarrow.Table."""
    schema, batches = _batches(hits)
    return pa.concat_tables([schema.empty_table(), *_joined(batches)]).combine_chunks()


def pairs_table(queries: Records, targets: Records, columns: dict[str, np.ndarray], paths: Paths) -> Any:
    """Alignments of pairs as one pyarrow.Table: `target_index`, and those columns of hits that pairs have.

    columns: by name, query_index and target_index (rows of the records), score, positions and counts.
    """
    table = {
        "query_index": columns["query_index"],
        **_sequences("query", queries, columns["query_index"]),
        "target_index": columns["target_index"],
        **_sequences("target", targets, columns["target_index"]),
        **{name: values for name, values in columns.items() if not name.endswith("_index")},
        "cigar": _text_array(cigars(paths)),
    }
    return pa.table(table)


def _sequences(what: str, records: Records, rows: np.ndarray) -> dict[str, Any]:
    """Id and length of the sequence of each pair, as columns; what: query or target."""
    ids = _text_array(records.ids).take(pa.array(rows))
    return {f"{what}_id": ids, f"{what}_length": records.lengths[rows]}


def write_parquet(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary) -> None:
    """Write a Parquet file, one row group at a time."""
    schema, batches = _batches(hits)
    schema = schema.with_metadata(_metadata(summary))
    with pa.PythonFile(_Counted(file), "w") as sink, pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for table in _groups(batches):
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def write_ipc(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary) -> None:
    """Write an Arrow IPC file (Feather), one record batch at a time."""
    schema, batches = _batches(hits)
    schema = schema.with_metadata(_metadata(summary))
    with pa.PythonFile(_Counted(file), "w") as sink, pa.ipc.new_file(sink, schema) as writer:
        for table in _groups(batches):
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def write_table(table: Any, kind: str, path: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a table of hits; kind: `parquet` or `arrow`."""
    with open_output(path) as file, pa.PythonFile(_Counted(file), "w") as sink:
        if kind == "parquet":
            pq.write_table(table, sink, compression="zstd", row_group_size=GROUP_ROWS)
        else:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table, max_chunksize=GROUP_ROWS)


def _batches(hits: Iterable[AnyHits]) -> tuple[Any, Iterator[Any]]:
    """The schema, which the first query decides, and the record batches of all queries."""
    queries = iter(hits)
    first = next(queries, None)
    schema = HITS_SCHEMA if first is None else _schema_of(first)
    every = queries if first is None else chain([first], queries)
    return schema, (record_batch(part) for query_hits in every for part in query_hits.parts())


def _groups(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of one chunk each, large enough for a row group."""
    waiting: list[Any] = []
    n_rows = n_bytes = 0
    for table in _joined(batches):
        waiting.append(table)
        n_rows, n_bytes = n_rows + table.num_rows, n_bytes + table.nbytes
        if n_rows >= GROUP_ROWS or n_bytes >= GROUP_BYTES:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, n_rows, n_bytes = [], 0, 0
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _joined(batches: Iterable[Any]) -> Iterator[Any]:
    """The record batches as tables, small ones joined: a batch of one row takes 10 kB for its columns alone."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if batch.num_rows >= LARGE_BATCH or len(waiting) >= MANY_BATCHES:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _array(values: Values, kind: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return pa.array(values, kind, from_pandas=True)  # NaN becomes null
    return pa.array(values, kind)


def _text_array(text: Text) -> Any:
    offsets, data = np.ascontiguousarray(text.offsets), np.ascontiguousarray(text.data)
    return pa.LargeStringArray.from_buffers(len(text), pa.py_buffer(offsets), pa.py_buffer(data))


def _metadata(summary: SearchSummary) -> dict[str, str]:
    return {"exaln": json.dumps(search_values(summary))}


class _Counted:
    """A file that counts its bytes, so that formats that store positions can be piped. `close` leaves the file open."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._written = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        self._file.write(data)
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True
