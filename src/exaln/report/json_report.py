"""The JSON report: one document with the search, then every query with its hits, written query by query.

Names and meanings are those of `hit_columns`: positions are 0-based and half-open, numbers are not rounded, and bits
and evalue are null if there are no statistics. Ids and titles keep every character.

A hit is a target with the values of its best alignment. If it has several, `further_alignments` lists the others, and
the document ends with the number of all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from exaln.alignments.cigar import cigar_list, strings
from exaln.alignments.query_hits import PairHits
from exaln.report.aligned_rows import rows_of
from exaln.report.hit_columns import ALIGNMENT_COLUMNS, EVALUE2, TARGET_COLUMNS, Values
from exaln.sequences.records import Text
from exaln.statistics.simulated import SimulatedParameters

if TYPE_CHECKING:
    from exaln.alignments.query_hits import AnyHits, QueryHits
    from exaln.report.summary import SearchSummary
    from exaln.statistics.evalues import Statistics

_OF_TARGET = frozenset(column.name for column in TARGET_COLUMNS)


def write_json(file: BinaryIO, hits: Iterable[AnyHits], summary: SearchSummary) -> None:
    """Write the document; of `PairHits`, each hit is a query of its own."""
    file.write(b'{"search":' + _dump(search_values(summary)) + b',\n"queries":[')
    n_queries = n_hits = n_alignments = 0
    for some in hits:
        if isinstance(some, PairHits):
            for part in some.parts():
                file.write((b",\n" if n_queries else b"\n") + b",\n".join(_pairs(part)))
                n_queries += len(part)
            n_hits, n_alignments = (n + int((some.columns > 0).sum()) for n in (n_hits, n_alignments))
        else:
            file.write(b"\n" if n_queries == 0 else b",\n")
            _write_query(file, some)
            n_queries += 1
            n_hits, n_alignments = n_hits + some.n_targets, n_alignments + len(some)
    total = b',"n_alignments":%d' % n_alignments if n_alignments > n_hits else b""
    file.write(b'],\n"n_queries":%d,"n_hits":%d%s}\n' % (n_queries, n_hits, total))


def search_values(summary: SearchSummary) -> dict[str, Any]:
    """The search as a whole, as values for JSON."""
    scoring = summary.scoring
    database = {"name": summary.database, "n_targets": summary.n_targets, "n_residues": summary.n_residues}
    return {
        "program": summary.program,
        "version": summary.version,
        **({"targets": summary.database, "mode": summary.mode} if summary.is_pairs else {"database": database}),
        "scoring": {
            "name": scoring.name,
            "gap_open": _number(Fraction(scoring.gap_open, scoring.scale)),
            "gap_extend": _number(Fraction(scoring.gap_extend, scoring.scale)),
            "description": scoring.describe(),
        },
        "statistics": None if summary.statistics is None else _statistics_values(summary.statistics),
        "positions": "0-based, half-open",
    }


def _statistics_values(statistics: Statistics) -> dict[str, Any]:
    return {
        "lambda": statistics.lambda_,
        "k": statistics.k,
        "h": statistics.h,
        "source": "simulation" if isinstance(statistics.parameters, SimulatedParameters) else "NCBI",
        "db_residues": statistics.db_residues,
        "db_targets": statistics.db_targets,
        "description": statistics.describe(),
    }


def _write_query(file: BinaryIO, hits: QueryHits) -> None:
    file.write(_query_start(hits.index, hits.query_id, hits.query_description, len(hits.query)))
    counts, separator = np.diff(hits.target_offsets), b"\n"
    n_of_target = np.repeat(counts, counts).tolist()
    row = 0
    for part in hits.parts():
        for place, values in zip(part.places_in_target.tolist(), _values(part), strict=True):
            begins_list = place == 0 and n_of_target[row] > 1
            file.write(separator + _entry(values, place, n_of_target[row]))
            row, separator = row + 1, b"\n" if begins_list else b",\n"
    file.write(b"]}")


def _entry(values: dict[str, Any], place: int, n_alignments: int) -> bytes:
    """The text of one alignment: a hit, whose object stays open for further alignments, or one of these."""
    if place == 0:
        return _dump(values) if n_alignments == 1 else _dump(values)[:-1] + b',"further_alignments":['
    further = _dump({name: value for name, value in values.items() if name not in _OF_TARGET})
    return further + b"]}" if place == n_alignments - 1 else further


def _query_start(index: int, name: str, description: str, length: int) -> bytes:
    """The beginning of a query's object, up to its list of hits."""
    query = {"query_index": index, "query_id": name, "query_description": description, "query_length": length}
    return _dump(query)[:-1] + b',"hits":['


def _pairs(hits: PairHits) -> Iterator[bytes]:
    """The object of each pair; its list of hits is empty if nothing is aligned."""
    queries = zip(hits.indices, hits.query_ids, hits.query_descriptions, map(len, hits.queries), strict=True)
    for query, n_columns, values in zip(queries, hits.columns.tolist(), _values(hits), strict=True):
        yield _query_start(*query) + (b"\n" + _dump(values) if n_columns else b"") + b"]}"


def _values(hits: AnyHits) -> Iterator[dict[str, Any]]:
    """The values of each row by name, those of the target first."""
    rows = rows_of(hits)
    columns: dict[str, Values] = {
        **{column.name: column.values(hits) for column in (*TARGET_COLUMNS, *ALIGNMENT_COLUMNS)},
        "cigar": cigar_list(hits.paths),
        **({} if hits.evalue2 is None else {EVALUE2.name: hits.evalue2}),
        "query_aligned": strings(Text(rows.query, rows.offsets)),
        "target_aligned": strings(Text(rows.target, rows.offsets)),
    }
    names = list(columns)
    for row in zip(*map(_plain, columns.values()), strict=True):
        yield dict(zip(names, row, strict=True))


def _plain(values: Values) -> list[Any]:
    if not isinstance(values, np.ndarray):
        return list(values)
    if values.dtype.kind != "f":
        return list(values.tolist())
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
