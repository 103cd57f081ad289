"""Hits of a part of a database as Arrow columns, one row per query: what workers send and part files store.

A row has the query itself and the alignments of its hits with the aligned letters of their targets, so that reports
can be made from parts alone, without queries and database; only FASTA of whole targets needs the database. Bits and
E-values are left out; they are computed when parts are merged. E-values among shuffled targets cannot be, and travel.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import xxhash

from exaln.alignments.cigar import Paths
from exaln.alignments.hit_columns import NUMBERS
from exaln.alignments.query_hits import QueryHits
from exaln.foundation.distinct import distinct
from exaln.sequences.records import Text, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.scoring.scoring import Scoring
    from exaln.search.evaluation import Evaluation
    from exaln.sequences.records import Records

OF_QUERIES = ["query_index", "query_id", "query_description", "query"]
WITH_QUALITIES = [*OF_QUERIES, "query_quality"]
"""The columns of queries. Workers get no qualities, so they send none."""

NO_EVALUE = -1.0
"""In place of NaN, so that equal batches are equal."""


@cache
def part_schema() -> Any:
    """The pyarrow.Schema of parts: query_index, query_id, query_description, query (codes), query_quality, hits.

    query_quality: as in FASTQ, empty without qualities. hits: a list of structs, one per alignment, best first, with
    the aligned codes of the target as stored, whether the target has more alignments than the cap allows (0 or 1), and
    the integer columns of `alignments.hit_columns`. scaled_score and adjustment: see `HitRows`; so is evalue2, which is
    NO_EVALUE where there is none.
    """
    hit = pa.struct(
        [
            ("target_id", pa.large_string()),
            ("target_description", pa.large_string()),
            ("target_slice", pa.large_binary()),
            ("target_length", pa.int64()),
            ("path", pa.large_binary()),
            ("is_cut", pa.int8()),
            ("scaled_score", pa.int64()),
            ("adjustment", pa.large_binary()),
            ("evalue2", pa.float64()),
            *((name, pa.from_numpy_dtype(dtype)) for name, dtype in NUMBERS.items()),
        ]
    )
    return pa.schema(
        [
            ("query_index", pa.int64()),
            ("query_id", pa.large_string()),
            ("query_description", pa.large_string()),
            ("query", pa.large_binary()),
            ("query_quality", pa.large_binary()),
            ("hits", pa.large_list(pa.field("hit", hit, nullable=False))),
        ]
    )


def part_batch(found: Sequence[QueryHits]) -> Any:
    """The hits of several queries as a pyarrow.RecordBatch."""
    schema = part_schema()
    hit = schema.field("hits").type.value_type
    columns = {
        "target_id": text_array([id_ for hits in found for id_ in hits.target_ids]),
        "target_description": text_array([text for hits in found for text in hits.target_descriptions]),
        "target_slice": binary_array([codes for hits in found for codes in hits.target_slices]),
        "target_length": number_array(_joined([hits.target_lengths for hits in found], np.int64)),
        "path": binary_array([hits.paths[place].view(np.uint8) for hits in found for place in range(len(hits))]),
    }
    scaled = [hits.score if hits.scaled_score is None else hits.scaled_score for hits in found]
    columns["scaled_score"] = number_array(_joined(scaled, np.int64))
    columns["adjustment"] = binary_array([shown for hits in found for shown in _adjustments(hits)])
    columns["evalue2"] = number_array(_joined([_evalues2(hits) for hits in found], np.float64))
    is_cut = [np.isin(hits.ordinal, hits.cut_ordinals) for hits in found]
    columns["is_cut"] = number_array(_joined(is_cut, np.int8))
    for name, dtype in NUMBERS.items():
        columns[name] = number_array(_joined([getattr(hits, name) for hits in found], dtype))
    structs = pa.StructArray.from_arrays([columns[field.name] for field in hit], fields=list(hit))
    arrays = [
        number_array(np.array([hits.index for hits in found], np.int64)),
        text_array([hits.query_id for hits in found]),
        text_array([hits.query_description for hits in found]),
        binary_array([hits.query for hits in found]),
        binary_array([np.empty(0, np.uint8) if hits.query_quality is None else hits.query_quality for hits in found]),
        list_array(offsets_of(map(len, found)), structs),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _adjustments(hits: QueryHits) -> Sequence[NDArray[np.uint8]]:
    return [np.empty(0, np.uint8)] * len(hits) if hits.adjustments is None else hits.adjustments


def _evalues2(hits: QueryHits) -> NDArray[np.float64]:
    return np.full(len(hits), NO_EVALUE) if hits.evalue2 is None else np.nan_to_num(hits.evalue2, nan=NO_EVALUE)


def _joined(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """The values of all parts."""
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)


def query_columns(queries: Records, first_index: int) -> Any:
    """The columns OF_QUERIES of these queries, as a pyarrow.RecordBatch."""
    arrays = [
        number_array(np.arange(first_index, first_index + len(queries))),
        text_array(queries.ids.to_list()),
        text_array(queries.descriptions.to_list()),
        binary_array([queries.sequence(row) for row in range(len(queries))]),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=OF_QUERIES)


def content_hash(batch: Any) -> str:
    """The xxh3_64 hash of all values of a record batch; it does not depend on their layout in memory."""
    hits = batch.column("hits")
    state = xxhash.xxh3_64()
    for column in [*(batch.column(name) for name in WITH_QUALITIES), *hits.flatten().flatten()]:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            state.update(_little_endian(numbers_of(column)))
        else:
            offsets = binary_offsets(column)
            state.update(_little_endian(np.diff(offsets)))
            state.update(binary_data(column)[offsets[0] : offsets[-1]].data)
    state.update(_little_endian(np.diff(numbers_of(hits.offsets))))
    return state.hexdigest()


def _little_endian(values: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(values if sys.byteorder == "little" else values.byteswap()).data


def hits_of_batch(
    batch: Any, scoring: Scoring, evaluation: Evaluation, *, is_shuffled: bool = False
) -> Iterator[QueryHits]:
    """The rows of a record batch as hits; evaluation: bits and E-values of all hits of the batch; is_shuffled: the
    search has shuffles.
    """
    column = batch.column("hits")
    hits, offsets = column.flatten(), offsets_of(np.diff(numbers_of(column.offsets)))
    fields = {name: hits.field(name) for name in column.type.value_type.names}
    numbers: dict[str, Any] = {name: numbers_of(fields[name]) for name in NUMBERS}
    queries, qualities = pieces_of(batch.column("query")), pieces_of(batch.column("query_quality"))
    slices, lengths = pieces_of(fields["target_slice"]), numbers_of(fields["target_length"])
    paths, is_cut = pieces_of(fields["path"]), numbers_of(fields["is_cut"]) != 0
    scaled, adjustments = numbers_of(fields["scaled_score"]), pieces_of(fields["adjustment"])
    stored = numbers_of(fields["evalue2"])
    evalue2 = np.where(stored == NO_EVALUE, np.nan, stored)
    indices, ids, descriptions = (
        batch.column(name).to_pylist() for name in ("query_index", "query_id", "query_description")
    )
    target_ids, titles = fields["target_id"].to_pylist(), fields["target_description"].to_pylist()
    for row, (begin, end) in enumerate(pairwise(offsets.tolist())):
        own = slice(begin, end)
        yield QueryHits(
            index=indices[row],
            query_id=ids[row],
            query_description=descriptions[row],
            query=queries[row],
            query_quality=qualities[row] if len(qualities[row]) else None,
            cut_ordinals=distinct(numbers["ordinal"][own][is_cut[own]]),
            alphabet=scoring.alphabet,
            scoring=scoring,
            target_ids=target_ids[own],
            target_descriptions=titles[own],
            target_slices=slices[own],
            target_lengths=lengths[own],
            bits=evaluation.bits[own],
            evalue=evaluation.evalue[own],
            evalue2=evalue2[own] if is_shuffled else None,
            scaled_score=scaled[own],
            adjustments=adjustments[own],
            paths=_joined_paths([path.view(np.uint32) for path in paths[own]]),
            **{name: values[own] for name, values in numbers.items()},
        )


def _joined_paths(paths: Sequence[NDArray[np.uint32]]) -> Paths:
    return Paths(np.concatenate([np.empty(0, np.uint32), *paths]), offsets_of(map(len, paths)))


def to_bytes(found: Sequence[QueryHits]) -> bytes:
    """The hits of several queries, as a compressed Arrow IPC stream."""
    batch, sink = part_batch(found), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> Any:
    """The record batch that `to_bytes` wrote; ValueError if `data` is anything else."""
    if not isinstance(data, bytes):  # Arrow would open a string as a file name
        raise ValueError("not an Arrow stream of hits")
    try:
        with pa.ipc.open_stream(data) as reader:
            return as_batch(reader.read_all())
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"not an Arrow stream of hits: {error}") from None


def as_batch(table: Any) -> Any:
    """A table as one record batch; ValueError unless it has the columns of parts and is valid Arrow without nulls."""
    if not table.schema.equals(part_schema()):
        raise ValueError("the columns are not those of a part")
    batches = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], part_schema())]
    batches[0].validate(full=True)
    hits = batches[0].column("hits").flatten()
    if any(column.null_count for column in [*batches[0].columns, hits, *hits.flatten()]):
        raise ValueError("a value is missing")
    _require_qualities(batches[0])
    return batches[0]


def _require_qualities(batch: Any) -> None:
    """ValueError unless each query has one printable quality per letter, or no qualities."""
    qualities = pieces_of(batch.column("query_quality"))
    for quality, length in zip(qualities, binary_lengths(batch.column("query")).tolist(), strict=True):
        if len(quality) not in (0, length):
            raise ValueError("a query has fewer or more qualities than letters")
        if len(quality) and not ord("!") <= int(quality.min()) <= int(quality.max()) <= ord("~"):
            raise ValueError("a quality is not a printable character")


# Columns are built from buffers and read from them. pyarrow.array and to_numpy would import pandas if it is installed,
# which is slow.


def number_array(values: NDArray[Any]) -> Any:
    """An Arrow column of numbers."""
    whole = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [None, pa.py_buffer(whole)])


def numbers_of(column: Any) -> NDArray[Any]:
    """The values of an Arrow column of numbers without nulls, as a view."""
    kind = column.type.to_pandas_dtype()
    if not len(column):
        return np.empty(0, kind)
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def list_array(offsets: NDArray[np.int64], values: Any) -> Any:
    """An Arrow column of lists of hits; values: the structs of all lists."""
    return pa.LargeListArray.from_arrays(number_array(offsets), values, type=part_schema().field("hits").type)


def text_array(texts: Sequence[str]) -> Any:
    """An Arrow column of texts."""
    column = Text.of(texts)
    return _bytes_array(pa.large_string(), column.data, column.offsets)


def binary_array(pieces: Sequence[NDArray[np.uint8]]) -> Any:
    """An Arrow column of byte strings."""
    data = np.concatenate([np.empty(0, np.uint8), *pieces])
    return _bytes_array(pa.large_binary(), data, offsets_of(map(len, pieces)))


def _bytes_array(kind: Any, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Any:
    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def binary_offsets(column: Any) -> NDArray[np.int64]:
    """int64[n + 1]: where the values of a column of texts or byte strings begin and end in `binary_data`."""
    if not len(column):
        return np.zeros(1, np.int64)
    return np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]


def binary_data(column: Any) -> NDArray[np.uint8]:
    """The bytes of a column of texts or byte strings, as a view; it may extend beyond the values of the column."""
    data = column.buffers()[2]
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def binary_lengths(column: Any) -> NDArray[np.int64]:
    """int64[n]: the lengths of the byte strings of an Arrow column."""
    lengths: NDArray[np.int64] = np.diff(binary_offsets(column))
    return lengths


def pieces_of(column: Any) -> list[NDArray[np.uint8]]:
    """The values of a column of byte strings, as views."""
    values = binary_data(column)
    return [values[begin:end] for begin, end in pairwise(binary_offsets(column).tolist())]
