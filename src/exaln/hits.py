"""Hits as columns: those of one query, which the search hands to reports, and those of all queries, for Python."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from exaln.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from exaln.alphabet import Alphabet
    from exaln.scoring import Scoring

PART_HITS = 1 << 14
PART_COLUMNS = 1 << 22
"""A part of a query's hits ends at so many hits, or with the hit that reaches so many alignment columns."""

_ROWS_AT_ONCE = 1 << 10

OPERATIONS = "MIDNSHP=X"
"""Letters of CIGAR operations by code, as in SAM. Paths use = X I D: I consumes the query, D the target."""


@dataclass(frozen=True)
class Paths:
    """Alignment paths: the path of hit i is operations[offsets[i]:offsets[i + 1]], each `length << 4 | code`.

    operations: uint32, codes as in `OPERATIONS`, from the start of the alignment on the query's plus strand.
    """

    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, hit: int) -> NDArray[np.uint32]:
        return self.operations[self.offsets[hit] : self.offsets[hit + 1]]


@dataclass(frozen=True)
class QueryHits:
    """All hits of one query, best first; n hits, 0 allowed. Positions are 0-based half-open.

    query: uint8 codes of the whole query; targets: uint8 codes of each whole target (views into the database).
    ordinal: int64[n], place of the target in the database. score: int64[n], multiplied by `scoring.scale`.
    bits, evalue: float64[n], NaN where there are no statistics for the scoring.
    strand: int8[n], 1, or -1 if the query aligns with the reverse complement of the target. query_start and query_end
    count on the query as given, target_start and target_end on the target as stored, always start < end; the path runs
    along the query, so on strand -1 it runs down the target from target_end.
    identities, positives, mismatches, gap_opens, gaps, columns: int32[n], counts over the alignment: columns is its
    length, gaps the gap columns, gap_opens the runs of gaps, positives the pairs of letters that score above 0.
    """

    index: int
    query_id: str
    query_description: str
    query: NDArray[np.uint8]
    alphabet: Alphabet
    scoring: Scoring
    target_ids: Sequence[str]
    target_descriptions: Sequence[str]
    targets: Sequence[NDArray[np.uint8]]
    ordinal: NDArray[np.int64]
    score: NDArray[np.int64]
    bits: NDArray[np.float64]
    evalue: NDArray[np.float64]
    strand: NDArray[np.int8]
    query_start: NDArray[np.int64]
    query_end: NDArray[np.int64]
    target_start: NDArray[np.int64]
    target_end: NDArray[np.int64]
    paths: Paths
    identities: NDArray[np.int32]
    positives: NDArray[np.int32]
    mismatches: NDArray[np.int32]
    gap_opens: NDArray[np.int32]
    gaps: NDArray[np.int32]
    columns: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ordinal)

    def parts(self) -> Iterator[QueryHits]:
        """The hits in pieces of bounded size, in order, so that texts of them fit memory; none if there are no hits."""
        if 0 < len(self) <= PART_HITS and int(self.columns.sum(dtype=np.int64)) <= PART_COLUMNS:
            yield self
            return
        total, start = np.cumsum(self.columns, dtype=np.int64), 0
        while start < len(self):
            done = int(total[start - 1]) if start else 0
            end = min(start + PART_HITS, int(np.searchsorted(total, done + PART_COLUMNS)) + 1, len(self))
            yield self.part(start, end)
            start = end

    def part(self, start: int, end: int) -> QueryHits:
        """The hits from `start` to before `end`."""
        cut = {name: getattr(self, name)[start:end] for name in _COLUMNS}
        return replace(
            self,
            target_ids=[self.target_ids[hit] for hit in range(start, end)],
            target_descriptions=[self.target_descriptions[hit] for hit in range(start, end)],
            targets=[self.targets[hit] for hit in range(start, end)],
            paths=Paths(self.paths.operations, self.paths.offsets[start : end + 1]),
            **cut,
        )


# fmt: off
_COLUMNS = (
    "ordinal", "score", "bits", "evalue", "strand", "query_start", "query_end", "target_start", "target_end",
    "identities", "positives", "mismatches", "gap_opens", "gaps", "columns",
)
# fmt: on


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
        from exaln.report.preview import preview

        return preview(self)


def _require(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise InputError(f"to_{package} needs {package}, which is not installed: pip install {package}") from None
