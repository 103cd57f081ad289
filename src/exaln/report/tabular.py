"""Tabular reports: BLAST's formats 6 (tabs), 7 (tabs with comment lines) and 10 (comma-separated values).

Control characters in ids and titles are written as spaces, so that every hit is one line. In format 10, fields with a
comma or a quote are quoted, and ids and titles that a spreadsheet would take for a formula get an apostrophe. E-value
and bits are empty if there are no statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from exaln.report.clean import csv_field, no_formula, one_line, title
from exaln.report.columns import NAMES_AND_TITLES

if TYPE_CHECKING:
    from exaln.alignments.query_hits import AnyHits, QueryHits
    from exaln.report.columns import Column
    from exaln.report.summary import SearchSummary


def write_tabs(file: BinaryIO, hits: Iterable[AnyHits], columns: tuple[Column, ...]) -> None:
    """Write format 6: one line per hit."""
    for some in hits:
        _write_rows(file, some, columns)


def write_commented(
    file: BinaryIO, hits: Iterable[QueryHits], summary: SearchSummary, columns: tuple[Column, ...]
) -> None:
    """Write format 7: format 6 with comment lines before each query, also before queries without hits."""
    n_queries = 0
    # BLAST writes "1 hits found" and "processed 1 queries", and parsers look for these words.
    for query_hits in hits:
        file.write("".join(f"# {line}\n" for line in _comments(query_hits, summary, columns)).encode())
        _write_rows(file, query_hits, columns)
        n_queries += 1
    file.write(f"# {summary.program} processed {n_queries} queries\n".encode())


def write_csv(file: BinaryIO, hits: Iterable[AnyHits], columns: tuple[Column, ...]) -> None:
    """Write format 10: one line per hit, without headings, as BLAST does."""
    for some in hits:
        for part in some.parts():
            fields = [_csv_fields(column, part) for column in columns]
            if len(columns) == 1:  # CSV readers skip empty lines
                fields = [[text or '""' for text in fields[0]]]
            file.write("".join(",".join(row) + "\n" for row in zip(*fields, strict=True)).encode())


def _csv_fields(column: Column, hits: AnyHits) -> list[str]:
    texts = column.texts(hits)
    if column.name in NAMES_AND_TITLES:
        texts = [no_formula(text) for text in texts]
    return [csv_field(text) for text in texts]


def _write_rows(file: BinaryIO, hits: AnyHits, columns: tuple[Column, ...]) -> None:
    for part in hits.parts():
        texts = [column.texts(part) for column in columns]
        file.write("".join([line + "\n" for line in map("\t".join, zip(*texts, strict=True))]).encode())


def _comments(hits: QueryHits, summary: SearchSummary, columns: tuple[Column, ...]) -> Iterator[str]:
    yield f"{summary.program} {summary.version}"
    yield f"Query: {title(hits.query_id, hits.query_description)}"
    yield f"Database: {one_line(summary.database)}"
    if len(hits):
        yield f"Fields: {', '.join(column.heading for column in columns)}"
    yield f"{len(hits)} hits found"
