"""Hits as Arrow: the columns that Python, Parquet and Arrow files have.

| column | type | meaning |
|---|---|---|
| query_index | int64 | place of the query in the input, from 0 |
| query_id | text | |
| query_length | int64 | residues of the whole query |
| target_ordinal | int64 | place of the target in the database, from 0 |
| target_id, target_description | text | |
| target_length | int64 | residues of the whole target |
| strand | int8 | 1, or -1 where the query aligns with the reverse complement of the target |
| query_start, query_end | int64 | 0-based half-open |
| target_start, target_end | int64 | 0-based half-open, on the target as stored; start < end on both strands |
| score | int64 | raw score; float64 where the scoring has fractions |
| bits, evalue | float64 | not rounded; null where there are no statistics |
| percent_identity | float64 | 100 * identities / columns |
| percent_query_coverage, percent_target_coverage | float64 | aligned residues of all residues |
| identities, positives, mismatches, gap_opens, gaps, columns | int32 | counts over the alignment |
| cigar | text | M, I (consumes the query), D (consumes the target) |
"""

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
from exaln.report.clean import encodable
from exaln.report.columns import query_lengths
from exaln.report.json_report import search_values
from exaln.report.values import Values, alignment_values, target_values

if TYPE_CHECKING:
    from exaln.alignments.cigar import Paths
    from exaln.alignments.query_hits import AnyHits
    from exaln.report.summary import SearchSummary
    from exaln.sequences.records import Records, Text

GROUP_ROWS = 1 << 17
GROUP_BYTES = 1 << 26
"""A row group or batch of a file is written when it has so many rows or bytes."""

MANY_BATCHES = 512
LARGE_BATCH = 1 << 10
"""Batches are joined when so many wait, or when one has so many rows."""

_TEXT = pa.large_string()
_COUNTS = ("identities", "positives", "mismatches", "gap_opens", "gaps", "columns")


@cache
def hits_schema(*, fractional: bool = False) -> Any:
    """The columns of hits; `score` is a float where the scoring has fractions."""
    return pa.schema(
        [
            ("query_index", pa.int64()),
            ("query_id", _TEXT),
            ("query_length", pa.int64()),
            ("target_ordinal", pa.int64()),
            ("target_id", _TEXT),
            ("target_description", _TEXT),
            ("target_length", pa.int64()),
            ("strand", pa.int8()),
            ("query_start", pa.int64()),
            ("query_end", pa.int64()),
            ("target_start", pa.int64()),
            ("target_end", pa.int64()),
            ("score", pa.float64() if fractional else pa.int64()),
            ("bits", pa.float64()),
            ("evalue", pa.float64()),
            ("percent_identity", pa.float64()),
            ("percent_query_coverage", pa.float64()),
            ("percent_target_coverage", pa.float64()),
            *((name, pa.int32()) for name in _COUNTS),
            ("cigar", _TEXT),
        ]
    )


HITS_SCHEMA = hits_schema()


def record_batch(hits: AnyHits) -> Any:
    """Hits as a pyarrow.RecordBatch."""
    schema = hits_schema(fractional=hits.scoring.scale > 1)
    columns: dict[str, Values] = {
        "query_index": hits.indices,
        "query_id": [encodable(text) for text in hits.query_ids],
        "query_length": query_lengths(hits),
        **target_values(hits),
        **alignment_values(hits),
    }
    arrays = [_array(columns[field.name], field.type) for field in schema if field.name != "cigar"]
    return pa.RecordBatch.from_arrays([*arrays, _text_array(cigars(hits.paths))], schema=schema)


def hits_table(hits: Iterable[AnyHits]) -> Any:
    """All hits as one pyarrow.Table."""
    schema, batches = _batches(hits)
    return pa.concat_tables([schema.empty_table(), *_joined(batches)]).combine_chunks()


def pairs_table(queries: Records, targets: Records, columns: dict[str, np.ndarray], paths: Paths) -> Any:
    """Alignments of pairs as one pyarrow.Table: the columns of hits that they have, and `target_index`.

    columns: query_index, target_index (rows of the records), score, positions and counts, by name.
    """
    some = {
        "query_index": columns["query_index"],
        **_sequences("query", queries, columns["query_index"]),
        "target_index": columns["target_index"],
        **_sequences("target", targets, columns["target_index"]),
        **{name: values for name, values in columns.items() if not name.endswith("_index")},
        "cigar": _text_array(cigars(paths)),
    }
    return pa.table(some)


def _sequences(what: str, records: Records, rows: np.ndarray) -> dict[str, Any]:
    """Id and length of the sequence of each pair."""
    ids = _text_array(records.ids).take(pa.array(rows))
    return {f"{what}_id": ids, f"{what}_length": records.lengths[rows]}


def write_parquet(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary) -> None:
    """A Parquet file, written in row groups."""
    schema, batches = _batches(hits)
    schema = schema.with_metadata(_metadata(summary))
    with pa.PythonFile(_Counted(file), "w") as sink, pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for table in _groups(batches):
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def write_ipc(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary) -> None:
    """An Arrow IPC file (also known as Feather), written in batches."""
    schema, batches = _batches(hits)
    schema = schema.with_metadata(_metadata(summary))
    with pa.PythonFile(_Counted(file), "w") as sink, pa.ipc.new_file(sink, schema) as writer:
        for table in _groups(batches):
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def write_table(table: Any, kind: str, path: str | os.PathLike[str] | BinaryIO) -> None:
    """Writes a table of hits as it is, as `parquet` or `arrow`."""
    with open_output(path) as file, pa.PythonFile(_Counted(file), "w") as sink:
        if kind == "parquet":
            pq.write_table(table, sink, compression="zstd", row_group_size=GROUP_ROWS)
        else:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table, max_chunksize=GROUP_ROWS)


def _batches(hits: Iterable[AnyHits]) -> tuple[Any, Iterator[Any]]:
    """The schema, known from the first query, and the batches of all."""
    queries = iter(hits)
    first = next(queries, None)
    schema = hits_schema(fractional=first is not None and first.scoring.scale > 1)
    every = queries if first is None else chain([first], queries)
    return schema, (record_batch(part) for query_hits in every for part in query_hits.parts())


def _groups(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of one chunk, large enough to be worth a row group."""
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
    """The batches as tables, small ones together: a batch of one row takes 10 kB of memory for its columns alone."""
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
    """A file that knows how much was written, so that formats with positions can go to a pipe; left open at the end."""

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
