"""Hits of all queries, for Python: an Arrow table that can be looked at hit by hit."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from exaln.errors import InputError
from exaln.plurals import number_of
from exaln.report.clean import one_line
from exaln.report.columns import number_text
from exaln.statistics import format_bits, format_evalue

if TYPE_CHECKING:
    from exaln.query_hits import QueryHits

_ROWS_AT_ONCE = 1 << 10


@dataclass(frozen=True, slots=True)
class Hit:
    """One hit; the attributes are the columns of `exaln.report.arrow`. Positions are 0-based half-open.

    bits and evalue are None where there are no statistics for the scoring.
    """

    query_index: int
    query_id: str
    query_length: int
    target_ordinal: int
    target_id: str
    target_description: str
    target_length: int
    strand: int
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    score: int | float
    bits: float | None
    evalue: float | None
    percent_identity: float
    percent_query_coverage: float
    percent_target_coverage: float
    identities: int
    positives: int
    mismatches: int
    gap_opens: int
    gaps: int
    columns: int
    cigar: str


class Hits(Sequence[Hit]):
    """The hits of all queries, an Arrow table inside: query by query, best first.

    `hits[0]` and iteration give `Hit` objects, a slice gives Hits; columns come as a pyarrow, pandas or polars table.
    """

    def __init__(self, table: Any) -> None:
        """Hits of a pyarrow.Table with the columns of `exaln.report.arrow`."""
        self._table = table

    @staticmethod
    def of(hits: Iterable[QueryHits]) -> Hits:
        """Collects the hits of each query."""
        from exaln.report.arrow import hits_table

        return Hits(hits_table(hits))

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @overload
    def __getitem__(self, place: int) -> Hit: ...

    @overload
    def __getitem__(self, place: slice) -> Hits: ...

    def __getitem__(self, place: int | slice) -> Hit | Hits:
        if not isinstance(place, slice):
            row = range(len(self))[place]
            return Hit(**self._table.slice(row, 1).to_pylist()[0])
        rows = range(len(self))[place]
        if rows.step == 1:
            return Hits(self._table.slice(rows.start, len(rows)))
        return Hits(self._table.take(list(rows)))

    def __iter__(self) -> Iterator[Hit]:
        for batch in self._table.to_batches(max_chunksize=_ROWS_AT_ONCE):
            for row in batch.to_pylist():
                yield Hit(**row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hits) and bool(self._table.equals(other._table))

    __hash__ = None  # type: ignore[assignment]

    def to_arrow(self) -> Any:
        """The pyarrow.Table itself."""
        return self._table

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, one row per hit."""
        _require("pandas")
        return self._table.to_pandas()

    def to_polars(self) -> Any:
        """A polars.DataFrame, one row per hit."""
        return _require("polars").from_arrow(self._table)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the columns to a file by its extension: .parquet, .arrow, .feather, .csv or .tsv with a heading."""
        from exaln.report.arrow import write_table

        write_table(self._table, path)

    def __repr__(self) -> str:
        return _preview(self)


def _require(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise InputError(f"to_{package} needs {package}, which is not installed: pip install {package}") from None


SHOWN = 10
NAME = 24

_COLUMNS: dict[str, Callable[[Hit], str]] = {
    "query_id": lambda hit: _short(hit.query_id),
    "target_id": lambda hit: _short(hit.target_id),
    "score": lambda hit: number_text(hit.score),
    "bits": lambda hit: "" if hit.bits is None else format_bits(hit.bits),
    "evalue": lambda hit: "" if hit.evalue is None else format_evalue(hit.evalue),
    "identity": lambda hit: f"{hit.percent_identity:.1f}%",
    "query": lambda hit: f"{hit.query_start}:{hit.query_end}",
    "target": lambda hit: f"{hit.target_start}:{hit.target_end}" + ("" if hit.strand > 0 else " minus"),
}


def _preview(hits: Hits) -> str:
    """A short table; more than SHOWN hits are abridged."""
    heading = f"Hits: {number_of(len(hits), 'hit')}"
    if len(hits) == 0:
        return heading
    rows = [_texts(hit) for hit in (hits if len(hits) <= SHOWN else hits[: SHOWN - 1])]
    if len(hits) > SHOWN:
        rows += [["..."] + [""] * (len(_COLUMNS) - 1), _texts(hits[-1])]
    widths = [max(map(len, column)) for column in zip(list(_COLUMNS), *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in [list(_COLUMNS), *rows]]
    return "\n".join([heading, *lines])


def _texts(hit: Hit) -> list[str]:
    return [text(hit) for text in _COLUMNS.values()]


def _short(name: str) -> str:
    return one_line(name if len(name) <= NAME else name[: NAME - 3] + "...")
